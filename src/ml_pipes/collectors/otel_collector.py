"""A collector that exports calls as OpenTelemetry spans: one tree per call, one span per batch.

Knows traces and OpenTelemetry's API, which is imported when a collector is made. Knows nothing of
where spans go: that is the program's own set-up.
"""

from __future__ import annotations

import os
import time
from math import inf
from typing import TYPE_CHECKING, Any, Final

from ml_pipes._threads.clock import CLOCK, Clock
from ml_pipes._threads.courier import Courier
from ml_pipes.collectors._sights import PerRun
from ml_pipes.collectors.concurrent import ConcurrentCollector
from ml_pipes.tracing import InvocationTrace, StepSpan

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.trace import Span, TracerProvider

__all__ = ["OtelCollector"]

# A batch's span stays open for its participants' links, but not longer than this after the first of them.
_OPEN_S: Final = 5.0
_MOST_OPEN: Final = 1024
_NEEDED: Final = 'OtelCollector needs opentelemetry-api; install it with: pip install "ml-pipes[otel]"'


class _Batch:
    """A run that several callers share, and its one span, open until all of them were seen."""

    __slots__ = ("due_at", "end_ns", "missing", "span")

    def __init__(self, missing: int, end_ns: int, due_at: float) -> None:
        self.missing = missing
        self.end_ns = end_ns
        self.due_at = due_at
        self.span: Span | None = None


class OtelCollector(ConcurrentCollector):
    """Exports each call as a tree of spans with its real times, on a thread of its own.

    The root is a child of the span that is current where the pipeline is called; a step is a child of its
    run, an item of its region. The run of a batch with several callers is one span, a root of its own with
    a link to the ``Batch`` span of each of them, which link to it; that of a batch with one caller is a
    child of that. (So a sampler decides about a shared batch apart from the calls in it.) Such a span is
    exported when all its callers were seen, or after 5 seconds, a flush or the stop. A step that raised
    has the status ERROR and the error's type and message.

    What makes and exports spans is set up by the program, as OpenTelemetry's documents say; without that
    nothing is exported. However slow it is, no call waits for it.

    Args:
        tracer_name: the name of the instrumentation, on each span.
        tracer_provider: what makes the spans; None for the program's own.
        root_name: the name of each call's span.
        clock: whose time it is.

    Raises:
        ImportError: opentelemetry-api is not installed.
    """

    def __init__(
        self,
        tracer_name: str = "ml-pipes",
        *,
        tracer_provider: TracerProvider | None = None,
        root_name: str = "pipeline",
        clock: Clock = CLOCK,
    ) -> None:
        try:
            from opentelemetry import context, trace
        except ImportError as error:
            raise ImportError(_NEEDED) from error
        self._api = trace
        self._current_context = context.get_current
        self._tracer = trace.get_tracer(tracer_name, tracer_provider=tracer_provider)
        self._root_name = root_name
        self._clock = clock
        # Once for all, so that no span of a tree is moved against another.
        self._epoch_ns = time.time_ns() - time.perf_counter_ns()
        self._process = os.getpid()
        self._batches: PerRun[_Batch] = PerRun()
        self._open: dict[_Batch, None] = {}
        super().__init__()

    def _hire(self, limit: int) -> Courier:
        return Courier(self._take, limit=limit, label=type(self).__name__, settle=self._end_due)

    def on_trace(self, trace: InvocationTrace) -> None:
        self._courier.post((trace, self._current_context()))

    def _take(self, posted: tuple[InvocationTrace, Context]) -> None:
        if self._process != os.getpid():
            # A fork: what was open is its parent's to export.
            self._process, self._open, self._batches = os.getpid(), {}, PerRun()
        self._add_run(posted[0], self._root_name, posted[1])

    def _collect(self, trace: InvocationTrace) -> None:
        self._take((trace, self._current_context()))

    def _add_run(self, run: InvocationTrace, name: str, within: Context) -> None:
        span = self._start_run(run, name, within)
        self._add_steps(run, self._api.set_span_in_context(span, within))
        span.end(self._ns(run.end_time))

    def _start_run(self, run: InvocationTrace, name: str, within: Context, links: Any = None) -> Span:
        span = self._tracer.start_span(name, within, links=links, start_time=self._ns(run.start_time))
        if span.is_recording():
            about = {"item": run.item, "batch_size": run.batch_size, "participants": run.participants}
            span.set_attributes(
                {f"ml_pipes.{key}": value for key, value in about.items() if value is not None}
            )
            if run.thread is not None:
                span.set_attribute("thread.id", run.thread)
            if run.spans and run.spans[-1].error:
                self._mark(span, run.spans[-1])
        return span

    def _add_steps(self, run: InvocationTrace, within: Context) -> None:
        for step in run.spans:
            span = self._tracer.start_span(step.label, within, start_time=self._ns(step.start_time))
            if span.is_recording():
                span.set_attributes(_about(step))
                if step.error:
                    self._mark(span, step)
            inside = self._api.set_span_in_context(span, within)
            for inner in step.runs:
                if (inner.participants or 1) > 1:
                    self._add_shared(inner, step, span)
                else:
                    item = "run" if inner.item is None else inner.item
                    self._add_run(inner, f"{step.label}[{item}]", inside)
            span.end(self._ns(step.end_time))
            self._courier.breathe()

    def _add_shared(self, run: InvocationTrace, step: StepSpan, member: Span) -> None:
        """One more caller of a batch was seen."""
        batch = self._batches.get(run)
        if batch is None:
            due_at = self._clock.now() + _OPEN_S
            batch = _Batch(run.participants or 0, self._ns(run.end_time), due_at)
            self._batches.put(run, batch)
            self._open[batch] = None
        batch.missing -= 1
        if member.is_recording():
            link = self._api.Link(member.get_span_context())
            if batch.span is None:
                batch.span = self._begin_shared(run, step, link)
            elif batch.span.is_recording():
                batch.span.add_link(link.context)
            if batch.span.get_span_context().trace_flags.sampled:
                member.add_link(batch.span.get_span_context())
        if batch.missing <= 0 or batch not in self._open:
            self._end(batch)
        if len(self._open) > _MOST_OPEN:
            self._end(next(iter(self._open)))

    def _begin_shared(self, run: InvocationTrace, step: StepSpan, link: Any) -> Span:
        from opentelemetry.context import Context

        span = self._start_run(run, f"{step.label}[run]", Context(), [link])
        self._add_steps(run, self._api.set_span_in_context(span, Context()))
        return span

    def _end(self, batch: _Batch) -> None:
        self._open.pop(batch, None)
        if batch.span is not None and batch.span.is_recording():
            batch.span.end(batch.end_ns)

    def _end_due(self, awaited: bool) -> float | None:
        """End the spans of batches whose time is over, or all; returns in how many seconds to come back."""
        now = inf if awaited else self._clock.now()
        for batch in list(self._open):
            if batch.due_at > now:
                return batch.due_at - now
            self._end(batch)
        return None

    def _ns(self, at: float) -> int:
        return self._epoch_ns + round(at * 1e9)

    def _mark(self, span: Span, step: StepSpan) -> None:
        message = step.error_message or ""
        span.set_status(self._api.StatusCode.ERROR, message)
        span.set_attributes({"exception.type": step.error_type or "", "exception.message": message})


def _about(step: StepSpan) -> dict[str, Any]:
    about: dict[str, Any] = {f"ml_pipes.{name}": _plain(count) for name, count in step.attributes.items()}
    about |= {f"ml_pipes.config.{name}": _plain(value) for name, value in step.operator_config.items()}
    if step.operator_type is not None:
        about["ml_pipes.operator"] = step.operator_type.__name__
    for name in ("input_shape", "output_shape"):
        shape = getattr(step, name)
        if shape is not None:
            about[f"ml_pipes.{name}"] = str(shape)
    if step.thread is not None:
        about["thread.id"] = step.thread
    return about


def _plain(value: Any) -> bool | int | float | str:
    return value if isinstance(value, bool | int | float | str) else repr(value)
