"""Tiles' maps become the whole picture's map: no seam, no dim border, and with a real net no difference."""

from __future__ import annotations

from functools import cache
from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes._demo.assets import ASTRONAUT, CENTERFACE, find_asset
from ml_pipes.errors import MissingNameError
from ml_pipes.onnx import Extract, Infer
from ml_pipes.tensor import TensorRegistry
from ml_pipes.tensor.types import Array
from ml_pipes.vision import Decode, DecodeCenterFace, ImagePayload, Normalize
from ml_pipes.vision.stitch_maps import StitchMaps, stitch_maps
from ml_pipes.vision.tiling import Tile, TileRect, tile_rects

MAPS = ("heatmap", "scale", "offset", "landmarks")


@given(
    st.tuples(st.integers(1, 90), st.integers(1, 90)),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.tuples(st.floats(0, 0.99), st.floats(0, 0.99)),
    st.sampled_from(["inward", "cut"]),
)
def test_what_was_cut_into_tiles_is_whole_again(
    size_wh: tuple[int, int], slice_wh: tuple[int, int], parts: tuple[float, float], edge: Any
) -> None:
    overlap_wh = int(slice_wh[0] * parts[0]), int(slice_wh[1] * parts[1])
    pixels = np.random.default_rng(0).random((size_wh[1], size_wh[0], 3), np.float32)

    tiles, rects = Tile(slice_wh, overlap_wh, edge=edge)(ImagePayload(pixels))
    arrays = [tile.array for tile in tiles]

    whole = stitch_maps(arrays, rects, channels_last=True)
    assert np.array_equal(whole, pixels)
    assert whole.flags.c_contiguous
    planes = stitch_maps([array.transpose(2, 0, 1) for array in arrays], rects)
    assert np.array_equal(planes, pixels.transpose(2, 0, 1))
    assert np.array_equal(stitch_maps([array[..., 0] for array in arrays], rects), pixels[..., 0])


@pytest.mark.parametrize("dtype", ["uint8", "bool", "float16", "float32", "int64"])
def test_a_constant_map_stays_constant_to_the_corner_and_keeps_its_dtype(dtype: str) -> None:
    rects = tile_rects((100, 80), (48, 32), (20, 8))
    maps = [np.ones((1, 8, 12), dtype) for _ in rects]

    whole = stitch_maps(maps, rects, 4)

    assert whole.shape == (1, 20, 25)
    assert whole.dtype == dtype
    assert (whole == 1).all()


def test_each_cell_comes_from_the_tile_with_the_nearest_centre() -> None:
    rects = [TileRect(0, 0, 8, 2), TileRect(4, 0, 12, 2), TileRect(8, 0, 16, 2)]

    whole = stitch_maps([np.full((2, 8), at) for at in range(3)], rects)

    assert whole[0].tolist() == [0] * 6 + [1] * 4 + [2] * 6


def test_of_equals_the_earlier_tile_wins() -> None:
    rects = [TileRect(0, 0, 6, 1), TileRect(3, 0, 9, 1)]
    maps = [np.full((1, 6), at) for at in range(2)]

    assert stitch_maps(maps, rects).tolist() == [[0, 0, 0, 0, 0, 1, 1, 1, 1]]
    assert stitch_maps(maps[::-1], rects[::-1]).tolist() == [[0, 0, 0, 0, 1, 1, 1, 1, 1]]


def test_where_a_tile_ends_with_the_picture_there_is_no_cut() -> None:
    rects = [TileRect(0, 0, 4, 8), TileRect(0, 4, 4, 12)]

    whole = stitch_maps([np.full((8, 4), at) for at in range(2)], rects)

    assert whole.tolist() == [[0] * 4] * 6 + [[1] * 4] * 6


@given(st.integers(0, 2**32 - 1))
def test_each_cell_is_that_of_the_tile_whose_cut_is_farthest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    width, height = rng.integers(20, 60, 2).tolist()
    rects = tile_rects((width, height), (16, 12), tuple(rng.integers(0, 12, 2).tolist()))

    whole = stitch_maps([np.full((r.y2 - r.y1, r.x2 - r.x1), at) for at, r in enumerate(rects)], rects)

    for y, x in rng.integers(0, (height, width), (40, 2)).tolist():
        assert whole[y, x] == _farthest(rects, x + 0.5, y + 0.5, width, height)


def _farthest(rects: list[TileRect], x: float, y: float, width: int, height: int) -> int:
    """The definition for one cell; the earliest of equals."""
    far = [-1.0] * len(rects)
    for at, rect in enumerate(rects):
        if rect.x1 < x < rect.x2 and rect.y1 < y < rect.y2:
            cuts = [x - rect.x1] * (rect.x1 > 0) + [rect.x2 - x] * (rect.x2 < width)
            cuts += [y - rect.y1] * (rect.y1 > 0) + [rect.y2 - y] * (rect.y2 < height)
            far[at] = min(cuts, default=float("inf"))
    return far.index(max(far))


def test_tiles_that_are_no_multiple_of_the_stride_have_cells_rounded_up_or_down() -> None:
    rects = [TileRect(0, 0, 16, 10), TileRect(8, 0, 22, 10)]

    up = stitch_maps([np.zeros((3, 4)), np.zeros((3, 4))], rects, 4)
    down = stitch_maps([np.zeros((2, 4)), np.zeros((2, 3))], rects, 4)

    assert up.shape == (3, 6)
    assert down.shape == (2, 5)


def test_the_operator_stitches_the_named_maps_alone_and_changes_none() -> None:
    rects = tile_rects((64, 32), (48, 32), (32, 0))
    parts = [
        TensorRegistry(
            {"heat": np.full((1, 1, 8, 12), at), "size": np.zeros((1, 2, 8, 12)), "more": np.ones(at)}
        )
        for at in range(2)
    ]
    for part in parts:
        part["heat"].flags.writeable = False

    whole = StitchMaps("heat", "size", stride=4)(parts, rects)

    assert list(whole) == ["heat", "size"]
    assert whole["heat"].shape == (1, 1, 8, 16)
    assert whole["heat"][0, 0, 0].tolist() == [0] * 8 + [1] * 8
    assert whole["size"].shape == (1, 2, 8, 16)


_RECT = TileRect(0, 0, 8, 8)
_MAP = np.zeros((1, 2, 2))


@pytest.mark.parametrize(
    ("maps", "rects", "how", "message"),
    [
        ([_MAP], [_RECT] * 2, {}, "wanted one map per TileRect, got 1 for 2 tiles"),
        ([], [], {}, "wanted at least one tile, got none"),
        (
            [_MAP] * 2,
            [_RECT, TileRect(6, 0, 14, 8)],
            {},
            r"start at multiples of the net's stride 4, got TileRect\(x1=6, .*\) for tile 1; make the sides",
        ),
        (
            [_MAP] * 2,
            [_RECT, TileRect(4, 0, 12, 8)],
            {"multiple_of": 8},
            r"start at multiples of the net's stride 8, got TileRect\(x1=4, .*\) for tile 1",
        ),
        (
            [_MAP, np.zeros((2, 2, 2))],
            [_RECT, TileRect(8, 0, 16, 8)],
            {},
            r"must be \(..., h, w\), alike but for h and w, got \(1, 2, 2\) for tile 0 and \(2, 2, 2\) for",
        ),
        ([np.zeros(4)], [_RECT], {}, r"must be \(..., h, w\), .* and \(4,\) for tile 0"),
        ([np.zeros((2, 2))], [_RECT], {"channels_last": True}, r"must be \(..., h, w, C\), .* and \(2, 2\)"),
        ([np.zeros((3, 2))], [_RECT], {}, "must have a cell for each 4 pixels, got 3 rows and 2 columns"),
        (
            [_MAP] * 2,
            [_RECT, TileRect(16, 0, 24, 8)],
            {},
            "no tile covers the pixel x 8, y 0; give all tiles of the picture",
        ),
    ],
)
def test_what_does_not_belong_together_is_an_error(
    maps: list[Array], rects: list[TileRect], how: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^stitch_maps: .*{message}"):
        stitch_maps(maps, rects, 4, **how)


def test_the_operator_names_the_map_and_the_tile_of_an_error() -> None:
    step = StitchMaps("heat", stride=4)

    with pytest.raises(MissingNameError, match=r"StitchMaps: in tile 1: .* no tensor 'heat'"):
        step([TensorRegistry({"heat": _MAP}), TensorRegistry()], [_RECT] * 2)
    with pytest.raises(ValueError, match=r"^StitchMaps: 'heat': stitch_maps: .* got 3 rows and 2 columns"):
        step([TensorRegistry({"heat": np.zeros((3, 2))})], [_RECT])
    with pytest.raises(ValueError, match=r"^StitchMaps: wanted one TensorRegistry per TileRect, got 0 for 1"):
        step([], [_RECT])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"stride": 0}, "stride must be a whole number of 1 or more, got 0"),
        ({"stride": 4.0}, r"stride must be a whole number of 1 or more, got 4\.0"),
        ({"stride": 4, "multiple_of": 6}, "must be a multiple of the stride 4, or None, got 6"),
        ({"stride": 4, "multiple_of": 0}, "must be a multiple of the stride 4, or None, got 0"),
    ],
)
def test_a_wrong_argument_is_refused_when_built(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^StitchMaps: .*{message}"):
        StitchMaps("heat", **arguments)


def test_an_operator_without_a_map_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="StitchMaps: name at least one tensor"):
        StitchMaps(stride=4)


@cache
def _net() -> Infer:
    return Infer(find_asset(CENTERFACE), free_axes=(0, 2, 3), threads=1)


def _maps_of(picture: ImagePayload) -> TensorRegistry:
    return Extract("537", "538", "539", "540", as_=MAPS)(_net()(Normalize(scale=1.0)(picture)))


@cache
def _large() -> tuple[ImagePayload, TensorRegistry]:
    """A photograph at 1920x1440 pixels, and the net's maps of it as a whole."""
    pixels = Decode()(find_asset(ASTRONAUT).read_bytes()).array
    picture = ImagePayload(cv2.resize(pixels, (1920, 1440), interpolation=cv2.INTER_LINEAR))
    return picture, _maps_of(picture)


def _differences(overlap: int) -> tuple[dict[str, float], TensorRegistry]:
    picture, whole = _large()
    tiles, rects = Tile((960, 960), (overlap, overlap))(picture)
    stitched = StitchMaps(*MAPS, stride=4, multiple_of=32)([_maps_of(tile) for tile in tiles], rects)
    return {name: float(np.abs(stitched[name] - whole[name]).max()) for name in MAPS}, stitched


@pytest.mark.models
def test_where_tiles_overlap_more_widely_than_the_net_looks_its_maps_are_those_of_the_whole() -> None:
    # Each cell is at least 320 pixels from a cut.
    differences, _ = _differences(640)

    assert max(differences.values()) < 1e-5


@pytest.mark.models
def test_at_half_a_tiles_overlap_the_same_faces_are_found() -> None:
    # 240 pixels from a cut CenterFace still sees it a little: 0.0018 of the heat.
    differences, stitched = _differences(480)

    assert differences["heatmap"] < 0.003
    ours, owners = (DecodeCenterFace()(maps) for maps in (stitched, _large()[1]))
    assert len(owners["boxes"]) == 1
    np.testing.assert_allclose(ours["boxes"], owners["boxes"], rtol=0, atol=0.01)
    np.testing.assert_allclose(ours["scores"], owners["scores"], rtol=0, atol=1e-5)
