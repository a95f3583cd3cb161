"""Spans and traces as data, and who receives them.

A span is one step's time within a call; a trace is the spans of one run of a
list of steps. Times are seconds of ``time.perf_counter``. Knows nothing of how
they are recorded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

from ml_pipes.operator import OperatorDescription

__all__ = [
    "WAIT",
    "InvocationTrace",
    "StepSpan",
    "TraceCollector",
    "TracingConfig",
    "capture_value",
    "freeze_trace",
    "mean_trace",
    "merge_traces",
    "operator_config",
    "shape_of",
    "walk",
]

# total_duration_s, batch_size, workers, start_time, thread, item, participants: one tuple, since a trace is
# made per call.
_About: TypeAlias = tuple[float, float | None, int | None, float, int | None, int | None, int | None]

# What the label of a wait ends with.
WAIT: Final = "[wait]"
# A tuple of more parts is shown by its length.
_SHOWN_PARTS = 4


@dataclass(frozen=True)
class TracingConfig:
    """What is kept of each step beside its times; each costs time in every traced call.

    Attributes:
        capture_config: the operator's arguments, in ``operator_config``.
        capture_shapes: what came and what went on, in short: ``input_shape`` and ``output_shape``; see
            :func:`shape_of`.
    """

    capture_config: bool = False
    capture_shapes: bool = False
    _capture_outputs: bool = False

    @property
    def keeps_values(self) -> bool:
        """What went on is kept itself, in ``output_value``: not copied, for steps do not write to it."""
        return self._capture_outputs

    def __bool__(self) -> bool:
        return self.capture_config or self.capture_shapes or self._capture_outputs


@dataclass(frozen=True, init=False)
class StepSpan:
    """One step of one run; immutable.

    Attributes:
        label: the step, ``i:name``; the wait for a batch to leave, or for a turn, is a span of its own,
            ``i:Batch[wait]``.
        start_time: when it began, seconds.
        duration_s: how long it took, seconds.
        error: it raised.
        error_type: the class of what it raised; None when it did not.
        error_message: what that said.
        operator_config: the operator's arguments, where the recorder keeps them.
        attributes: counts: ``seen``, ``emitted``, ``dropped`` of a region of items, and ``failed`` where
            failures were returned or dropped; ``dropped`` of a step that short-circuited.
        input_shape: shape of what came, where the recorder keeps it.
        output_shape: shape of what went on, where the recorder keeps it.
        output_value: what went on, where the recorder keeps it.
        child_trace: of a region, the mean of its body's runs; see :func:`mean_trace`.
        operator_type: the operator's class.
        runs: of a region, each run of its body by itself; all participants of one
            batch hold the very same run.
        thread: the thread that ran it.
    """

    label: str
    start_time: float
    duration_s: float
    error: bool = False
    operator_config: dict[str, Any] = field(default_factory=dict)
    attributes: dict[str, Any] = field(default_factory=dict)
    input_shape: tuple[Any, ...] | str | None = None
    output_shape: tuple[Any, ...] | str | None = None
    output_value: Any = None
    child_trace: InvocationTrace | None = None
    operator_type: type | None = None
    runs: tuple[InvocationTrace, ...] = ()
    thread: int | None = None
    error_type: str | None = None
    error_message: str | None = None

    def __init__(
        self,
        label: str,
        start_time: float,
        duration_s: float,
        error: bool = False,
        operator_config: dict[str, Any] | None = None,
        attributes: dict[str, Any] | None = None,
        input_shape: tuple[Any, ...] | str | None = None,
        output_shape: tuple[Any, ...] | str | None = None,
        output_value: Any = None,
        child_trace: InvocationTrace | None = None,
        operator_type: type | None = None,
        runs: tuple[InvocationTrace, ...] = (),
        thread: int | None = None,
        error_type: str | None = None,
        error_message: str | None = None,
    ) -> None:
        # One is made per step of each call that somebody reads: the generated __init__ of a frozen
        # dataclass, a checked store per field, takes three times as long.
        vars(self).update(
            label=label,
            start_time=start_time,
            duration_s=duration_s,
            error=error,
            operator_config={} if operator_config is None else operator_config,
            attributes={} if attributes is None else attributes,
            input_shape=input_shape,
            output_shape=output_shape,
            output_value=output_value,
            child_trace=child_trace,
            operator_type=operator_type,
            runs=runs,
            thread=thread,
            error_type=error_type,
            error_message=error_message,
        )

    @property
    def end_time(self) -> float:
        """When it ended, seconds."""
        return self.start_time + self.duration_s

    @property
    def is_wait(self) -> bool:
        """It is the wait before a step, not the step."""
        return self.label.endswith(WAIT)

    @property
    def is_inference(self) -> bool:
        """It is a model's run: its operator's class says ``is_inference``."""
        return bool(getattr(self.operator_type, "is_inference", False)) and not self.is_wait


class InvocationTrace:
    """The spans of one run; immutable.

    Args:
        spans: one per step, in order; a failed run ends with the step that failed.
        total_duration_s: seconds from the first step's start to the last one's end.
        batch_size: how many items the region had that this run, or mean of runs, is the body of.
        workers: how many workers that region may use.
        start_time: when the run began, seconds of ``time.perf_counter``.
        thread: the thread that the run was on.
        item: which item of its region the run was for.
        participants: of the run of a batch, how many callers had items in it.
    """

    __slots__ = ("__weakref__", "_about", "_spans")

    def __init__(
        self,
        spans: Iterable[StepSpan] = (),
        total_duration_s: float = 0.0,
        batch_size: float | None = None,
        workers: int | None = None,
        *,
        start_time: float = 0.0,
        thread: int | None = None,
        item: int | None = None,
        participants: int | None = None,
    ) -> None:
        self._spans: tuple[StepSpan, ...] | Callable[[], Iterable[StepSpan]] = tuple(spans)
        self._about: _About = (total_duration_s, batch_size, workers, start_time, thread, item, participants)

    @classmethod
    def later(cls, make_spans: Callable[[], Iterable[StepSpan]], about: _About) -> InvocationTrace:
        """A trace whose spans are made when somebody reads them: one that nobody reads costs next to nothing.

        Args:
            make_spans: gives the spans, the same each time.
            about: the other arguments of a trace, in their order.
        """
        trace = cls.__new__(cls)
        trace._spans, trace._about = make_spans, about  # noqa: SLF001 - made on the line above
        return trace

    @property
    def spans(self) -> Sequence[StepSpan]:
        """One span a step, in order; a failed run ends with the step that failed."""
        spans = self._spans
        if callable(spans):
            self._spans = spans = tuple(spans())
        return spans

    @property
    def total_duration_s(self) -> float:
        """Seconds from the first step's start to the last one's end."""
        return self._about[0]

    @property
    def batch_size(self) -> float | None:
        """How many items the region had that this run, or mean of runs, is the body of."""
        return self._about[1]

    @property
    def workers(self) -> int | None:
        """How many workers that region may use."""
        return self._about[2]

    @property
    def start_time(self) -> float:
        """When the run began, seconds of ``time.perf_counter``."""
        return self._about[3]

    @property
    def thread(self) -> int | None:
        """The thread that the run was on."""
        return self._about[4]

    @property
    def item(self) -> int | None:
        """Which item of its region the run was for."""
        return self._about[5]

    @property
    def participants(self) -> int | None:
        """Of the run of a batch, how many callers had items in it; None for any other run."""
        return self._about[6]

    @property
    def end_time(self) -> float:
        """When the run ended, seconds of ``time.perf_counter``."""
        return self.start_time + self.total_duration_s

    def span_fractions(self) -> dict[str, float]:
        """Label -> share of the total, 0 to 1; all 0 when the total is 0."""
        total = self.total_duration_s
        return {span.label: span.duration_s / total if total else 0.0 for span in self.spans}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, InvocationTrace):
            return NotImplemented
        return self._about == other._about and tuple(self.spans) == tuple(other.spans)

    __hash__ = None  # type: ignore[assignment] # spans hold dicts

    def __repr__(self) -> str:
        labels = ", ".join(span.label for span in self.spans)
        return f"InvocationTrace([{labels}], {self.total_duration_s * 1e3:.3f} ms)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (tuple(self.spans), self._about)


def _restored(spans: tuple[StepSpan, ...], about: _About) -> InvocationTrace:
    return InvocationTrace.later(lambda: spans, about)


class TraceCollector(ABC):
    """Receives the trace of each run, failed ones too.

    It is called on the thread of the run, after it. An exception of its own is logged and
    the run's result goes to its caller all the same.
    """

    @abstractmethod
    def on_trace(self, trace: InvocationTrace) -> None:
        """Take one finished trace."""


def walk(trace: InvocationTrace) -> Iterator[tuple[StepSpan, InvocationTrace]]:
    """Every span of a trace, regions' runs and their regions' too, each with the run that it is of.

    A run that several items of the trace share, since they met in one batch, comes once.
    """
    yield from _walk(trace, set())


def _walk(trace: InvocationTrace, seen: set[int]) -> Iterator[tuple[StepSpan, InvocationTrace]]:
    for span in trace.spans:
        yield span, trace
        for run in span.runs:
            if id(run) not in seen:
                seen.add(id(run))
                yield from _walk(run, seen)


def operator_config(op: Any) -> dict[str, Any]:
    """An operator's arguments, name -> value, those left at their defaults too."""
    return OperatorDescription.from_operator(op).all_args


def capture_value(value: Any) -> Any:
    """What is kept of a value in ``output_value``: itself, for steps do not write to it."""
    return value


def freeze_trace(trace: InvocationTrace) -> InvocationTrace:
    """A trace that cannot change: itself."""
    return trace


def shape_of(value: Any) -> tuple[Any, ...] | str:
    """A value in short: an array's shape, also of one that a payload holds; else its kind and length."""
    kind = type(value).__name__
    try:
        for holder in (value, getattr(value, "array", None)):
            shape = getattr(holder, "shape", None)
            if isinstance(shape, tuple):
                return shape
        if isinstance(value, tuple) and len(value) <= _SHOWN_PARTS:
            return f"({', '.join(map(_short, value))})"
        return f"{kind}[{len(value)}]"
    except Exception:  # noqa: BLE001 - no length, or something that cannot be told: tracing must not fail a call
        return kind


def _short(value: Any) -> str:
    shape = shape_of(value)
    return shape if isinstance(shape, str) else f"{type(value).__name__}{list(shape)}"


def mean_trace(
    traces: Sequence[InvocationTrace], batch_size: float | None = None, workers: int | None = None
) -> InvocationTrace:
    """One trace whose spans are the means of the given ones' spans with the same label.

    Each step counts by how often it was seen, in regions within regions too: a run
    that ended early does not pull the later steps towards 0. Attributes are summed;
    ``error`` is true when any was. An empty sequence gives an empty trace.

    Args:
        traces: the runs.
        batch_size: of the mean; see :class:`InvocationTrace`.
        workers: of the mean.
    """
    traces = tuple(traces)  # as they are now: the spans are made when somebody reads them
    total_s = _mean(trace.total_duration_s for trace in traces)
    start = min((trace.start_time for trace in traces), default=0.0)
    about = (total_s, batch_size, workers, start, None, None, None)
    return InvocationTrace.later(lambda: _mean_spans(traces), about)


merge_traces = mean_trace  # the name that older programs use


def _mean_spans(traces: Sequence[InvocationTrace]) -> Iterator[StepSpan]:
    seen: dict[str, list[StepSpan]] = {}
    for trace in traces:
        for span in trace.spans:
            seen.setdefault(span.label, []).append(span)
    return map(_mean_span, seen.values())


def _mean_span(spans: Sequence[StepSpan]) -> StepSpan:
    attributes: dict[str, Any] = {}
    for span in spans:
        for name, count in span.attributes.items():
            attributes[name] = attributes.get(name, 0) + count
    return replace(
        spans[0],
        duration_s=_mean(span.duration_s for span in spans),
        error=any(span.error for span in spans),
        attributes=attributes,
        child_trace=_mean_child(spans),
        runs=tuple({id(run): run for span in spans for run in span.runs}.values()),
        thread=None,
    )


def _mean_child(spans: Sequence[StepSpan]) -> InvocationTrace | None:
    """Of all runs of the spans' bodies, each counted once; of the means where runs were not kept."""
    children = [span.child_trace for span in spans if span.child_trace is not None]
    if not children:
        return None
    sizes = [child.batch_size for child in children if child.batch_size is not None]
    runs = list({id(run): run for span in spans for run in span.runs}.values())
    return mean_trace(runs or children, _mean(sizes) if sizes else None, children[0].workers)


def _mean(values: Iterable[float]) -> float:
    given = list(values)
    return sum(given) / len(given) if given else 0.0
