"""An example repeated to a batch: what a model is warmed up with.

Knows payloads and a model's ports. Knows nothing of sessions or of any runtime.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes._runtimes.feeds import check_feed
from ml_pipes._runtimes.fits import Slot
from ml_pipes.tensor import TensorPayload

__all__ = ["batch_of", "check_sizes"]

Array = npt.NDArray[Any]


def check_sizes(sizes: Sequence[int], example: Any) -> None:
    """Raise ValueError for a size that is no whole number from 1 up, or for an example without an item."""
    shape = _array(example).shape
    if not isinstance(sizes, Collection) or not all(_is_whole(size) for size in sizes):
        raise ValueError(f"Infer: warm_up wants sizes in a tuple, each a whole number, got {sizes!r}")
    if min(sizes, default=1) < 1 or not shape or not shape[0]:
        raise ValueError(
            f"Infer: warm_up wants sizes of 1 or more and an example with an item, got {tuple(sizes)} "
            f"and {shape}"
        )


def batch_of(size: int, example: Mapping[str, Any], slots: Sequence[Slot], first: str) -> dict[str, Array]:
    """Arrays by input name: ``size`` times the first item of each input that has a batch, checked.

    An input has a batch when the model says that its first axis is that of the input
    ``first``, or does not say what it is and as many items came for it. The others
    are the same for all batches.

    Args:
        size: of the batch.
        example: payloads or arrays by name, one for each slot.
        slots: the model's inputs.
        first: the input whose first axis is the batch.

    Raises:
        ModelInputError: the model does not take what came of it.
    """
    rows = {slot.port.name: _side(slot) for slot in slots}
    items = len(_array(example[first]))
    feeds = {}
    for slot in slots:
        name = slot.port.name
        value = example[name]
        if name == first or _shares(rows[name], rows[first], _array(value), items):
            value = _repeated(value, size)
        feeds[name] = check_feed(value, slot)
    return feeds


def _is_whole(size: object) -> bool:
    return isinstance(size, (int, np.integer)) and not isinstance(size, bool)


def _side(slot: Slot) -> int | str | None:
    """What the model says of an input's first axis; None for nothing."""
    shape = slot.port.shape
    return shape[0] or None if shape else None


def _shares(own: int | str | None, batch: int | str | None, array: Array, items: int) -> bool:
    """Is an input's first axis the batch?"""
    if isinstance(own, int) or not array.ndim:
        return False
    if isinstance(own, str) and isinstance(batch, str):
        return own == batch
    return len(array) == items


def _repeated(value: Any, size: int) -> Any:
    rows = np.repeat(_array(value)[:1], size, axis=0)
    return TensorPayload(rows, value.layout, value.dtype) if isinstance(value, TensorPayload) else rows


def _array(value: Any) -> Array:
    return np.asarray(value.array if isinstance(value, TensorPayload) else value)
