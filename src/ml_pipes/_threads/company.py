"""Who is known to come to a place where callers meet: those on their way, and those who come back.

Knows callers, times and what was learned of them. Locks nothing: whoever owns the
company holds a lock. Knows nothing of batches.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Protocol

from ml_pipes._threads.learning import Duration, Habit

__all__ = ["Company", "Place", "Traveller"]

# Callers whose habits are remembered; a process that starts a thread per call has ever new ones.
_MOST_CALLERS = 1024


class Place(Protocol):
    """Where travellers meet."""

    def expect(self, traveller: Traveller, origin: Hashable) -> None:
        """It is on its way here, from ``origin``."""

    def forget(self, traveller: Traveller) -> None:
        """It is not on its way here any more."""


class Traveller:
    """One call, or one item's run, on its way; expected at one place at a time.

    Args:
        back: the thread of a new call, whose return is to be told to the place that it comes to first.

    Attributes:
        heading: where it is expected.
        ended: it will not come anywhere any more.
    """

    __slots__ = ("back", "ended", "heading")

    def __init__(self, back: int | None = None) -> None:
        self.back = back
        self.heading: Place | None = None
        self.ended = False

    def go(self, place: Place | None, origin: Hashable = "") -> None:
        """Be expected at ``place`` from now on, and no more where it was."""
        before = self.heading
        if before is place:
            return
        if before is not None:
            before.forget(self)
        if place is not None:
            place.expect(self, origin)

    def end(self) -> None:
        """Be expected nowhere, from now on."""
        self.ended = True  # first: whoever leads a batch may be sending it on at this moment
        if self.heading is not None:
            self.heading.forget(self)


class Company:
    """The books of one place."""

    def __init__(self) -> None:
        self._coming: dict[Traveller, tuple[float, Hashable]] = {}
        self._ways: dict[Hashable, Duration] = {}
        self._left: dict[int, float] = {}
        self._habits: dict[int, Habit] = {}

    def expect(self, traveller: Traveller, origin: Hashable, now: float, patience_s: float) -> None:
        """A traveller set out for here; whether its caller was back within ``patience_s`` is learned."""
        if traveller.back is not None:
            self._returned(traveller, now, patience_s)
        self._coming[traveller] = now, origin

    def arrive(self, traveller: Traveller, now: float, patience_s: float) -> None:
        """It is here; how long it took is learned for the others from the same origin."""
        if traveller.back is not None:
            self._returned(traveller, now, patience_s)
        set_out = self._coming.pop(traveller, None)
        if set_out is not None:
            at, origin = set_out
            way = self._ways.get(origin)
            if way is None:
                way = self._ways[origin] = Duration()
            way.learn(now - at)

    def forget(self, traveller: Traveller) -> bool:
        """It will not come; whether it was expected."""
        return self._coming.pop(traveller, None) is not None

    def left(self, caller: int, now: float) -> None:
        """A caller, a thread, was served and left; it may come back."""
        self._left.pop(caller, None)
        self._left[caller] = now  # at the end: the dict is in the order of leaving
        if len(self._left) > _MOST_CALLERS:
            oldest = next(iter(self._left))
            del self._left[oldest]
            self._habits.pop(oldest, None)

    def _returned(self, traveller: Traveller, now: float, patience_s: float) -> None:
        caller, traveller.back = traveller.back, None
        left_at = None if caller is None else self._left.pop(caller, None)
        if caller is None or left_at is None:
            return
        habit = self._habits.get(caller)
        if habit is None:
            habit = self._habits[caller] = Habit()
            if len(self._habits) > _MOST_CALLERS:
                del self._habits[next(iter(self._habits))]
        gap_s = now - left_at
        habit.learn(gap_s, in_time=gap_s <= patience_s)

    def coming(self, now: float) -> list[float]:
        """When those on their way should be here at the latest; infinite where no way like theirs is known.

        Who is late already is left out: that it comes is certain, but not when.
        """
        arrivals = []
        for at, origin in self._coming.values():
            way = self._ways.get(origin)
            by = float("inf") if way is None else at + way.most_s
            if by > now:
                arrivals.append(by)
        return arrivals

    def returning(self, now: float, patience_s: float) -> list[float]:
        """When those who were just served and usually come back should have set out, at the latest."""
        arrivals = []
        for caller in reversed(self._left):
            left_at = self._left[caller]
            if now - left_at >= patience_s:
                break
            habit = self._habits.get(caller)
            gap_s = None if habit is None else habit.gap_s
            if gap_s is not None and left_at + gap_s > now:
                arrivals.append(left_at + min(gap_s, patience_s))
        return arrivals

    def __len__(self) -> int:
        """How many are on their way."""
        return len(self._coming)
