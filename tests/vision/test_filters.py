"""Detections are kept by the area of their boxes or by their class, all tensors in step."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision.filters import FilterTensorsByBoxArea, FilterTensorsByClasses

_NAN = float("nan")


def _found(boxes: object, dtype: str = "float32") -> TensorRegistry:
    array = np.array(boxes, dtype).reshape(-1, 4)
    array.setflags(write=False)
    return TensorRegistry({"boxes": array, "scores": np.arange(len(array), dtype=np.float32)})


def test_boxes_of_the_wanted_areas_stay_with_both_ends() -> None:
    found = _found([[0, 0, 3, 3], [0, 0, 2, 5], [0, 0, 4, 5], [0, 0, 3, 7]])

    kept = FilterTensorsByBoxArea("scores", min_area=10, max_area=20)(found)

    assert kept["scores"].tolist() == [1, 2]
    assert kept["boxes"].tolist() == [[0, 0, 2, 5], [0, 0, 4, 5]]
    assert len(found["boxes"]) == 4


def test_an_inverted_box_has_no_area_and_so_has_one_that_is_inverted_twice() -> None:
    found = _found([[5, 5, 0, 9], [5, 5, 0, 0], [0, 0, 5, 5]])

    assert FilterTensorsByBoxArea("scores", min_area=1)(found)["scores"].tolist() == [2]
    assert FilterTensorsByBoxArea("scores", max_area=0)(found)["scores"].tolist() == [0, 1]


def test_a_box_with_nan_is_not_kept_and_takes_no_other_with_it() -> None:
    found = _found([[_NAN, 0, 5, 5], [0, 0, 5, 5], [0, 0, np.inf, 5], [np.inf] * 4])

    kept = FilterTensorsByBoxArea("scores")(found)

    assert kept["scores"].tolist() == [1, 2]


@pytest.mark.parametrize(
    ("box", "dtype", "area"),
    [
        ([0, 0, 50000, 50000], "int32", 2_500_000_000),
        ([0, 0, 200, 200], "uint8", 40_000),
        ([0, 0, 60000, 60000], "float16", 59_999.9**2),
        ([0, 0, 4097, 4097], "float32", 16_785_409),
    ],
)
def test_areas_neither_wrap_nor_round(box: list[int], dtype: str, area: float) -> None:
    kept = FilterTensorsByBoxArea(min_area=area, max_area=None)(_found(box, dtype))

    assert kept["boxes"].shape == (1, 4)
    assert kept["boxes"].dtype == dtype


def test_without_boxes_there_is_nothing_to_drop() -> None:
    kept = FilterTensorsByBoxArea("scores", min_area=5)(_found([]))

    assert (kept["boxes"].shape, kept["boxes"].dtype) == ((0, 4), np.float32)
    assert kept["scores"].shape == (0,)


def test_the_deciding_tensor_is_first_among_the_outputs() -> None:
    found = _found([[0, 0, 1, 1]]).replace(classes=np.array([3]))

    by_area = FilterTensorsByBoxArea("boxes", "scores", as_=("b", "s"))(found)
    by_class = FilterTensorsByClasses("scores", keep_classes=[3], as_=("c", "s"))(found)

    assert by_area["b"].shape == (1, 4)
    assert by_class["c"].tolist() == [3]
    assert by_class["s"].shape == (1,)


@pytest.mark.parametrize(("low", "high"), [(_NAN, None), (0, _NAN), (5, 4)])
def test_a_range_of_areas_that_is_none_is_refused_when_built(low: float, high: float | None) -> None:
    with pytest.raises(
        ValueError, match="min_area and max_area must be numbers, the second not below the first"
    ):
        FilterTensorsByBoxArea(min_area=low, max_area=high)


@pytest.mark.parametrize("shape", [(4,), (2, 5), (1, 2, 4)])
def test_what_is_no_list_of_boxes_is_an_error(shape: tuple[int, ...]) -> None:
    step = FilterTensorsByBoxArea()

    with pytest.raises(ValueError, match=r"FilterTensorsByBoxArea: 'boxes' must be \(N, 4\), got"):
        step(TensorRegistry({"boxes": np.zeros(shape)}))


@pytest.mark.parametrize("keep", [[2, 0], (0, 2), {0, 2}, range(0, 3, 2), np.array([0, 2]), {0: "a", 2: "b"}])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32", "float16"])
def test_the_wanted_classes_stay_in_their_order(keep: object, dtype: str) -> None:
    registry = TensorRegistry({"classes": np.array([2, 1, 0, 2, 7], dtype), "scores": np.arange(5)})

    kept = FilterTensorsByClasses("scores", keep_classes=keep)(registry)  # type: ignore[arg-type] # all are collections

    assert kept["scores"].tolist() == [0, 2, 3]
    assert kept["classes"].tolist() == [2, 0, 2]
    assert kept["classes"].dtype == dtype


def test_classes_that_are_nan_or_beyond_the_dtype_match_nothing() -> None:
    small = TensorRegistry({"classes": np.array([0, 44, 255], np.uint8)})
    floats = TensorRegistry({"classes": np.array([_NAN, 1, np.inf, 1.5])})

    assert FilterTensorsByClasses(keep_classes=[300, -1])(small)["classes"].tolist() == []
    assert FilterTensorsByClasses(keep_classes=[1])(floats)["classes"].tolist() == [1]


def test_without_wanted_classes_and_without_rows_the_result_is_empty() -> None:
    some, none = (TensorRegistry({"classes": np.arange(many)}) for many in (3, 0))

    assert FilterTensorsByClasses(keep_classes=())(some)["classes"].shape == (0,)
    assert FilterTensorsByClasses(keep_classes=(1,))(none)["classes"].shape == (0,)


def test_wanted_classes_are_those_of_the_time_when_it_was_built() -> None:
    wanted = [1]
    step = FilterTensorsByClasses(keep_classes=wanted)

    wanted.append(2)

    assert step(TensorRegistry({"classes": np.array([1, 2])}))["classes"].tolist() == [1]


@pytest.mark.parametrize("keep", [3, "person", ["person"], [1.5], iter([1])])
def test_wanted_classes_that_are_no_numbers_are_refused_when_built(keep: object) -> None:
    with pytest.raises(TypeError, match="keep_classes must be a collection of class numbers such as"):
        FilterTensorsByClasses(keep_classes=keep)  # type: ignore[arg-type] # the mistakes that are tested


def test_classes_that_are_a_table_and_rows_that_do_not_fit_are_errors() -> None:
    step = FilterTensorsByClasses("scores", keep_classes=[0])

    with pytest.raises(ValueError, match=r"FilterTensorsByClasses: 'classes' must be \(N,\), got \(3, 1\)"):
        step(TensorRegistry({"classes": np.zeros((3, 1)), "scores": np.zeros(3)}))
    with pytest.raises(ValueError, match=r"'scores' of shape \(2,\) does not have the \(3,\) rows"):
        step(TensorRegistry({"classes": np.zeros(3), "scores": np.zeros(2)}))
