"""One run of a batch's body, for the rows of several callers.

Knows rows and what to call. Knows nothing of when it starts, or of who waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from contextvars import ContextVar
from typing import Any

from ml_pipes._threads.deadline import deadline_at, due_at
from ml_pipes._threads.results import results_of
from ml_pipes._threads.ticket import Row, Server, Ticket
from ml_pipes.control import SHORT_CIRCUIT

__all__ = ["Run", "is_inside"]

# The runs whose body this code is in. It is a ContextVar, so that a body's own workers inherit it.
_inside: ContextVar[tuple[Run, ...]] = ContextVar("ml_pipes_inside", default=())
_OPEN = nullcontext()


class Run:
    """One run of the body, for its rows.

    Attributes:
        rows: what it runs on, in the order of their coming.
        size: their sum by the region's count of rows.
        reason: why it started.
        started_at: when, seconds.
        ended_at: when the body was done, seconds.
        failed: how many of its results are errors.
        settled: each of its rows has its outcome.
        over: nothing more will come of it; a plain store, the first thing when a leader ends.
        record: what its runner keeps of it, where it keeps something.
        items: how many items it had.
        participants: how many callers they were of.
    """

    __slots__ = (
        "_owners",
        "ended_at",
        "failed",
        "items",
        "over",
        "participants",
        "reason",
        "record",
        "rows",
        "server",
        "settled",
        "size",
        "started_at",
    )

    def __init__(self, server: Server, reason: str) -> None:
        self.server = server
        self.rows: list[Row] = []
        self.size = 0
        self.reason = reason
        self.started_at = self.ended_at = 0.0
        self.failed = 0
        self.settled = False
        self.over = False
        self.record: Any = None
        self.items = self.participants = 0
        self._owners: tuple[int, ...] = ()

    def take(self, row: Row) -> None:
        """One more row."""
        runs = row.ticket.runs
        if not runs or runs[-1] is not self:
            runs.append(self)
        row.ticket.taken += row.size
        self.rows.append(row)
        self.size += row.size

    def tickets(self) -> list[Ticket]:
        """Whose rows they are, each caller once."""
        if len(self.rows) == 1:
            return [self.rows[0].ticket]
        return list(dict.fromkeys([row.ticket for row in self.rows]))

    def rows_of(self, ticket: Ticket) -> tuple[int, ...]:
        """Which of its rows are this caller's, from 0, where they may have been run one by one."""
        return tuple(at for at, owner in enumerate(self._owners) if owner == id(ticket))

    def work(self, label: str, isolate: bool, tickets: Sequence[Ticket]) -> Any:
        """Run the body on the rows' items; one result each, in order, or whatever the body raises.

        ``SHORT_CIRCUIT`` when the body ended early, as a whole.
        """
        items = [row.item for row in self.rows]
        runner = tickets[0].runner
        apart = getattr(runner, "apart", None)
        if apart is not None:
            runner = apart()
            self.record = runner.record
        self.items, self.participants = len(items), len(tickets)
        if isolate:  # by number, for a run that holds its tickets would hold itself
            self._owners = tuple(id(row.ticket) for row in self.rows)
        for ticket in tickets:
            if ticket.started_at is None:
                ticket.started_at = self.started_at
        outside = _inside.set((*_inside.get(), self))
        try:
            # The leader's deadline is not the others': who wants it longest decides.
            longest_at = max([ticket.deadline_at for ticket in tickets])
            with due_at(longest_at) if deadline_at() != longest_at else _OPEN:
                return results_of(label, runner, items, isolate)
        finally:
            _inside.reset(outside)

    def settle(self, results: Any) -> None:
        """Give each row its result."""
        if results is SHORT_CIRCUIT:
            for ticket in self.tickets():
                ticket.short_circuit()
            results = [SHORT_CIRCUIT] * len(self.rows)
        for row, result in zip(self.rows, results, strict=True):
            row.ticket.settle(row.at, result, self.ended_at)
            self.failed += isinstance(result, BaseException)


def is_inside(server: Server) -> bool:
    """This code is in the body of a run of that server, which is not over."""
    runs = _inside.get()
    return bool(runs) and any(run.server is server and not run.over for run in runs)
