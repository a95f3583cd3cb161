"""Masks are made of tensors, and keep what lies under them."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.tensor import TensorRegistry
from ml_pipes.tensor.masks import (
    ApplyTensorMask,
    BinarizeTensor,
    BinarizeTensorByThreshold,
    CreateTensorMask,
    CreateTensorMaskByThreshold,
)


def _found() -> TensorRegistry:
    return TensorRegistry(
        {
            "boxes": np.arange(12, dtype=np.float32).reshape(3, 4),
            "scores": np.array([0.2, 0.9, 0.5], np.float32),
            "mask": np.array([True, False, True]),
        }
    )


def test_a_mask_keeps_the_rows_that_are_true_in_place() -> None:
    found = _found()

    kept = ApplyTensorMask("boxes", "scores", mask="mask")(found)

    assert kept["boxes"].tolist() == [[0, 1, 2, 3], [8, 9, 10, 11]]
    np.testing.assert_array_equal(kept["scores"], np.array([0.2, 0.5], np.float32))
    assert kept["mask"].tolist() == [True, False, True]
    assert found["boxes"].shape == (3, 4)


def test_a_mask_writes_where_it_is_told() -> None:
    kept = ApplyTensorMask("boxes", "scores", mask="mask", as_=("some_boxes", "some_scores"))(_found())

    assert kept["some_boxes"].shape == (2, 4)
    assert kept["some_scores"].shape == (2,)
    assert kept["boxes"].shape == (3, 4)


def test_a_mask_of_more_axes_keeps_single_values_as_numpy_does() -> None:
    tensors = TensorRegistry(
        {"map": np.array([[1, 2], [3, 4]], np.uint8), "mask": np.array([[True, False], [False, True]])}
    )

    kept = ApplyTensorMask("map", mask="mask", as_="values")(tensors)

    assert kept["values"].tolist() == [1, 4]
    assert kept["values"].dtype == np.uint8


@pytest.mark.parametrize("dtype", ["uint8", "int32", "int64", "uint64"])
def test_integers_0_and_1_are_a_mask_and_not_indices(dtype: str) -> None:
    tensors = _found().replace(mask=np.array([0, 1, 1], dtype))

    kept = ApplyTensorMask("boxes", mask="mask")(tensors)

    assert kept["boxes"].tolist() == [[4, 5, 6, 7], [8, 9, 10, 11]]


def test_no_rows_stay_none_and_keep_shape_and_dtype() -> None:
    tensors = TensorRegistry({"boxes": np.zeros((0, 4), np.float32), "mask": np.zeros(0, np.int64)})

    kept = ApplyTensorMask("boxes", mask="mask")(tensors)

    assert kept["boxes"].shape == (0, 4)
    assert kept["boxes"].dtype == np.float32


def test_a_mask_that_lets_nothing_through_keeps_the_other_axes() -> None:
    kept = ApplyTensorMask("boxes", mask="mask")(_found().replace(mask=np.zeros(3, np.bool_)))

    assert kept["boxes"].shape == (0, 4)


def test_other_integers_and_floats_are_no_mask() -> None:
    step = ApplyTensorMask("boxes", mask="mask")

    with pytest.raises(
        TypeError,
        match="mask 'mask' must be bool, or integers 0 and 1, got int64 with other values; SelectTensors",
    ):
        step(_found().replace(mask=np.array([0, 2, 1])))
    with pytest.raises(TypeError, match="got float32; CreateTensorMaskByThreshold makes a mask of it"):
        step(_found().replace(mask=np.ones(3, np.float32)))


@pytest.mark.parametrize("shape", [(2,), (3, 3), ()])
def test_a_mask_of_another_shape_is_an_error(shape: tuple[int, ...]) -> None:
    step = ApplyTensorMask("boxes", mask="mask")

    with pytest.raises(
        ValueError, match=r"mask 'mask' of shape \(.*\) does not fit the first axes of 'boxes'"
    ):
        step(_found().replace(mask=np.ones(shape, np.bool_)))


@pytest.mark.parametrize("as_", ["one", ("one",), ("one", "two", "three")])
def test_applying_names_one_output_for_each_tensor(as_: str | tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="ApplyTensorMask: as_ must name one output for each of"):
        ApplyTensorMask("boxes", "scores", mask="mask", as_=as_)


def test_applying_to_nothing_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="ApplyTensorMask: name at least one tensor to work on"):
        ApplyTensorMask(mask="mask")


def test_a_predicate_makes_a_bool_mask() -> None:
    made = CreateTensorMask("boxes", lambda boxes: boxes[:, 0] > 0, as_="right")(_found())

    assert made["right"].tolist() == [False, True, True]
    assert made["right"].dtype == np.bool_


def test_what_a_predicate_gives_is_cast_to_bool() -> None:
    made = CreateTensorMask("scores", lambda scores: scores.astype(np.int64), as_="ones")(_found())
    listed = CreateTensorMask("scores", lambda _: [1, 0, 2], as_="ones")(_found())  # type: ignore[arg-type,return-value] # a list will do

    assert made["ones"].tolist() == [False, False, False]
    assert listed["ones"].tolist() == [True, False, True]
    assert listed["ones"].dtype == np.bool_


def test_a_predicate_that_hands_its_array_back_gives_a_copy() -> None:
    found = _found()

    made = CreateTensorMask("mask", lambda mask: mask, as_="same")(found)

    assert not np.shares_memory(made["same"], found["mask"])


def test_a_predicate_is_checked_when_built() -> None:
    with pytest.raises(
        TypeError, match="CreateTensorMask: predicate must be a function of an array, got None"
    ):
        CreateTensorMask("scores", None, as_="mask")  # type: ignore[arg-type] # the mistake that is tested
    with pytest.raises(TypeError, match="as_ must name where the mask is written, got None"):
        CreateTensorMask("scores", np.isfinite, as_=None)  # type: ignore[arg-type] # the mistake that is tested
    with pytest.raises(ValueError, match="CreateTensorMask: a tensor's name must not be empty"):
        CreateTensorMask("scores", np.isfinite, as_="")


def test_a_threshold_is_reached_by_what_equals_it() -> None:
    made = CreateTensorMaskByThreshold("scores", 0.5)(_found())

    assert made["scores"].tolist() == [False, True, True]
    assert made["scores"].dtype == np.bool_


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_a_decimal_threshold_is_reached_in_every_float_dtype(dtype: str) -> None:
    tensors = TensorRegistry({"scores": np.array([0.7, 0.69, np.nan, np.inf, -np.inf], dtype)})

    made = CreateTensorMaskByThreshold("scores", np.float64(0.7), as_="mask")(tensors)

    assert made["mask"].tolist() == [True, False, False, True, False]


def test_a_threshold_between_or_beyond_integers_is_not_wrapped() -> None:
    tensors = TensorRegistry({"levels": np.array([0, 1, 44, 255], np.uint8)})

    assert CreateTensorMaskByThreshold("levels", 0.5)(tensors)["levels"].tolist() == [False, True, True, True]
    assert not CreateTensorMaskByThreshold("levels", 300)(tensors)["levels"].any()
    assert CreateTensorMaskByThreshold("levels", -1)(tensors)["levels"].all()


def test_a_threshold_beyond_float16_is_reached_by_infinity_only() -> None:
    tensors = TensorRegistry({"x": np.array([60000, np.inf], np.float16)})

    made = CreateTensorMaskByThreshold("x", 1e6)(tensors)

    assert made["x"].tolist() == [False, True]


def test_a_threshold_keeps_empty_shapes_and_bool_tensors() -> None:
    tensors = TensorRegistry({"none": np.zeros((0, 4), np.float32), "mask": np.array([True, False])})

    assert CreateTensorMaskByThreshold("none", 0.5)(tensors)["none"].shape == (0, 4)
    assert CreateTensorMaskByThreshold("mask", 0.5)(tensors)["mask"].tolist() == [True, False]


def test_a_threshold_that_is_no_number_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="CreateTensorMaskByThreshold: threshold must be a number, got nan"):
        CreateTensorMaskByThreshold("scores", float("nan"))


def test_binarize_is_another_name_for_making_a_mask() -> None:
    assert BinarizeTensor is CreateTensorMask
    assert BinarizeTensorByThreshold is CreateTensorMaskByThreshold


def test_read_only_tensors_are_read_and_give_the_same_twice() -> None:
    found = _found()
    for name in found:
        found[name].setflags(write=False)
    steps = (ApplyTensorMask("boxes", mask="mask"), CreateTensorMaskByThreshold("scores", 0.5, as_="high"))

    for step in steps:
        once, again = step(found), step(found)

        for name in once:
            np.testing.assert_array_equal(once[name], again[name])
