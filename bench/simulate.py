"""A simulated batch region: the library's own rules in simulated time, and the ideal for comparison.

Knows numbers: arrival times, what a run of n rows costs, when callers come back; and the library's rules and
learners, which know nothing of threads either. Knows nothing of real time. Callers, wake-ups and locks cost
nothing here. The same arguments give the same result, on any machine.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from ml_pipes._threads.company import Company, Traveller
from ml_pipes._threads.departure import Departure, Room
from ml_pipes._threads.learning import Cost

__all__ = [
    "Costs",
    "Departed",
    "Gaps",
    "Outcome",
    "evenly",
    "ideal_closed",
    "ideal_open",
    "linear_costs",
    "percentile",
    "poisson_arrivals",
    "run_closed",
    "run_open",
]

# Seconds of a run of 1, 2, ... rows; as many entries as a batch may have rows.
Costs: TypeAlias = Sequence[float]

# Seconds until a caller, by its number, comes back that was served at a time; None when it never does.
Gaps: TypeAlias = Callable[[random.Random, int, float], "float | None"]

_ARRIVES, _ENDS, _LOOKS = "arrives", "ends", "looks"


class Departed(NamedTuple):
    """One batch that left.

    Attributes:
        at_s: when.
        rows: how many.
        reason: the rule's word for it.
        waited_s: what its rows waited together while the runner was free.
    """

    at_s: float
    rows: int
    reason: str
    waited_s: float


@dataclass(frozen=True)
class Outcome:
    """What a simulated run came to.

    Attributes:
        latencies_s: from the arrival to the result, seconds; in the order of arrival in an open loop, of
            the results in a closed one.
        throughput_per_s: rows per second.
        sizes: rows -> how many batches had so many.
        reasons: reason -> how many batches left for it.
        batches: all that left, in order; none for an ideal.
    """

    latencies_s: tuple[float, ...]
    throughput_per_s: float
    sizes: Counter[int]
    reasons: Counter[str]
    batches: tuple[Departed, ...] = ()


def evenly(least_s: float, most_s: float) -> Gaps:
    """Every caller comes back, after a time drawn evenly between the two, seconds."""
    return lambda draw, _caller, _now: draw.uniform(least_s, most_s)


_GAPS = evenly(0.00025, 0.00075)


def linear_costs(launch_s: float, row_s: float, size: int) -> tuple[float, ...]:
    """``launch_s + row_s * n`` for n = 1 ... ``size``, seconds."""
    return tuple(launch_s + row_s * rows for rows in range(1, size + 1))


def percentile(values: Sequence[float], per_cent: float) -> float:
    """Linear between the two nearest ranks, as ``numpy.percentile`` has it by default.

    Raises:
        ValueError: there are no values.
    """
    if not values:
        raise ValueError("percentile: there are no values")
    ordered = sorted(values)
    place = (len(ordered) - 1) * per_cent / 100.0
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def poisson_arrivals(rate_per_s: float, seconds: float, seed: int) -> tuple[float, ...]:
    """Arrival times from 0 up to ``seconds``, with exponential gaps."""
    draw = random.Random(seed)
    times: list[float] = []
    at = draw.expovariate(rate_per_s)
    while at < seconds:
        times.append(at)
        at += draw.expovariate(rate_per_s)
    return tuple(times)


def ideal_closed(callers: int, costs: Costs, batches: int = 400) -> Outcome:
    """``callers`` that come back at once, first in, first out, and nothing costs but the runs.

    No rule does better: each run has as many rows as there can be, and the next follows at once.
    """
    rows = min(len(costs), callers)
    waiting = deque([0.0] * callers)
    latencies: list[float] = []
    now = 0.0
    # Until each has been served once, they have waited from the common start, not from their return.
    for batch in range(-(-callers // rows) + batches):
        now += costs[rows - 1]
        came_at = [waiting.popleft() for _ in range(rows)]
        if batch >= -(-callers // rows):
            latencies += [now - at for at in came_at]
        waiting.extend([now] * rows)
    throughput = rows / costs[rows - 1]
    return Outcome(tuple(latencies), throughput, Counter({rows: batches}), Counter(ideal=batches))


def ideal_open(arrivals: Sequence[float], costs: Costs) -> Outcome:
    """A server that takes all who wait whenever it is free, first in, first out, without overhead.

    Args:
        arrivals: when each row comes, seconds, sorted.
        costs: of a run, by its rows.
    """
    latencies: list[float] = []
    sizes: Counter[int] = Counter()
    free_at = 0.0
    while len(latencies) < len(arrivals):
        first = len(latencies)
        starts_at = max(free_at, arrivals[first])
        last = first + 1
        while last < len(arrivals) and last - first < len(costs) and arrivals[last] <= starts_at:
            last += 1
        free_at = starts_at + costs[last - first - 1]
        latencies += [free_at - at for at in arrivals[first:last]]
        sizes[last - first] += 1
    return Outcome(tuple(latencies), len(arrivals) / free_at, sizes, Counter(ideal=sizes.total()))


def run_open(
    departure: Departure, arrivals: Sequence[float], costs: Costs, *, threads: int | None = None
) -> Outcome:
    """A rule with rows that come at ``arrivals``, whatever the server does.

    Args:
        departure: the rule, of the size that ``costs`` are for.
        arrivals: when each row is due, seconds, sorted; latencies count from there.
        costs: of a run, by its rows.
        threads: how many threads make the calls; whichever is idle longest takes the next arrival, and an
            arrival waits for a thread. None for one of its own per arrival, which never returns.
    """
    pending = deque(arrivals)

    def comes(caller: int, now: float) -> None:
        if pending:
            due_at = pending.popleft()
            region.arrival(max(due_at, now), caller, due_at)

    region = _Region(departure, costs, (lambda _caller, _now: None) if threads is None else comes)
    for caller in range(len(arrivals) if threads is None else threads):
        comes(caller, 0.0)
    while region.step():
        pass
    in_order = sorted(region.served)
    latencies = tuple(served.at - served.came_at for served in in_order)
    return region.outcome(latencies, len(arrivals) / region.now)


def run_closed(
    departure: Departure,
    callers: int,
    costs: Costs,
    *,
    seconds: float,
    seed: int,
    gaps: Gaps = _GAPS,
    changes: tuple[float, Costs] | None = None,
) -> Outcome:
    """A rule with callers in a loop; the first tenth of the time is not counted.

    Args:
        departure: the rule, of the size that ``costs`` are for.
        callers: how many.
        costs: of a run, by its rows.
        seconds: of simulated time.
        seed: of the gaps.
        gaps: when callers come back.
        changes: from when on runs cost something else, seconds, and what.
    """
    draw = random.Random(seed)

    def comes_back(caller: int, now: float) -> None:
        gap_s = gaps(draw, caller, now)
        if gap_s is not None:
            region.arrival(now + gap_s, caller, now + gap_s)

    region = _Region(departure, costs, comes_back, changes)
    for caller in range(callers):
        comes_back(caller, 0.0)
    while region.now < seconds and region.step():
        pass
    warm_s = seconds / 10.0
    counted = [served for served in region.served if served.at > warm_s]
    ended_at = sorted({served.at for served in region.served})
    # From the end of one run to the end of another, so that no part of a cycle is counted.
    before = max((at for at in ended_at if at <= warm_s), default=0.0)
    latencies = tuple(served.at - served.came_at for served in counted)
    return region.outcome(latencies, len(counted) / (ended_at[-1] - before))


class _Served(NamedTuple):
    """One row: when it came, who it was and when it was done."""

    came_at: float
    caller: int
    at: float


class _Waiting(NamedTuple):
    """One row that waits: when its latency and its wait began, and whose it is."""

    came_at: float
    joined_at: float
    caller: int


class _Region:
    """The queue, the runner, what the library learns of both, and what will happen next, in order of time.

    It asks the rule when ``Batcher`` does: at each arrival, when a run ends, and when a wait is over.
    """

    def __init__(
        self,
        departure: Departure,
        costs: Costs,
        when_served: Callable[[int, float], None],
        changes: tuple[float, Costs] | None = None,
    ) -> None:
        self._departure = departure
        self._costs = costs
        self._changes_at, self._later_costs = (float("inf"), costs) if changes is None else changes
        self._when_served = when_served
        self._company = Company()
        self._cost = Cost()
        self._events: list[tuple[float, int, str, int, float]] = []
        self._count = 0
        self._queue: deque[_Waiting] = deque()
        self._running: list[_Waiting] = []
        self._run_s = 0.0
        self._ran: tuple[int, float] | None = None
        self._free_since = -float("inf")
        self._held_rows, self._held_until = 0, -float("inf")
        self._watched_at = float("inf")
        self._batches: list[Departed] = []
        self.now = 0.0
        self.served: list[_Served] = []

    def arrival(self, at: float, caller: int, came_at: float) -> None:
        """A row will be here at ``at``; its latency counts from ``came_at``."""
        self._at(at, _ARRIVES, caller, came_at)

    def step(self) -> bool:
        """Let everything of the next moment happen, then ask the rule; False when nothing is left."""
        if not self._events:
            return False
        self.now = self._events[0][0]
        looks = False
        while self._events and self._events[0][0] <= self.now:
            _, _, what, number, came_at = heapq.heappop(self._events)
            if what == _ARRIVES:
                self._company.arrive(Traveller(number), self.now, self._patience_s())
                self._queue.append(_Waiting(came_at, self.now, number))
            elif what == _ENDS:
                self._end()
            # Who slept for a batch that has left meanwhile is in it, and does not look any more.
            looks |= what != _LOOKS or number == len(self._batches)
        if looks and self._queue and not self._running:
            self._look()
        if self._ran is not None:
            # The library hands the runner over first, and then notes what the run has cost.
            self._cost.learn(*self._ran)
            self._ran = None
        return True

    def outcome(self, latencies_s: tuple[float, ...], throughput_per_s: float) -> Outcome:
        """All that left, and these."""
        sizes = Counter(batch.rows for batch in self._batches)
        reasons = Counter(batch.reason for batch in self._batches)
        return Outcome(latencies_s, throughput_per_s, sizes, reasons, tuple(self._batches))

    def _at(self, at: float, what: str, number: int = 0, came_at: float = 0.0) -> None:
        # The count keeps what falls on one moment in the order in which it was foreseen.
        self._count += 1
        heapq.heappush(self._events, (at, self._count, what, number, came_at))

    def _patience_s(self) -> float:
        launch_s = self._cost.launch_s
        return float("inf") if launch_s is None else launch_s

    def _end(self) -> None:
        members, self._running = self._running, []
        self._free_since = self.now
        self._ran = len(members), self._run_s
        patience_s = self._patience_s()
        for member in members:
            self.served.append(_Served(member.came_at, member.caller, self.now))
            self._company.left(member.caller, self.now, patience_s)
        for member in members:
            self._when_served(member.caller, self.now)

    def _look(self) -> None:
        verdict = self._departure.look(self._room())
        leaves_at = self.now + verdict.wait_s
        # A wait too short to change a float's sum would be asked for again without end.
        if leaves_at <= self.now:
            self._leave(verdict.reason)
            return
        self._held_rows = self._held_rows or len(self._queue)
        self._held_until = max(self._held_until, leaves_at)
        if not self.now < self._watched_at <= leaves_at:
            self._watched_at = leaves_at
            self._at(leaves_at, _LOOKS, len(self._batches))

    def _room(self) -> Room:
        is_auto = self._departure.policy == "auto"
        return Room(
            len(self._queue),
            self._queue[0].joined_at,
            self.now,
            self._free_since,
            returning=self._company.returning(self.now) if is_auto else (),
            launch_s=self._cost.launch_s,
            held_rows=self._held_rows,
            held_until=self._held_until,
        )

    def _leave(self, reason: str) -> None:
        rows = min(len(self._queue), self._departure.size)
        self._running = [self._queue.popleft() for _ in range(rows)]
        waited_s = sum(self.now - max(row.joined_at, self._free_since) for row in self._running)
        self._batches.append(Departed(self.now, rows, reason, waited_s))
        self._held_rows, self._held_until, self._watched_at = 0, -float("inf"), float("inf")
        self._run_s = (self._costs if self.now < self._changes_at else self._later_costs)[rows - 1]
        self._at(self.now + self._run_s, _ENDS)
