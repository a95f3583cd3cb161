"""Many callers' single items become lists for one runner.

Callers wait on tickets; one of them, on its own thread, leads each batch for
all its members. Knows time and threads. Knows nothing of pipelines, tensors or
traces.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from math import inf
from typing import Any

from ml_pipes._threads.clock import CLOCK, Clock, Gate
from ml_pipes._threads.company import Company, Traveller
from ml_pipes._threads.deadline import exceeded
from ml_pipes._threads.departure import Departure, Room, Verdict
from ml_pipes._threads.guard import guard
from ml_pipes._threads.learning import Cost
from ml_pipes._threads.owned import CLOSED
from ml_pipes._threads.queues import Queue, Queues
from ml_pipes._threads.run import Run, is_inside
from ml_pipes._threads.tally import BatchTally
from ml_pipes._threads.ticket import Row, Runner, Ticket
from ml_pipes.errors import PipelineClosed, QueueFull, RegionError
from ml_pipes.stats import RegionStats

__all__ = ["Batcher"]

# A signal's exception can come between any two instructions of a leader, also before it wakes whom it should.
# So nobody's progress hangs on one wake-up: each waiting caller looks again this often, and takes over.
_LOOK_AGAIN_S = 0.5
# A run may take longer than the last ones did, and its callers are on their way for a moment after it.
_MARGIN, _MARGIN_S = 1.25, 0.001
_NEVER = Verdict(inf, "")
_LEADER_LEFT = "the caller that led this batch left before it was done"


class Batcher:
    """The waiting room and its queues; up to ``max_concurrency`` batches run at a time.

    Args:
        label: the region's label, for messages.
        departure: when a batch leaves, and how large it may be.
        clock: the time it leaves by.
        max_concurrency: how many batches may run at a time.
        max_waiting: how many rows may wait; None for any number.
        isolate: run a failed batch again item by item, so that only the guilty fail.
    """

    def __init__(
        self,
        label: str,
        departure: Departure,
        clock: Clock = CLOCK,
        *,
        max_concurrency: int = 1,
        max_waiting: int | None = None,
        isolate: bool = False,
    ) -> None:
        self._label = label
        self._departure = departure
        self._clock = clock
        self._max_concurrency = max_concurrency
        self._max_waiting = inf if max_waiting is None else max_waiting
        self._isolate = isolate
        self._lock = guard()
        self._queues = Queues()
        self._runs: list[Run] = []
        self._closed = False
        self._free_since = -inf
        # Who among those waiting is going to look by itself, and when.
        self._watcher: Ticket | None = None
        self._watched_at = inf
        self._company = Company()
        self._cost = Cost()
        # Who comes back later than this is not worth a wait: what a launch costs.
        self._patience_s = inf
        self._tally = BatchTally()

    def ticket(self, item: Any, runner: Runner, *, key: Hashable = None, size: int = 1) -> Ticket:
        """A place for one item; ``runner`` takes a list and returns one result per item, in order."""
        keys, sizes = (None if key is None else (key,)), (None if size == 1 else (size,))
        return Ticket(self, [item], runner, keys=keys, sizes=sizes)

    def tickets(
        self,
        items: list[Any],
        runner: Runner,
        *,
        keys: Sequence[Hashable] | None = None,
        sizes: Sequence[int] | None = None,
    ) -> Ticket:
        """A place for a caller's list; it gets a list back, whichever batches its items were in."""
        return Ticket(self, items, runner, many=True, keys=keys, sizes=sizes)

    def left(self, caller: int) -> None:
        """A caller was served; the next thing it may do is to come back."""
        with self._lock:
            self._company.left(caller, self._clock.now(), self._patience_s)

    def expect(self, traveller: Traveller, origin: Hashable) -> None:
        """It is on its way here."""
        with self._lock:
            self._company.expect(traveller, origin, self._clock.now(), self._patience_s)
            traveller.heading = self
        if traveller.ended:  # meanwhile, on its own thread, which may not have seen where it was heading
            self.forget(traveller)

    def forget(self, traveller: Traveller) -> None:
        """It is not on its way here any more; those who waited for it may leave."""
        with self._lock:
            traveller.heading = None
            if self._company.forget(traveller):
                self._call_next(self._clock.now())

    def serve(self, ticket: Ticket) -> None:
        """Block until the ticket has its outcome; other callers' batches may be led meanwhile."""
        ticket.joined_at = self._clock.now()
        if ticket.way is not None and ticket.way.traveller.heading is not self:
            ticket.way.traveller.go(None)
        if is_inside(self):
            self._serve_alone(ticket)
            return
        try:
            self._step(ticket, joins=True)
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
            waiting = self._queues.empty()
            for ticket in waiting:
                self._tally.left(ticket.size - ticket.taken)
                ticket.fail(PipelineClosed(f"{self._label}: {CLOSED}"), None)
        for ticket in waiting:
            ticket.wake()

    def stats(self, kind: str) -> RegionStats:
        """What came, what left and why, so far, and what is here now."""
        with self._lock:
            running = sum(not run.over for run in self._runs)
            return self._tally.snapshot(self._label, kind, waiting=self._queues.rows, running=running)

    def _come(self, ticket: Ticket) -> None:
        """A caller is here: there must be room for it. The lock is held."""
        if ticket.way is not None:
            traveller = ticket.way.traveller
            self._company.arrive(traveller, ticket.joined_at, self._patience_s)
            traveller.heading = None
        if self._closed:
            raise PipelineClosed(CLOSED)
        rows = ticket.size
        if self._max_waiting != inf and (waiting := self._queues.rows) + rows > self._max_waiting:
            self._tally.refused()
            way_out = "come again later" if rows <= self._max_waiting else "bring a shorter list"
            raise QueueFull(
                f"{self._label}: {waiting} rows wait, and with {rows} more there would be more than "
                f"max_waiting={self._max_waiting}; {way_out}, or allow more"
            )
        self._tally.joined(rows)
        ticket.came = True

    def _serve_alone(self, ticket: Ticket) -> None:
        """For a call from inside the own body: the runner is busy with this very caller."""
        if ticket.way is not None:
            ticket.way.traveller.go(None)
        with self._lock:
            self._tally.joined(ticket.size)
        queues = Queues()
        queues.join(ticket)
        while not ticket.done:
            now = self._clock.now()
            heads = queues.heads(now)
            if not heads:
                self._tally.left(ticket.size - ticket.taken)
                raise exceeded(f"while the call was in {self._label}", now - ticket.deadline_at)
            run = Run(self, "inside")
            heads[0][1].take(run, self._departure.size, now)
            self._lead(run, ticket)

    def _step(self, ticket: Ticket, *, joins: bool = False) -> None:
        """Lead a batch if one is due, else wait until something may have changed."""
        run: Run | None = None
        wait_s = 0.0
        try:
            with self._lock:
                now = self._clock.now()
                if joins:
                    self._come(ticket)
                elif ticket.done:
                    return
                left_s = ticket.deadline_at - now
                if left_s <= 0.0:
                    raise exceeded(f"while the call waited in {self._label}", -left_s)
                if joins and self._goes_alone(ticket, now):
                    run = Run(self, "alone")
                    self._runs.append(run)
                    run.take(Row(ticket, 0, 1))
                else:
                    if joins:
                        self._queues.join(ticket)
                    verdict, queue = self._next(now)
                    if queue is not None and verdict.wait_s <= 0.0:
                        run = Run(self, verdict.reason)
                        self._runs.append(run)
                        self._take(run, queue, now)
                    else:
                        wait_s = self._watch(ticket, verdict, queue, now)
            if run is not None:
                self._lead(run, ticket)
                return
        finally:
            if run is not None:
                run.over = True
        if ticket.is_orphan and not ticket.done:
            ticket.fail(RegionError(_LEADER_LEFT), now)
            return
        self._clock.wait(ticket.gate, min(wait_s, left_s))  # type: ignore[arg-type] # _watch made it

    def _watch(self, ticket: Ticket, verdict: Verdict, queue: Queue | None, now: float) -> float:
        """Seconds until this caller looks again: at the departure's time, where nobody else is going to."""
        if ticket.gate is None:
            ticket.gate = Gate()
        if queue is None:
            return _LOOK_AGAIN_S  # it is called when the runner comes free
        queue.held_rows = queue.held_rows or queue.rows
        queue.held_until = max(queue.held_until, now + verdict.wait_s)
        if self._is_watched(now + verdict.wait_s, now) and self._watcher is not ticket:
            return _LOOK_AGAIN_S
        self._watcher, self._watched_at = ticket, now + verdict.wait_s
        return min(verdict.wait_s, _LOOK_AGAIN_S)

    def _is_watched(self, at: float, now: float) -> bool:
        """Somebody who waits is going to look by then."""
        return self._watcher is not None and now < self._watched_at <= at

    def _leave(self, ticket: Ticket) -> None:
        """Take a caller out that stops waiting; what was asked of it passes to the next."""
        with self._lock:
            if ticket.came:
                self._queues.leave(ticket)
                self._tally.left(ticket.size - ticket.taken)
            self._watcher = None
            self._call_next(self._clock.now())

    def _is_busy(self) -> bool:
        """As many batches run as may; the lock is held."""
        if len(self._runs) >= self._max_concurrency:
            self._runs = [run for run in self._runs if not run.over]
        return len(self._runs) >= self._max_concurrency

    def _goes_alone(self, ticket: Ticket, now: float) -> bool:
        """Nobody waits or is known to come: a single row leaves, as the rule would say if it were asked.

        This is what happens to most callers of a region that is quick or has few: it
        saves them a third of what the way through the queue costs.
        """
        is_single = len(ticket.items) == 1 and ticket.sizes is None and self._departure.size > 1
        if not is_single or self._departure.policy == "full" or self._queues or self._is_busy():
            return False
        return self._departure.policy == "greedy" or not (
            self._company.coming(now) or self._company.returning(now)
        )

    def _next(self, now: float) -> tuple[Verdict, Queue | None]:
        """What leaves next, and when; no queue while no runner is free, or nobody waits. The lock is held."""
        if self._is_busy():
            return _NEVER, None
        soonest, which = _NEVER, None
        for head, queue in self._queues.heads(now):
            verdict = self._departure.look(self._room(head, queue, now))
            if verdict.wait_s <= 0.0:
                return verdict, queue
            if verdict.wait_s < soonest.wait_s:
                soonest, which = verdict, queue
        return soonest, which

    def _room(self, head: Ticket, queue: Queue, now: float) -> Room:
        coming: Sequence[float] = ()
        returning: Sequence[float] = ()
        most = self._departure.size
        if self._departure.policy == "auto" and queue.rows < most:
            coming = self._company.coming(now)
            returning = self._company.returning(now)
            free = self._max_concurrency - len(self._runs)
            if free > 1:  # several runners are free: they share those who are here and who come
                most = min(most, -(-(queue.rows + len(coming) + len(returning)) // free))
        queue.most = most
        return Room(
            queue.rows,
            head.joined_at,
            now,
            self._free_since,
            coming,
            returning,
            self._tally.rows_per_call,
            self._cost.launch_s,
            queue.held_rows,
            queue.held_until,
            self._leave_by(queue) if queue.has_deadlines else inf,
            most,
        )

    def _leave_by(self, queue: Queue) -> float:
        """When the batch must leave for the earliest deadline in it to be met, once run times are known."""
        if self._cost.launch_s is None:
            return inf
        return queue.leave_by() - _MARGIN * self._cost.run_s(queue.rows) - _MARGIN_S

    def _take(self, run: Run, queue: Queue, now: float) -> None:
        queue.take(run, queue.most, now)
        self._watcher = None
        if len(self._runs) < self._max_concurrency:
            self._call_next(now)

    def _call_next(self, now: float) -> None:
        """Wake the caller that is to lead the next batch, or to look when it is due; the lock is held."""
        if not self._queues:
            return
        verdict, queue = self._next(now)
        if queue is None or (verdict.wait_s > 0.0 and self._is_watched(now + verdict.wait_s, now)):
            return
        sleeper = self._queues.sleeper(queue)
        if sleeper is not None:
            sleeper.wake()

    def _lead(self, run: Run, leader: Ticket) -> None:
        """Run a batch, settle its rows whatever happens, hand over, then release the callers."""
        leader.leads = True
        tickets = run.tickets()
        run.started_at = self._clock.now()
        try:
            results = run.work(self._label, self._isolate, tickets) if tickets else ()
            run.ended_at = self._clock.now()
            with self._lock:  # a caller's rows may be in two batches that end at once
                run.settle(results)
        except BaseException as error:
            run.ended_at = self._clock.now()
            run.failed = len(tickets)
            for ticket in tickets:
                ticket.fail(error, run.ended_at)
            # A member, and a leader of others whose body failed, go on: the error is the members'. What comes
            # before any member is, and an interrupt of this thread while it leads others, is its own.
            is_theirs = isinstance(error, Exception) and bool(tickets)
            if leader not in tickets and not is_theirs:
                raise
        finally:
            run.settled = True
            gone: list[int | None] = []
            try:
                # Those who are done are expected where they go next before anybody looks who is to come.
                gone = [
                    ticket.way.passed(self) for ticket in tickets if ticket.done and ticket.way is not None
                ]
            finally:
                run.over = True
                leader.leads = False
                # The next batch first: each wake-up costs, and the runner is free.
                self._hand_over(tickets, gone)
                for ticket in tickets:
                    if ticket is not leader:
                        ticket.wake()
                self._note(run, tickets)
                run.rows = []  # they hold their tickets, which hold the run

    def _hand_over(self, tickets: list[Ticket], gone: list[int | None]) -> None:
        with self._lock:
            now = self._free_since = self._clock.now()
            for ticket in tickets:
                if ticket.error is not None and ticket.taken < ticket.size:
                    self._queues.leave(ticket)
                    self._tally.left(ticket.size - ticket.taken)
                    ticket.taken = ticket.size
            for caller in gone:
                if caller is not None:
                    self._company.left(caller, now, self._patience_s)
            self._call_next(now)

    def _note(self, run: Run, tickets: list[Ticket]) -> None:
        """What the run cost and how long its callers waited; they are on their way meanwhile."""
        run_s = run.ended_at - run.started_at
        waits_s = [run.started_at - ticket.joined_at for ticket in tickets]
        with self._lock:
            if not run.failed:
                self._cost.learn(run.size, run_s)
                launch_s = self._cost.launch_s
                self._patience_s = inf if launch_s is None else launch_s
            self._tally.ran(run.reason, run.size, waits_s, run_s, run.failed)
