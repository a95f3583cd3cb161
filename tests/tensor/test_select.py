"""Rows that stay, and the order they are in."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.tensor import (
    FilterTensors,
    GatherRows,
    GatherScores,
    SelectTensors,
    SortTensorsBy,
    TensorRegistry,
    TopK,
    TopKIndices2D,
)
from ml_pipes.tensor.select import ranking


def _found() -> TensorRegistry:
    return TensorRegistry(
        {
            "boxes": np.arange(12, dtype=np.float32).reshape(3, 4),
            "scores": np.array([0.2, 0.9, 0.5], np.float32),
            "rows": np.array([2, 0]),
        }
    )


def test_filter_keeps_rows_of_the_named_tensors_only() -> None:
    found = _found()

    kept = FilterTensors("boxes", by="scores", predicate=lambda scores: scores > 0.4)(found)

    assert kept["boxes"].tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]
    assert kept["scores"].shape == (3,)
    assert found["boxes"].shape == (3, 4)


def test_filter_writes_where_it_is_told() -> None:
    step = FilterTensors("boxes", "scores", by="scores", predicate=lambda s: s > 1, as_=("none", "zero"))

    kept = step(_found())

    assert kept["none"].shape == (0, 4)
    assert kept["zero"].shape == (0,)
    assert kept["zero"].dtype == np.float32


def test_filter_by_something_that_is_no_mask_is_an_error() -> None:
    step = FilterTensors("boxes", by="scores", predicate=lambda scores: scores)  # type: ignore[arg-type,return-value] # the mistake

    with pytest.raises(TypeError, match="predicate must give a bool mask of 'scores', got float32"):
        step(_found())


def test_filter_of_a_tensor_with_other_rows_is_an_error() -> None:
    step = FilterTensors("rows", by="scores", predicate=lambda scores: scores > 0)

    with pytest.raises(ValueError, match=r"'rows' of shape \(2,\) does not have the \(3,\) rows"):
        step(_found())


def test_filter_is_checked_when_built() -> None:
    with pytest.raises(ValueError, match="FilterTensors: name at least one tensor"):
        FilterTensors(by="scores", predicate=np.isfinite)
    with pytest.raises(TypeError, match="predicate must be a function of an array, got None"):
        FilterTensors("boxes", by="scores", predicate=None)  # type: ignore[arg-type] # the mistake that is tested
    with pytest.raises(TypeError, match="tensors are named by text, got 3"):
        FilterTensors(3, by="scores", predicate=np.isfinite)  # type: ignore[arg-type] # the mistake that is tested


@pytest.mark.parametrize("as_", ["one", ("one",), ("one", "two", "three")])
def test_one_output_is_named_for_each_tensor(as_: str | tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="SelectTensors: as_ must name one output for each of"):
        SelectTensors("boxes", "scores", indices="rows", as_=as_)


def test_select_takes_rows_in_the_order_of_the_indices() -> None:
    selected = SelectTensors("scores", indices="rows", as_="best")(_found())

    np.testing.assert_array_equal(selected["best"], np.float32([0.5, 0.2]))


def test_select_by_a_mask_points_to_the_filter() -> None:
    registry = TensorRegistry({"scores": np.ones(2), "mask": np.array([True, False])})
    step = SelectTensors("scores", indices="mask")

    with pytest.raises(TypeError, match="'mask' must hold integer indices, got bool; a mask goes through"):
        step(registry)


def test_sort_puts_the_deciding_tensor_first_and_all_in_its_order() -> None:
    step = SortTensorsBy("boxes", by="scores", as_=("sorted_scores", "sorted_boxes"))

    in_order = step(_found())

    np.testing.assert_array_equal(in_order["sorted_scores"], np.float32([0.9, 0.5, 0.2]))
    assert in_order["sorted_boxes"][:, 0].tolist() == [4, 8, 0]


def test_sort_by_more_than_one_axis_is_an_error() -> None:
    step = SortTensorsBy("scores", by="boxes")

    with pytest.raises(ValueError, match=r"'boxes' must be \(N,\), got \(3, 4\)"):
        step(_found())


@pytest.mark.parametrize(
    ("values", "descending", "expected"),
    [
        ([1, 3, 3, 2], True, [1, 2, 3, 0]),
        ([1, 3, 3, 2], False, [0, 3, 1, 2]),
        ([np.nan, 1, np.inf, -np.inf], True, [2, 1, 3, 0]),
        ([np.nan, 1, 2], False, [1, 2, 0]),
        ([], True, []),
    ],
)
def test_ties_keep_their_order_and_nan_ranks_last(
    values: list[float], descending: bool, expected: list[int]
) -> None:
    order = ranking(np.array(values, np.float64), descending=descending)

    assert order.tolist() == expected
    assert order.dtype == np.int64


def test_the_extremes_of_integers_rank_rightly() -> None:
    assert ranking(np.array([-128, 127, 0], np.int8)).tolist() == [1, 2, 0]
    assert ranking(np.array([0, 255, 255], np.uint8)).tolist() == [1, 2, 0]


@given(st.lists(st.integers(0, 5)))
def test_ranking_is_what_a_stable_sort_gives(values: list[int]) -> None:
    expected = sorted(range(len(values)), key=lambda at: -values[at])

    assert ranking(np.array(values, np.int64)).tolist() == expected
    assert ranking(np.array(values, np.float32)).tolist() == expected


def test_ranking_of_a_table_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"values must be \(N,\), got \(2, 2\)"):
        ranking(np.zeros((2, 2)))


def test_gather_picks_one_value_of_each_row() -> None:
    registry = TensorRegistry({"scores": np.array([[1, 2], [3, 4]]), "classes": np.array([1, 0])})

    gathered = GatherRows("scores", "classes", as_="best")(registry)

    assert gathered["best"].tolist() == [2, 3]
    assert GatherScores is GatherRows


def test_gather_from_no_rows_is_empty() -> None:
    registry = TensorRegistry({"scores": np.zeros((0, 80), np.float32), "classes": np.zeros(0, np.int32)})

    gathered = GatherRows("scores", "classes")(registry)["scores"]

    assert gathered.shape == (0,)
    assert gathered.dtype == np.float32


def test_gather_without_an_index_per_row_is_an_error() -> None:
    registry = TensorRegistry({"scores": np.zeros((2, 3)), "classes": np.zeros(5, int)})
    step = GatherRows("scores", "classes")

    with pytest.raises(
        ValueError, match=r"wanted 'scores' \(N, C\) and 'classes' \(N,\), got \(2, 3\) and \(5,\)"
    ):
        step(registry)


def test_gather_by_floats_is_an_error() -> None:
    registry = TensorRegistry({"scores": np.zeros((2, 3)), "classes": np.zeros(2)})
    step = GatherRows("scores", "classes")

    with pytest.raises(TypeError, match="'classes' must hold integer indices, got float64"):
        step(registry)


def test_topk_gives_the_largest_first_and_no_more_than_there_are() -> None:
    registry = TensorRegistry({"scores": np.float32([1, 3, 3, np.nan])})

    two = TopK("scores", 2)(registry)
    all_of_them = TopK("scores", 9, "values", "indices")(registry)

    assert two["top_values"].tolist() == [3, 3]
    assert two["top_indices"].tolist() == [1, 2]
    assert two["top_indices"].dtype == np.int64
    assert all_of_them["indices"].tolist() == [1, 2, 0, 3]


def test_topk_of_a_table_gives_rows_and_columns() -> None:
    registry = TensorRegistry({"heat": np.float32([[1, 9, 2], [9, 0, 3]])})

    found = TopKIndices2D("heat", 3)(registry)

    assert found["top_values"].tolist() == [9, 9, 3]
    assert found["row_indices"].tolist() == [0, 1, 1]
    assert found["col_indices"].tolist() == [1, 0, 2]


def test_topk_of_an_empty_table_is_empty() -> None:
    found = TopKIndices2D("heat", 3)(TensorRegistry({"heat": np.zeros((4, 0), np.float32)}))

    assert found["top_values"].shape == (0,)
    assert found["row_indices"].dtype == np.int64


def test_topk_wants_the_axes_of_its_name() -> None:
    registry = TensorRegistry({"table": np.zeros((2, 2)), "list": np.zeros(2)})

    with pytest.raises(ValueError, match=r"TopK: 'table' must be \(N,\), got \(2, 2\)"):
        TopK("table", 1)(registry)
    with pytest.raises(ValueError, match=r"TopKIndices2D: 'list' must be \(R, C\), got \(2,\)"):
        TopKIndices2D("list", 1)(registry)


@pytest.mark.parametrize("step", [TopK, TopKIndices2D])
def test_a_negative_k_is_refused_when_built(step: type[TopK]) -> None:
    with pytest.raises(ValueError, match="k must be 0 or more, got -1"):
        step("scores", -1)
