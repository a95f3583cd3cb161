"""The blocking driver: it carries one value through a plan, on the caller's thread.

Knows each kind of step. Knows nothing of what operators do.
"""

from __future__ import annotations

import inspect
import reprlib
from collections.abc import Callable
from operator import length_hint
from typing import Any, TypeVar, cast

from ml_pipes._engine.locate import note_item, note_step
from ml_pipes._engine.plan import Kind, Plan, Step
from ml_pipes._engine.record import NO_RECORD, NoRecord, NoRegion, Recorder, RegionRecord
from ml_pipes._threads.batcher import Ticket
from ml_pipes._threads.clock import now
from ml_pipes._threads.owned import Owned
from ml_pipes.context import Context
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.errors import StepInputError

__all__ = ["StepBody", "run"]

OwnedT = TypeVar("OwnedT")

_EMPTY = Context()
# Looked up once: a member of an enum costs as much as a step.
_CALL, _SPREAD, _CONTEXT = Kind.CALL, Kind.SPREAD, Kind.CONTEXT
# Short, and safe with a value whose own repr fails.
_shown = reprlib.Repr()
_shown.maxstring = _shown.maxother = _shown.maxlong = 120


class _Frame:
    """What one run of a plan holds beside its value."""

    __slots__ = ("context", "record")

    def __init__(self, record: Recorder | NoRecord) -> None:
        self.context = _EMPTY
        self.record = record


class StepBody:
    """The body of a region's step: each call is one run of its plan, recorded in ``record``."""

    __slots__ = ("_step", "record")

    def __init__(self, step: Step, record: RegionRecord | NoRegion) -> None:
        self._step = step
        self.record = record

    @property
    def label(self) -> str:
        """The opener's label."""
        return self._step.label

    def __call__(self, value: Any, /, *, item: int | None = None) -> Any:
        body = cast(Plan, self._step.body)  # a region's step has one
        try:
            return run(body, value, self.record.run(item))
        except BaseException as error:
            if item is not None:
                note_item(error, item)
            raise

    def own(self, make: Callable[[str], OwnedT], /) -> OwnedT:
        """What the step's place holds for its lifetime."""
        owned = cast(Owned, self._step.owned)  # a region's step has one
        return owned.get(lambda: make(self._step.label))


def run(plan: Plan, value: Any, record: Recorder | NoRecord = NO_RECORD) -> Any:
    """Carry ``value`` through the steps; returns the last one's result, or ``SHORT_CIRCUIT``.

    An exception leaves with its type and identity, and a note of where it was.
    """
    if record is not NO_RECORD:
        return _run_recorded(plan, value, cast(Recorder, record))
    frame: _Frame | None = None
    steps = iter(plan.fast)
    try:
        for call, special in steps:
            if special is None:
                value = call(value)
            else:
                frame = frame or _Frame(record)
                value = _advance(special, value, frame)
            if value is SHORT_CIRCUIT:
                return value
    except BaseException as error:
        # The iterator knows how many steps are left, so the loop need not count.
        _note(plan.steps[max(len(plan.steps) - length_hint(steps), 1) - 1], error)
        raise
    return value


def _run_recorded(plan: Plan, value: Any, record: Recorder) -> Any:
    frame = _Frame(record)
    for step in plan.steps:
        started = now()
        try:
            value = _advance(step, value, frame)
        except BaseException as error:
            record.add(step, started, None, error=True)
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
    return _run_region(step, value, frame.record.region())


def _run_region(step: Step, value: Any, record: RegionRecord | NoRegion) -> Any:
    result = step.act(value, StepBody(step, record))
    if isinstance(result, Ticket):
        if isinstance(record, RegionRecord):
            record.ticket = result
        return result.wait()
    return result


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
