"""Many callers' single items become lists for one runner.

Callers wait on tickets; one of them, on its own thread, leads each batch for
all its members. Knows time and threads. Knows nothing of pipelines, tensors or
traces.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any, Generic, TypeAlias, TypeVar

from ml_pipes._threads.clock import CLOCK, Clock, Gate
from ml_pipes._threads.copies import own_copy
from ml_pipes._threads.departure import Departure
from ml_pipes._threads.owned import CLOSED
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.errors import BatchSizeError, PipelineClosed, RegionError

__all__ = ["Batcher", "Runner", "Ticket"]

ItemT = TypeVar("ItemT")
Runner: TypeAlias = Callable[[list[Any]], Any]

# The runs whose body this code is in. It is a ContextVar, so that a body's own workers inherit it.
_inside: ContextVar[tuple[_Run, ...]] = ContextVar("ml_pipes_inside", default=())

# A signal's exception can come between any two instructions of a leader, also before it wakes whom it should.
# So nobody's progress hangs on one wake-up: each waiting caller looks again this often, and takes over.
_LOOK_AGAIN_S = 0.5
_LEADER_LEFT = "the caller that led this batch left before it was done"


class _Run:
    """One run of the body for its members.

    Attributes:
        over: nothing more will come of it; a plain store, the first thing when a leader ends.
    """

    __slots__ = ("batcher", "members", "over")

    def __init__(self, batcher: Batcher) -> None:
        self.batcher = batcher
        self.members: list[Ticket[Any]] = []
        self.over = False


class Ticket(Generic[ItemT]):
    """One caller's item and, in the end, its outcome.

    The item joins the queue when the caller waits, not before: a ticket that is
    dropped unwaited leaves nothing behind that others could wait for.

    Attributes:
        joined_at: when it began to wait, seconds.
        started_at: when its batch left, seconds; None while it has not.
        ended_at: when its batch was done, seconds; None while it is not.
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
        "left",
        "result",
        "run",
        "runner",
        "started_at",
    )

    def __init__(self, batcher: Batcher, item: ItemT, runner: Runner) -> None:
        self._batcher = batcher
        self.item: ItemT | None = item
        self.runner = runner
        self.gate = Gate()
        self.run: _Run | None = None
        self.left = False
        self.done = False
        self.result: Any = None
        self.error: BaseException | None = None
        self.joined_at = 0.0
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.batch_size = 0

    @property
    def is_waiting(self) -> bool:
        """No batch has taken it, and its caller has not left."""
        return self.run is None and not self.left

    def wait(self) -> Any:
        """Join the queue, lead a batch if it falls to this thread, and return the own result.

        Raises:
            BatchSizeError: the runner returned another number of results.
            BaseException: a copy of what the runner raised, caused by the original.
        """
        try:
            self._batcher.serve(self)
            if self.error is not None:
                raise self.error
            return self.result
        finally:
            # What came and what went is the caller's: a ticket kept for its times must not keep images,
            # and an error that holds this frame must not be held by it. One that leaves may just be read.
            if self.done:
                self.item = self.result = self.error = None


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
        self._run: _Run | None = None
        self._closed = False

    def ticket(self, item: ItemT, runner: Runner) -> Ticket[ItemT]:
        """A place for ``item``; ``runner`` takes a list and returns one result per item, in order."""
        return Ticket(self, item, runner)

    def serve(self, ticket: Ticket[Any]) -> None:
        """Block until the ticket has its outcome; other callers' batches may be led meanwhile."""
        ticket.joined_at = self._clock.now()
        if any(run.batcher is self and not run.over for run in _inside.get()):
            self._serve_alone(ticket)
            return
        try:
            with self._lock:
                if self._closed:
                    raise PipelineClosed(CLOSED)
                self._queue.append(ticket)
            while not ticket.done:
                self._step(ticket)
        finally:
            if not ticket.done:
                ticket.left = True  # a plain store: from now on it is passed over, whatever comes between
                self._leave(ticket)

    def close(self) -> None:
        """Release everybody who waits with :class:`PipelineClosed`; a batch that runs ends as it would."""
        with self._lock:
            self._closed = True
            waiting = [ticket for ticket in self._queue if ticket.is_waiting]
            self._queue.clear()
            for ticket in waiting:
                _settle_error(ticket, PipelineClosed(f"{self._label}: {CLOSED}"), None)
        for ticket in waiting:
            ticket.gate.open()

    def _serve_alone(self, ticket: Ticket[Any]) -> None:
        """For a call from inside the own body: the runner is busy with this very caller."""
        ticket.run = run = _Run(self)
        run.members.append(ticket)
        self._lead(run, ticket)

    def _step(self, ticket: Ticket[Any]) -> None:
        """Lead a batch if one is due, else wait until something may have changed."""
        run: _Run | None = None
        try:
            with self._lock:
                now = self._clock.now()
                if self._is_due(now):
                    run = self._run = _Run(self)
                    self._take(run)
                wait_s = self._departure.wait_s(0, ticket.joined_at, now)
            if run is not None:
                self._lead(run, ticket)
                return
        finally:
            if run is not None:
                run.over = True
        if ticket.run is not None and ticket.run.over and not ticket.done:
            _settle_error(ticket, RegionError(_LEADER_LEFT), now)
            return
        # Past its time with the runner busy, it is called when the runner comes free.
        self._clock.wait(ticket.gate, min(wait_s, _LOOK_AGAIN_S) if wait_s > 0.0 else _LOOK_AGAIN_S)

    def _take(self, run: _Run) -> None:
        while self._queue and len(run.members) < self._departure.size:
            ticket = self._queue[0]
            if ticket.is_waiting:
                ticket.run = run
                run.members.append(ticket)
            self._queue.popleft()

    def _lead(self, run: _Run, leader: Ticket[Any]) -> None:
        """Run a batch, settle its members whatever happens, hand over, then release the members."""
        try:
            self._work(run)
        except BaseException as error:
            for ticket in run.members:
                if not ticket.done:
                    _settle_error(ticket, error, self._clock.now())
            # A member, and a leader of others whose body failed, go on: the error is the members'. What comes
            # before any member is, and an interrupt of this thread while it leads others, is its own.
            is_member = leader.run is run
            is_theirs = isinstance(error, Exception) and bool(run.members)
            if not is_member and not is_theirs:
                raise
        finally:
            run.over = True
            # The next batch first: each wake-up costs, and the runner is free.
            self._call_next()
            for ticket in run.members:
                ticket.gate.open()

    def _work(self, run: _Run) -> None:
        """Run the members' items and settle each member; raises what the runner raises."""
        members = run.members
        runner = members[0].runner
        started_at = self._clock.now()
        for ticket in members:
            ticket.runner, ticket.started_at, ticket.batch_size = runner, started_at, len(members)
        outside = _inside.set((*_inside.get(), run))
        try:
            results = _rows(self._label, runner([ticket.item for ticket in members]), len(members))
        finally:
            _inside.reset(outside)
        ended_at = self._clock.now()
        for ticket, result in zip(members, results, strict=True):
            if isinstance(result, BaseException):
                _settle_error(ticket, result, ended_at)
            else:
                ticket.result, ticket.ended_at, ticket.done = result, ended_at, True

    def _leave(self, ticket: Ticket[Any]) -> None:
        """Take a caller out that stops waiting; what was asked of it passes to the next."""
        with self._lock:
            if ticket in self._queue:
                self._queue.remove(ticket)
        self._call_next()

    def _call_next(self) -> None:
        """Call the first in the queue, if a batch is due."""
        with self._lock:
            if self._is_due(self._clock.now()):
                self._queue[0].gate.open()

    def _is_due(self, now: float) -> bool:
        """The runner is free, and those who wait are to leave now; the lock is held."""
        if self._run is not None and not self._run.over:
            return False
        while self._queue and not self._queue[0].is_waiting:  # an interrupt can leave such a one behind
            self._queue.popleft()
        if not self._queue:
            return False
        return self._departure.wait_s(len(self._queue), self._queue[0].joined_at, now) <= 0.0


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
    # By index: what a table of columns iterates over is not its rows.
    return [results[at] for at in range(count)]


def _has_rows(results: Any) -> bool:
    """Lists, tuples and the like, and arrays of one axis or more; no text, no mapping, no generator."""
    if isinstance(results, Sequence):
        return not isinstance(results, str | bytes | bytearray)
    return hasattr(type(results), "__dlpack__") and len(results.shape) > 0


def _settle_error(ticket: Ticket[Any], error: BaseException, ended_at: float | None) -> None:
    """Give a caller an error of its own; one that cannot even be copied is given as it is."""
    try:
        ticket.error = own_copy(error)
    except Exception:  # no stack left, or no memory
        ticket.error = error
    ticket.ended_at, ticket.done = ended_at, True
