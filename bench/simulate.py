"""A simulated batch server: the ideal that real runs are compared with, and any policy run on paper.

Knows numbers: arrival times, what a run of n rows costs, a policy's answers. Knows nothing of threads,
real time or the library. The same arguments give the same result, on any machine.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

__all__ = [
    "Costs",
    "Outcome",
    "Policy",
    "Waiting",
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

# Callers come back this long after their result, seconds: between the first and the second, evenly.
_GAP_S = (0.00025, 0.00075)
_ARRIVES, _ENDS, _LOOKS = "arrives", "ends", "looks"


@dataclass(frozen=True)
class Waiting:
    """What a policy may know when the runner is free and somebody waits.

    Attributes:
        rows: how many wait.
        oldest_at: when the first of them came, seconds.
        now: seconds.
        free_since: since when the runner is free, seconds.
        expected_at: when callers that are known to come will be there, seconds, sorted.
        launch_s: what a run costs apart from its rows, seconds; None while it is not known.
    """

    rows: int
    oldest_at: float
    now: float
    free_since: float
    expected_at: tuple[float, ...]
    launch_s: float | None


class Policy(Protocol):
    """When a batch leaves; pure."""

    def decide(self, waiting: Waiting) -> tuple[float, str]:
        """Seconds the batch may still wait, 0 for none, and the reason in a word."""


@dataclass(frozen=True)
class Outcome:
    """What a simulated run came to.

    Attributes:
        latencies_s: from the arrival to the result, seconds; in the order of arrival in an open loop, of
            the results in a closed one.
        throughput_per_s: rows per second.
        sizes: rows -> how many batches had so many.
        reasons: reason -> how many batches left for it.
    """

    latencies_s: tuple[float, ...]
    throughput_per_s: float
    sizes: Counter[int]
    reasons: Counter[str]


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
    policy: Policy, arrivals: Sequence[float], costs: Costs, *, launch_s: float | None = None
) -> Outcome:
    """A policy with rows that come at ``arrivals``, whatever the server does; nobody is known to come.

    Args:
        policy: decides when the runner is free and somebody waits.
        arrivals: when each row comes, seconds, sorted.
        costs: of a run, by its rows.
        launch_s: what the policy is told of a run's cost apart from its rows.
    """
    server = _Server(policy, costs, launch_s)
    for caller, at in enumerate(arrivals):
        server.arrival(at, caller)
    while server.step():
        pass
    in_order = sorted((served.came_at, served.caller, served.at) for served in server.served)
    latencies = tuple(at - came_at for came_at, _, at in in_order)
    return Outcome(latencies, len(arrivals) / server.now, server.sizes, server.reasons)


def run_closed(
    policy: Policy,
    callers: int,
    costs: Costs,
    *,
    seconds: float,
    seed: int,
    gap_s: tuple[float, float] = _GAP_S,
    launch_s: float | None = None,
) -> Outcome:
    """A policy with callers in a loop; the first tenth of the time is not counted.

    The policy knows of each caller that was served that it will be back by the end of ``gap_s``.

    Args:
        policy: decides when the runner is free and somebody waits.
        callers: how many.
        costs: of a run, by its rows.
        seconds: of simulated time.
        seed: of the gaps.
        gap_s: a caller comes back so long after its result, drawn evenly between the two, seconds.
        launch_s: what the policy is told of a run's cost apart from its rows.
    """
    draw = random.Random(seed)

    def comes_back(caller: int, now: float) -> None:
        server.arrival(now + draw.uniform(*gap_s), caller)
        server.expected[caller] = now + gap_s[1]

    server = _Server(policy, costs, launch_s, comes_back)
    for caller in range(callers):
        server.arrival(draw.uniform(*gap_s), caller)
    while server.now < seconds:
        server.step()
    warm_s = seconds / 10.0
    counted = [served for served in server.served if served.at > warm_s]
    ended_at = sorted({served.at for served in server.served})
    # From the end of one run to the end of another, so that no part of a cycle is counted.
    before = max((at for at in ended_at if at <= warm_s), default=0.0)
    throughput = len(counted) / (ended_at[-1] - before)
    latencies = tuple(served.at - served.came_at for served in counted)
    return Outcome(latencies, throughput, server.sizes, server.reasons)


@dataclass(frozen=True)
class _Served:
    """One row: who it was, when it came and when it was done."""

    caller: int
    came_at: float
    at: float


class _Server:
    """The queue, the runner and what will happen next, in order of time."""

    def __init__(
        self,
        policy: Policy,
        costs: Costs,
        launch_s: float | None,
        when_served: Callable[[int, float], None] | None = None,
    ) -> None:
        self._policy = policy
        self._costs = costs
        self._launch_s = launch_s
        self._when_served = when_served
        self._events: list[tuple[float, int, str, int]] = []
        self._count = 0
        self._queue: deque[tuple[int, float]] = deque()
        self._running: list[tuple[int, float]] = []
        self._free_since = 0.0
        self.now = 0.0
        self.expected: dict[int, float] = {}
        self.served: list[_Served] = []
        self.sizes: Counter[int] = Counter()
        self.reasons: Counter[str] = Counter()

    def arrival(self, at: float, caller: int) -> None:
        """A row will come at ``at``."""
        self._at(at, _ARRIVES, caller)

    def step(self) -> bool:
        """Let everything of the next moment happen, then ask the policy; False when nothing is left."""
        if not self._events:
            return False
        self.now = self._events[0][0]
        while self._events and self._events[0][0] <= self.now:
            _, _, what, caller = heapq.heappop(self._events)
            if what == _ARRIVES:
                self.expected.pop(caller, None)
                self._queue.append((caller, self.now))
            elif what == _ENDS:
                self._end()
        if self._queue and not self._running:
            self._ask()
        return True

    def _at(self, at: float, what: str, caller: int = -1) -> None:
        # The count keeps what falls on one moment in the order in which it was foreseen.
        self._count += 1
        heapq.heappush(self._events, (at, self._count, what, caller))

    def _end(self) -> None:
        members, self._running = self._running, []
        self._free_since = self.now
        for caller, came_at in members:
            self.served.append(_Served(caller, came_at, self.now))
            if self._when_served is not None:
                self._when_served(caller, self.now)

    def _ask(self) -> None:
        expected_at = tuple(sorted(at for at in self.expected.values() if at >= self.now))
        oldest_at = self._queue[0][1]
        waiting = Waiting(
            len(self._queue), oldest_at, self.now, self._free_since, expected_at, self._launch_s
        )
        wait_s, reason = self._policy.decide(waiting)
        # A wait too short to change a float's sum would be asked for again without end.
        if self.now + wait_s > self.now:
            self._at(self.now + wait_s, _LOOKS)
            return
        rows = min(len(self._queue), len(self._costs))
        self._running = [self._queue.popleft() for _ in range(rows)]
        self.sizes[rows] += 1
        self.reasons[reason] += 1
        self._at(self.now + self._costs[rows - 1], _ENDS)
