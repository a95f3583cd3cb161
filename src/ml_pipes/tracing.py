"""Spans and traces as data, and who receives them.

A span is one step's time within a call; a trace is the spans of one run of a
list of steps. Times are seconds of ``time.perf_counter``. Knows nothing of how
they are recorded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

__all__ = ["InvocationTrace", "StepSpan", "TraceCollector", "mean_trace"]

# total_duration_s, batch_size, workers, start_time, thread, item: one tuple, since a trace is made per call.
_About: TypeAlias = tuple[float, float | None, int | None, float, int | None, int | None]


@dataclass(frozen=True)
class StepSpan:
    """One step of one run.

    Attributes:
        label: the step, ``i:name``; the wait of a batch is its own span, ``i:Batch[wait]``.
        start_time: when it began, seconds.
        duration_s: how long it took, seconds.
        error: it raised.
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
    ) -> None:
        self._spans: tuple[StepSpan, ...] | Callable[[], Iterable[StepSpan]] = tuple(spans)
        self._about: _About = (total_duration_s, batch_size, workers, start_time, thread, item)

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

    It is called on the thread of the run, after it. What it raises is logged and
    the run's result goes to its caller all the same.
    """

    @abstractmethod
    def on_trace(self, trace: InvocationTrace) -> None:
        """Take one finished trace."""


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
    seen: dict[str, list[StepSpan]] = {}
    for trace in traces:
        for span in trace.spans:
            seen.setdefault(span.label, []).append(span)
    return InvocationTrace(
        [_mean_span(spans) for spans in seen.values()],
        _mean(trace.total_duration_s for trace in traces),
        batch_size,
        workers,
        start_time=min((trace.start_time for trace in traces), default=0.0),
    )


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
        runs=tuple(run for span in spans for run in span.runs),
        thread=None,
    )


def _mean_child(spans: Sequence[StepSpan]) -> InvocationTrace | None:
    """Of all runs of the spans' bodies, each counted once; of the means where runs were not kept."""
    children = [span.child_trace for span in spans if span.child_trace is not None]
    if not children:
        return None
    sizes = [child.batch_size for child in children if child.batch_size is not None]
    runs = [run for span in spans for run in span.runs]
    return mean_trace(runs or children, _mean(sizes) if sizes else None, children[0].workers)


def _mean(values: Iterable[float]) -> float:
    given = list(values)
    return sum(given) / len(given) if given else 0.0
