"""Pipeline: a list of operators, called like a function from any number of threads.

Knows how lists are joined, shown and called. Knows nothing of how a value is
carried through (``_engine``).
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from reprlib import recursive_repr
from textwrap import indent
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, Self, TypeAlias, TypeVar, Union

from ml_pipes._engine.plan import Embedded, Plan, make_plan
from ml_pipes._engine.record import NO_RECORD, RecorderKind, recorder_kind
from ml_pipes._engine.run import run
from ml_pipes._engine.way import CallWay, Way, first_place
from ml_pipes._threads.deadline import check_deadline, deadline_at, due_within
from ml_pipes._threads.guard import give_back_all
from ml_pipes._threads.owned import CLOSED, Owned
from ml_pipes._threads.turnstile import Turnstile
from ml_pipes.context import ContextOp
from ml_pipes.errors import PipelineClosed
from ml_pipes.operator import Operator, OperatorDescription, get_operator_name
from ml_pipes.region import RegionCloser, RegionOpener
from ml_pipes.stats import PipelineStats, RegionStats
from ml_pipes.tracing import TraceCollector, TracingConfig

__all__ = ["Embed", "Inline", "OperatorLike", "Pipeline", "PipelineDescription", "embed", "inline"]

if TYPE_CHECKING:
    import typing_extensions as checked

    # The list says nothing of its ends to a type checker: unless they are named, they are Any.
    InputT = checked.TypeVar("InputT", default=Any)
    OutputT = checked.TypeVar("OutputT", default=Any)
else:
    InputT = TypeVar("InputT")
    OutputT = TypeVar("OutputT")
NextT = TypeVar("NextT")

OperatorLike: TypeAlias = Union[
    Callable[..., Any], RegionOpener[Any, Any], RegionCloser, ContextOp[Any, Any], "Inline[Any, Any]"
]
"""What a pipeline's list may hold: a callable of one or more positional parameters, a
region's opener or closer, a ContextOp, or an Inline."""


class _Tracing(NamedTuple):
    """Who receives the traces, and what records them."""

    collector: TraceCollector
    recorder: RecorderKind


class Pipeline(Generic[InputT, OutputT]):
    """Steps that one value goes through in order.

    It holds nothing of a call, so any number of threads may call it at once. A
    tuple that a step returns is spread over the next step's parameters when that
    step takes more than one; every other value is handed on whole. A step that
    returns ``SHORT_CIRCUIT`` ends the call, with that as its result.

    Args:
        operators: the steps; an :class:`Inline` among them stands for its pipeline's steps.

    Raises:
        StructureError: a region's opener and closer do not match (a ``ValueError``).
        SignatureError: a step cannot be called with positional arguments only (a ``TypeError``).
    """

    def __init__(self, operators: Iterable[OperatorLike] = ()) -> None:
        self._editing = Turnstile()
        self._places: dict[int, Owned] = {}
        self._operators = tuple(_flat(operators))
        self._plan: Plan | None = make_plan(self._operators, self._places)  # None: closed
        self._tracing: _Tracing | None = None

    def __call__(self, value: InputT) -> OutputT:
        """Carry one value through.

        Raises:
            PipelineClosed: it was closed, before the call or while this waited in it (a ``RuntimeError``).
            StepInputError: a step of several parameters got no tuple of that length (a ``TypeError``).
            Exception: whatever a step raises, with a note that says which step, and which item.
        """
        plan = self._plan
        if plan is None:
            raise PipelineClosed(CLOSED)
        result: OutputT
        if plan.meetings:
            result = _run_on_a_way(plan, value, self._tracing)
        elif self._tracing is None:
            result = run(plan, value)
        else:
            result = _run(plan, value, self._tracing, None)
        return result

    def call(self, value: InputT, *, deadline: float | None = None) -> OutputT:
        """Carry one value through, within a time.

        At its deadline a call that waits, for others in a ``Batch``, for an item of a
        ``Scatter``, for its turn at a serialized step, stops waiting; its rows are taken
        out of the queue and nobody else notices. A step that runs is not broken off: no
        step starts after it, on any thread and in any embedded pipeline, and a caller
        that leads a batch raises when the batch is done.

        Args:
            value: what the first step takes.
            deadline: seconds from now; None for no limit. Within a call that has one, the earlier counts.

        Raises:
            TypeError: ``deadline`` is no number.
            ValueError: it is NaN.
            DeadlineExceeded: the result is not there in time (a ``TimeoutError``).
            Exception: as of ``pipeline(value)``.
        """
        if deadline is None:
            return self(value)
        plan = self._plan
        if plan is None:
            raise PipelineClosed(CLOSED)
        with due_within(deadline):
            result: OutputT = _run_on_a_way(plan, value, self._tracing)
            check_deadline("before the result was there")
            return result

    @property
    def operators(self) -> tuple[Any, ...]:
        """The steps, flattened; to add some, see :meth:`extend`."""
        return self._operators

    def extend(self, operators: Iterable[OperatorLike]) -> Self:
        """Add steps at the end, in place; when they are refused, nothing is added."""
        added = tuple(_flat(operators))
        while True:
            before = self._operators
            plan = make_plan((*before, *added), self._places)
            with self._editing.lock:  # around nothing of the user's: a signal's handler may call close()
                if self._plan is None:
                    raise PipelineClosed(CLOSED)
                if self._operators is before:
                    self._plan, self._operators = plan, (*before, *added)
                    return self

    def close(self) -> None:
        """End the threads that it started, and release who waits in it with :class:`PipelineClosed`.

        Batches and items that run end as they would. Embedded pipelines belong to
        whoever made them and stay open. A second time does nothing. A pipeline that
        is not closed ends its threads when it is garbage; a copy is open.
        """
        with self._editing.lock:
            self._plan = None
        with ExitStack() as closing:  # one that fails to close must not keep the others open
            for owned in list(self._places.values()):
                closing.callback(owned.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __add__(self, other: Pipeline[OutputT, NextT]) -> Pipeline[InputT, NextT]:
        """One flat pipeline of both lists; they share one context."""
        if not isinstance(other, Pipeline):
            return NotImplemented
        return Pipeline((*self._operators, *other._operators))

    def __rshift__(self, other: Pipeline[OutputT, NextT]) -> Pipeline[InputT, NextT]:
        """One pipeline after the other, each with its own context; later changes of either are seen."""
        if not isinstance(other, Pipeline):
            return NotImplemented
        links = all(isinstance(operator, Embed) for operator in self._operators)
        first = self._operators if links else (Embed(self),)
        return Pipeline((*first, Embed(other)))

    @property
    def trace_collector(self) -> TraceCollector | None:
        """Who receives a trace of each call."""
        return None if self._tracing is None else self._tracing.collector

    def stats(self) -> PipelineStats:
        """What went on in its regions since it was made: figures per region, also after it was closed.

        They are always kept, and can be printed. Regions of embedded pipelines are
        there as ``2:Embed/0:Batch``, with what other callers did there.
        """
        return PipelineStats(self._region_stats(()))

    def _region_stats(self, around: tuple[Pipeline[Any, Any], ...]) -> Iterator[RegionStats]:
        for index, operator in enumerate(self._operators):
            label = f"{index}:{get_operator_name(operator)}"
            if isinstance(operator, Embed) and operator.pipeline not in (*around, self):
                for region in operator.pipeline._region_stats((*around, self)):  # noqa: SLF001 - of its own kind
                    yield replace(region, label=f"{label}/{region.label}")
            elif isinstance(operator, RegionOpener) and operator.keeps_stats:
                kind, kept = type(operator).__name__, self._places[index].peek()
                yield RegionStats(label, kind) if kept is None else kept.stats(kind)

    def set_tracing(self, collector: TraceCollector | None, config: TracingConfig | None = None) -> None:
        """Trace each call from now on, and hand the traces to ``collector``; None switches it off.

        Args:
            collector: who receives a trace of each call, on the call's thread.
            config: what is kept of each step beside its times; nothing when left out.

        Raises:
            TypeError: ``collector`` is no :class:`TraceCollector`, or ``config`` no :class:`TracingConfig`.
        """
        if collector is not None and not isinstance(collector, TraceCollector):
            raise TypeError(f"set_tracing takes a TraceCollector or None, got {collector!r}")
        if config is not None and not isinstance(config, TracingConfig):
            raise TypeError(f"set_tracing takes a TracingConfig or None as config, got {config!r}")
        self._tracing = None if collector is None else _Tracing(collector, recorder_kind(config))

    def describe(self, *, show_defaults: bool = False, verbose: bool = False) -> PipelineDescription:
        """Show the list, with the operators' arguments.

        Prints it, unless an interactive interpreter is going to show what is returned.

        Args:
            show_defaults: arguments left at their defaults too.
            verbose: long values in full.
        """
        description = PipelineDescription(
            [OperatorDescription.from_operator(operator) for operator in self._operators],
            (show_defaults, verbose),
        )
        if not hasattr(sys, "ps1"):
            print(description)
        return description

    @recursive_repr("Pipeline([...])")
    def __repr__(self) -> str:
        return PipelineDescription([OperatorDescription.from_operator(op) for op in self._operators]).render()

    def __getstate__(self) -> dict[str, Any]:
        # The recipe: what regions own is made anew, and collectors stay with their process.
        return {**self.__dict__, "_plan": None, "_places": {}, "_tracing": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._plan = make_plan(self._operators, self._places)


@dataclass(frozen=True)
class PipelineDescription:
    """The steps of a pipeline, ready to be shown."""

    operators: list[OperatorDescription] = field(default_factory=list)
    _shown: tuple[bool, bool] = field(default=(False, False), repr=False, compare=False)

    def render(self, *, show_defaults: bool = False, verbose: bool = False) -> str:
        """The list as it would be written, one step a line."""
        if not self.operators:
            return "Pipeline([])"
        steps = (step.render(show_defaults=show_defaults, verbose=verbose) for step in self.operators)
        return "Pipeline([\n" + indent("".join(f"{step},\n" for step in steps), "  ") + "])"

    def __repr__(self) -> str:
        show_defaults, verbose = self._shown
        return self.render(show_defaults=show_defaults, verbose=verbose)


@Operator
class Embed(Embedded, Generic[InputT, OutputT]):
    """A pipeline as one step, with a context of its own.

    Later changes of the pipeline are seen. Its short-circuit ends the outer call too.
    """

    def __init__(self, pipeline: Pipeline[InputT, OutputT]) -> None:
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"Embed takes a Pipeline, got a {type(pipeline).__name__}")
        self.pipeline = pipeline

    def __call__(self, value: InputT) -> OutputT:
        return self.pipeline(value)

    @property
    def plan(self) -> Plan | None:
        """The pipeline's plan, as it is now; None when it is closed."""
        return self.pipeline._plan  # noqa: SLF001 - its own module

    def run_within(self, value: InputT, way: Way | None) -> OutputT:
        plan = self.plan
        if plan is None:
            return self.pipeline(value)  # which says that it is closed
        inner = None if way is None else Way(plan, way.traveller, way.passed)
        result: OutputT = _run(plan, value, self.pipeline._tracing, inner)  # noqa: SLF001 - as above
        return result


@Operator
class Inline(Generic[InputT, OutputT]):
    """Stands in a list for its pipeline's steps, as they are when the list is built; one context."""

    def __init__(self, pipeline: Pipeline[InputT, OutputT]) -> None:
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"Inline takes a Pipeline, got a {type(pipeline).__name__}")
        self.pipeline = pipeline


def embed(pipeline: Pipeline[InputT, OutputT]) -> Embed[InputT, OutputT]:
    """``Embed(pipeline)``."""
    return Embed(pipeline)


def inline(pipeline: Pipeline[InputT, OutputT]) -> Inline[InputT, OutputT]:
    """``Inline(pipeline)``."""
    return Inline(pipeline)


def _run_on_a_way(plan: Plan, value: Any, tracing: _Tracing | None) -> Any:
    """A call in which callers meet: those who wait know that this one comes."""
    way: CallWay | None = None
    try:
        place = first_place(plan.meetings)
        if place is not None:
            way = CallWay(plan, place)
        return _run(plan, value, tracing, way)
    except BaseException:
        give_back_all()
        raise
    finally:
        if way is not None:
            way.end()


def _run(plan: Plan, value: Any, tracing: _Tracing | None, way: Way | None) -> Any:
    if tracing is None:
        return run(plan, value, NO_RECORD, way, deadline_at())
    recorder = tracing.recorder(None, value)
    try:
        return run(plan, value, recorder, way, deadline_at())
    finally:
        try:
            tracing.collector.on_trace(recorder.trace())
        except Exception:
            import logging  # only a failing collector needs it

            logging.getLogger("ml_pipes").exception(
                "the trace collector %r failed; the call goes on", tracing.collector
            )


def _flat(operators: Iterable[Any]) -> Iterator[Any]:
    if not isinstance(operators, Iterable) or isinstance(operators, str):
        raise TypeError(
            f"Pipeline takes a list of steps, got a {type(operators).__name__}; write Pipeline([...])"
        )
    for operator in operators:
        if isinstance(operator, Inline):
            yield from operator.pipeline.operators
        else:
            yield operator
