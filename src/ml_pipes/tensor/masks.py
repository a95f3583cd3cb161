"""Steps that make bool masks of named arrays, and steps that apply them.

Knows true and false. Knows nothing of what a mask shows.
NaN reaches no threshold.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_names, checked_output, output_names, replace_each, takes
from ml_pipes.tensor.types import Array, TensorRegistry

__all__ = [
    "ApplyTensorMask",
    "BinarizeTensor",
    "BinarizeTensorByThreshold",
    "CreateTensorMask",
    "CreateTensorMaskByThreshold",
]


@Operator
class ApplyTensorMask:
    """Keep what lies under a mask which is itself a tensor: rows, or single values.

    A mask ``(N,)`` keeps rows; one of more axes keeps what lies there along the first
    axes of the tensor, in one axis, as NumPy does.
    """

    def __init__(self, *srcs: str, mask: str, as_: str | tuple[str, ...] | None = None) -> None:
        """Configure the step.

        Args:
            srcs: the tensors to keep parts of; their first axes are those of the mask.
            mask: the tensor that decides: bool, or integers of which each is 0 or 1.
            as_: None writes in place; a name, or a tuple of as many as ``srcs``.

        Raises:
            ValueError: no ``srcs``, or ``as_`` does not name one output each.
        """
        self.srcs = checked_names("ApplyTensorMask", srcs)
        self.mask = mask
        self.as_ = as_
        self._outputs = output_names("ApplyTensorMask", self.srcs, as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with what is kept.

        Raises:
            TypeError: the mask holds something other than true and false, or 0 and 1.
            ValueError: the mask has no axis, or a tensor does not have its axes first.
        """
        mask = _as_mask(self.mask, tensors[self.mask])
        for name in self.srcs:
            if mask.ndim < 1 or tensors[name].shape[: mask.ndim] != mask.shape:
                raise ValueError(
                    f"ApplyTensorMask: mask {self.mask!r} of shape {mask.shape} does not fit the first axes "
                    f"of {name!r} of shape {tensors[name].shape}"
                )
        return replace_each(tensors, self.srcs, self._outputs, lambda array: array[mask])


@Operator
class CreateTensorMask:
    """Make a bool mask of a tensor with a predicate."""

    def __init__(self, src: str, predicate: Callable[[Array], npt.NDArray[np.bool_]], as_: str) -> None:
        """Configure the step.

        Args:
            src: the tensor to read.
            predicate: that tensor to true and false; what it gives is cast to bool. It
                must not write to the array that it is given.
            as_: where to write the mask.

        Raises:
            ValueError: ``as_`` is empty.
            TypeError: ``predicate`` cannot be called, or ``as_`` is no text.
        """
        if not callable(predicate):
            raise TypeError(f"CreateTensorMask: predicate must be a function of an array, got {predicate!r}")
        if not isinstance(as_, str):
            raise TypeError(f"CreateTensorMask: as_ must name where the mask is written, got {as_!r}")
        self.src = src
        self.predicate = predicate
        self.as_ = as_
        checked_output("CreateTensorMask", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the mask, a new array."""
        # A copy: a predicate may hand back the very array that it was given.
        return tensors.replace(**{self.as_: np.array(self.predicate(tensors[self.src]), dtype=np.bool_)})


@Operator
class CreateTensorMaskByThreshold:
    """Make a bool mask of where a tensor is at least a threshold; NaN is not."""

    def __init__(self, src: str, threshold: float, as_: str | None = None) -> None:
        """Configure the step.

        Args:
            src: the tensor to read.
            threshold: the lowest value that is true. For a float tensor it is rounded to that
                tensor's dtype, so that a float32 of 0.7 reaches 0.7.
            as_: where to write the mask, ``src`` by default.

        Raises:
            ValueError: ``threshold`` is NaN, or ``as_`` is empty.
        """
        if np.isnan(threshold):
            raise ValueError("CreateTensorMaskByThreshold: threshold must be a number, got nan")
        self.src = src
        self.threshold = threshold
        self.as_ = checked_output("CreateTensorMaskByThreshold", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the mask, of the tensor's shape."""
        array, threshold = tensors[self.src], self.threshold
        if array.dtype.kind == "f":
            threshold = _rounded(threshold, array.dtype)
        return tensors.replace(**{self.as_ or self.src: np.asarray(array >= threshold)})


BinarizeTensor = CreateTensorMask
BinarizeTensorByThreshold = CreateTensorMaskByThreshold


def _as_mask(name: str, mask: Array) -> npt.NDArray[np.bool_]:
    if mask.dtype == np.bool_:
        return mask
    if mask.dtype.kind not in "iu" or not ((mask == 0) | (mask == 1)).all():
        raise TypeError(
            f"ApplyTensorMask: mask {name!r} must be bool, or integers 0 and 1, got {_kind_of_other(mask)}"
        )
    return mask.astype(np.bool_)


def _kind_of_other(mask: Array) -> str:
    if mask.dtype.kind in "iu":
        return f"{mask.dtype} with other values; SelectTensors takes rows by their indices"
    return f"{mask.dtype}; CreateTensorMaskByThreshold makes a mask of it"


def _rounded(threshold: float, dtype: np.dtype[np.floating]) -> float:
    with np.errstate(over="ignore"):  # beyond the dtype it is infinite, and only infinity reaches it
        return float(np.asarray(threshold, np.float64).astype(dtype))
