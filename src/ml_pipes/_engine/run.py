"""The blocking driver: it carries one value through a plan, on the caller's thread.

Knows each kind of step. Knows nothing of what operators do.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable
from math import inf
from operator import length_hint
from typing import Any, NoReturn, TypeVar

from ml_pipes._engine.locate import note_item, note_step
from ml_pipes._engine.plan import Kind, Plan, Step
from ml_pipes._engine.record import NO_RECORD, NO_REGION, NoRecord, NoRegion, Recorder, RegionRecord
from ml_pipes._engine.way import Approach, Way, first_place
from ml_pipes._threads.clock import now
from ml_pipes._threads.crew import Worker
from ml_pipes._threads.deadline import deadline_at, exceeded
from ml_pipes._threads.guard import give_back_all
from ml_pipes._threads.owned import Owned
from ml_pipes._threads.ticket import Ticket
from ml_pipes.context import Context
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.errors import StepInputError

__all__ = ["StepBody", "run"]

OwnedT = TypeVar("OwnedT")

_EMPTY = Context()
# Looked up once: a member of an enum costs as much as a step.
_CALL, _SPREAD, _CONTEXT, _REGION = Kind.CALL, Kind.SPREAD, Kind.CONTEXT, Kind.REGION
# Short, and safe with a value whose own repr fails.
_shown = reprlib.Repr()
_shown.maxstring = _shown.maxother = _shown.maxlong = 120


class _Frame:
    """What one run of a plan holds beside its value."""

    __slots__ = ("context", "record", "way")

    def __init__(self, record: Recorder | NoRecord, way: Way | None) -> None:
        self.context = _EMPTY
        self.record = record
        self.way = way


class StepBody:
    """The body of a region's step: each call is one run of its plan, recorded in ``record``.

    Args:
        step: the region.
        record: what is written down of the runs.
        way: the way of the run that the region is in; None when it is on none.
    """

    __slots__ = ("_step", "_way", "record")

    def __init__(self, step: Step, record: RegionRecord | NoRegion, way: Way | None) -> None:
        self._step = step
        self._way = way
        self.record = record

    @property
    def label(self) -> str:
        """The opener's label."""
        return self._step.label

    def __call__(self, value: Any, /, *, item: int | None = None, worker: Worker | None = None) -> Any:
        plan: Plan = self._step.body  # type: ignore[assignment] # a region's step has one
        try:
            if not plan.meetings:
                return run(plan, value, self.record.run(item, value), None, deadline_at())
            if worker is not None and worker.traveller is not None:
                way = Way(plan, worker.traveller, worker.through)
                return run(plan, value, self.record.run(item, value), way, deadline_at())
            return self._run_on_a_way(plan, value, item)
        except BaseException as error:
            if item is not None:
                note_item(error, item)
            raise

    def _run_on_a_way(self, plan: Plan, value: Any, item: int | None) -> Any:
        approach = self.approach()
        if approach is None:
            return run(plan, value, self.record.run(item, value), None, deadline_at())
        (traveller,) = approach.announce(1)
        try:
            way = Way(plan, traveller)
            return run(plan, value, self.record.run(item, value), way, deadline_at())
        finally:
            traveller.end()

    def approach(self) -> Approach | None:
        """How runs of the body come to where callers meet in it; None when they meet nowhere."""
        plan: Plan = self._step.body  # type: ignore[assignment] # a region's step has one
        place = first_place(plan.meetings) if plan.meetings else None
        return None if place is None else Approach(plan, place, self._way)

    def apart(self) -> StepBody:
        """The same for one batch, whose runs are recorded apart: all of its members share the record."""
        return self if self.record is NO_REGION else StepBody(self._step, self.record.apart(), self._way)

    def note(self, error: BaseException) -> None:
        """Note on an error that it came through this region, where it is not raised through it."""
        note_step(error, self._step.label, leaf=False)

    def own(self, make: Callable[[str], OwnedT], /) -> OwnedT:
        """What the step's place holds for its lifetime."""
        owned: Owned = self._step.owned  # type: ignore[assignment] # a region's step has one
        return owned.get(lambda: make(self._step.label))


def run(
    plan: Plan,
    value: Any,
    record: Recorder | NoRecord = NO_RECORD,
    way: Way | None = None,
    due_at: float = inf,
) -> Any:
    """Carry ``value`` through the steps; returns the last one's result, or ``SHORT_CIRCUIT``.

    An exception leaves with its type and identity, and a note of where it was.

    Args:
        plan: the steps.
        value: what the first one takes.
        record: what is written down.
        way: how the run is expected by those who wait for others; None when nobody waits.
        due_at: no step starts after this time, seconds of the house's clock.
    """
    if record is not NO_RECORD or due_at != inf:
        return _run_watched(plan, value, record, way, due_at)
    frame: _Frame | None = None
    steps = iter(plan.fast)
    try:
        for call, special in steps:
            if special is None:
                value = call(value)
            else:
                frame = frame or _Frame(record, way)
                value = _advance(special, value, frame)
            if value is SHORT_CIRCUIT:
                return value
    except BaseException as error:
        give_back_all()
        # The iterator knows how many steps are left, so the loop need not count.
        _note(plan.steps[max(len(plan.steps) - length_hint(steps), 1) - 1], error)
        raise
    return value


def _run_watched(plan: Plan, value: Any, record: Recorder | NoRecord, way: Way | None, due_at: float) -> Any:
    """The same, step by step: each is recorded, and none starts after the deadline."""
    frame = _Frame(record, way)
    for step in plan.steps:
        started = now()
        try:
            if started >= due_at:
                _stop(started - due_at)
            value = _advance(step, value, frame)
        except BaseException as error:
            give_back_all()
            record.add(step, started, None, error)
            _note(step, error)
            raise
        record.add(step, started, value)
        if value is SHORT_CIRCUIT:
            break
    return value


def _advance(step: Step, value: Any, frame: _Frame) -> Any:
    """One step."""
    if step.kind is _CALL:
        return step.act(value)
    if step.kind is _SPREAD:
        if isinstance(value, tuple) and len(value) == step.arity:
            return step.act(*value)
        raise StepInputError(_misfit(step, value))
    if step.kind is _CONTEXT:
        value, frame.context = step.act(value, frame.context)
        return value
    way = frame.way if step.leads_to_a_meeting else None
    if way is not None:
        way.reach(step)
    if step.kind is _REGION:
        value = _run_region(step, value, frame.record.region(), way)
    else:
        value = step.act(value, way)
    if way is not None and value is not SHORT_CIRCUIT:
        way.passed()
    return value


def _run_region(step: Step, value: Any, record: RegionRecord | NoRegion, way: Way | None) -> Any:
    result = step.act(value, StepBody(step, record, way))
    if isinstance(result, Ticket):
        if isinstance(record, RegionRecord):
            record.ticket = result
        result.way = way
        try:
            return result.wait()
        except BaseException as error:
            if result.failed_at is not None:
                note_item(error, result.failed_at)
            raise
    return result


def _stop(late_s: float) -> NoReturn:
    raise exceeded("before this step", late_s)


def _note(step: Step, error: BaseException) -> None:
    note_step(error, step.label, leaf=step.kind is not Kind.REGION)


def _misfit(step: Step, value: Any) -> str:
    came = f"a tuple of {len(value)}" if isinstance(value, tuple) else f"one {type(value).__name__}"
    before = "the call" if step.label.startswith("0:") else "the step before"
    parameters = inspect.signature(step.operator).parameters.values()
    defaults = [parameter.name for parameter in parameters if parameter.default is not parameter.empty]
    way_out = f"; {', '.join(defaults)} counts too, default or not: wrap the step to leave it out"
    return (
        f"Pipeline step {step.label} expects {step.arity} positional arguments, but got "
        f"current={_shown.repr(value)}; {before} must give a tuple of {step.arity}, and {came} came"
        f"{way_out if defaults else ''}"
    )
