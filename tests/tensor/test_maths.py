"""Arithmetic that is right at the ends of the number line and for every dtype."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.tensor import (
    ArgMax,
    AsType,
    MapTensor,
    MultiplyTensors,
    Scale,
    Sigmoid,
    Softmax,
    TensorPayload,
    TensorRegistry,
)
from ml_pipes.tensor.maths import argmax
from ml_pipes.tensor.types import Array


def _registry(array: object, dtype: str = "float32") -> TensorRegistry:
    values = np.array(array, dtype)
    values.setflags(write=False)
    return TensorRegistry({"x": values})


def test_sigmoid_is_right_far_from_zero_and_keeps_nan() -> None:
    result = Sigmoid("x")(_registry([-1000, -1, 0, 1, 1000, np.nan]))["x"]

    np.testing.assert_allclose(result, [0, 0.26894142, 0.5, 0.7310586, 1, np.nan], rtol=1e-6)
    assert result.dtype == np.float32


@pytest.mark.parametrize(
    ("given", "expected"),
    [("float16", "float16"), ("float64", "float64"), ("uint8", "float32"), ("int64", "float64")],
)
def test_sigmoid_keeps_floats_and_promotes_integers(given: str, expected: str) -> None:
    result = Sigmoid("x")(_registry([0, 2], given))["x"]

    np.testing.assert_allclose(result, [0.5, 0.880797], rtol=1e-3)
    assert result.dtype == expected


def test_softmax_adds_up_to_one_and_does_not_overflow() -> None:
    result = Softmax("x", axis=0, as_="p")(_registry([[1000, 0], [1000, 0]]))

    assert result["p"].tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert result["x"].tolist() == [[1000, 0], [1000, 0]]


def test_softmax_of_nothing_is_an_empty_copy() -> None:
    result = Softmax("x")(_registry(np.zeros((3, 0))))["x"]

    assert result.shape == (3, 0)
    assert result.dtype == np.float32


def test_softmax_of_nothing_but_minus_infinity_is_nan_without_a_warning() -> None:
    result = Softmax("x")(_registry([-np.inf, -np.inf]))["x"]

    assert np.isnan(result).all()


def test_scale_keeps_floats_and_never_cuts_integers() -> None:
    assert Scale("x", 0.5)(_registry([1, 3], "uint8"))["x"].tolist() == [0.5, 1.5]
    assert Scale("x", 300)(_registry([1, 3], "uint8"))["x"].tolist() == [300, 900]
    assert Scale("x", 2)(_registry([1, 3], "float16"))["x"].dtype == np.float16


def test_scale_has_a_factor_for_each_value_of_the_last_axis() -> None:
    result = Scale("x", (1, 10), as_="y")(_registry([[1, 2], [3, 4]]))["y"]

    assert result.tolist() == [[1, 20], [3, 40]]


def test_scale_with_factors_that_do_not_fit_is_an_error() -> None:
    step = Scale("x", [1, 2, 3])

    with pytest.raises(ValueError, match=r"3 factors do not fit the last axis of 'x' of shape \(2, 2\)"):
        step(_registry([[1, 2], [3, 4]]))


def test_scale_by_something_else_is_refused_when_built() -> None:
    with pytest.raises(TypeError, match="by must be a number, or a tuple or list of numbers, got 'two'"):
        Scale("x", "two")  # type: ignore[arg-type] # the mistake that is tested


def test_products_of_small_integers_do_not_wrap() -> None:
    registry = TensorRegistry({"a": np.array([200], np.uint8), "b": np.array([200], np.uint8)})

    assert MultiplyTensors("a", "b")(registry)["a"].tolist() == [40000]
    assert registry["a"].tolist() == [200]


def test_products_broadcast_and_go_where_they_are_told() -> None:
    registry = TensorRegistry({"obj": np.float32([[0.5], [1]]), "cls": np.float32([[0.5, 1], [0.5, 1]])})

    product = MultiplyTensors("obj", "cls", as_="scores")(registry)["scores"]

    assert product.tolist() == [[0.25, 0.5], [0.5, 1.0]]


def test_products_of_shapes_that_do_not_fit_are_an_error() -> None:
    registry = TensorRegistry({"a": np.ones(2), "b": np.ones(3)})
    step = MultiplyTensors("a", "b")

    with pytest.raises(ValueError, match=r"'a' of shape \(2,\) and 'b' of shape \(3,\) do not fit"):
        step(registry)


def test_argmax_takes_the_first_of_ties_and_gives_int32() -> None:
    result = ArgMax("x")(_registry([[1, 3, 3], [5, 5, 0]]))["x"]

    assert result.tolist() == [1, 0]
    assert result.dtype == np.int32


def test_argmax_never_chooses_nan_where_there_is_a_number() -> None:
    result = ArgMax("x", axis=1)(_registry([[np.nan, 1, 2], [np.nan, np.nan, np.nan]]))["x"]

    assert result.tolist() == [2, 0]


@given(st.integers(0, 2**32 - 1), st.sampled_from([(3, 5, 7), (2, 300, 4), (1, 6, 0)]), st.integers(-3, 2))
def test_argmax_is_what_numpy_says_whatever_way_the_values_lie(
    seed: int, shape: tuple[int, ...], axis: int
) -> None:
    values = np.random.default_rng(seed).integers(0, 4, shape).astype(np.float32)
    turned = values.transpose(2, 0, 1)

    for array in (values, turned, turned[::-1], values.astype(np.uint8)):
        expected = array.argmax(axis) if array.shape[axis] else np.zeros(np.delete(array.shape, axis))
        np.testing.assert_array_equal(argmax(array, axis), expected)


def test_argmax_across_rows_never_chooses_nan_where_there_is_a_number() -> None:
    result = ArgMax("x", axis=0)(_registry([[np.nan, 3, np.nan], [1, 3, np.nan]]))["x"]

    assert result.tolist() == [1, 0, 0]


def test_argmax_along_an_empty_axis_is_zeros() -> None:
    result = ArgMax("x")(_registry(np.zeros((2, 0))))["x"]

    assert result.tolist() == [0, 0]
    assert result.dtype == np.int32


def test_argmax_of_no_rows_is_empty() -> None:
    result = ArgMax("x")(_registry(np.zeros((0, 80))))["x"]

    assert result.shape == (0,)
    assert result.dtype == np.int32


def test_astype_casts_a_tensor_of_a_registry() -> None:
    result = AsType("int64", "x", as_="y")(_registry([1, 2]))

    assert result["y"].dtype == np.int64
    assert result["x"].dtype == np.float32


def test_astype_casts_arrays_payloads_tuples_and_lists_and_keeps_their_kind() -> None:
    array = np.ones(2)
    payload = TensorPayload(array, "N", "float64")

    cast = AsType("float16")([array, (payload,)])

    assert cast[0].dtype == np.float16
    assert cast[1] == (TensorPayload(np.ones(2, np.float16), "N", "float16"),)


def test_astype_of_a_registry_without_src_says_how() -> None:
    step = AsType("float32")

    with pytest.raises(TypeError, match="got TensorRegistry; name its tensor with src="):
        step(_registry([1]))


def test_astype_with_src_takes_nothing_but_a_registry() -> None:
    step = AsType("float32", "x")

    with pytest.raises(TypeError, match="src='x' needs a TensorRegistry, got ndarray; leave src out"):
        step(np.ones(2))


def test_astype_is_checked_when_built() -> None:
    with pytest.raises(ValueError, match="'float33' is no dtype"):
        AsType("float33")
    with pytest.raises(ValueError, match="as_='y' needs src="):
        AsType("float32", as_="y")


def test_map_applies_a_function_to_one_tensor() -> None:
    assert MapTensor("x", np.negative, as_="y")(_registry([1, 2]))["y"].tolist() == [-1, -2]


def test_map_by_something_that_cannot_be_called_is_refused_when_built() -> None:
    with pytest.raises(TypeError, match="fn must be a function of an array, got 3"):
        MapTensor("x", 3)  # type: ignore[arg-type] # the mistake that is tested


@pytest.mark.parametrize(
    "step",
    [Sigmoid("x"), Softmax("x"), Scale("x", 2), ArgMax("x"), AsType("float16", "x"), MapTensor("x", np.abs)],
)
def test_a_step_twice_gives_the_same_and_leaves_its_input(step: object) -> None:
    registry = _registry([[-1.5, 2], [3, 4]])

    once: Array = step(registry)["x"]  # type: ignore[operator] # all of them are steps
    twice: Array = step(registry)["x"]  # type: ignore[operator] # all of them are steps

    np.testing.assert_array_equal(once, twice)
    assert registry["x"].tolist() == [[-1.5, 2], [3, 4]]


@pytest.mark.parametrize("axis", [0, 1])
def test_beside_nan_even_minus_infinity_is_the_largest(axis: int) -> None:
    rows = np.array([[np.nan, -np.inf], [-np.inf, np.nan], [np.nan, np.nan], [np.nan, 1]])

    places = argmax(rows if axis == 1 else rows.T, axis)

    assert places.tolist() == [1, 0, 0, 1]


@pytest.mark.parametrize("step", [Sigmoid("a"), Scale("a", 2.0), MultiplyTensors("a", "a")])
def test_a_tensor_without_axes_stays_an_array(step: Sigmoid | Scale | MultiplyTensors) -> None:
    result = step(TensorRegistry({"a": np.array(1.5, np.float32)}))["a"]

    assert isinstance(result, np.ndarray)
    assert (result.shape, result.dtype) == ((), np.float32)


def test_one_factor_in_a_tuple_is_for_all_values() -> None:
    registry = TensorRegistry({"a": np.ones((2, 4), np.float32)})

    assert Scale("a", (2.0,))(registry)["a"].tolist() == [[2, 2, 2, 2], [2, 2, 2, 2]]


def test_what_is_beyond_the_dtype_is_infinite_without_a_warning() -> None:
    registry = TensorRegistry({"a": np.ones(2, np.float16)})

    assert np.isinf(Scale("a", 1e6)(registry)["a"]).all()


def test_none_is_no_dtype() -> None:
    with pytest.raises(ValueError, match="AsType: None is no dtype; name one such as 'float32'"):
        AsType(None)  # type: ignore[arg-type] # the mistake that is tested
