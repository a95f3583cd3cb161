"""Maps of probabilities, drawn by hand, become rectangles; how they grow is checked against points."""

from __future__ import annotations

import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.errors import StepInputError
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision.text import DecodeTextMap, decode_text_map


def bar(height: int = 60, width: int = 100, chance: float = 0.9) -> np.ndarray:
    """A map with one bar: x from 20 to 79, y from 20 to 29."""
    chances = np.zeros((height, width), np.float32)
    chances[20:30, 20:80] = chance
    return chances


def outline(corners: np.ndarray, distance: float) -> np.ndarray:
    """Points around the corners at the distance: their hull is the outline with round corners."""
    turns = np.linspace(0, 2 * math.pi, 720, endpoint=False)
    circle = distance * np.stack([np.cos(turns), np.sin(turns)], axis=1)
    return (corners[:, None] + circle[None]).reshape(-1, 2)


def test_a_bar_grows_by_its_area_over_its_perimeter() -> None:
    # Outline from (20, 20) to (79, 29): sides 59 and 9, d = 59 * 9 * 1.6 / 136 = 6.247.
    found = decode_text_map(bar(), dilate=False, whole=False)

    expected = [[13.753, 13.753], [85.247, 13.753], [85.247, 35.247], [13.753, 35.247]]
    np.testing.assert_allclose(found.quads, [expected], rtol=0, atol=1e-3)
    np.testing.assert_allclose(found.scores, [0.9], rtol=0, atol=1e-6)


def test_in_whole_pixels_the_grown_corners_are_whole() -> None:
    found = decode_text_map(bar(), dilate=False)

    expected = [[14, 14], [85, 14], [85, 35], [14, 35]]
    np.testing.assert_allclose(found.quads, [expected], rtol=0, atol=1e-4)


def test_a_dilated_bar_is_a_pixel_longer_to_the_right_and_below() -> None:
    found = decode_text_map(bar(), unclip_ratio=0, whole=False)

    np.testing.assert_allclose(found.quads, [[[20, 20], [80, 20], [80, 30], [20, 30]]], atol=1e-4)


def test_dilation_joins_what_a_pixel_keeps_apart() -> None:
    chances = bar()
    chances[:, 50] = 0

    joined, apart = decode_text_map(chances), decode_text_map(chances, dilate=False)

    assert len(joined.quads) == 1
    assert len(apart.quads) == 2


def test_the_rows_that_dilation_adds_count_for_the_score() -> None:
    # 61 x 11 pixels, of which 60 x 10 hold 0.9.
    found = decode_text_map(bar())

    np.testing.assert_allclose(found.scores, [0.9 * 600 / 671], rtol=1e-5)


def test_a_tilted_bar_keeps_its_tilt() -> None:
    chances = np.zeros((200, 300), np.float32)
    drawn = cv2.boxPoints(((150.0, 100.0), (160.0, 20.0), 20.0))
    cv2.fillPoly(chances, [drawn.astype(np.int32)], (1.0,))

    (quad,), _ = decode_text_map(chances, dilate=False, whole=False)

    across = quad[1] - quad[0]
    assert math.degrees(math.atan2(across[1], across[0])) == pytest.approx(20, abs=1)
    # d = 160 * 20 * 1.6 / 360 = 14.2 on each side.
    assert math.hypot(*across) == pytest.approx(188.4, abs=3)


def test_a_bar_of_little_probability_is_left_out() -> None:
    faint = decode_text_map(bar(chance=0.49), dilate=False)
    clear = decode_text_map(bar(chance=0.51), dilate=False)

    assert len(faint.quads) == 0
    assert len(clear.quads) == 1


def test_a_bar_that_is_thinner_than_the_shortest_side_is_left_out() -> None:
    chances = np.zeros((60, 100), np.float32)
    chances[20:23, 20:80] = 1  # three pixels are an outline two high

    assert len(decode_text_map(chances, dilate=False).quads) == 0
    assert len(decode_text_map(chances, dilate=False, min_side=2).quads) == 1


def test_a_bar_that_has_not_grown_by_two_is_left_out() -> None:
    # Sides 59 and 9; with a ratio of 0 it stays 9 high, and 7.5 + 2 is more.
    kept = decode_text_map(bar(), dilate=False, unclip_ratio=0, min_side=7)
    gone = decode_text_map(bar(), dilate=False, unclip_ratio=0, min_side=7.5)

    assert (len(kept.quads), len(gone.quads)) == (1, 0)


def test_no_more_outlines_are_looked_at_than_are_wanted() -> None:
    chances = np.zeros((60, 300), np.float32)
    for left in (20, 120, 220):
        chances[20:30, left : left + 60] = 1

    assert len(decode_text_map(chances).quads) == 3
    assert len(decode_text_map(chances, max_candidates=2).quads) == 2


def test_a_bar_at_the_edge_is_scored_by_the_pixels_that_are_there() -> None:
    chances = np.zeros((40, 40), np.float32)
    chances[:, 30:] = 0.8

    found = decode_text_map(chances)

    np.testing.assert_allclose(found.scores, [0.8], atol=1e-6)
    assert found.quads[0, 1, 0] > 39


@pytest.mark.parametrize("shape", [(40, 50), (1, 40, 50), (1, 1, 40, 50)])
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.uint8, np.bool_])
def test_a_map_without_text_gives_empty_arrays_of_the_usual_kinds(shape, dtype) -> None:
    found = decode_text_map(np.zeros(shape, dtype))

    assert (found.quads.shape, found.quads.dtype) == ((0, 4, 2), np.float32)
    assert (found.scores.shape, found.scores.dtype) == ((0,), np.float32)


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (1, 1, 0, 0)])
def test_a_map_without_pixels_has_no_text(shape) -> None:
    assert decode_text_map(np.zeros(shape, np.float32)).quads.shape == (0, 4, 2)


@pytest.mark.parametrize("dtype", [np.float16, np.float64])
def test_other_floats_give_what_float32_gives(dtype) -> None:
    expected = decode_text_map(bar(chance=0.75))

    found = decode_text_map(bar(chance=0.75).astype(dtype))

    np.testing.assert_array_equal(found.quads, expected.quads)
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_nan_counts_as_no_text_and_does_not_touch_other_text() -> None:
    chances = np.zeros((60, 300), np.float32)
    chances[20:30, 20:80] = 0.9
    chances[20:30, 120:180] = np.nan
    chances[25, 50] = np.nan

    found = decode_text_map(chances, dilate=False)

    assert len(found.quads) == 1
    np.testing.assert_allclose(found.scores, [0.9 * 599 / 600], rtol=1e-5)


def test_values_beyond_float32_have_no_warning() -> None:
    chances = np.where(bar() > 0, 1e300, 0.0)

    assert decode_text_map(chances, dilate=False).scores.tolist() == [np.inf]


def test_the_map_is_not_written_to_and_gives_the_same_twice() -> None:
    chances = bar()
    chances.flags.writeable = False

    once, again = decode_text_map(chances), decode_text_map(chances)

    np.testing.assert_array_equal(once.quads, again.quads)


@given(
    width=st.floats(3, 400),
    height=st.floats(3, 120),
    degrees=st.floats(-90, 90),
    ratio=st.floats(0.1, 3),
)
def test_the_smallest_rectangle_around_a_round_offset_has_the_same_axes(
    width, height, degrees, ratio
) -> None:
    corners = cv2.boxPoints(((500.0, 500.0), (width, height), degrees)).astype(np.float64)
    distance = width * height * ratio / (2 * (width + height))
    points = outline(corners, distance)

    def area(turn: float) -> float:
        along = points @ np.array([math.cos(turn), math.sin(turn)])
        across = points @ np.array([-math.sin(turn), math.cos(turn)])
        return float(np.ptp(along) * np.ptp(across))

    claimed = (width + 2 * distance) * (height + 2 * distance)
    assert area(math.radians(degrees)) == pytest.approx(claimed, rel=1e-3)
    assert min(area(turn) for turn in np.linspace(0, math.pi / 2, 46)) >= claimed * (1 - 1e-3)


@given(
    width=st.integers(12, 200), height=st.integers(5, 60), degrees=st.floats(-40, 40), ratio=st.floats(0.5, 2)
)
def test_whole_pixels_keep_the_middle_to_two_pixels_and_the_extent_to_eight(
    width, height, degrees, ratio
) -> None:
    chances = np.zeros((400, 400), np.float32)
    drawn = cv2.boxPoints(((200.0, 200.0), (float(max(width, 2 * height)), float(height)), degrees))
    cv2.fillPoly(chances, [drawn.astype(np.int32)], (1.0,))

    whole = decode_text_map(chances, unclip_ratio=ratio).quads
    exact = decode_text_map(chances, unclip_ratio=ratio, whole=False).quads

    # Whole numbers turn a short rectangle, but hardly move or stretch it.
    np.testing.assert_allclose(whole.mean(axis=1), exact.mean(axis=1), rtol=0, atol=2)
    np.testing.assert_allclose(np.ptp(whole, axis=1), np.ptp(exact, axis=1), rtol=0, atol=8)


def test_a_sliver_whose_whole_corners_meet_grows_exactly() -> None:
    chances = np.zeros((8, 8), np.float32)
    chances[[4, 5, 5], [5, 3, 4]] = 1
    options = {"unclip_ratio": 20, "min_side": 0, "score_threshold": 0, "dilate": False}

    whole, exact = decode_text_map(chances, **options), decode_text_map(chances, **options, whole=False)

    assert len(exact.quads) == 1
    np.testing.assert_array_equal(whole.quads, exact.quads)


def test_the_operator_adds_quadrilaterals_and_scores_to_the_registry() -> None:
    tensors = TensorRegistry({"map": bar()[None, None]})

    found = DecodeTextMap(as_=("lines", "chances"))(tensors)

    assert list(found) == ["map", "lines", "chances"]
    assert list(tensors) == ["map"]
    np.testing.assert_array_equal(found["lines"], decode_text_map(bar()).quads)


def test_the_operator_passes_each_option_on() -> None:
    step = DecodeTextMap("m", 0.2, 0.4, 1.0, 5.0, 7, dilate=False, whole=False)

    found = step(TensorRegistry({"m": bar(chance=0.45)}))

    expected = decode_text_map(bar(chance=0.45), 0.2, 0.4, 1.0, 5.0, 7, dilate=False, whole=False)
    assert len(expected.quads) == 1
    np.testing.assert_array_equal(found["quads"], expected.quads)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.5}, "DecodeTextMap: threshold must be 0 to 1, got 1.5"),
        ({"score_threshold": math.nan}, "score_threshold must be 0 to 1, got nan"),
        ({"unclip_ratio": -1}, "unclip_ratio must be a number of 0 or more, got -1"),
        ({"min_side": math.inf}, "min_side must be a number of 0 or more, got inf"),
        ({"max_candidates": -1}, "max_candidates must be a whole number, 0 or more, got -1"),
        ({"as_": "quads"}, "as_ must be two names, of quads and of scores, got 'quads'"),
        ({"as_": ("a", "a")}, "each output needs a name of its own, got 'a', 'a'"),
    ],
)
def test_a_wrong_option_is_refused_when_built(options, message) -> None:
    with pytest.raises(ValueError, match=message):
        DecodeTextMap(**options)


@pytest.mark.parametrize("shape", [(5,), (2, 1, 5, 5), (1, 2, 5, 5), (3, 5, 5)])
def test_a_map_of_another_shape_is_refused_with_the_way_out(shape) -> None:
    with pytest.raises(ValueError, match=r"that of one picture, got \(.*; after a batch, Distribute\(\)"):
        decode_text_map(np.zeros(shape, np.float32))


def test_another_value_is_refused() -> None:
    with pytest.raises(StepInputError, match="DecodeTextMap: wanted a TensorRegistry, got ndarray"):
        DecodeTextMap()(bar())
