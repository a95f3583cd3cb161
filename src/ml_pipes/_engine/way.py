"""The way of a run to the places where callers meet, so that those who wait know who can still come.

A run is expected at the first such place ahead of it, and, once it is through, at
the next. Knows plans and places. Knows nothing of what is done there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ml_pipes._engine.plan import Plan, Step
from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.clock import thread_id
from ml_pipes._threads.company import Traveller
from ml_pipes.errors import PipelineClosed

__all__ = ["Approach", "CallWay", "Way", "first_place"]


Then: TypeAlias = Callable[[object], "int | None"]


class Way:
    """One run's way through its plan.

    Args:
        plan: what it runs.
        traveller: how it is expected; the run of an embedded pipeline shares its caller's.
        then: what it does after the last place of the plan; None for nothing that anybody waits for.
    """

    __slots__ = ("_is_through", "_plan", "_step", "_then", "traveller")

    def __init__(self, plan: Plan, traveller: Traveller, then: Then | None = None) -> None:
        self._plan = plan
        self._step: Step | None = None
        self._is_through = False
        self._then = then
        self.traveller = traveller

    def reach(self, step: Step) -> None:
        """The run is at this step, within which it meets others."""
        self._step = step
        self._is_through = False

    def passed(self, here: object = None) -> int | None:
        """The run is through that step: from now on it is expected at the next place, if there is one.

        The leader of its batch says so before it wakes up and says it again.
        """
        if self._is_through:
            return None
        self._is_through = True
        label = self._step.label  # type: ignore[union-attr] # it has reached one
        after = self._plan.after[label]
        place = first_place(after) if after else None
        if place is None:
            self.traveller.go(None)
            return self.gone(here)
        self.traveller.go(place, label)
        return None

    def gone(self, here: object) -> int | None:
        """The run is past its last place."""
        return None if self._then is None else self._then(here)


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


class CallWay(Way):
    """The way of a whole call; its thread may come back with another.

    Args:
        plan: what it runs.
        home: the first place on it.
    """

    __slots__ = ("_caller", "_home", "_is_gone")

    def __init__(self, plan: Plan, home: Batcher) -> None:
        self._caller = thread_id()
        self._home = home
        self._is_gone = False
        Way.__init__(self, plan, Traveller(self._caller))
        if plan.steps[0].meeting is None:  # else it is there at once
            self.traveller.go(home, id(plan))

    def gone(self, here: object = None) -> int | None:
        """The call is past its last place, or over; its thread, if it may come back to ``here``."""
        if self._is_gone:
            return None
        self._is_gone = True
        if self._home is here:
            return self._caller
        self._home.left(self._caller)
        return None

    def end(self) -> None:
        """The call is over."""
        self.traveller.end()
        if not self._is_gone:
            self.gone()


def first_place(meetings: Sequence[Step], seen: frozenset[int] = frozenset()) -> Batcher | None:
    """The place that a run with these steps ahead comes to first; None when there is no open one."""
    for step in meetings:
        if step.meeting is not None:
            place = _place_at(step, step.meeting)
        elif step.body is not None:
            place = first_place(step.body.meetings, seen)
        else:
            place = _place_within(step.operator, seen)
        if place is not None:
            return place
    return None


def _place_at(step: Step, make: Callable[[], Batcher]) -> Batcher | None:
    try:
        return step.owned.get(make)  # type: ignore[union-attr] # a region's step has one
    except (
        PipelineClosed
    ):  # whoever comes there is told so; who leads a batch and looks ahead for others is not
        return None


def _place_within(embed: Any, seen: frozenset[int]) -> Batcher | None:
    plan: Plan | None = embed.plan
    if plan is None or not plan.meetings or id(plan) in seen:  # a pipeline may embed itself
        return None
    return first_place(plan.meetings, seen | {id(plan)})
