"""Many callers' single items become lists for one runner.

Callers wait on tickets; one of them, on its own thread, leads each batch for
all its members. Knows time and threads. Knows nothing of pipelines, tensors or
traces.
"""

from __future__ import annotations

import math
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from itertools import islice
from typing import Any, Generic, TypeAlias, TypeVar

from ml_pipes._threads.clock import CLOCK, Clock, Gate
from ml_pipes._threads.copies import own_copy
from ml_pipes._threads.departure import Departure
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.errors import BatchSizeError, RegionError

__all__ = ["Batcher", "Runner", "Ticket"]

ItemT = TypeVar("ItemT")
Runner: TypeAlias = Callable[[list[Any]], Any]

# The batchers whose body this thread is in. It is a ContextVar, so that a body's own workers inherit it.
_leading: ContextVar[tuple[Batcher, ...]] = ContextVar("ml_pipes_leading", default=())


class Ticket(Generic[ItemT]):
    """One caller's item and, in the end, its outcome.

    The item joins the queue when the caller waits, not before: a ticket that is
    dropped unwaited leaves nothing behind that others could wait for.

    Attributes:
        joined_at: when it began to wait, seconds.
        started_at: when its batch left, seconds; None while it has not.
        ended_at: when its batch was done, seconds.
        batch_size: how many items its batch had.
        runner: what ran its batch: the runner of the batch's first member.
    """

    __slots__ = (
        "_batcher",
        "batch_size",
        "done",
        "ended_at",
        "error",
        "gate",
        "item",
        "joined_at",
        "result",
        "runner",
        "started_at",
    )

    def __init__(self, batcher: Batcher, item: ItemT, runner: Runner) -> None:
        self._batcher = batcher
        self.item: ItemT | None = item
        self.runner = runner
        self.gate = Gate()
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.joined_at = 0.0
        self.started_at: float | None = None
        self.ended_at = 0.0
        self.batch_size = 0

    def wait(self) -> Any:
        """Join the queue, lead a batch if it falls to this thread, and return the own result.

        Raises:
            BatchSizeError: the runner returned another number of results.
            BaseException: a copy of what the runner raised, caused by the original.
        """
        self._batcher.serve(self)
        # What came and what went is the caller's: a ticket kept for its times must not keep images.
        result, self.item, self.result = self.result, None, None
        if self.error is None:
            return result
        try:
            raise self.error
        finally:
            self.error = None  # else the error would hold this frame, and this frame the error


class Batcher:
    """The waiting room and its queue, first in, first out; one batch runs at a time.

    Args:
        label: the region's label, for messages.
        departure: when a batch leaves, and how large it may be.
        clock: the time it leaves by.
    """

    def __init__(self, label: str, departure: Departure, clock: Clock = CLOCK) -> None:
        self._label = label
        self._departure = departure
        self._clock = clock
        self._lock = threading.Lock()
        self._queue: deque[Ticket[Any]] = deque()
        self._running = False

    def ticket(self, item: ItemT, runner: Runner) -> Ticket[ItemT]:
        """A place for ``item``; ``runner`` takes a list and returns one result per item, in order."""
        return Ticket(self, item, runner)

    def serve(self, ticket: Ticket[Any]) -> None:
        """Block until the ticket has its outcome; other callers' batches may be led meanwhile."""
        ticket.joined_at = self._clock.now()
        if self in _leading.get():
            self._serve_alone(ticket)
            return
        try:
            with self._lock:
                self._queue.append(ticket)
            while not ticket.done:
                self._step(ticket)
        finally:
            if not ticket.done:
                self._leave(ticket)

    def _serve_alone(self, ticket: Ticket[Any]) -> None:
        """For a call from inside the own body: the runner is busy with this very caller."""
        failure: BaseException | None = None
        try:
            self._run([ticket])
        except BaseException as error:
            failure = error
        finally:
            _release([ticket], failure, self._clock.now())

    def _step(self, ticket: Ticket[Any]) -> None:
        """Lead a batch if one is due, else wait until something may have changed."""
        batch: list[Ticket[Any]] = []
        leading = False
        failure: BaseException | None = None
        try:
            with self._lock:
                now = self._clock.now()
                if not self._running and self._wait_s(now) <= 0.0:
                    # In this order, and inside the try, so that an interrupt cannot leave the runner taken.
                    leading = True
                    self._running = True
                    self._take(batch)
                wait_s = self._departure.wait_s(0, ticket.joined_at, now)
            if leading:
                self._run(batch)
            else:
                # Past its time with the runner busy, it is called when the runner comes free.
                self._clock.wait(ticket.gate, wait_s if wait_s > 0.0 else None)
        except BaseException as error:
            failure = error
            # An interrupt that hits this thread while it leads others' batch is its own too.
            if not leading or (ticket not in batch and not isinstance(error, Exception)):
                raise
        finally:
            if leading:
                try:
                    self._hand_over()
                finally:
                    _release(batch, failure, self._clock.now())

    def _take(self, batch: list[Ticket[Any]]) -> None:
        batch.extend(islice(self._queue, self._departure.size))
        for _ in batch:
            self._queue.popleft()

    def _run(self, batch: list[Ticket[Any]]) -> None:
        """Run the members' items and settle each member; raises what the runner raises."""
        runner = batch[0].runner
        started_at = self._clock.now()
        for ticket in batch:
            ticket.runner, ticket.started_at, ticket.batch_size = runner, started_at, len(batch)
        inherited = _leading.set((*_leading.get(), self))
        try:
            results = _rows(self._label, runner([ticket.item for ticket in batch]), len(batch))
        finally:
            _leading.reset(inherited)
        ended_at = self._clock.now()
        for ticket, result in zip(batch, results, strict=True):
            _settle(ticket, result, ended_at)

    def _hand_over(self) -> None:
        """Free the runner, and call the first in the queue if a batch is due."""
        with self._lock:
            self._running = False
            self._call_first()

    def _leave(self, ticket: Ticket[Any]) -> None:
        """Take a caller out that stops waiting; what was asked of it passes to the next."""
        with self._lock:
            if ticket in self._queue:
                self._queue.remove(ticket)
            self._call_first()

    def _call_first(self) -> None:
        if not self._running and self._wait_s(self._clock.now()) <= 0.0:
            self._queue[0].gate.open()

    def _wait_s(self, now: float) -> float:
        """Seconds until a batch is due; infinite for an empty queue."""
        if not self._queue:
            return math.inf
        return self._departure.wait_s(len(self._queue), self._queue[0].joined_at, now)


def _rows(label: str, results: Any, count: int) -> Sequence[Any]:
    """One result per item.

    Raises:
        BatchSizeError: another number, or nothing that has rows.
    """
    if results is SHORT_CIRCUIT:
        return [SHORT_CIRCUIT] * count
    if not _has_rows(results):
        raise BatchSizeError(
            f"{label}: the body took {count} items and returned a {type(results).__name__}; "
            "return a list with one result per item, in order (does it end with Distribute()?)"
        )
    if len(results) != count:
        raise BatchSizeError(
            f"{label}: Batch size mismatch: the body took {count} items and returned {len(results)}; "
            "return one result per item, in order (does it end with Distribute()?)"
        )
    rows: Sequence[Any] = results
    return rows


def _has_rows(results: Any) -> bool:
    """Lists, tuples and the like, and arrays of one axis or more; no text, no mapping, no generator."""
    if isinstance(results, Sequence):
        return not isinstance(results, str | bytes | bytearray)
    return bool(getattr(results, "shape", ())) and hasattr(type(results), "__getitem__")


def _settle(ticket: Ticket[Any], result: Any, ended_at: float) -> None:
    """One member's outcome: its result; an error among the results is raised to its owner only."""
    ticket.ended_at = ended_at
    if isinstance(result, BaseException):
        ticket.error = own_copy(result)
    else:
        ticket.result = result
    ticket.done = True


def _release(batch: list[Ticket[Any]], failure: BaseException | None, ended_at: float) -> None:
    """Settle whom the run did not settle, and open every gate, even when interrupts come in between."""
    cause = failure or RegionError("the caller that led this batch left before it was done")
    interrupt: BaseException | None = None
    waiting = list(batch)
    while waiting:
        try:
            if not waiting[-1].done:
                _settle(waiting[-1], cause, ended_at)
            waiting[-1].gate.open()
            waiting.pop()
        except BaseException as error:
            interrupt = error
    if interrupt is not None:
        raise interrupt
