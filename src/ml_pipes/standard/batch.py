"""Batch / UnBatch: concurrent callers meet, and the steps between run once for all of them.

Knows what was asked for, and what an item's key and size are. Knows nothing of how
callers wait (``_threads/batcher.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from math import inf
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.departure import POLICIES, Departure, Policy
from ml_pipes._threads.ticket import Ticket
from ml_pipes.errors import OversizeError
from ml_pipes.operator import Operator
from ml_pipes.region import Body, RegionCloser, RegionOpener
from ml_pipes.standard._checks import check_choice, check_count, check_flag, check_seconds
from ml_pipes.standard._given import check_takes_one
from ml_pipes.standard._sources import items_of

__all__ = ["Batch", "UnBatch"]

ItemT = TypeVar("ItemT")
_OnError: TypeAlias = Literal["share", "isolate"]


@Operator
class UnBatch(RegionCloser):
    """Ends a :class:`Batch`; each caller goes on with the result at its own place."""


@Operator
class Batch(RegionOpener[ItemT, Any]):
    """Collect the values of concurrent callers; the steps up to ``UnBatch()`` see them as one list.

    They run once per batch, on the thread of one of the callers, and must return one
    result per item, in order. A result that is an exception is raised to its caller
    alone. A batch has at most ``size`` rows; while all runners are busy it may grow.
    When one is free, ``policy`` says when it leaves:

    - ``"auto"``: at once, unless callers are known to come that are worth the wait:
      those inside this pipeline, or one that embeds it, on their way to this region;
      items that workers of a ``Scatter`` are about to bring; callers that were just
      served and usually come back at once. What a wait is worth is told from the run
      times, which the region learns. A caller that is alone never waits.
    - ``"greedy"``: at once, always.
    - ``"full"``: when it is full, or when its oldest row has waited ``timeout`` seconds.

    Args:
        size: most rows of a batch.
        timeout: longest wait for company, seconds from the arrival of the oldest row. It
            limits the wait for a batch to fill, not for a runner, and not the run. (``"auto"`` may go past it
            by the time in which callers usually come back, at most half of what a run's launch costs.)
            None waits for a full batch, whatever it takes, with ``policy="full"``.
        policy: see above.
        max_concurrency: how many batches of this region may run at a time; with ``"auto"``, those
            that are free share who is there. More than 1 is for a model that leaves CPUs idle.
        many: each caller brings a list and gets a list. The steps see one flat list of at
            most ``size`` rows; a caller's list may be split over several batches, and share them with
            others' lists. A result that is ``SHORT_CIRCUIT`` is left out of its caller's list.
        rows: how many rows an item counts for, 1 or more; each counts for 1 when None. With
            ``many``, of each item of the list.
        key: items of different keys never share a batch: any hashable value. When None, arrays, tensors and
            images (whatever has ``shape`` and ``dtype``, or an ``array`` that has) share one with those of
            their shape and dtype; all other values are alike. ``key=lambda item: None`` lets everything meet.
        max_waiting: how many rows may wait for a batch at a time; None for any number.
        on_error: ``"share"`` gives a failure of the steps to every caller of the batch;
            ``"isolate"`` runs the items of a failed batch again, each alone, so that only the guilty fail.

    A body must not wait for a call of its own region from a thread that does not
    carry its context (ContextVars), nor two pipelines' bodies for calls of each other:
    such a call waits for the very batch that waits for it.

    Raises:
        TypeError: an argument is not of its kind (when built).
        ValueError: an argument is out of its range (when built).
        QueueFull: ``max_waiting`` rows wait already (a ``RuntimeError``).
        OversizeError: an item has more than ``size`` rows (a ``ValueError``).
        BatchSizeError: the steps returned another number of results: to every caller of
            that batch (a ``RuntimeError``).
        BaseException: what the steps raise: to every caller of that batch a copy of
            its own, caused by the original.
    """

    closing_type = UnBatch
    keeps_stats = True

    def __init__(
        self,
        size: int,
        timeout: float | None = 0.05,
        *,
        policy: Policy = "auto",
        max_concurrency: int = 1,
        many: bool = False,
        rows: Callable[[Any], int] | None = None,
        key: Callable[[Any], Hashable] | None = None,
        max_waiting: int | None = None,
        on_error: _OnError = "share",
    ) -> None:
        self.size = check_count("Batch: size", size)
        self.policy = check_choice("Batch: policy", policy, POLICIES)
        self.timeout = self._checked_timeout(timeout)
        self.max_concurrency = check_count("Batch: max_concurrency", max_concurrency)
        self.many = check_flag("Batch: many", many)
        for name, function in (("rows", rows), ("key", key)):
            if function is not None:
                check_takes_one(f"Batch: {name}", function)
        self.rows = rows
        self.key = key
        self.max_waiting = None if max_waiting is None else check_count("Batch: max_waiting", max_waiting)
        if self.max_waiting is not None and self.max_waiting < self.size:
            raise ValueError(
                f"Batch: max_waiting must be size ({self.size}) or more, or no batch is ever full, "
                f"got {max_waiting}"
            )
        self.on_error = check_choice("Batch: on_error", on_error, get_args(_OnError))

    def run(self, value: Any, body: Body[list[Any], Any]) -> Ticket:
        batcher = body.own(self.meeting_place)
        if not self.many:
            size = 1 if self.rows is None else self._size(value, body.label)
            return batcher.ticket(value, body, key=self._key(value), size=size)
        items = list(items_of(value, "Batch(many=True)"))
        sizes = None if self.rows is None else [self._size(item, body.label) for item in items]
        return batcher.tickets(items, body, keys=[self._key(item) for item in items], sizes=sizes)

    def meeting_place(self, label: str) -> Batcher:
        timeout_s = inf if self.timeout is None else self.timeout
        return Batcher(
            label,
            Departure(self.size, timeout_s, self.policy),
            max_concurrency=self.max_concurrency,
            max_waiting=self.max_waiting,
            isolate=self.on_error == "isolate",
        )

    def _checked_timeout(self, timeout: float | None) -> float | None:
        if timeout is not None:
            return check_seconds("Batch: timeout", timeout)
        if self.policy != "full":
            raise TypeError(
                "Batch: timeout must be finite seconds, 0 or more, got None; to wait for a full batch, "
                'whatever it takes, write policy="full", timeout=None'
            )
        return None

    def _key(self, item: Any) -> Hashable:
        if self.key is None:
            return _alike(item)
        key = self.key(item)
        try:
            hash(key)
        except TypeError:
            raise TypeError(
                f"Batch: what key() returns must be hashable, got a {type(key).__name__}; return a tuple, "
                "a text or a number"
            ) from None
        return key

    def _size(self, item: Any, label: str) -> int:
        size = check_count("Batch: what rows() returns", self.rows(item))  # type: ignore[misc] # where there is one
        if size > self.size:
            raise OversizeError(
                f"{label}: an item has {size} rows, and a batch at most size={self.size}; split it before, "
                "or bring its parts as a list with many=True"
            )
        return size


def _alike(item: Any) -> Hashable:
    """The shape and dtype of an array, or of the array that the item carries; None for any other value."""
    if isinstance(item, tuple):
        return tuple(map(_alike, item))
    array = getattr(item, "array", item)
    shape = getattr(array, "shape", None)
    return (shape, getattr(array, "dtype", None)) if isinstance(shape, tuple) else None
