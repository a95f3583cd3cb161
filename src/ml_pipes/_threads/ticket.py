"""One caller's rows in a batcher, and in the end their outcome.

Knows rows, results and errors. Knows nothing of when a batch leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Protocol, TypeAlias

from ml_pipes._threads.clock import Gate
from ml_pipes._threads.company import Traveller
from ml_pipes._threads.copies import own_copy
from ml_pipes._threads.deadline import deadline_at
from ml_pipes.control import SHORT_CIRCUIT

__all__ = ["Row", "Runner", "Served", "Server", "Ticket", "Way"]

_NOTHING: list[Any] = []  # never written to
# One that has ``apart()`` gives by it a runner for one batch alone, with a ``record`` of what went on in it.
Runner: TypeAlias = Callable[[list[Any]], Any]


class Server(Protocol):
    """What serves tickets."""

    def serve(self, ticket: Ticket) -> None:
        """Block until the ticket has its outcome."""


class Served(Protocol):
    """A run that has taken some of a ticket's rows.

    Attributes:
        settled: each of its rows has its outcome.
        over: nothing more will come of it.
        record: what its runner keeps of it, where it keeps something.
        items: how many items it had.
        participants: how many callers they were of.
    """

    settled: bool
    over: bool
    record: Any
    items: int
    participants: int

    def rows_of(self, ticket: Ticket) -> tuple[int, ...]:
        """Which of its rows are this caller's, from 0, where they may have been run one by one."""


class Way(Protocol):
    """How a caller goes on after its batch."""

    traveller: Traveller

    def passed(self, here: object = None) -> int | None:
        """Its batch is done, and it is about to be woken: be expected where it goes next.

        Returns:
            the thread that may come back to ``here`` with another call, for ``here`` to note; else None.
        """


class Row:
    """One item of a ticket: its place there, what the body is given, and how many rows it counts for.

    (The item too: a ticket that failed lets go of its items, while a batch may have just taken another.)
    """

    __slots__ = ("at", "item", "size", "ticket")

    def __init__(self, ticket: Ticket, at: int, size: int) -> None:
        self.ticket = ticket
        self.at = at
        self.item = ticket.items[at]
        self.size = size


class Ticket:
    """One caller's items and, in the end, their outcome.

    The items join the queue when the caller waits, not before: a ticket that is
    dropped unwaited leaves nothing behind that others could wait for.

    Args:
        server: what serves it.
        items: what the body is to run on.
        runner: takes a list of items and returns one result per item, in order.
        many: the caller brought a list and gets a list.
        keys: per item, what it may share a batch with.
        sizes: per item, how many rows it counts for.

    Attributes:
        size: how many rows its items count for.
        came: it was let in.
        taken: how many of them batches have taken.
        leads: its caller is leading a batch at the moment.
        failed_at: which item of a caller's list failed by itself; None where none did.
        gate: where its caller waits; None while it has not had to.
        way: how the caller goes on; None where nobody asks.
        deadline_at: when the caller stops waiting, seconds.
        joined_at: when it began to wait, seconds.
        started_at: when its first batch left, seconds; None while it has not.
        ended_at: when its last batch was done, seconds; None while it is not.
        runs: the batches that took some of them.
    """

    __slots__ = (
        "_many",
        "_missing",
        "_results",
        "_server",
        "_short_circuits",
        "came",
        "deadline_at",
        "done",
        "ended_at",
        "error",
        "failed_at",
        "gate",
        "items",
        "joined_at",
        "keys",
        "leads",
        "left",
        "runner",
        "runs",
        "size",
        "sizes",
        "started_at",
        "taken",
        "way",
    )

    def __init__(
        self,
        server: Server,
        items: list[Any],
        runner: Runner,
        *,
        many: bool = False,
        keys: Sequence[Hashable] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> None:
        self._server = server
        self._many = many
        self._missing = len(items)
        self._results: list[Any] = [None] * len(items)
        self._short_circuits = False
        self.items = items
        self.size = len(items) if sizes is None else sum(sizes)
        self.came = False
        self.taken = 0
        self.leads = False
        self.keys = keys
        self.sizes = sizes
        self.runner = runner
        self.way: Way | None = None
        self.deadline_at = deadline_at()
        self.gate: Gate | None = None
        self.runs: list[Served] = []
        self.left = False
        self.done = False
        self.error: BaseException | None = None
        self.failed_at: int | None = None
        self.joined_at = 0.0
        self.started_at: float | None = None
        self.ended_at: float | None = None

    def wake(self) -> None:
        """Let its caller look again, if it waits."""
        gate = self.gate
        if gate is not None:
            gate.open()

    def wait(self) -> Any:
        """Join the queue, lead a batch if it falls to this thread, and return the own result.

        Raises:
            BatchSizeError: the runner returned another number of results.
            QueueFull: there is no room.
            DeadlineExceeded: the caller's deadline came first.
            BaseException: a copy of what the runner raised, caused by the original.
        """
        if not self.items:
            return []
        try:
            self._server.serve(self)
            if self.error is not None:
                raise self.error
            return self._outcome()
        finally:
            # What came and what went is the caller's: a ticket kept for its times must not keep images,
            # and an error that holds this frame must not be held by it. One that leaves may just be read.
            if self.done:
                self.items = self._results = _NOTHING
                self.error = None

    @property
    def is_waiting(self) -> bool:
        """Its caller waits for rows that no batch has taken, or that run."""
        return not (self.done or self.left)

    @property
    def is_orphan(self) -> bool:
        """A leader of its rows was lost before it gave them an outcome."""
        return any(run.over and not run.settled for run in self.runs)

    def settle(self, at: int, result: Any, ended_at: float) -> None:
        """One item's result, or an exception that its caller is to get."""
        if isinstance(result, BaseException):
            if self._many and not self.done:
                self.failed_at = at
            self.fail(result, ended_at)
        results = self._results
        if self.done or not results:  # another batch failed it, and its caller may be gone
            return
        results[at] = result
        self._missing -= 1
        if self._missing == 0:
            self.ended_at, self.done = ended_at, True

    def short_circuit(self) -> None:
        """A batch that it has items in ended early, as a whole: so does its caller's run."""
        self._short_circuits = True

    def fail(self, error: BaseException, ended_at: float | None) -> None:
        """Give the caller an error of its own; one that cannot even be copied is given as it is."""
        if self.done:
            return
        try:
            self.error = own_copy(error)
        except Exception:  # no stack left, or no memory
            self.error = error
        self.ended_at, self.done = ended_at, True

    def _outcome(self) -> Any:
        if not self._many:
            return self._results[0]
        if self._short_circuits:
            return SHORT_CIRCUIT
        return [result for result in self._results if result is not SHORT_CIRCUIT]
