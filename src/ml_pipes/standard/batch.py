"""Batch / UnBatch: concurrent callers meet, and the steps between run once for all of them.

Knows the size and the wait that were asked for. Knows nothing of how callers
wait (``_threads/batcher.py``).
"""

from __future__ import annotations

from typing import Any, TypeVar

from ml_pipes._threads.batcher import Batcher, Ticket
from ml_pipes._threads.departure import Departure
from ml_pipes.operator import Operator
from ml_pipes.region import Body, RegionCloser, RegionOpener
from ml_pipes.standard._checks import check_count, check_seconds

__all__ = ["Batch", "UnBatch"]

ItemT = TypeVar("ItemT")


@Operator
class UnBatch(RegionCloser):
    """Ends a :class:`Batch`; each caller goes on with the result at its own place."""


@Operator
class Batch(RegionOpener[ItemT, Any]):
    """Collect the values of concurrent callers; the steps up to ``UnBatch()`` see them as one list.

    They run once per batch, on the thread of one of the callers, one batch at a
    time, and must return one result per item, in order. A batch leaves when it
    is full, or when its oldest item has waited ``timeout`` seconds and no other
    batch is running; until then it may grow.

    Args:
        size: most items of a batch.
        timeout: longest wait for company, seconds from the arrival of the oldest
            item. It limits the wait, not the run.

    A body must not wait for a call of its own region from a thread that does not
    carry its context (ContextVars), nor two pipelines' bodies for calls of each other:
    such a call waits for the very batch that waits for it.

    Raises:
        TypeError: ``size`` is no whole number, or ``timeout`` no number (when built).
        ValueError: ``size`` is less than 1, or ``timeout`` negative or not finite (when built).
        BatchSizeError: the steps returned another number of results: to every caller of
            that batch (a ``RuntimeError``).
        BaseException: what the steps raise: to every caller of that batch a copy of
            its own, caused by the original.
    """

    closing_type = UnBatch

    def __init__(self, size: int, timeout: float = 0.05) -> None:
        self.size = check_count("Batch: size", size)
        self.timeout = check_seconds("Batch: timeout", timeout)

    def run(self, value: ItemT, body: Body[list[ItemT], Any]) -> Ticket[ItemT]:
        batcher = body.own(self._batcher)
        return batcher.ticket(value, body)

    def _batcher(self, label: str) -> Batcher:
        return Batcher(label, Departure(self.size, self.timeout))
