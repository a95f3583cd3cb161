"""A collector that keeps running means: what a call costs on average, step by step.

Knows traces and means. Knows nothing of how traces are recorded.
"""

from __future__ import annotations

from typing import Any, Final

from ml_pipes._threads.turnstile import Turnstile
from ml_pipes.collectors._lines import trace_lines
from ml_pipes.collectors.concurrent import ConcurrentCollector
from ml_pipes.tracing import InvocationTrace, StepSpan

__all__ = ["READ_S", "AggregateCollector"]

# Who reads waits that long for the traces that came before.
READ_S: Final = 1.0


class _Mean:
    """The runs of one list of steps, in sums."""

    __slots__ = ("_batch_size", "_sized", "_steps", "_total_s", "count", "started")

    def __init__(self) -> None:
        self.count = 0.0
        self.started: float | None = None
        self._total_s = 0.0
        self._batch_size = self._sized = 0.0
        self._steps: dict[str, _StepMean] = {}

    @property
    def duration_s(self) -> float:
        """Seconds of a run."""
        return self._total_s / self.count if self.count else 0.0

    def add(self, run: InvocationTrace, weight: float = 1.0) -> None:
        """One more run, counted ``weight`` times."""
        self.count += weight
        self._total_s += weight * run.total_duration_s
        if self.started is None:
            self.started = run.start_time
        if run.batch_size is not None:
            self._sized += weight
            self._batch_size += weight * run.batch_size
        steps = self._steps
        for span in run.spans:
            step = steps.get(span.label)
            if step is None:
                step = steps[span.label] = _StepMean(span)
            step.count += weight
            step.total_s += weight * span.duration_s
            if span.error or span.attributes or span.child_trace is not None:
                step.add_more(span, weight)

    def trace(self, workers: int | None = None, batch_size: float | None = None) -> InvocationTrace:
        """The mean as a trace."""
        if batch_size is None and self._sized:
            batch_size = self._batch_size / self._sized
        spans = [step.span() for step in self._steps.values()]
        return InvocationTrace(spans, self.duration_s, batch_size, workers, start_time=self.started or 0.0)


class _StepMean:
    """One step's spans, in sums."""

    __slots__ = (
        "_attributes",
        "_body",
        "_error",
        "_first",
        "_items",
        "_regions",
        "_workers",
        "count",
        "total_s",
    )

    def __init__(self, first: StepSpan) -> None:
        self.count = 0.0
        self.total_s = 0.0
        self._first = first.label, first.start_time, first.operator_config, first.operator_type
        self._error = False
        self._attributes: dict[str, Any] = {}
        self._body: _Mean | None = None
        self._workers: int | None = None
        self._items = self._regions = 0.0

    def add_more(self, span: StepSpan, weight: float) -> None:
        """What only some spans have: an error, counts, a body."""
        self._error = self._error or span.error
        for name, count in span.attributes.items():
            self._attributes[name] = self._attributes.get(name, 0) + weight * count
        child = span.child_trace
        if child is None:
            return
        if self._body is None:
            self._body = _Mean()
        self._workers = child.workers
        for run in span.runs or ((child,) if child.spans else ()):
            # Each participant of a batch brings the batch's one run.
            self._body.add(run, weight / (run.participants or 1))
        if child.participants is None and child.batch_size is not None:
            self._regions += weight
            self._items += weight * child.batch_size

    def span(self) -> StepSpan:
        """The mean as a span."""
        label, start_time, config, kind = self._first
        items = self._items / self._regions if self._regions else None
        return StepSpan(
            label,
            start_time,
            self.total_s / self.count,
            self._error,
            operator_config=config,
            attributes={name: round(count) for name, count in self._attributes.items()},
            child_trace=None if self._body is None else self._body.trace(self._workers, items),
            operator_type=kind,
        )


class AggregateCollector(ConcurrentCollector):
    """Keeps running means of all calls, failed ones too, in memory that does not grow with their number.

    Each step counts by how often it was seen, at any depth: a call that ended early does not pull the
    later steps towards 0. The run of a batch counts once, however many calls were in it. Who reads waits
    up to a second for the traces that came before.
    """

    def __init__(self) -> None:
        super().__init__()
        self._state = Turnstile()
        self._mean = _Mean()
        self._failed_calls = 0

    @property
    def total_calls(self) -> int:
        """How many calls were traced since the start, or the last reset."""
        self.flush(READ_S)
        return round(self._mean.count)

    @property
    def failed_calls(self) -> int:
        """How many of them raised."""
        self.flush(READ_S)
        return self._failed_calls

    @property
    def avg_pipeline_latency_ms(self) -> float:
        """Milliseconds of a call on average; 0 before the first."""
        self.flush(READ_S)
        with self._state.lock:
            return self._mean.duration_s * 1e3

    @property
    def avg_trace(self) -> InvocationTrace:
        """The mean call: spans with mean durations, summed counts, and regions' mean runs below them."""
        self.flush(READ_S)
        with self._state.lock:
            return self._mean.trace()

    def reset(self) -> None:
        """Begin anew: what came before counts no more."""
        self.flush(READ_S)
        with self._state.lock:
            self._forget()

    def print_summary(self) -> None:
        """Print the mean call, a line per step, and how many calls there were."""
        print("\n".join([*trace_lines(self.avg_trace), self._calls_line()]))

    def _calls_line(self) -> str:
        failed = f", {self._failed_calls} of them failed" if self._failed_calls else ""
        dropped = f"; {self.dropped} traces dropped" if self.dropped else ""
        return f"calls: {self.total_calls}{failed}{dropped}"

    def _forget(self) -> None:
        self._mean = _Mean()
        self._failed_calls = 0

    def _collect(self, trace: InvocationTrace) -> None:
        with self._state.lock:
            self._mean.add(trace)
            if trace.spans and trace.spans[-1].error:
                self._failed_calls += 1
