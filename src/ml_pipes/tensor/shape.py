"""Steps that look at a named array in another shape.

Knows arrays. Knows nothing of what their axes mean.
Each result is a view of the array it came from, so nothing is copied.
"""

from __future__ import annotations

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_output, replace_one, takes
from ml_pipes.tensor.types import Array, TensorRegistry

__all__ = ["Slice", "Squeeze", "Transpose"]


@Operator
class Squeeze:
    """Take out axes that are 1 long."""

    def __init__(self, src: str, axis: int | tuple[int, ...] | None = None, as_: str | None = None) -> None:
        """Configure the step.

        Args:
            src: the tensor to read, any dtype.
            axis: which axes; None takes out all that are 1 long.
            as_: where to write, ``src`` by default.
        """
        self.src = src
        self.axis = axis
        self.as_ = checked_output("Squeeze", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the squeezed view; ValueError when an axis is not 1 long."""
        return replace_one(tensors, self.src, self.as_, self._squeeze)

    def _squeeze(self, array: Array) -> Array:
        try:
            return array.squeeze(self.axis)
        except ValueError as error:
            raise ValueError(
                f"Squeeze: cannot squeeze axis {self.axis} of {self.src!r} of shape {array.shape}; "
                "only an axis that is there and 1 long can be taken out"
            ) from error


@Operator
class Transpose:
    """Put the axes in another order."""

    def __init__(self, src: str, axes: tuple[int, ...] | None = None, as_: str | None = None) -> None:
        """Configure the step.

        Args:
            src: the tensor to read, any dtype.
            axes: the old axis at each new place; None reverses them.
            as_: where to write, ``src`` by default.
        """
        self.src = src
        self.axes = axes
        self.as_ = checked_output("Transpose", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the transposed view; ValueError when the axes do not fit the array."""
        return replace_one(tensors, self.src, self.as_, self._transpose)

    def _transpose(self, array: Array) -> Array:
        try:
            return array.transpose(self.axes)
        except ValueError as error:
            raise ValueError(
                f"Transpose: axes {self.axes} do not fit {self.src!r} of shape {array.shape}; "
                f"name each of its {array.ndim} axes once"
            ) from error


@Operator
class Slice:
    """Take a range along axis 1, such as the box columns of ``(N, 84)`` or ``(1, 84, 8400)``."""

    def __init__(self, src: str, at: slice, as_: str | None = None) -> None:
        """Configure the step.

        Args:
            src: the tensor to read: two axes or more, any dtype.
            at: the range, such as ``slice(0, 4)``.
            as_: where to write, ``src`` by default.

        Raises:
            TypeError: ``at`` is no slice.
        """
        if not isinstance(at, slice):
            raise TypeError(f"Slice: at must be a slice such as slice(0, 4), got {at!r}")
        self.src = src
        self.at = at
        self.as_ = checked_output("Slice", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the sliced view; IndexError when the array has no axis 1."""
        return replace_one(tensors, self.src, self.as_, self._slice)

    def _slice(self, array: Array) -> Array:
        if array.ndim <= 1:
            raise IndexError(
                f"Slice: {self.src!r} of shape {array.shape} has no axis 1; it needs two axes or more"
            )
        return array[:, self.at]
