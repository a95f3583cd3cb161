"""Who is known to come to a place where callers meet: those on their way, and those who come back.

Knows callers, times and what was learned of them. Locks nothing: whoever owns the
company holds a lock. Knows nothing of batches.
"""

from __future__ import annotations

from collections.abc import Hashable
from math import inf
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
        # Who is on the way here: since when, from where, and when it should be here at the latest.
        self._coming: dict[Traveller, tuple[float, Hashable, float]] = {}
        self._ways: dict[Hashable, Duration] = {}
        # Who was served: when, and of those who usually come back, when they should have set out.
        self._left: dict[int, float] = {}
        self._returning: dict[int, float] = {}
        self._habits: dict[int, Habit] = {}

    def expect(self, traveller: Traveller, origin: Hashable, now: float, patience_s: float) -> None:
        """A traveller set out for here; whether its caller was back within ``patience_s`` is learned."""
        if traveller.back is not None:
            self._returned(traveller, now, patience_s)
        way = self._ways.get(origin)
        self._coming[traveller] = now, origin, inf if way is None else now + way.most_s

    def arrive(self, traveller: Traveller, now: float, patience_s: float) -> None:
        """It is here; how long it took is learned for the others from the same origin."""
        if traveller.back is not None:
            self._returned(traveller, now, patience_s)
        set_out = self._coming.pop(traveller, None)
        if set_out is not None:
            at, origin, _ = set_out
            way = self._ways.get(origin)
            if way is None:
                way = self._ways[origin] = Duration()
            way.learn(now - at)

    def forget(self, traveller: Traveller) -> bool:
        """It will not come; whether it was expected."""
        return self._coming.pop(traveller, None) is not None

    def left(self, caller: int, now: float, patience_s: float) -> None:
        """A caller, a thread, was served and left; one that usually comes back is worth ``patience_s``."""
        self._left.pop(caller, None)
        self._left[caller] = now  # at the end: the dict is in the order of leaving
        if len(self._left) > _MOST_CALLERS:
            self._drop(next(iter(self._left)))
        habit = self._habits.get(caller)
        gap_s = None if habit is None else habit.gap_s
        if gap_s is not None:
            self._returning[caller] = now + min(gap_s, patience_s)

    def coming(self, now: float) -> list[float]:
        """When those on their way should be here at the latest; infinite where no way like theirs was known.

        Who is late already is left out: that it comes is certain, but not when.
        """
        return [by for _, _, by in self._coming.values() if by > now]

    def returning(self, now: float) -> list[float]:
        """When those who were served and usually come back should have set out, at the latest."""
        if not self._returning:
            return []
        arrivals = [by for by in self._returning.values() if by > now]
        if len(arrivals) < len(self._returning):
            self._returning = {caller: by for caller, by in self._returning.items() if by > now}
        return arrivals

    def _returned(self, traveller: Traveller, now: float, patience_s: float) -> None:
        caller, traveller.back = traveller.back, None
        left_at = None if caller is None else self._left.pop(caller, None)
        if caller is None or left_at is None:
            return
        self._returning.pop(caller, None)
        habit = self._habits.get(caller)
        if habit is None:
            habit = self._habits[caller] = Habit()
            if len(self._habits) > _MOST_CALLERS:
                self._drop(next(iter(self._habits)))
        gap_s = now - left_at
        habit.learn(gap_s, in_time=gap_s <= patience_s)

    def _drop(self, caller: int) -> None:
        for book in (self._left, self._returning, self._habits):
            book.pop(caller, None)

    def __len__(self) -> int:
        """How many are on their way."""
        return len(self._coming)
