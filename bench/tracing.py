"""What tracing costs: switched off, per span and collector, with a collector that hangs, and in memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from threading import Event
from typing import Any

import psutil

from bench.load import Options, shown
from bench.timing import interleave
from ml_pipes._engine.run import run
from ml_pipes.collectors import (
    AggregateCollector,
    CaptureCollector,
    ConcurrentCollector,
    PrometheusCollector,
    SlowCollector,
    ThroughputCollector,
    TimelineCollector,
)
from ml_pipes.core import Pipeline
from ml_pipes.standard import CollectItems, PerItem
from ml_pipes.tracing import InvocationTrace, TraceCollector

__all__ = ["broken_rows", "memory_rows", "off_rows", "span_rows"]

_OFF_GOAL_NS = 50.0
# Microseconds of CPU per span, all threads together.
_GOALS_US = {"CaptureCollector": 1.0, "AggregateCollector": 3.0}
_COLLECTORS: dict[str, Callable[[], TraceCollector]] = {
    "CaptureCollector": CaptureCollector,
    "SlowCollector": SlowCollector,
    "AggregateCollector": AggregateCollector,
    "ThroughputCollector": lambda: ThroughputCollector(report_interval_s=1e9),
    "TimelineCollector": lambda: TimelineCollector(limit=1000),
    "PrometheusCollector": lambda: PrometheusCollector("bench", _registry()),
}


def _registry() -> Any:
    from prometheus_client import CollectorRegistry

    return CollectorRegistry()


def _same(value: Any) -> Any:
    return value


class _Untraceable(Pipeline[Any, Any]):
    """A pipeline whose calls do not look whether they are traced."""

    def __call__(self, value: Any) -> Any:
        plan = self._plan
        if plan is None:
            raise RuntimeError
        if plan.meetings:
            raise NotImplementedError
        return run(plan, value)


def off_rows() -> list[dict[str, Any]]:
    """Nanoseconds of a call of one step: one that cannot be traced, and one whose tracing is off."""
    untraceable, off = _Untraceable([_same]), Pipeline[Any, Any]([_same])
    off.set_tracing(CaptureCollector())
    off.set_tracing(None)
    timings = interleave({"without": lambda: untraceable(1), "off": lambda: off(1)}, rounds=201)
    added_ns = timings["off"].minus(timings["without"]) * 1e9
    return [
        {
            "that cannot be traced, ns": timings["without"].median_s * 1e9,
            "whose tracing is off, ns": timings["off"].median_s * 1e9,
            "added, ns": added_ns,
            "goal": f"<= {_OFF_GOAL_NS:.0f}",
            "met": added_ns <= _OFF_GOAL_NS,
        }
    ]


def span_rows(options: Options) -> list[dict[str, Any]]:
    """Microseconds of CPU per span, of all threads, over the untraced pipeline."""
    shapes: dict[str, tuple[Callable[[], Pipeline[Any, Any]], Any, int, int]] = {
        "10 steps": (lambda: Pipeline([_same] * 10), 1, 10, 1500),
        "50 steps": (lambda: Pipeline([_same] * 50), 1, 50, 400),
        "PerItem, 8 items of 4 steps": (
            lambda: Pipeline([_same, PerItem(), *[_same] * 4, CollectItems(), _same]),
            range(8),
            35,
            300,
        ),
    }
    rounds = 5 if options.quick else 21
    rows = []
    for name, (build, value, spans, calls) in shapes.items():
        pipelines = {"untraced": build()}
        for collector, make in _COLLECTORS.items():
            pipelines[collector] = build()
            pipelines[collector].set_tracing(make())
        spent: dict[str, list[float]] = {each: [] for each in pipelines}
        for _ in shown(range(rounds), name):
            for each, pipeline in pipelines.items():
                spent[each].append(_cpu_s(pipeline, value, calls) / calls)
        rows += [_span_row(name, each, spent, spans) for each in _COLLECTORS]
    return rows


def _cpu_s(pipeline: Pipeline[Any, Any], value: Any, calls: int) -> float:
    began_s = time.process_time()
    for _ in range(calls):
        pipeline(value)
    collector = pipeline.trace_collector
    if isinstance(collector, ConcurrentCollector):
        assert collector.flush(60)
        assert collector.dropped == 0
    return time.process_time() - began_s


def _span_row(shape: str, name: str, spent: dict[str, list[float]], spans: int) -> dict[str, Any]:
    added = [(mine - plain) / spans * 1e6 for mine, plain in zip(spent[name], spent["untraced"], strict=True)]
    median, goal = statistics.median(added), _GOALS_US.get(name)
    return {
        "of": shape,
        "collector": name,
        "us of CPU per span": median,
        "min-max": f"{min(added):.2f}-{max(added):.2f}",
        "goal": "" if goal is None else f"<= {goal:.0f}",
        "met": "" if goal is None else median <= goal,
    }


class _Hanging(ConcurrentCollector):
    def __init__(self) -> None:
        super().__init__(maxsize=100)
        self.go_on = Event()

    def _collect(self, trace: InvocationTrace) -> None:  # noqa: ARG002 # it hangs
        self.go_on.wait(5.0)


class _Failing(ConcurrentCollector):
    def _collect(self, trace: InvocationTrace) -> None:  # noqa: ARG002 # it fails
        raise OSError


class _Dying(ConcurrentCollector):
    def _collect(self, trace: InvocationTrace) -> None:  # noqa: ARG002 # its thread ends
        raise SystemExit


def broken_rows(options: Options) -> list[dict[str, Any]]:
    """Milliseconds of wall time of a call of some 1 ms of work, with collectors that are of no use."""
    import logging

    logging.getLogger("ml_pipes").setLevel(logging.CRITICAL)
    collectors: dict[str, TraceCollector | None] = {
        "none": None, "hangs for 5 s": _Hanging(), "raises": _Failing(), "its thread dies": _Dying(),
    }  # fmt: skip
    calls: dict[str, list[float]] = {name: [] for name in collectors}
    pipelines = {name: Pipeline[Any, Any]([_work]) for name in collectors}
    for name, collector in collectors.items():
        pipelines[name].set_tracing(collector)
    for _ in shown(range(200 if options.quick else 1000), "broken"):
        for name, pipeline in pipelines.items():
            began_s = time.perf_counter()
            assert pipeline(1) == 1
            calls[name].append((time.perf_counter() - began_s) * 1e3)
    hanging = collectors["hangs for 5 s"]
    assert isinstance(hanging, _Hanging)
    hanging.go_on.set()
    return [_broken_row(name, calls, collectors[name]) for name in collectors]


def _work(value: Any) -> Any:
    until_s = time.thread_time() + 1e-3
    while time.thread_time() < until_s:
        pass
    return value


def _broken_row(name: str, calls: dict[str, list[float]], collector: TraceCollector | None) -> dict[str, Any]:
    mine, plain = (statistics.quantiles(calls[each], n=100) for each in (name, "none"))
    added_ms = mine[49] - plain[49]
    return {
        "the collector": name,
        "p50, ms": f"{mine[49]:.3f}",
        "p99, ms": f"{mine[98]:.3f}",
        "added at p50, ms": f"{added_ms:.3f}",
        "dropped": getattr(collector, "dropped", 0),
        "goal": "" if name == "none" else "< 1",
        "met": "" if name == "none" else added_ms < 1,
    }


def memory_rows(options: Options) -> list[dict[str, Any]]:
    """Growth of the process's memory over a million traced calls, after a tenth of them."""
    calls = 100_000 if options.quick else 1_000_000
    rows = []
    for name in ("CaptureCollector", "SlowCollector", "AggregateCollector"):
        pipeline: Pipeline[Any, Any] = Pipeline([_same] * 3)
        collector = _COLLECTORS[name]()
        pipeline.set_tracing(collector)
        before = 0
        for at in shown(range(calls), name):
            pipeline(at)
            if at == calls // 10:
                before = psutil.Process().memory_info().rss
            if at % 1000 == 0 and isinstance(collector, ConcurrentCollector):
                collector.flush(60)
        grown_kib = (psutil.Process().memory_info().rss - before) / 1024
        rows.append(
            {
                "collector": name,
                "calls": calls,
                "grown, KiB": grown_kib,
                "goal": "<= 1,024",
                "met": grown_kib <= 1024,
            }
        )
    return rows
