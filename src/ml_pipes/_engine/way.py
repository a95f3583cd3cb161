"""The way of a run to the places where callers meet, so that those who wait know who can still come.

A run is expected at the first such place ahead of it, and, once it is through, at
the next. Knows plans and places. Knows nothing of what is done there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from ml_pipes._engine.plan import Plan, Step
from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.clock import thread_id
from ml_pipes._threads.company import Traveller
from ml_pipes._threads.owned import Owned

__all__ = ["Approach", "Way", "first_place", "way_of_a_call"]


class Way:
    """One run's way through its plan.

    Args:
        plan: what it runs.
        traveller: how it is expected; the run of an embedded pipeline shares its caller's.
        then: what it does after the last place of the plan.
    """

    __slots__ = ("_is_through", "_plan", "_step", "_then", "traveller")

    def __init__(self, plan: Plan, traveller: Traveller, then: Callable[[], None]) -> None:
        self._plan = plan
        self._step: Step | None = None
        self._is_through = False
        self._then = then
        self.traveller = traveller

    def reach(self, step: Step) -> None:
        """The run is at this step, within which it meets others."""
        self._step = step
        self._is_through = False

    def passed(self) -> None:
        """The run is through that step: from now on it is expected at the next place, if there is one.

        The leader of its batch says so before it wakes up and says it again.
        """
        if self._is_through:
            return
        self._is_through = True
        step = cast(Step, self._step)
        place = first_place(self._plan.after[step.label])
        if place is None:
            self.traveller.go(None)
            self._then()
        else:
            self.traveller.go(place, step.label)


class Approach:
    """How runs of a region's body come to the first place in it, where a crew says which are to come.

    Args:
        body: the region's steps.
        place: the first place in them.
        outer: the way of the run that the region is in; None when it is on no way.
    """

    __slots__ = ("_origin", "_outer", "_place")

    def __init__(self, body: Plan, place: Batcher, outer: Way | None) -> None:
        self._origin = id(body)
        self._place = place
        self._outer = outer

    def announce(self, count: int) -> list[Traveller]:
        """As many runs are on their way; whoever has them run is not, itself."""
        travellers = [Traveller() for _ in range(count)]
        for traveller in travellers:
            traveller.go(self._place, self._origin)
        if self._outer is not None:
            self._outer.traveller.go(None)
        return travellers

    def again(self, traveller: Traveller) -> None:
        """It is through with one item, and is going to take another."""
        traveller.go(self._place, self._origin)


def way_of_a_call(plan: Plan) -> tuple[Way, Callable[[], None]] | None:
    """The way of a call that begins now, and what to call at its end; None when no place is on it."""
    place = first_place(plan.meetings)
    if place is None:
        return None
    traveller, caller = Traveller(), thread_id()
    is_through = False

    def then() -> None:
        nonlocal is_through
        if not is_through:
            is_through = True
            place.left(caller)

    def end() -> None:
        traveller.end()
        then()

    place.enter(traveller, caller, id(plan))
    return Way(plan, traveller, then), end


def first_place(meetings: Sequence[Step], seen: frozenset[int] = frozenset()) -> Batcher | None:
    """The place that a run with these steps ahead comes to first; None when there is none."""
    for step in meetings:
        if step.meeting is not None:
            place: Batcher | None = cast(Owned, step.owned).get(step.meeting)
        elif step.body is not None:
            place = first_place(step.body.meetings, seen)
        else:
            place = _place_within(step.operator, seen)
        if place is not None:
            return place
    return None


def _place_within(embed: Any, seen: frozenset[int]) -> Batcher | None:
    plan: Plan | None = embed.plan
    if plan is None or not plan.meetings or id(plan) in seen:  # a pipeline may embed itself
        return None
    return first_place(plan.meetings, seen | {id(plan)})
