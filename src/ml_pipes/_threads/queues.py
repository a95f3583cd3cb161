"""The rows that wait for a batch: one queue per key, first in, first out.

Knows tickets and their rows. Locks nothing: whoever owns it holds a lock. Knows
nothing of when a batch leaves.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from math import inf
from operator import attrgetter

from ml_pipes._threads.run import Run
from ml_pipes._threads.ticket import Row, Ticket

__all__ = ["Queue", "Queues"]

_rows_of = attrgetter("rows")  # this is asked after each batch


class Queue:
    """The rows of one key.

    Attributes:
        rows: how many rows wait, by the region's count.
        held_rows: how many there were when a wait for company began; 0 while there is none.
        held_until: how long they are to be waited for.
        most: how many rows the next batch is to have at most, as of the last look.
    """

    __slots__ = ("_line", "has_deadlines", "held_rows", "held_until", "most", "rows")

    def __init__(self) -> None:
        self._line: deque[Row] = deque()
        self.rows = 0
        self.held_rows = 0
        self.held_until = -inf
        self.most = 0
        self.has_deadlines = False

    def join(self, row: Row) -> None:
        """To the end of the queue."""
        if not self._line:
            self.held_rows, self.held_until = 0, -inf
        self._line.append(row)
        self.rows += row.size
        self.has_deadlines |= row.ticket.deadline_at != inf

    def head(self, now: float) -> Ticket | None:
        """Who waits longest; those who left without a word, or are too late, are passed over."""
        while self._line:
            row = self._line[0]
            if row.ticket.is_waiting and row.ticket.deadline_at > now:
                return row.ticket
            self._line.popleft()
            self.rows -= row.size
        return None

    def leave(self, ticket: Ticket) -> None:
        """Take out what is left of a ticket."""
        self._line = deque(row for row in self._line if row.ticket is not ticket)
        self.rows = sum(row.size for row in self._line)

    def sleeper(self) -> Ticket | None:
        """Who waits longest of those whose thread can be woken: it leads no batch."""
        for row in self._line:
            if row.ticket.is_waiting and not row.ticket.leads:
                return row.ticket
        return None

    def take(self, run: Run, most: int, now: float) -> None:
        """Move rows into the run, in order, up to ``most`` by their count; not who is too late."""
        while self._line:
            row = self._line[0]
            ticket = row.ticket
            if ticket.is_waiting and ticket.deadline_at > now:
                if run.rows and run.size + row.size > most:
                    break
                run.take(row)
            self._line.popleft()
            self.rows -= row.size
        self.held_rows, self.held_until = 0, -inf
        self.has_deadlines &= bool(self._line)

    def leave_by(self) -> float:
        """The earliest deadline of those who wait; infinite where there is none."""
        if not self.has_deadlines:
            return inf
        return min((row.ticket.deadline_at for row in self._line), default=inf)

    def tickets(self) -> list[Ticket]:
        """Those who wait, each once."""
        return list(dict.fromkeys(row.ticket for row in self._line if row.ticket.is_waiting))


class Queues:
    """A queue for each key that somebody waits under."""

    def __init__(self) -> None:
        self._queues: dict[Hashable, Queue] = {}

    def __bool__(self) -> bool:
        """Somebody waits, or left without a word."""
        return any(map(_rows_of, self._queues.values()))

    @property
    def rows(self) -> int:
        """How many rows wait, by the region's count."""
        return sum(queue.rows for queue in self._queues.values())

    def join(self, ticket: Ticket) -> None:
        """Each item of the ticket to the end of the queue of its key."""
        keys, sizes = ticket.keys, ticket.sizes
        for at in range(len(ticket.items)):
            key = None if keys is None else keys[at]
            queue = self._queues.get(key)
            if queue is None:
                queue = self._queues[key] = Queue()
            queue.join(Row(ticket, at, 1 if sizes is None else sizes[at]))

    def leave(self, ticket: Ticket) -> None:
        """Take out what is left of a ticket."""
        for queue in self._queues.values():
            queue.leave(ticket)

    def sleeper(self, first: Queue) -> Ticket | None:
        """Who can be woken to lead a batch: of that queue if there is one, else of any."""
        for queue in (first, *self._queues.values()):
            ticket = queue.sleeper()
            if ticket is not None:
                return ticket
        return None

    def heads(self, now: float) -> list[tuple[Ticket, Queue]]:
        """Who waits longest under each key, the oldest first; keys that nobody waits under are dropped."""
        if len(self._queues) == 1:  # most regions have one key
            (queue,) = self._queues.values()
            head = queue.head(now)
            return [] if head is None else [(head, queue)]
        found = []
        empty = []
        for key, queue in self._queues.items():
            head = queue.head(now)
            if head is None:
                empty.append(key)
            else:
                found.append((head, queue))
        for key in empty:
            del self._queues[key]
        found.sort(key=lambda each: each[0].joined_at)
        return found

    def empty(self) -> list[Ticket]:
        """Let all go; who they were, each once."""
        waiting = list(dict.fromkeys(ticket for queue in self._queues.values() for ticket in queue.tickets()))
        self._queues.clear()
        return waiting
