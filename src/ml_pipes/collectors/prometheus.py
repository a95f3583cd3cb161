"""A collector that feeds Prometheus: durations, waits, batch sizes, calls and errors.

Knows traces and prometheus_client, which is imported when a collector is made. Knows nothing of how
metrics are served.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ml_pipes._threads.turnstile import Turnstile
from ml_pipes.collectors._sights import PerRun
from ml_pipes.collectors.concurrent import ConcurrentCollector
from ml_pipes.tracing import WAIT, InvocationTrace, StepSpan

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry, Counter, Histogram

__all__ = ["DURATION_BUCKETS_S", "PrometheusCollector"]

DURATION_BUCKETS_S: Final = (
    *(1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.01, 0.025, 0.05),
    *(0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0),
)
_SIZE_BUCKETS: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256)


class _Metrics(NamedTuple):
    """What one registry holds for all pipelines."""

    buckets: tuple[float, ...]
    calls: Counter
    call_seconds: Histogram
    step_seconds: Histogram
    wait_seconds: Histogram
    batch_size: Histogram
    errors: Counter
    lost: Counter


# A registry takes each name once, so all collectors share what the first of them made.
_made: weakref.WeakKeyDictionary[CollectorRegistry, _Metrics] = weakref.WeakKeyDictionary()
_making = Turnstile()


class PrometheusCollector(ConcurrentCollector):
    """Feeds the metrics below from each call's trace, on a thread of its own.

    ========================================  =======================================================
    ``ml_pipes_calls_total``                  calls, by ``outcome``: ``ok``, ``error`` or ``dropped``
    ``ml_pipes_call_seconds``                 a whole call
    ``ml_pipes_step_seconds``                 a step, by ``step``, in regions too
    ``ml_pipes_wait_seconds``                 the wait for a batch to leave, by ``step``
    ``ml_pipes_batch_size``                   items in a batch, by ``step``
    ``ml_pipes_errors_total``                 steps that raised, by ``step`` and ``type``
    ``ml_pipes_traces_dropped_total``         calls that are missing in all of these: too many came at once,
                                              or after the stop
    ========================================  =======================================================

    Each has the label ``pipeline``. A batch, and the steps in it, count once, however many calls were in it.
    Any number of collectors may be made, also of the same label: their counts add up.

    Args:
        pipeline: the label's value.
        registry: where the metrics are; None for prometheus_client's own.
        buckets: upper bounds of the durations' histograms, seconds.

    Raises:
        ImportError: prometheus_client is not installed.
        ValueError: the registry has the metrics with other buckets.
    """

    def __init__(
        self,
        pipeline: str,
        registry: CollectorRegistry | None = None,
        buckets: Sequence[float] = DURATION_BUCKETS_S,
    ) -> None:
        self._metrics = _metrics_in(registry, tuple(float(bound) for bound in buckets))
        self._pipeline = pipeline
        self._children: dict[tuple[Any, ...], Any] = {}
        self._seen: PerRun[bool] = PerRun()
        self._told = 0
        self._telling = Turnstile()
        super().__init__()
        # From the start: a counter that first appears with a value has not risen, for whoever watches it.
        self._child(self._metrics.lost)

    def on_trace(self, trace: InvocationTrace) -> None:
        # Told at once: a collector that hangs or was stopped collects nothing that could tell it later.
        if not self._courier.post(trace):
            self._tell_lost()

    def stop(self, timeout_s: float = 10.0) -> bool:
        delivered = super().stop(timeout_s)
        self._tell_lost()
        return delivered

    def _collect(self, trace: InvocationTrace) -> None:
        metrics = self._metrics
        self._child(metrics.calls, _outcome(trace)).inc()
        self._child(metrics.call_seconds).observe(trace.total_duration_s)
        self._add(trace)
        if self.dropped != self._told:
            self._tell_lost()

    def _tell_lost(self) -> None:
        with self._telling.lock:
            dropped = self.dropped
            # A forked child counts from 0.
            self._child(self._metrics.lost).inc(max(0, dropped - self._told))
            self._told = dropped

    def _add(self, run: InvocationTrace) -> None:
        for span in run.spans:
            self._add_span(span)
            for inner in span.runs:
                if inner.participants is not None:
                    if self._seen.get(inner):
                        continue
                    self._seen.put(inner, True)
                    self._child(self._metrics.batch_size, span.label).observe(inner.batch_size or 0)
                self._add(inner)

    def _add_span(self, span: StepSpan) -> None:
        if span.is_wait:
            step, histogram = span.label.removesuffix(WAIT), self._metrics.wait_seconds
        else:
            step, histogram = span.label, self._metrics.step_seconds
        self._child(histogram, step).observe(span.duration_s)
        if span.error:
            self._child(self._metrics.errors, step, span.error_type or "").inc()

    def _child(self, metric: Any, *values: str) -> Any:
        # The client looks a child up under a lock, by values that it first makes texts of.
        key = id(metric), *values
        child = self._children.get(key)
        if child is None:
            child = self._children[key] = metric.labels(self._pipeline, *values)
        return child


def _outcome(trace: InvocationTrace) -> str:
    if not trace.spans:
        return "ok"
    last = trace.spans[-1]
    if last.error:
        return "error"
    return "dropped" if last.attributes.get("dropped") and "seen" not in last.attributes else "ok"


def _metrics_in(registry: CollectorRegistry | None, buckets: tuple[float, ...]) -> _Metrics:
    try:
        from prometheus_client import REGISTRY
    except ImportError as error:
        raise ImportError(
            'PrometheusCollector needs prometheus-client; install it with: pip install "ml-pipes[prometheus]"'
        ) from error
    registry = REGISTRY if registry is None else registry
    with _making.lock:
        metrics = _made.get(registry)
        if metrics is None:
            metrics = _made[registry] = _make(registry, buckets)
    if metrics.buckets != buckets:
        raise ValueError(
            f"the registry's ml_pipes metrics have the buckets {metrics.buckets}, and {buckets} came; "
            "give all its collectors the same, or this one a registry of its own"
        )
    return metrics


def _make(registry: CollectorRegistry, buckets: tuple[float, ...]) -> _Metrics:
    from prometheus_client import Counter, Histogram

    def counter(name: str, words: str, *labels: str) -> Counter:
        return Counter(f"ml_pipes_{name}", words, ("pipeline", *labels), registry=registry)

    def histogram(name: str, words: str, *labels: str, bounds: Sequence[float] = buckets) -> Histogram:
        return Histogram(f"ml_pipes_{name}", words, ("pipeline", *labels), registry=registry, buckets=bounds)

    return _Metrics(
        buckets=buckets,
        calls=counter("calls_total", "Calls of the pipeline, by how they ended.", "outcome"),
        call_seconds=histogram("call_seconds", "Duration of a call."),
        step_seconds=histogram("step_seconds", "Duration of a step.", "step"),
        wait_seconds=histogram("wait_seconds", "Wait for a batch to leave.", "step"),
        batch_size=histogram("batch_size", "Items in a batch.", "step", bounds=_SIZE_BUCKETS),
        errors=counter("errors_total", "Steps that raised.", "step", "type"),
        lost=counter(
            "traces_dropped_total", "Calls missing in the others: too many came at once, or after the stop."
        ),
    )
