"""Quadrilaterals in order, on their way back and as they are read; oracles in plain Python."""

from __future__ import annotations

import math
from itertools import permutations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import ResizeTransform
from ml_pipes.vision.text import (
    ProjectQuads,
    SortQuads,
    order_corners,
    project_quads,
    quad_sides,
    reading_order,
)

SQUARE = [[10, 20], [40, 20], [40, 30], [10, 30]]
HALF = ResizeTransform(scale=(0.5, 0.25), pad=(2, 4), original_shape=(80, 100), resized_shape=(24, 54))


def at(left: float, top: float) -> list[list[float]]:
    """A quadrilateral, 20 wide and 10 high."""
    return [[left, top], [left + 20, top], [left + 20, top + 10], [left, top + 10]]


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_corners_in_any_order_are_put_in_order(order) -> None:
    shuffled = np.array([[[1.0, 2.0], [9.0, 1.0], [8.0, 6.0], [0.0, 7.0]]])[:, list(order)]

    ordered = order_corners(shuffled)

    assert ordered.tolist() == [[[1.0, 2.0], [9.0, 1.0], [8.0, 6.0], [0.0, 7.0]]]


@given(st.floats(-44, 44), st.floats(30, 200), st.floats(2, 20))
def test_the_corners_of_a_tilted_rectangle_go_around_clockwise(degrees, width, height) -> None:
    drawn = cv2.boxPoints(((0.0, 0.0), (width, height), degrees))[None]

    (quad,) = order_corners(drawn)

    area = sum(
        one[0] * other[1] - other[0] * one[1]
        for one, other in zip(quad, np.roll(quad, -1, axis=0), strict=True)
    )
    assert area / 2 == pytest.approx(width * height, rel=1e-3)


@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.float16, np.float32, np.float64])
def test_ordering_keeps_the_dtype_and_an_empty_list(dtype) -> None:
    assert order_corners(np.array([SQUARE], dtype)).dtype == dtype
    assert order_corners(np.empty((0, 4, 2), dtype)).shape == (0, 4, 2)


def test_sides_go_around_from_the_top() -> None:
    quads = np.array([[[0, 0], [3, 4], [3, 10], [0, 10]], SQUARE], np.uint8)

    assert quad_sides(quads).tolist() == [[5, 6, 3, 10], [30, 10, 30, 10]]


def test_corners_without_end_have_no_warning() -> None:
    far = np.array([[[-1e308, 0], [1e308, 0], [1e308, 1e308], [-1e308, 1e308]]])

    assert np.isnan(quad_sides(np.full((1, 4, 2), np.inf))).all()
    assert quad_sides(far)[0].tolist() == [np.inf, 1e308, np.inf, 1e308]
    assert reading_order(np.concatenate([far, -far])).tolist() == [0, 1]


def test_quadrilaterals_go_back_the_way_the_picture_came() -> None:
    # x = (8 - 2) / 0.5 = 12, y = (9 - 4) / 0.25 = 20
    quads = np.array([[[8, 9], [20, 9], [20, 12], [8, 12]]], np.float32)

    projected = project_quads(quads, HALF)

    assert projected.tolist() == [[[12, 20], [36, 20], [36, 32], [12, 32]]]
    assert projected.dtype == np.float32


def test_whole_pixels_end_at_the_last_one_and_fractions_at_the_edge() -> None:
    quads = np.array([[[-9, -9], [99.3, -9], [99.3, 99.3], [-9, 99.3]]], np.float64)

    assert project_quads(quads, HALF)[0, 2].tolist() == [99, 79]
    assert project_quads(quads, HALF, whole=False)[0, 2].tolist() == [100, 80]
    assert project_quads(quads, HALF)[0, 0].tolist() == [0, 0]


def test_fractions_stay_where_no_whole_pixels_are_wanted() -> None:
    quads = np.array([[[8.1, 9], [20, 9], [20, 12], [8, 12]]], np.float64)

    assert project_quads(quads, HALF, whole=False)[0, 0, 0] == pytest.approx(12.2)


def test_nan_stays_nan_without_a_warning() -> None:
    projected = project_quads(np.full((1, 4, 2), np.nan, np.float32), HALF)

    assert np.isnan(projected).all()


def test_lines_are_read_from_left_to_right_and_from_top_to_bottom() -> None:
    quads = np.array([at(60, 53), at(0, 50), at(70, 2), at(0, 9), at(35, 0)], np.float32)

    assert reading_order(quads).tolist() == [3, 4, 2, 1, 0]


def test_a_gap_of_exactly_ten_starts_a_new_line() -> None:
    same, new = np.array([at(50, 0), at(0, 9.5)]), np.array([at(50, 0), at(0, 10)])

    assert reading_order(same).tolist() == [1, 0]
    assert reading_order(new).tolist() == [0, 1]


def test_small_gaps_in_a_row_stay_one_line() -> None:
    stairs = np.array([at(60, 0), at(40, 9), at(20, 18), at(0, 27)])

    assert reading_order(stairs).tolist() == [3, 2, 1, 0]


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), max_size=12), st.integers(1, 20))
def test_the_order_is_that_of_a_walk_from_line_to_line(corners, gap) -> None:
    rows = sorted(range(len(corners)), key=lambda row: corners[row][1])
    expected: list[int] = []
    line: list[int] = []
    for row in rows:
        if line and corners[row][1] - corners[line[-1]][1] >= gap:
            expected += sorted(line, key=lambda row: corners[row][0])
            line = []
        line.append(row)
    expected += sorted(line, key=lambda row: corners[row][0])

    quads = np.array([at(*corner) for corner in corners], np.float64).reshape(-1, 4, 2)

    assert reading_order(quads, gap).tolist() == expected


def test_unsigned_corners_do_not_wrap_and_nan_comes_last() -> None:
    unsigned = np.array([at(0, 200), at(0, 0)], np.uint8)
    numberless = np.array([at(math.nan, math.nan), at(0, 5)])

    assert reading_order(unsigned).tolist() == [1, 0]
    assert reading_order(numberless).tolist() == [1, 0]


def test_projecting_drops_what_is_too_small_with_its_score() -> None:
    quads = np.array([[[8, 9], [9.5, 9], [9.5, 12], [8, 12]], [[8, 9], [20, 9], [20, 12], [8, 12]]])
    tensors = TensorRegistry({"quads": quads, "scores": np.array([0.9, 0.8]), "other": np.zeros(5)})

    projected = ProjectQuads()(tensors, HALF)

    assert projected["quads"].tolist() == [[[12, 20], [36, 20], [36, 32], [12, 32]]]
    assert projected["scores"].tolist() == [0.8]
    assert projected["other"] is tensors["other"]
    assert len(tensors["quads"]) == 2


def test_sorting_takes_the_scores_along() -> None:
    tensors = TensorRegistry({"quads": np.array([at(0, 50), at(0, 0)]), "scores": np.array([0.1, 0.2])})

    assert SortQuads()(tensors)["scores"].tolist() == [0.2, 0.1]


def test_steps_keep_empty_lists_as_they_are() -> None:
    tensors = TensorRegistry({"quads": np.empty((0, 4, 2), np.float32), "scores": np.empty(0, np.float32)})

    found = SortQuads()(ProjectQuads()(tensors, HALF))

    assert (found["quads"].shape, found["quads"].dtype) == ((0, 4, 2), np.float32)
    assert found["scores"].dtype == np.float32


@pytest.mark.parametrize("function", [order_corners, quad_sides, reading_order])
@pytest.mark.parametrize("shape", [(4, 2), (1, 4), (1, 4, 3), (1, 8)])
def test_other_shapes_are_refused(function, shape) -> None:
    with pytest.raises(ValueError, match=r"quadrilaterals must be \(N, 4, 2\) x, y, got \("):
        function(np.zeros(shape))


@pytest.mark.parametrize(
    ("kind", "options", "error", "message"),
    [
        (SortQuads, {"aligned": "scores"}, TypeError, r"got 'scores'; write \('scores',\)"),
        (ProjectQuads, {"aligned": "scores"}, TypeError, "ProjectQuads: aligned must be a tuple of names"),
        (SortQuads, {"line_gap": 0}, ValueError, "SortQuads: line_gap must be above 0, got 0"),
        (ProjectQuads, {"min_side": math.nan}, ValueError, "min_side must be a number of 0 or more, got nan"),
    ],
)
def test_a_wrong_option_is_refused_when_built(kind, options, error, message) -> None:
    with pytest.raises(error, match=message):
        kind(**options)


def test_scores_of_another_number_are_refused() -> None:
    tensors = TensorRegistry({"quads": np.array([at(0, 0)]), "scores": np.zeros(2)})

    with pytest.raises(ValueError, match="SortQuads: 'scores' of shape"):
        SortQuads()(tensors)
