"""Arithmetic on named arrays.

Knows numbers. Knows nothing of what they stand for.
Integers are promoted to floats wide enough to hold them, never cut or wrapped.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_output, replace_one, takes
from ml_pipes.tensor.types import Array, TensorPayload, TensorRegistry

__all__ = [
    "ArgMax",
    "AsType",
    "MapTensor",
    "MultiplyTensors",
    "Scale",
    "Sigmoid",
    "Softmax",
    "argmax",
    "sigmoid",
    "softmax",
]

_BYTE = 255


def sigmoid(array: Array) -> Array:
    """Give ``1 / (1 + exp(-x))`` of each value, without overflow at either end.

    Args:
        array: any shape. Floats keep their dtype (float16 is computed in float32);
            integers give float32, or float64 where float32 could not hold them.

    Returns:
        The same shape, values in [0, 1]; NaN stays NaN.
    """
    wide = array.astype(np.result_type(array.dtype, np.float32), copy=False)
    # exp only of what is not positive: it cannot overflow.
    small = np.exp(-np.abs(wide))
    result = np.asarray(np.where(wide >= 0, 1, small) / (1 + small))
    return result.astype(_floating(array.dtype), copy=False)


def softmax(array: Array, axis: int = -1) -> Array:
    """Give each value's share of the exponentials along an axis.

    Args:
        array: any shape; dtypes as in :func:`sigmoid`.
        axis: the axis along which the shares add up to 1. When it is 0 long the
            result is an empty copy.

    Returns:
        The same shape; a slice that holds NaN, or nothing but -inf, gives NaN.

    Raises:
        IndexError: there is no such axis.
    """
    _check_axis("Softmax", array, axis)
    if array.size == 0:
        return array.astype(_floating(array.dtype))
    wide = array.astype(np.result_type(array.dtype, np.float32), copy=False)
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide - wide.max(axis=axis, keepdims=True))
        shares: Array = powers / powers.sum(axis=axis, keepdims=True)
    return shares.astype(_floating(array.dtype), copy=False)


def argmax(array: Array, axis: int = -1) -> Array:
    """Give the place of the largest value along an axis, the first of equal ones.

    Args:
        array: any shape and real dtype. NaN is never the largest, unless there is nothing else.
        axis: the axis to look along; it is gone from the result. When it is 0 long the places are 0.

    Returns:
        int32.

    Raises:
        IndexError: there is no such axis.
    """
    _check_axis("ArgMax", array, axis)
    if array.shape[axis] == 0:
        return np.zeros(np.delete(array.shape, axis), np.int32)
    if array.shape[axis] <= _BYTE and array.strides[axis] > array.itemsize:
        places = _argmax_across(array, axis)
    else:
        places = array.argmax(axis=axis)
    if array.dtype.kind == "f" and np.isnan(_picked(array, places, axis)).any():
        # Beside NaN, -inf is something: the first number that is as large as the largest.
        numbers = ~np.isnan(array)
        largest = np.where(numbers, array, -np.inf).max(axis=axis, keepdims=True)
        places = (numbers & (array == largest)).argmax(axis=axis)
    return np.asarray(places, np.int32)


@Operator
class AsType:
    """Cast one named array, or a whole value.

    With ``src`` the value must be a registry. Without, it may be an array, a
    payload (its dtype text is updated), or a tuple or list of these, and keeps its kind.
    """

    def __init__(self, dtype: str, src: str | None = None, as_: str | None = None) -> None:
        """Configure the step.

        Args:
            dtype: the dtype to cast to, such as ``float32``.
            src: the tensor of a registry to cast; None casts the whole value.
            as_: where to write, ``src`` by default.

        Raises:
            ValueError: ``dtype`` is none, or ``as_`` is given without ``src``.
        """
        if as_ is not None and src is None:
            raise ValueError(f"AsType: as_={as_!r} needs src=, the tensor of a registry to cast")
        try:
            # NumPy takes None for float64.
            self._dtype = np.dtype("" if dtype is None else dtype)
        except TypeError:
            raise ValueError(f"AsType: {dtype!r} is no dtype; name one such as 'float32'") from None
        self.dtype = dtype
        self.src = src
        self.as_ = checked_output("AsType", as_)

    def __call__(self, value: Any) -> Any:  # the kind that comes is the kind that goes
        """Give the value with its arrays cast; TypeError when it is of another kind."""
        if self.src is None:
            return self._cast(value)
        if not isinstance(value, TensorRegistry):
            raise TypeError(
                f"AsType: src={self.src!r} needs a TensorRegistry, got {type(value).__name__}; leave src out"
            )
        return replace_one(value, self.src, self.as_, self._cast_one)

    def _cast_one(self, array: Array) -> Array:
        with np.errstate(over="ignore"):  # what is beyond the dtype is infinite
            return array.astype(self._dtype)

    def _cast(self, value: Any) -> Any:  # as above
        if isinstance(value, np.ndarray):
            return self._cast_one(value)
        if isinstance(value, TensorPayload):
            return TensorPayload(self._cast_one(value.array), value.layout, str(self._dtype))
        if type(value) in (tuple, list):
            return type(value)(self._cast(item) for item in value)
        way_out = "; name its tensor with src=" if isinstance(value, TensorRegistry) else ""
        raise TypeError(
            "AsType: takes an array, a TensorPayload, or a tuple or list of these, "
            f"got {type(value).__name__}{way_out}"
        )


@Operator
class Sigmoid:
    """Squash a tensor's values into [0, 1]; see :func:`sigmoid`."""

    def __init__(self, src: str, as_: str | None = None) -> None:
        """Read ``src``, write ``as_`` (``src`` by default)."""
        self.src = src
        self.as_ = checked_output("Sigmoid", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the squashed tensor."""
        return replace_one(tensors, self.src, self.as_, sigmoid)


@Operator
class Softmax:
    """Turn a tensor's values into shares that add up to 1 along an axis; see :func:`softmax`."""

    def __init__(self, src: str, axis: int = -1, as_: str | None = None) -> None:
        """Read ``src``, add up along ``axis``, write ``as_`` (``src`` by default)."""
        self.src = src
        self.axis = axis
        self.as_ = checked_output("Softmax", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the shares."""
        return replace_one(tensors, self.src, self.as_, lambda array: softmax(array, self.axis))


@Operator
class Scale:
    """Multiply a tensor by numbers known beforehand; floats keep their dtype."""

    def __init__(self, src: str, by: float | tuple[float, ...] | list[float], as_: str | None = None) -> None:
        """Configure the step.

        Args:
            src: the tensor to read. Floats keep their dtype; integers give float32, or
                float64 where float32 could not hold them.
            by: one factor, alone or in a tuple, or one for each value of the last axis.
            as_: where to write, ``src`` by default.

        Raises:
            TypeError: a factor is no number.
        """
        factors = np.asarray(by)
        if factors.dtype.kind not in "iuf" or factors.ndim > 1:
            raise TypeError(f"Scale: by must be a number, or a tuple or list of numbers, got {by!r}")
        self.src = src
        self.by = by
        self.as_ = checked_output("Scale", as_)
        self._factors = factors.astype(np.float64)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the scaled tensor; ValueError when the factors do not fit its last axis."""
        return replace_one(tensors, self.src, self.as_, self._scale)

    def _scale(self, array: Array) -> Array:
        many = self._factors.size if self._factors.ndim else 1
        if many != 1 and (array.ndim == 0 or array.shape[-1] != many):
            raise ValueError(
                f"Scale: {many} factors do not fit the last axis of {self.src!r} of shape {array.shape}"
            )
        wide = np.result_type(array.dtype, np.float32)
        factors = self._factors if many != 1 else self._factors.reshape(())
        with np.errstate(over="ignore", invalid="ignore"):  # what is beyond the dtype is infinite
            scaled = np.asarray(array.astype(wide, copy=False) * factors.astype(wide))
            return scaled.astype(_floating(array.dtype), copy=False)


@Operator
class MultiplyTensors:
    """Multiply two tensors value by value, such as objectness and class scores.

    Shapes broadcast as in NumPy. Two integer tensors give int64 (uint64 for two
    unsigned ones of that width), so that small integers do not wrap.
    """

    def __init__(self, left: str, right: str, as_: str | None = None) -> None:
        """Read ``left`` and ``right``, write ``as_`` (``left`` by default)."""
        self.left = left
        self.right = right
        self.as_ = checked_output("MultiplyTensors", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the product; ValueError when the shapes do not broadcast."""
        left, right = tensors[self.left], tensors[self.right]
        dtype = np.result_type(left.dtype, right.dtype)
        if dtype.kind in "iu" and dtype != np.uint64:
            dtype = np.dtype(np.int64)
        try:
            with np.errstate(over="ignore", invalid="ignore"):
                product = np.asarray(np.multiply(left, right, dtype=dtype))
        except ValueError as error:
            raise ValueError(
                f"MultiplyTensors: {self.left!r} of shape {left.shape} and {self.right!r} of shape "
                f"{right.shape} do not fit each other"
            ) from error
        return tensors.replace(**{self.as_ or self.left: product})


@Operator
class ArgMax:
    """Find where a tensor is largest along an axis, such as each box's class; see :func:`argmax`."""

    def __init__(self, src: str, axis: int = -1, as_: str | None = None) -> None:
        """Read ``src``, look along ``axis``, write ``as_`` (``src`` by default)."""
        self.src = src
        self.axis = axis
        self.as_ = checked_output("ArgMax", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the int32 places."""
        return replace_one(tensors, self.src, self.as_, lambda array: argmax(array, self.axis))


@Operator
class MapTensor:
    """Apply a function to one tensor."""

    def __init__(self, src: str, fn: Callable[[Array], Array], as_: str | None = None) -> None:
        """Configure the step.

        Args:
            src: the tensor to read.
            fn: an array to an array; it must not write to the one it is given.
            as_: where to write, ``src`` by default.

        Raises:
            TypeError: ``fn`` cannot be called.
        """
        if not callable(fn):
            raise TypeError(f"MapTensor: fn must be a function of an array, got {fn!r}")
        self.src = src
        self.fn = fn
        self.as_ = checked_output("MapTensor", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with what ``fn`` returns."""
        return replace_one(tensors, self.src, self.as_, self.fn)


def _check_axis(owner: str, array: Array, axis: int) -> None:
    if not -array.ndim <= axis < array.ndim:
        raise IndexError(f"{owner}: there is no axis {axis} in an array of shape {array.shape}")


def _floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Give the dtype itself when it is a float, else the float that holds it."""
    return dtype if dtype.kind == "f" else np.result_type(dtype, np.float32)


def _argmax_across(array: Array, axis: int) -> Array:
    """Along an axis whose values lie apart in memory: whole rows at a time, four times as fast.

    A slice that holds NaN gives a place whose value is NaN, as NumPy's own does.
    """
    many = array.shape[axis]
    ranks = np.expand_dims(np.arange(many, 0, -1, dtype=np.uint8), tuple(range(1, array.ndim)))
    at_best = array == array.max(axis=axis, keepdims=True)
    # The first of equal ones ranks highest; where none is equal there is a NaN.
    rank = (at_best.view(np.uint8) * np.moveaxis(ranks, 0, axis)).max(axis=axis)
    if not rank.all():
        return np.asarray(array.argmax(axis=axis))
    return np.asarray(many - rank.astype(np.int32))


def _picked(array: Array, places: Array, axis: int) -> Array:
    return np.take_along_axis(array, np.expand_dims(places, axis), axis)
