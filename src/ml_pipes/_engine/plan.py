"""Operators become a plan, once: labels, argument counts, the tree of regions.

Knows what each kind of step is. Knows nothing of how a value is carried through.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from ml_pipes._engine.older import adapted
from ml_pipes._threads.owned import Owned
from ml_pipes.context import ContextOp
from ml_pipes.errors import SignatureError, StructureError
from ml_pipes.operator import get_operator_name
from ml_pipes.region import RegionCloser, RegionOpener

__all__ = ["Embedded", "Kind", "Plan", "Step", "make_plan"]

_KINDS = (RegionOpener, RegionCloser, ContextOp)


class Kind(enum.Enum):
    """How a step takes the value."""

    CALL = "called with the value"
    SPREAD = "called with the parts of a tuple"
    CONTEXT = "applied to the value and the context"
    REGION = "runs the steps up to its closer"
    EMBEDDED = "runs the steps of another pipeline"


class Embedded:
    """Base of a step that runs another pipeline: the engine asks what is ahead in it."""

    @property
    def plan(self) -> Plan | None:
        """The other pipeline's plan, as it is now; None when it is closed."""
        raise NotImplementedError

    def run_within(self, value: Any, way: Any) -> Any:
        """Run the other pipeline as a part of a call that is on its ``way``; None when it is on none."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class Step:
    """One step.

    Attributes:
        label: ``i:name``; i counts over the whole flattened list, closers too.
        operator: what was put in the list.
        kind: how it takes the value.
        act: what the driver calls: the operator, or the method of its kind.
        arity: how many positional parameters it has.
        body: of a region, the steps up to its closer.
        owned: of a region, what it holds for its lifetime.
        meeting: of a region in which callers meet, what makes the place where they do.
        leads_to_a_meeting: callers meet here or within; in an embedded pipeline they may, and it is asked.
        takes_turns: calls wait for each other in it; it tells when a turn has come (``_threads/turns.py``).
    """

    label: str
    operator: Any
    kind: Kind
    act: Callable[..., Any]
    arity: int = 1
    body: Plan | None = None
    owned: Owned | None = None
    meeting: Callable[[], Any] | None = None
    leads_to_a_meeting: bool = False
    takes_turns: bool = False


@dataclass(frozen=True, slots=True)
class Plan:
    """The steps of a pipeline, or of a region's body.

    Attributes:
        steps: in order; a region is one step that holds its body.
        fast: per step what the untraced driver needs: the callable, and the
            step where it is not just called with the value.
        meetings: the steps at or within which callers meet.
        after: per label of those, the ones after it.
    """

    steps: tuple[Step, ...]
    fast: tuple[tuple[Callable[..., Any], Step | None], ...]
    meetings: tuple[Step, ...] = ()
    after: dict[str, tuple[Step, ...]] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    """A region whose closer has not come yet; the outermost one is the pipeline itself."""

    index: int
    label: str
    opener: Any
    steps: list[Step]


def make_plan(operators: Sequence[Any], places: dict[int, Owned] | None = None) -> Plan:
    """Compile a flat list of operators.

    Args:
        operators: the list.
        places: what each region holds for its lifetime, by the index of its opener;
            those that are missing are added. A list that only grew keeps its regions' callers together.

    Raises:
        StructureError: a region is not opened and closed rightly.
        SignatureError: a step cannot be called with positional arguments only.
    """
    places = {} if places is None else places
    open_regions = [_Open(-1, "", None, [])]
    for index, operator in enumerate(operators):
        label = f"{index}:{get_operator_name(operator)}"
        if isinstance(operator, RegionOpener):
            _closing_type(operator, label)
            open_regions.append(_Open(index, label, operator, []))
        elif isinstance(operator, RegionCloser):
            region = _close(open_regions, operator, label, places)
            open_regions[-1].steps.append(region)
        else:
            open_regions[-1].steps.append(_simple_step(operator, label))
    unclosed = open_regions[-1]
    if unclosed.opener is not None:
        closer = unclosed.opener.closing_type.__name__
        raise StructureError(f"{unclosed.label} has no matching {closer}; add {closer}() after its last step")
    return _plan(unclosed.steps)


def _plan(steps: Iterable[Step]) -> Plan:
    steps = tuple(steps)
    fast = tuple((step.act, None if step.kind is Kind.CALL else step) for step in steps)
    meetings = tuple(step for step in steps if step.leads_to_a_meeting)
    after = {step.label: meetings[at + 1 :] for at, step in enumerate(meetings)}
    return Plan(steps, fast, meetings, after)


def _closing_type(opener: RegionOpener[Any, Any], label: str) -> None:
    closing_type = getattr(opener, "closing_type", None)
    if not (isinstance(closing_type, type) and issubclass(closing_type, RegionCloser)):
        raise StructureError(f"{label} must name its closing_type, a subclass of RegionCloser")


def _close(open_regions: list[_Open], closer: RegionCloser, label: str, places: dict[int, Owned]) -> Step:
    region = open_regions.pop()
    if region.opener is None:
        raise StructureError(
            f"{label} has no matching opener; put the region's opener before it, or remove it"
        )
    wanted = region.opener.closing_type
    if not isinstance(closer, wanted):
        raise StructureError(f"{region.label} must be closed with {wanted.__name__}, not {label}")
    opener = adapted(region.opener)
    owned = places.setdefault(region.index, Owned())
    is_meeting = type(opener).meeting_place is not RegionOpener.meeting_place
    meeting = partial(opener.meeting_place, region.label) if is_meeting else None
    body = _plan(region.steps)
    leads = is_meeting or bool(body.meetings)
    return Step(region.label, opener, Kind.REGION, opener.run, 1, body, owned, meeting, leads)


def _simple_step(operator: Any, label: str) -> Step:
    if isinstance(operator, ContextOp):
        return Step(label, operator, Kind.CONTEXT, operator.apply)
    if isinstance(operator, Embedded):
        return Step(label, operator, Kind.EMBEDDED, operator.run_within, leads_to_a_meeting=True)
    arity = _arity(operator, label)
    kind = Kind.CALL if arity == 1 else Kind.SPREAD
    return Step(label, operator, kind, operator, arity, takes_turns=getattr(operator, "takes_turns", False))


def _arity(operator: Any, label: str) -> int:
    """How many positional parameters the step has; defaults do not shorten the count."""
    if not callable(operator):
        raise SignatureError(f"{label} must define __call__, or be a region, a ContextOp or an Inline")
    name = get_operator_name(operator)
    if inspect.isclass(operator) and (hasattr(operator, "describe") or issubclass(operator, _KINDS)):
        raise SignatureError(f"{label} is the class, not an operator; write {name}(...)")
    is_named = name.isidentifier() and getattr(operator, "__name__", None) == name
    way_out = f"; wrap it: lambda value: {name if is_named else 'step'}(value)"
    try:
        parameters = inspect.signature(operator).parameters.values()
    except (TypeError, ValueError):
        raise SignatureError(f"{label} has no signature that can be read{way_out}") from None
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            raise SignatureError(
                f"{label} takes variadic positional parameters (*{parameter.name}), so nothing says how "
                f"many values it wants{way_out}"
            )
        if parameter.kind in {inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD}:
            raise SignatureError(
                f"{label} takes non-positional parameters ({parameter.name}), and a pipeline chains "
                f"operators by argument position{way_out}"
            )
    if not parameters:
        raise SignatureError(f"{label} takes no parameter, so no value can be given to it")
    return len(parameters)
