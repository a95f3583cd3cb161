"""The collector adds traces up: each step's runs, each batch once, nothing lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from ml_pipes.benchmark.collector import BenchmarkCollector
from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.core import SHORT_CIRCUIT, Operator, Pipeline
from ml_pipes.standard import Batch, Gather, Scatter, UnBatch
from ml_pipes.tracing import InvocationTrace, StepSpan


def _collector() -> BenchmarkCollector:
    return BenchmarkCollector(MeasurementConfig(percentiles=(0.5,)))


def _traced(*operators: Any) -> tuple[Pipeline[Any, Any], BenchmarkCollector]:
    pipeline, collector = Pipeline[Any, Any](operators), _collector()
    pipeline.set_tracing(collector)
    return pipeline, collector


def _step(label: str, duration_s: float, began_s: float = 0.0) -> StepSpan:
    return StepSpan(label, began_s, duration_s)


@Operator
class _Model:
    is_inference = True

    def __call__(self, value: Any) -> Any:
        return value


def test_the_report_has_the_whole_and_each_step() -> None:
    collector = _collector()
    collector.on_trace(InvocationTrace([_step("0:A", 0.001), _step("1:B", 0.003)], 0.004))
    collector.on_trace(InvocationTrace([_step("0:A", 0.003), _step("1:B", 0.005)], 0.008))

    result = collector.report("label", {"key": 1})

    assert (result.label, result.metadata) == ("label", {"key": 1})
    assert (result.total.label, result.total.count, result.total.mean_ms) == ("total", 2, 6.0)
    assert [(step.label, step.count, step.mean_ms) for step in result.operators] == [
        ("0:A", 2, 2.0),
        ("1:B", 2, 4.0),
    ]


def test_without_traces_there_is_a_count_of_none() -> None:
    result = _collector().report()

    assert (result.total.count, result.operators, list(result.regions)) == (0, [], [])


def test_each_real_run_of_a_region_counts_not_their_mean() -> None:
    pipeline, collector = _traced(Scatter(max_concurrency=1), abs, Gather())

    pipeline([-1, -2, -3])
    pipeline([-1])
    [region] = collector.report().operators

    assert (region.label, region.count) == ("0:Scatter", 2)
    assert [(step.label, step.count) for step in region.children] == [("1:abs", 4)]


def test_the_mean_of_a_body_is_taken_where_its_runs_were_not_kept() -> None:
    collector = _collector()
    body = InvocationTrace([_step("0:A", 0.002)], 0.002)
    collector.on_trace(InvocationTrace([StepSpan("0:Scatter", 0.0, 0.004, child_trace=body)], 0.004))

    [region] = collector.report().operators

    assert [(step.label, step.mean_ms) for step in region.children] == [("0:A", 2.0)]


def test_a_batch_that_callers_share_counts_once(start: Callable[..., Future[Any]]) -> None:
    pipeline, collector = _traced(Batch(3, timeout=20.0, policy="full"), _Model(), UnBatch())

    for future in [start(pipeline, value) for value in (1, 2, 3)]:
        future.result(10)
    result = collector.report()

    wait, region = result.operators
    assert (wait.label, wait.count) == ("0:Batch[wait]", 3)
    assert (region.label, region.count) == ("0:Batch", 3)
    assert [(step.label, step.count) for step in region.children] == [("1:_Model", 1)]
    assert [(each.label, each.batch_sizes, each.wait.count) for each in result.regions] == [
        ("0:Batch", {3: 1}, 3)
    ]
    assert collector.model_runs_s.shape == (1, 2)


def test_a_batch_within_a_region_is_named_with_what_is_around_it() -> None:
    pipeline, collector = _traced(
        Scatter(max_concurrency=1), Batch(4, timeout=20.0), _Model(), UnBatch(), Gather()
    )

    pipeline([1, 2])

    assert [(each.label, each.batch_sizes) for each in collector.report().regions] == [
        ("0:Scatter/1:Batch", {1: 2})
    ]


def test_failed_calls_are_counted_and_in_no_figure() -> None:
    pipeline, collector = _traced(abs, lambda value: 1 / value)

    pipeline(4)
    with pytest.raises(ZeroDivisionError):
        pipeline(0)
    result = collector.report()

    assert (result.total.count, [step.count for step in result.operators]) == (1, [1, 1])
    assert result.errors == {"ZeroDivisionError: division by zero": 1}


def test_a_call_that_ended_early_counts_for_the_steps_that_ran() -> None:
    pipeline, collector = _traced(lambda value: value or SHORT_CIRCUIT, abs)

    pipeline(0)
    pipeline(1)

    assert [step.count for step in collector.report().operators] == [2, 1]


def test_the_times_of_model_runs_are_known() -> None:
    pipeline, collector = _traced(abs, _Model())

    pipeline(1)
    [[began_s, ended_s]] = collector.model_runs_s

    assert began_s <= ended_s


def test_model_runs_of_failed_calls_are_known_too() -> None:
    pipeline, collector = _traced(_Model(), lambda value: 1 / value)

    pipeline(1)
    with pytest.raises(ZeroDivisionError):
        pipeline(0)

    assert collector.model_runs_s.shape == (2, 2)


def test_only_what_began_in_a_window_is_reported() -> None:
    collector = _collector()
    for began_s in (1.0, 2.0, 3.0):
        collector.on_trace(
            InvocationTrace([_step("0:A", 0.5 * began_s, began_s)], 0.5 * began_s, start_time=began_s)
        )

    result = collector.report(since_s=1.5, until_s=3.0)

    assert (result.total.count, result.total.mean_ms) == (1, 1000.0)
    assert [(step.count, step.mean_ms) for step in result.operators] == [(1, 1000.0)]


def test_after_a_reset_there_is_nothing() -> None:
    pipeline, collector = _traced(abs)
    pipeline(1)

    collector.reset()

    assert collector.report().total.count == 0
    assert collector.report().operators == []


def test_latencies_are_those_of_the_traces() -> None:
    collector = _collector()
    collector.on_trace(InvocationTrace([_step("0:A", 0.25)], 0.25))
    collector.on_trace(InvocationTrace([_step("0:A", 0.5)], 0.5))

    np.testing.assert_array_equal(collector.latencies_s, [0.25, 0.5])
    assert collector.flush()
    assert collector.stop()
    assert collector.dropped == 0


def test_after_the_stop_traces_are_dropped_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    pipeline, collector = _traced(abs)

    with collector:
        pipeline(1)
    pipeline(2)

    assert collector.report().total.count == 1
    assert collector.dropped == 1
    assert "dropped" in caplog.text


@pytest.mark.stress
def test_no_trace_is_lost_while_several_threads_bring_and_read_them(
    start: Callable[..., Future[Any]],
) -> None:
    collector, together = _collector(), Barrier(8)
    trace = InvocationTrace([_step("0:A", 0.001)], 0.001)

    def bring() -> None:
        together.wait(10)
        for _ in range(2000):
            collector.on_trace(trace)
            collector.read()

    for future in [start(bring) for _ in range(8)]:
        future.result(30)

    assert collector.report().operators[0].count == 16_000
