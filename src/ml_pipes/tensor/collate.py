"""Many tensors become one batch.

Knows payloads and their layouts. Knows nothing of who waits for the batch.
"""

from __future__ import annotations

import numpy as np

from ml_pipes.operator import Operator
from ml_pipes.tensor.types import TensorPayload

__all__ = ["Collate", "collate"]

_IMAGE_AXES = 4


def collate(tensors: list[TensorPayload]) -> TensorPayload:
    """Join tensors along a batch axis, in their order.

    Args:
        tensors: one or more, of one layout and dtype. Tensors with a batch axis (an
            ``N`` first in the layout; four axes, where the layout does not describe
            the array) are concatenated along it, whatever their batch sizes; others
            are stacked, and the layout gains its ``N``.

    Returns:
        A contiguous array, first axis the batch. One contiguous tensor that is a
        batch already is returned as it is.

    Raises:
        ValueError: the list is empty, or the tensors do not fit each other.
    """
    if not tensors:
        raise ValueError("Collate: the list of tensors is empty; a batch needs at least one")
    first = tensors[0]
    described = len(first.layout) == first.array.ndim
    batched = first.layout.startswith("N") if described else first.array.ndim == _IMAGE_AXES
    _check_alike(tensors, first.array.shape[1:] if batched else first.array.shape, batched)
    if not batched:
        stacked = np.ascontiguousarray(np.stack([tensor.array for tensor in tensors]))
        return TensorPayload(stacked, f"N{first.layout}" if described else first.layout, first.dtype)
    if len(tensors) == 1 and first.array.flags.c_contiguous:
        return first
    joined = np.ascontiguousarray(np.concatenate([tensor.array for tensor in tensors]))
    return TensorPayload(joined, first.layout, first.dtype)


def _check_alike(tensors: list[TensorPayload], item_shape: tuple[int, ...], batched: bool) -> None:
    first = tensors[0]
    for at, tensor in enumerate(tensors):
        shape = tensor.array.shape[1:] if batched else tensor.array.shape
        same_kind = (tensor.layout, tensor.array.dtype) == (first.layout, first.array.dtype)
        if shape != item_shape or tensor.array.ndim != first.array.ndim or not same_kind:
            raise ValueError(
                f"Collate: tensor {at} is {tensor.layout} {tensor.array.shape} {tensor.array.dtype} "
                f"and tensor 0 is {first.layout} {first.array.shape} {first.array.dtype}; "
                "only tensors of one layout, item shape and dtype fit one batch"
            )


@Operator
class Collate:
    """Join the tensors of a batch's callers into one; see :func:`collate`."""

    def __call__(self, tensors: list[TensorPayload]) -> TensorPayload:
        """Give one payload; ValueError when the list is empty or its tensors do not fit."""
        return collate(tensors)
