"""When a batch leaves: rules of numbers.

Knows counts and times. Knows nothing of threads.

The rule of ``auto`` is a control limit, not a timer (R. K. Deb and R. F. Serfozo,
Optimal control of batch service queues, 1973): with the runner free, serve what
waits, unless company is known to come that is worth its wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

__all__ = ["POLICIES", "Departure", "Policy", "Room", "Verdict"]

Policy: TypeAlias = Literal["auto", "greedy", "full"]
POLICIES: Final[tuple[Policy, ...]] = get_args(Policy)

# To wait and be woken costs about this much, seconds: what saves less is not waited for.
_WAKE_UP_S = 50e-6


class Room(NamedTuple):
    """What is known of those who wait, while the runner is free; times in seconds of one clock.

    Attributes:
        rows: how many rows wait.
        first_at: when the oldest of them came.
        now: the time.
        free_since: when the runner came free.
        coming: when callers on their way here should arrive at the latest.
        returning: the same of callers that were just served and usually come back.
        rows_per_caller: how many rows a caller brings, on average.
        launch_s: what each run costs however many rows it has; None when unknown.
        held_rows: how many rows there were when the wait for company began; 0 when there was none.
        held_until: how long that company was found to be worth a wait.
        leave_by: when the batch must leave for a caller's deadline to be met.
        most: how many rows the batch is to have at most; None for the region's size.
    """

    rows: int
    first_at: float
    now: float
    free_since: float = -inf
    coming: Sequence[float] = ()
    returning: Sequence[float] = ()
    rows_per_caller: float = 1.0
    launch_s: float | None = None
    held_rows: int = 0
    held_until: float = -inf
    leave_by: float = inf
    most: int | None = None


class Verdict(NamedTuple):
    """How long the batch may still wait, seconds, and why it leaves when that is 0.

    Reasons: ``full``; ``share``, its part of those that several free runners divide;
    ``alone``, one row, and nobody is known to come; ``free``, several rows that came
    while the runner was busy; ``company``, those waited for have come; ``no-show``, they
    have not; ``timeout``; ``deadline``, a caller's would be missed.
    """

    wait_s: float
    reason: str


@dataclass(frozen=True)
class Departure:
    """The rule of one region.

    Attributes:
        size: most rows of a batch.
        timeout_s: longest wait from the arrival of the oldest row, seconds.
        policy: ``full`` leaves full or at the timeout; ``greedy`` as soon as the
            runner is free; ``auto`` likewise, unless company is known to come and worth the wait.
    """

    size: int
    timeout_s: float
    policy: Policy = "auto"

    def look(self, room: Room) -> Verdict:
        """May those who wait leave?"""
        most = self.size if room.most is None else room.most
        if room.rows >= most:
            return Verdict(0.0, "full" if most == self.size else "share")
        if self.policy == "full":
            return self._at_the_timeout(room)
        if self.policy == "auto":
            wait_s = self._worth_waiting_s(room, most)
            if wait_s > 0.0:
                return Verdict(wait_s, "")
        return Verdict(0.0, self._why_now(room))

    def _at_the_timeout(self, room: Room) -> Verdict:
        # From the first arrival, not the last wake-up: late company must not keep the first waiting.
        until = min(room.first_at + self.timeout_s, room.leave_by)
        reason = "deadline" if room.leave_by < room.first_at + self.timeout_s else "timeout"
        return Verdict(max(0.0, until - room.now), reason)

    def _worth_waiting_s(self, room: Room, most: int) -> float:
        """Seconds until the last arrival that pays: half a launch saved for each against a wait for some."""
        if not room.coming and not room.returning:
            return 0.0
        stop_at = room.first_at + self.timeout_s
        # What was waited already counts too: a stream of late company must not hold a batch for ever.
        since = max(room.free_since, room.first_at)
        arrivals = self._arrivals(room, stop_at, since)
        callers = -(-(most - room.rows) // room.rows_per_caller)
        until = room.now
        for count, at in enumerate(arrivals[: int(callers)], 1):
            rows = room.rows + count * room.rows_per_caller
            cost = room.rows * (at - since + _WAKE_UP_S)
            # Who was found worth a wait stays so as others come: a batch that left without the last of them
            # would split those who could all go together.
            if at <= room.held_until or room.launch_s is None or rows * room.launch_s / 2 > cost:
                until = at
        return min(until, room.leave_by) - room.now

    def _arrivals(self, room: Room, stop_at: float, since: float) -> list[float]:
        """When those who are known to come should be here, sorted, as far as they may be waited for."""
        # Past the timeout only those who come back are waited for, and for half a launch at most.
        last_at = stop_at if room.launch_s is None else max(stop_at, since + room.launch_s / 2)
        arrivals = [at for at in room.returning if at <= last_at]
        if room.coming and room.now < stop_at:
            arrivals += [min(at, stop_at) for at in room.coming]
        arrivals.sort()
        return arrivals

    def _why_now(self, room: Room) -> str:
        if room.leave_by <= room.now:
            return "deadline"
        if not room.held_rows:
            return "alone" if room.rows == 1 else "free"
        if room.coming and room.now >= room.first_at + self.timeout_s:
            return "timeout"
        return "company" if room.rows > room.held_rows else "no-show"
