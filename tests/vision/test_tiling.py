"""Tiles cover a picture, none is a sliver, and what is found in them comes home."""

from __future__ import annotations

import json
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.core import Pipeline
from ml_pipes.errors import MissingNameError, StepInputError
from ml_pipes.standard import Gather, Pick, Recall, Scatter, Store
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import ImagePayload
from ml_pipes.vision.tiling import Stitch, Tile, TileRect, tile_rects

REFERENCE = json.loads(Path(__file__).with_name("sahi_reference.json").read_text(encoding="utf-8"))

SIDES = st.integers(1, 3000)


@st.composite
def _axes(draw: st.DrawFn) -> tuple[int, int, int]:
    """A length, a tile's side and an overlap that is less."""
    side = draw(st.integers(1, 1000))
    overlap = draw(st.integers(0, side - 1))
    # Not so many tiles that a test takes long.
    length = draw(st.integers(1, min(3000, overlap + 40 * (side - overlap))))
    return length, side, overlap


def _picture(width: int, height: int) -> ImagePayload:
    return ImagePayload(np.random.default_rng(0).integers(0, 256, (height, width, 3), np.uint8))


def _found(boxes: Any, dtype: str = "float32", **more: Any) -> TensorRegistry:
    return TensorRegistry({"boxes": np.array(boxes, dtype).reshape(-1, 4), **more})


@given(_axes(), _axes())
def test_tiles_are_as_many_as_the_formula_says_and_cover_every_pixel(
    across: tuple[int, int, int], down: tuple[int, int, int]
) -> None:
    rects = tile_rects((across[0], down[0]), (across[1], down[1]), (across[2], down[2]))

    columns = sorted({(rect.x1, rect.x2) for rect in rects})
    rows = sorted({(rect.y1, rect.y2) for rect in rects})
    for spans, (length, side, overlap) in ((columns, across), (rows, down)):
        assert len(spans) == max(1, math.ceil((length - overlap) / (side - overlap)))
        assert {end - start for start, end in spans} == {min(side, length)}
        assert (spans[0][0], spans[-1][1]) == (0, length)
        assert all(end - start >= overlap for (_, end), (start, _) in pairwise(spans))
    assert rects == [TileRect(x1, y1, x2, y2) for y1, y2 in rows for x1, x2 in columns]


@given(_axes())
def test_cut_tiles_start_at_each_step_and_end_at_the_edge(axis: tuple[int, int, int]) -> None:
    length, side, overlap = axis

    rects = tile_rects((length, 7), (side, 7), (overlap, 0), edge="cut")

    starts = list(range(0, length, side - overlap))
    assert rects == [TileRect(start, 0, min(start + side, length), 7) for start in starts]


def test_no_tile_is_a_sliver_unless_the_older_rule_is_asked_for() -> None:
    picture = _picture(1920, 1080)

    tiles, rects = Tile((1056, 594), (105, 59))(picture)
    slivers, _ = Tile((1056, 594), (105, 59), edge="cut")(picture)

    assert [tile.size for tile in tiles] == [(1056, 594)] * 4
    assert rects == [
        TileRect(0, 0, 1056, 594),
        TileRect(864, 0, 1920, 594),
        TileRect(0, 486, 1056, 1080),
        TileRect(864, 486, 1920, 1080),
    ]
    assert len(slivers) == 9
    assert slivers[-1].size == (18, 10)


@pytest.mark.parametrize("edge", ["inward", "cut"])
def test_a_picture_smaller_than_a_tile_is_one_tile_of_its_own_size(edge: Any) -> None:
    picture = _picture(300, 200)

    tiles, rects = Tile((640, 640), edge=edge)(picture)

    assert rects == [TileRect(0, 0, 300, 200)]
    assert tiles == [picture]
    assert Stitch()([_found([[1, 2, 3, 4]])], rects)["boxes"].tolist() == [[1, 2, 3, 4]]


@pytest.mark.parametrize("case", REFERENCE["slices"], ids=lambda case: str(case["given"]))
def test_tiles_are_those_of_sahi(case: dict[str, Any]) -> None:
    width, height, slice_width, slice_height, ratio = case["given"]
    overlap = int(ratio * slice_width), int(ratio * slice_height)

    rects = tile_rects((width, height), (slice_width, slice_height), overlap)

    assert [[rect.x1, rect.y1, rect.x2, rect.y2] for rect in rects] == case["slices"]


def test_tiles_are_views_that_keep_colours_and_a_single_channel() -> None:
    pixels = np.arange(30, dtype=np.uint16).reshape(5, 6, 1)
    pixels.flags.writeable = False
    picture = ImagePayload(pixels, "GRAY")

    tiles, rects = Tile((4, 3), (1, 1))(picture)

    assert len(tiles) == 4
    for tile, rect in zip(tiles, rects, strict=True):
        assert np.shares_memory(tile.array, pixels)
        assert (tile.color_space, tile.layout, tile.dtype, tile.shape) == ("GRAY", "HWC", "uint16", (3, 4, 1))
        assert np.array_equal(tile.array, pixels[rect.y1 : rect.y2, rect.x1 : rect.x2])


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (ImagePayload(np.zeros((3, 4, 5)), layout="CHW"), r"must be HWC, got CHW of shape \(3, 4, 5\)"),
        (ImagePayload(np.zeros((4, 5))), r"must be HWC, got HWC of shape \(4, 5\)"),
        (ImagePayload(np.zeros((0, 5, 3))), r"has no pixels, its shape is \(0, 5, 3\)"),
    ],
)
def test_a_picture_that_cannot_be_cut_is_an_error(picture: ImagePayload, message: str) -> None:
    step = Tile((2, 2))

    with pytest.raises(ValueError, match=f"^Tile: the picture {message}"):
        step(picture)


def test_what_is_no_picture_is_refused() -> None:
    step = Tile((2, 2))

    with pytest.raises(StepInputError, match=r"^Tile: wanted an ImagePayload, got bytes; Decode\(\)"):
        step(b"")


@pytest.mark.parametrize("slice_wh", [(0, 5), (5, -1), (5,), (5.0, 5), 5, (1, 2, 3)])
def test_a_wrong_size_is_refused_when_built(slice_wh: Any) -> None:
    with pytest.raises(ValueError, match=r"^Tile: slice_wh must be \(width, height\), whole pixels of 1 or"):
        Tile(slice_wh)


@pytest.mark.parametrize("overlap_wh", [(4, 0), (0, 5), (-1, 0), (0.5, 0), 1])
def test_a_wrong_overlap_is_refused_when_built(overlap_wh: Any) -> None:
    with pytest.raises(ValueError, match=r"less than slice_wh \(4, 5\), got "):
        Tile((4, 5), overlap_wh)


def test_a_wrong_edge_and_a_picture_without_a_side_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Tile: edge must be one of inward, cut, got 'pad'"):
        Tile((4, 5), edge="pad")  # type: ignore[arg-type] # the mistake that is tested
    with pytest.raises(ValueError, match=r"^tile_rects: the picture has no pixels, .* are \(0, 5\)"):
        tile_rects((0, 5), (4, 5))


@given(
    st.integers(0, 2**32 - 1), st.integers(20, 400), st.integers(20, 400), st.sampled_from(["inward", "cut"])
)
def test_boxes_points_and_masks_of_tiles_come_home(seed: int, width: int, height: int, edge: Any) -> None:
    rng = np.random.default_rng(seed)
    rects = tile_rects((width, height), (90, 70), (30, 20), edge)
    home = np.array([[rect.x1 + 1, rect.y1 + 1, rect.x2, rect.y2] for rect in rects], np.float32)
    points = home.reshape(-1, 2, 2)
    masks = [rng.random((1, rect.y2 - rect.y1, rect.x2 - rect.x1)) < 0.5 for rect in rects]
    origins = np.array([[rect.x1, rect.y1] * 2 for rect in rects], np.float32)
    found = [
        TensorRegistry(
            {
                "boxes": home[at : at + 1] - origins[at],
                "corners": points[at : at + 1] - origins[at, :2],
                "masks": masks[at],
            }
        )
        for at in range(len(rects))
    ]

    stitched = Stitch(points=("corners",), masks=("masks",))(found, rects)

    assert np.array_equal(stitched["boxes"], home)
    assert np.array_equal(stitched["corners"], points)
    assert stitched["masks"].shape == (len(rects), height, width)
    assert stitched["masks"].dtype == np.bool_
    for whole, mask, rect in zip(stitched["masks"], masks, rects, strict=True):
        assert np.array_equal(whole[rect.y1 : rect.y2, rect.x1 : rect.x2], mask[0])
        assert whole.sum() == mask.sum()


def test_the_mask_of_a_smaller_last_tile_is_put_in_its_place() -> None:
    _, rects = Tile((60, 60), edge="cut")(_picture(100, 80))
    mask = np.ones((1, 20, 40), np.uint8)
    none = TensorRegistry({"boxes": np.zeros((0, 4), np.float32), "masks": np.zeros((0, 60, 60), np.uint8)})
    others = [
        none,
        none.replace(masks=np.zeros((0, 60, 40), np.uint8)),
        none.replace(masks=np.zeros((0, 20, 60), np.uint8)),
    ]

    stitched = Stitch(masks=("masks",))([*others, _found([[0, 0, 40, 20]], masks=mask)], rects)

    assert stitched["masks"].shape == (1, 80, 100)
    assert stitched["masks"].sum() == 800
    assert stitched["masks"][0, 60:, 60:].all()
    assert stitched["boxes"].tolist() == [[60, 60, 100, 80]]


def test_what_differs_between_tiles_does_not_hinder() -> None:
    one = _found([[1, 1, 2, 2]], scores=np.array([0.5], np.float32), time=np.zeros(3), tile="left")
    other = _found([[0, 0, 4, 4]] * 2, "float64", scores=np.array([0.25, 0.75]), name=np.zeros((2, 2)))

    stitched = Stitch("scores")([one, other], [TileRect(0, 0, 9, 9), TileRect(5, 7, 14, 16)])

    assert list(stitched) == ["boxes", "scores"]
    assert stitched["boxes"].tolist() == [[1, 1, 2, 2], [5, 7, 9, 11], [5, 7, 9, 11]]
    assert stitched["scores"].tolist() == [0.5, 0.25, 0.75]
    assert one["boxes"].tolist() == [[1, 1, 2, 2]]


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("uint8", "float32"),
        ("int16", "float32"),
        ("float16", "float32"),
        ("float32", "float32"),
        ("int64", "float64"),
    ],
)
def test_small_numbers_do_not_wrap_or_round(dtype: str, expected: str) -> None:
    rect = TileRect(3001, 5003, 3301, 5303)

    moved = Stitch()([_found([[1, 2, 100, 200]], dtype)], [rect])["boxes"]

    assert moved.tolist() == [[3002, 5005, 3101, 5203]]
    assert moved.dtype == expected


def test_tiles_without_boxes_give_none_with_the_usual_shapes_and_dtypes() -> None:
    none = _found(np.zeros((0, 4)), scores=np.zeros(0, np.float32), classes=np.zeros(0, np.int64))

    stitched = Stitch("scores", "classes")([none, none], [TileRect(0, 0, 4, 4), TileRect(4, 0, 8, 4)])

    assert [(stitched[name].shape, str(stitched[name].dtype)) for name in stitched] == [
        ((0, 4), "float32"),
        ((0,), "float32"),
        ((0,), "int64"),
    ]


def test_nan_stays_nan() -> None:
    moved = Stitch()([_found([[np.nan, 1, 2, 3]])], [TileRect(10, 20, 30, 40)])["boxes"]

    np.testing.assert_array_equal(moved, [[np.nan, 21, 12, 23]])


def test_in_a_pipeline_tiles_go_one_by_one_and_come_back_with_their_places() -> None:
    pipeline = Pipeline(
        [
            Tile((40, 40), (10, 10)),
            Store("rects", source=1),
            Pick(0),
            Scatter(max_concurrency=2),
            lambda tile: _found([[0, 0, tile.width, tile.height]]),
            Gather(),
            Recall("rects"),
            Stitch(),
        ]
    )

    with pipeline:
        boxes = pipeline(_picture(100, 50))["boxes"]

    assert boxes.tolist() == [[left, top, left + 40, top + 40] for top in (0, 10) for left in (0, 30, 60)]


_RECT = TileRect(0, 0, 8, 6)


@pytest.mark.parametrize(
    ("step", "registries", "rects", "message"),
    [
        (Stitch(), [_found([])], [_RECT] * 2, r"one TensorRegistry per TileRect, got 1 for 2 tiles"),
        (Stitch(), [], [], r"at least one tile registry, got none"),
        (
            Stitch(),
            [_found([]).replace(boxes=np.zeros(4))],
            [_RECT],
            r"boxes must be \(N, 4\), got \(4,\) in",
        ),
        (
            Stitch("scores"),
            [_found([], scores=np.zeros(0)), _found([[0, 0, 1, 1]], scores=np.zeros(2))],
            [_RECT] * 2,
            r"'scores' of shape \(2,\) must align with boxes, of which tile 1 has 1",
        ),
        (
            Stitch("rows"),
            [_found([[0, 0, 1, 1]], rows=np.zeros((1, many))) for many in (3, 2)],
            [_RECT] * 2,
            r"the rows of 'rows' must have one shape in all tiles, got \(2,\), \(3,\)",
        ),
        (
            Stitch(points=("points",)),
            [_found([[0, 0, 1, 1]], points=np.zeros((1, 5, 3)))],
            [_RECT],
            r"points 'points' must be \(N, ..., 2\) x y, got \(1, 5, 3\) in tile 0",
        ),
        (
            Stitch(masks=("masks",)),
            [_found([[0, 0, 1, 1]], masks=np.zeros((1, 8, 6)))],
            [_RECT],
            r"masks 'masks' must be \(N, 6, 8\) as their tile TileRect\(.*\), got \(1, 8, 6\)",
        ),
    ],
)
def test_what_does_not_belong_together_is_an_error(
    step: Stitch, registries: list[TensorRegistry], rects: list[TileRect], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^Stitch: .*{message}"):
        step(registries, rects)


def test_a_missing_tensor_is_an_error_that_names_the_tile() -> None:
    step = Stitch("scores")

    with pytest.raises(MissingNameError, match=r"Stitch: in tile 1: .* no tensor 'scores'"):
        step([_found([], scores=np.zeros(0)), _found([])], [_RECT, _RECT])


def test_what_is_no_registry_is_an_error_that_names_the_tile() -> None:
    step = Stitch()

    with pytest.raises(
        StepInputError, match=r"^Stitch: wanted a TensorRegistry for each tile, got dict for tile 1"
    ):
        step([_found([]), {}], [_RECT, _RECT])  # type: ignore[list-item] # the mistake that is tested


def test_names_that_cannot_be_meant_are_refused_when_built() -> None:
    with pytest.raises(TypeError, match=r"points must be a tuple of names, got 'eyes'; write \('eyes',\)"):
        Stitch(points="eyes")  # type: ignore[arg-type] # the mistake that is tested
    with pytest.raises(ValueError, match="name each tensor for one purpose, got 'boxes', 'eyes', 'eyes'"):
        Stitch("eyes", points=("eyes",))
