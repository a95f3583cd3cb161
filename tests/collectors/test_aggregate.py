"""The collector that keeps running means."""

from __future__ import annotations

import re
import tracemalloc
from collections.abc import Callable
from concurrent.futures import Future
from threading import Barrier
from typing import Any

import pytest

from ml_pipes.collectors import AggregateCollector
from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.standard import Batch, CollectItems, Filter, Gather, PerItem, Scatter, UnBatch
from ml_pipes.tracing import InvocationTrace, StepSpan, mean_trace

Start = Callable[..., "Future[Any]"]


def call(*durations_ms: float) -> InvocationTrace:
    """A call of as many steps, a, b, c ..."""
    spans = [StepSpan(f"{i}:{'abc'[i]}", 0.0, ms / 1e3) for i, ms in enumerate(durations_ms)]
    return InvocationTrace(spans, sum(durations_ms) / 1e3)


def means_ms(trace: InvocationTrace | None) -> dict[str, float]:
    assert trace is not None
    return {span.label: round(span.duration_s * 1e3, 6) for span in trace.spans}


def test_the_mean_of_the_calls_and_of_each_step() -> None:
    collector = AggregateCollector()

    for trace in (call(1, 2), call(3, 4), call(5, 6)):
        collector.on_trace(trace)

    assert collector.total_calls == 3
    assert collector.avg_pipeline_latency_ms == pytest.approx(7.0)
    assert means_ms(collector.avg_trace) == {"0:a": 3.0, "1:b": 4.0}
    assert collector.avg_trace.total_duration_s == pytest.approx(0.007)


def test_before_the_first_call_all_is_empty() -> None:
    collector = AggregateCollector()

    assert (collector.total_calls, collector.avg_pipeline_latency_ms) == (0, 0.0)
    assert collector.avg_trace == InvocationTrace()


def test_a_step_counts_by_how_often_it_was_seen() -> None:
    collector = AggregateCollector()

    for trace in (call(1, 2), call(3)):
        collector.on_trace(trace)

    assert means_ms(collector.avg_trace) == {"0:a": 2.0, "1:b": 2.0}


def test_the_mean_of_regions_within_regions_is_that_of_all_their_runs() -> None:
    inner = [PerItem(), Filter(lambda value: value > 0), abs, CollectItems()]
    pipeline = Pipeline[Any, Any]([PerItem(), *inner, CollectItems()])
    traces: list[InvocationTrace] = []

    class Both(AggregateCollector):
        def on_trace(self, trace: InvocationTrace) -> None:
            traces.append(trace)
            super().on_trace(trace)

    collector = Both()
    pipeline.set_tracing(collector)
    for value in ([[1, -1], [2]], [[3]], [[], [-4, 5, 6]]):
        pipeline(value)

    assert_alike(collector.avg_trace, mean_trace(traces))


def assert_alike(got: InvocationTrace, wanted: InvocationTrace) -> None:
    assert [span.label for span in got.spans] == [span.label for span in wanted.spans]
    assert got.total_duration_s == pytest.approx(wanted.total_duration_s)
    assert (got.batch_size, got.workers) == (pytest.approx(wanted.batch_size), wanted.workers)
    for mine, theirs in zip(got.spans, wanted.spans, strict=True):
        assert mine.duration_s == pytest.approx(theirs.duration_s)
        assert (mine.attributes, mine.error) == (theirs.attributes, theirs.error)
        assert mine.operator_type is theirs.operator_type
        if theirs.child_trace is None:
            assert mine.child_trace is None
        else:
            assert mine.child_trace is not None
            assert_alike(mine.child_trace, theirs.child_trace)


def test_a_scatter_keeps_how_many_items_and_workers_it_had() -> None:
    collector, pipeline = AggregateCollector(), Pipeline[Any, Any]([Scatter(3), abs, Gather()])
    pipeline.set_tracing(collector)

    pipeline([1, 2])
    pipeline([1, 2, 3, 4])

    (span,) = collector.avg_trace.spans
    assert span.child_trace is not None
    assert (span.child_trace.batch_size, span.child_trace.workers) == (3.0, 3)
    assert span.attributes == {"seen": 6, "emitted": 6, "dropped": 0}


def test_the_run_of_a_batch_counts_once_for_all_its_participants(start: Start) -> None:
    collector = AggregateCollector()
    steps = [Batch(3, timeout=10.0, policy="full"), lambda items: items, UnBatch()]
    pipeline = Pipeline[int, int](steps)
    pipeline.set_tracing(collector)

    together = [start(pipeline, number) for number in range(3)]
    results = [calling.result(10) for calling in together]

    wait, batch = collector.avg_trace.spans
    assert sorted(results) == [0, 1, 2]
    assert (wait.label, batch.label) == ("0:Batch[wait]", "0:Batch")
    assert batch.child_trace is not None
    assert batch.child_trace.batch_size == pytest.approx(3.0)
    assert [span.label for span in batch.child_trace.spans] == ["1:<lambda>"]
    assert collector._mean._steps["0:Batch"]._body is not None
    assert collector._mean._steps["0:Batch"]._body.count == pytest.approx(1.0)


def test_failed_calls_are_counted_and_marked_and_dropped_ones_are_not_failed() -> None:
    def check(value: int) -> Any:
        if value < 0:
            raise ValueError("negative")
        return value or SHORT_CIRCUIT

    collector, pipeline = AggregateCollector(), Pipeline[int, Any]([check])
    pipeline.set_tracing(collector)

    pipeline(1)
    pipeline(0)
    with pytest.raises(ValueError, match="negative"):
        pipeline(-1)

    assert (collector.total_calls, collector.failed_calls) == (3, 1)
    assert collector.avg_trace.spans[0].error
    assert collector.avg_trace.spans[0].attributes == {"dropped": 1}


def test_a_reset_forgets_what_came_before() -> None:
    collector = AggregateCollector()
    collector.on_trace(call(1000))

    collector.reset()
    collector.on_trace(call(1))

    assert collector.total_calls == 1
    assert means_ms(collector.avg_trace) == {"0:a": 1.0}


def test_the_summary_has_a_line_per_step_and_the_number_of_calls(capsys: pytest.CaptureFixture[str]) -> None:
    collector = AggregateCollector()
    collector.on_trace(call(1, 3))

    collector.print_summary()

    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["0:a 1.000 ms 25.0%", "1:b 3.000 ms 75.0%", "total 4.000 ms", "calls: 1"]


def test_the_summary_tells_of_failures_and_of_what_was_dropped(capsys: pytest.CaptureFixture[str]) -> None:
    collector = AggregateCollector()
    collector.on_trace(InvocationTrace([StepSpan("0:a", 0.0, 1.0, error=True)], 1.0))
    collector.stop()
    collector.on_trace(call(1))

    collector.print_summary()

    assert re.search(r"\ncalls: 1, 1 of them failed; 1 traces dropped\n$", capsys.readouterr().out)


def test_the_memory_does_not_grow_with_the_calls() -> None:
    collector, trace = AggregateCollector(), call(1, 2, 3)
    for _ in range(1_000):
        collector._collect(trace)
    tracemalloc.start()

    for _ in range(20_000):
        collector._collect(trace)

    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 10_000
    assert collector.total_calls == 21_000


@pytest.mark.stress
def test_the_sums_of_16_threads_are_exact_while_others_read(start: Start) -> None:
    collector, pipeline = AggregateCollector(), Pipeline[int, int]([abs, abs])
    pipeline.set_tracing(collector)
    together = Barrier(17)

    def work(number: int) -> None:
        together.wait(10)
        for _ in range(500):
            assert pipeline(-number) == number

    def read() -> None:
        together.wait(10)
        for _ in range(50):
            assert len(collector.avg_trace.spans) in (0, 2)

    for working in [*(start(work, number) for number in range(16)), start(read)]:
        working.result(30)

    assert collector.total_calls == 8_000
