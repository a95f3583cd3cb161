"""What is found in a resized picture, or in its tiles, comes back to where it was: thousands of sizes.

Where things lie in the resized picture is looked up in its pixels, not taken from the transform.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ml_pipes.core import Pipeline
from ml_pipes.standard import CollectItems, PerItem, Pick, Recall, Store
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import (
    NMM,
    NMS,
    ImagePayload,
    ProjectBoxes,
    ProjectPoints,
    Resize,
    ResizeTransform,
    Stitch,
    StitchMaps,
    Tile,
    project_boxes,
    project_density,
    project_masks,
    project_points,
    project_roi_masks,
)

_Box = npt.NDArray[np.float64]

# A pixel of the resized picture is rounded to at most half of one; the rest is for float32.
_HALF = 0.51
_WAYS: dict[str, dict[str, Any]] = {
    "letterbox": {},
    "not centred": {"center": False},
    "not enlarged": {"allow_scale_up": False},
    "not enlarged and not centred": {"allow_scale_up": False, "center": False},
    "stretched": {"mode": "resize"},
    "stretched to a multiple": {"mode": "resize", "target_size": None, "multiple_of": 32},
}


def _boxed(way: str, many: int, multiple_of: int = 1) -> Iterator[tuple[_Box, ImagePayload, ResizeTransform]]:
    """Pictures of random sizes, each white in one box and black elsewhere, as they are after resizing."""
    rng = np.random.default_rng(sorted(_WAYS).index(way))
    while many:
        height, width = rng.integers(1, 300, 2).tolist()
        target = tuple((rng.integers(1, -(-200 // multiple_of), 2) * multiple_of).tolist())
        across, down = (np.sort(rng.integers(0, side + 1, 2)) for side in (width, height))
        box = np.array([across[0], down[0], across[1], down[1]], np.float64)
        resize = Resize(**{"target_size": target, "pad_value": 0, **_WAYS[way]})
        pixels = np.zeros((height, width, 1), np.float32)
        pixels[down[0] : down[1], across[0] : across[1]] = 1
        resized, transform = resize(ImagePayload(pixels))
        # Linear interpolation looks at two pixels: a box that is thinner than its steps may be missed.
        if (box[2:] - box[:2] >= np.maximum(2, np.ceil(2 / np.array(transform.scale)))).all():
            many -= 1
            yield box, resized, transform


def _gain(transform: ResizeTransform, shape: tuple[int, int]) -> _Box:
    """Resized pixels per original pixel in x, y, x, y, of the integers that the resized picture shows."""
    content_hw = transform.content_shape
    return np.tile([content_hw[1] / shape[1], content_hw[0] / shape[0]], 2)


def _around(mask: npt.NDArray[np.bool_]) -> _Box:
    """The box around what is true."""
    (rows,), (columns,) = np.nonzero(mask.any(axis=1)), np.nonzero(mask.any(axis=0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1], np.float64)


@pytest.mark.parametrize("way", _WAYS)
def test_boxes_and_points_seen_in_a_resized_picture_come_back_to_where_they_were(way: str) -> None:
    errors = []

    for box, resized, transform in _boxed(way, 1000):
        seen = _around(resized.array[..., 0] > 0.5)
        gain = _gain(transform, transform.original_shape)
        back = project_boxes(seen[None].astype(np.float32), transform)[0]
        points = project_points(seen.reshape(1, 2, 2).astype(np.float32), transform)
        errors.append((back - box) * gain)
        errors.append((points.reshape(4) - box) * gain)

    assert np.abs(errors).max() <= _HALF
    assert np.abs(np.mean(errors, axis=0)).max() < 0.03


@pytest.mark.parametrize("way", _WAYS)
def test_what_a_model_finds_between_pixels_comes_back_without_a_shift(way: str) -> None:
    rng = np.random.default_rng(0)
    errors = []

    for _, resized, transform in _boxed(way, 300):
        height, width = transform.original_shape
        gain = _gain(transform, (height, width))
        box = np.sort(rng.random((2, 2)), axis=0).ravel() * [width, height, width, height]
        # A model sees whole pixels.
        seen = np.rint(box * gain + [*transform.pad, *transform.pad])
        errors.append((project_boxes(seen, transform) - box) * gain)
        assert resized.spatial_shape == transform.resized_shape

    assert np.abs(errors).max() <= _HALF
    assert np.abs(np.mean(errors, axis=0)).max() < 0.06


@pytest.mark.parametrize("way", _WAYS)
def test_a_mask_of_a_resized_picture_comes_back_to_where_it_was(way: str) -> None:
    for box, resized, transform in _boxed(way, 350):
        height, width = transform.original_shape
        everywhere = np.array([[0, 0, width, height]], np.float32)

        seen = resized.array[..., 0] > 0.5
        # All across the picture and all down, so that an edge is not weakened by the one beside it.
        across, down = np.zeros_like(seen), np.zeros_like(seen)
        across[seen.any(axis=1)], down[:, seen.any(axis=0)] = True, True

        rows, columns = project_masks(np.stack([across, down]), everywhere.repeat(2, axis=0), transform)

        found = _around((rows & columns) > 0)
        # Half a pixel of the resized picture, and half a pixel of the original, which is or is not in it.
        most = _HALF / _gain(transform, (height, width)) + 0.5
        assert (np.abs(found - box) <= most).all()


@pytest.mark.parametrize("way", _WAYS)
def test_a_mask_of_a_box_comes_back_to_the_whole_pixels_that_it_touches(way: str) -> None:
    for _, resized, transform in _boxed(way, 350):
        height, width = transform.original_shape
        seen = _around(resized.array[..., 0] > 0.5).astype(int).tolist()
        sides = (width, height, width, height)
        corners = [
            (Fraction(at) - int(transform.pad[axis % 2]))
            * sides[axis]
            / transform.content_shape[1 - axis % 2]
            for axis, at in enumerate(seen)
        ]
        left, top, right, bottom = (
            min(max(math.floor(at) if axis < 2 else math.ceil(at), 0), sides[axis])
            for axis, at in enumerate(corners)
        )

        (back,) = project_roi_masks(np.ones((1, 14, 14)), np.array([seen], np.float32), transform)

        assert _around(back).tolist() == [left, top, right, bottom]
        assert back.sum() == (right - left) * (bottom - top)


@pytest.mark.parametrize("cell", [1, 8])
@pytest.mark.parametrize("way", _WAYS)
def test_a_density_comes_back_to_where_it_was_with_its_sum(way: str, cell: int) -> None:
    for box, resized, transform in _boxed(way, 100, multiple_of=cell):
        height, width = transform.original_shape
        # The resized picture, added up over the cells of a map.
        grid = resized.array.reshape(resized.height // cell, cell, resized.width // cell, cell)
        density = grid.sum(axis=(1, 3), dtype=np.float64)

        back = project_density(density, transform)

        assert back.shape == (height, width)
        assert back.sum() == pytest.approx(density.sum(), rel=1e-6)
        found = [
            back.sum(axis=0) @ (np.arange(width) + 0.5) / back.sum(),
            back.sum(axis=1) @ (np.arange(height) + 0.5) / back.sum(),
        ]
        # What lies in a cell may lie anywhere in it, and a pixel of the original likewise.
        most = _HALF * cell / _gain(transform, (height, width))[:2] + 0.5
        assert (np.abs(found - (box[:2] + box[2:]) / 2) <= most).all()


@pytest.mark.parametrize("interpolation", [0, 1, 2, 3, 4])
@pytest.mark.parametrize(("cell", "column"), [(1, 0), (6, 5)])
def test_a_cell_that_reaches_into_the_picture_by_less_than_half_a_pixel_counts_at_the_edge(
    interpolation: int, cell: int, column: int
) -> None:
    # Cells of 8: 2 of the 8 pixels of the first and of the last lie in the picture, whose pixels are 6 wide.
    transform = ResizeTransform((6.0, 8.0), (14.0, 0.0), (2, 6), (16, 64), content_shape=(16, 36))
    density = np.zeros((2, 8), np.float32)
    density[1, cell] = 3

    projected = project_density(density, transform, interpolation)

    assert projected.shape == (2, 6)
    assert projected.sum() == pytest.approx(3)
    assert projected[1, column] == projected.max()
    assert not projected[0].any()


@st.composite
def _axes(draw: st.DrawFn) -> tuple[int, int, int]:
    """The length of a picture, a tile's side and an overlap that is less."""
    side = draw(st.integers(1, 90))
    overlap = draw(st.integers(0, side - 1))
    return draw(st.integers(1, min(300, overlap + 8 * (side - overlap)))), side, overlap


@settings(max_examples=200)
@given(_axes(), _axes(), st.sampled_from(["inward", "cut"]), st.integers(0, 2**32 - 1))
def test_whatever_the_tiles_what_lies_in_them_comes_home(
    across: tuple[int, int, int], down: tuple[int, int, int], edge: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (down[0], across[0], 1), np.uint8)
    tiles, rects = Tile((across[1], down[1]), (across[2], down[2]), edge=edge)(ImagePayload(pixels))
    found = []
    for tile in tiles:
        corners = np.sort(rng.integers(0, [[tile.width + 1, tile.height + 1]] * 2, (2, 2, 2)), axis=1)
        masks = rng.random((2, tile.height, tile.width)) < 0.5
        arrays = {"boxes": corners.reshape(2, 4), "points": corners, "masks": masks}
        found.append(TensorRegistry({**arrays, "pixels": tile.array[..., 0]}))

    whole = Stitch(points=("points",), masks=("masks",))(found, rects)
    picture = StitchMaps("pixels", stride=1)(found, rects)["pixels"]

    assert np.array_equal(picture, pixels[..., 0])
    assert whole["masks"].shape == (2 * len(tiles), *pixels.shape[:2])
    for at, (rect, registry) in enumerate(zip(rects, found, strict=True)):
        rows = slice(2 * at, 2 * at + 2)
        corner = np.array([rect.x1, rect.y1])
        assert np.array_equal(whole["points"][rows], registry["points"] + corner)
        assert np.array_equal(whole["boxes"][rows], registry["boxes"] + np.tile(corner, 2))
        inside = whole["masks"][rows, rect.y1 : rect.y2, rect.x1 : rect.x2]
        assert np.array_equal(inside, registry["masks"])
        assert whole["masks"][rows].sum() == registry["masks"].sum()


def _seen_in(resized: ImagePayload, transform: ResizeTransform) -> TensorRegistry:
    """What a model would find: the white box of a picture, with its corners and middle as keypoints."""
    white = resized.array[..., 0] > 0.5
    boxes = np.zeros((0, 4)) if not white.any() else _around(white)[None]
    left, top, right, bottom = boxes.T
    points = np.stack([boxes[:, :2], boxes[:, 2:], np.stack([left + right, top + bottom], 1) / 2], axis=1)
    # What a tile cut off is found with less certainty.
    start, end = np.array(transform.pad), transform.pad + np.array(transform.content_shape[::-1])
    free = ((boxes[:, :2] >= start + 1) & (boxes[:, 2:] <= end - 1)).all(axis=1)
    arrays = {"boxes": boxes, "landmarks": points, "scores": np.where(free, 0.9, 0.5)}
    arrays = {name: array.astype(np.float32) for name, array in arrays.items()}
    return TensorRegistry({**arrays, "classes": np.zeros(len(boxes), np.int64)})


@pytest.mark.parametrize(
    "merging", [NMM("landmarks", metric="ios"), NMS(aligned=("landmarks",), conf_threshold=0)]
)
@pytest.mark.parametrize("way", _WAYS)
def test_keypoints_go_with_their_boxes_through_tiles_and_projections(way: str, merging: Any) -> None:
    rng = np.random.default_rng(0)
    resize = Resize(**{"target_size": (70, 90), "pad_value": 0, **_WAYS[way]})
    pipeline = Pipeline([
        Tile((100, 80), (40, 40)), Store("rects", source=1), Pick(0),
        PerItem(), resize, Store("transform", source=1), _seen_in,
        Recall("transform"), ProjectBoxes(), Recall("transform"), ProjectPoints(), CollectItems(),
        Recall("rects"), Stitch("scores", "classes", points=("landmarks",)), merging,
    ])  # fmt: skip

    for _ in range(60):
        # Smaller than the overlap, so that one tile at least holds all of it.
        size = rng.integers(10, 37, 2)
        corner = rng.integers(2, np.array([298, 258]) - size)
        box = np.array([*corner, *(corner + size)])
        pixels = np.zeros((260, 300, 1), np.float32)
        pixels[box[1] : box[3], box[0] : box[2]] = 1

        found = pipeline(ImagePayload(pixels))

        best = int(found["scores"].argmax())
        corners = box.reshape(2, 2)
        # Where a tile is made smaller, a pixel of it is more than one of the picture.
        most = _HALF * max(1, 100 / 90, 80 / 70)
        assert np.abs(found["landmarks"][best, :2] - corners).max() <= most
        assert np.abs(found["landmarks"][best, 2] - corners.mean(axis=0)).max() <= most
