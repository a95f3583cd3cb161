"""What tensor steps hand to each other: one described array, or several named ones.

Knows NumPy arrays. Knows nothing of images, models or pipelines.
"""

from __future__ import annotations

from collections.abc import Iterator, KeysView, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes.errors import MissingNameError

__all__ = ["Array", "TensorPayload", "TensorRegistry", "same_content"]

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class TensorPayload:
    """One array with its layout and dtype as text.

    Two payloads are equal when their texts are and their arrays hold the same
    values in the same shape and dtype (NaN equals NaN); comparing never raises.
    A payload is not hashable, since its array can be written to.

    Attributes:
        array: any shape and dtype.
        layout: a letter per axis, such as ``NCHW``.
        dtype: the array's dtype as text, such as ``float32``.
    """

    array: Array
    layout: str
    dtype: str

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorPayload):
            return NotImplemented
        texts_equal = (self.layout, self.dtype) == (other.layout, other.dtype)
        return texts_equal and same_content(self.array, other.array)

    # Its array can be written to, so its hash could not last.
    __hash__ = None  # type: ignore[assignment] # how Python spells "not hashable"


class TensorRegistry:
    """Arrays by name, in the order they were added.

    ``registry[name]`` reads (``MissingNameError``, a ``KeyError``, lists the names there are) and
    ``registry[name] = array`` writes. Operators write to none that they are given:
    they return :meth:`replace`, a new registry which shares the untouched arrays.
    """

    def __init__(self, tensors: Mapping[str, Array] | None = None) -> None:
        """Take the arrays of ``tensors``; the mapping itself is copied, its arrays are not.

        Raises:
            TypeError: one of them is a list or tuple, which no step can compute with.
        """
        self._tensors: dict[str, Array] = dict(tensors or {})
        for name, value in self._tensors.items():
            _check_array(name, value)

    def __getitem__(self, name: str) -> Array:
        try:
            return self._tensors[name]
        except KeyError:
            there = ", ".join(self._tensors) or "(none)"
            raise MissingNameError(
                f"TensorRegistry: there is no tensor {name!r}; available: {there}"
            ) from None

    def __setitem__(self, name: str, value: Array) -> None:
        _check_array(name, value)
        self._tensors[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __bool__(self) -> bool:
        """Always true: a registry without tensors is still a value, not a missing one."""
        return True

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}: {_array_text(array)}" for name, array in self._tensors.items())
        return f"TensorRegistry({shown})"

    def keys(self) -> KeysView[str]:
        """The names, in the order they were added."""
        return self._tensors.keys()

    def replace(self, /, **arrays: Array) -> TensorRegistry:
        """Give a new registry with these arrays added or put in place of those of the same name."""
        return TensorRegistry({**self._tensors, **arrays})


def same_content(one: Array, other: Array) -> bool:
    """Tell whether two arrays have one dtype, shape and content, NaN equal to NaN; never raises."""
    if one is other:
        return True
    if getattr(one, "dtype", None) != getattr(other, "dtype", None):
        return False
    floating = getattr(getattr(one, "dtype", None), "kind", "") in "fc"
    try:
        return bool(np.array_equal(one, other, equal_nan=floating))
    except (TypeError, ValueError):
        return False


def _check_array(name: str, value: Any) -> None:
    # What is no array may go along, such as a tile's name; a list is one that somebody forgot to make.
    if isinstance(value, (list, tuple)):
        raise TypeError(
            f"TensorRegistry: {name!r} must be an array, got a {type(value).__name__}; "
            "np.asarray(...) makes one"
        )


def _array_text(array: object) -> str:
    shape = "x".join(str(side) for side in getattr(array, "shape", ())) or "scalar"
    return f"{shape} {getattr(array, 'dtype', type(array).__name__)}"
