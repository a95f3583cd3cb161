"""The collector that feeds Prometheus."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event
from typing import Any

import pytest
from prometheus_client import REGISTRY, CollectorRegistry
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from ml_pipes.collectors.prometheus import PrometheusCollector
from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Scatter, UnBatch

Start = Callable[..., "Future[Any]"]


@pytest.fixture
def registry() -> CollectorRegistry:
    return CollectorRegistry()


def traced(
    steps: list[Any], registry: CollectorRegistry, label: str = "faces"
) -> tuple[Pipeline[Any, Any], PrometheusCollector]:
    pipeline, collector = Pipeline[Any, Any](steps), PrometheusCollector(label, registry)
    pipeline.set_tracing(collector)
    return pipeline, collector


def value(registry: CollectorRegistry, name: str, **labels: str) -> float | None:
    return registry.get_sample_value(name, {"pipeline": "faces", **labels})


def test_calls_and_steps_are_counted_and_timed(registry: CollectorRegistry) -> None:
    pipeline, collector = traced([abs, repr], registry)

    for number in range(5):
        pipeline(number)
    collector.flush()

    assert value(registry, "ml_pipes_calls_total", outcome="ok") == 5
    assert value(registry, "ml_pipes_call_seconds_count") == 5
    assert value(registry, "ml_pipes_step_seconds_count", step="0:abs") == 5
    assert value(registry, "ml_pipes_step_seconds_count", step="1:repr") == 5
    whole, first = (
        value(registry, "ml_pipes_call_seconds_sum"),
        value(registry, "ml_pipes_step_seconds_sum", step="0:abs"),
    )
    assert whole is not None
    assert first is not None
    assert 0 < first < whole < 1


def test_outcomes_and_errors_are_told_apart(registry: CollectorRegistry) -> None:
    def check(number: int) -> Any:
        if number < 0:
            raise ValueError("negative")
        return number or SHORT_CIRCUIT

    pipeline, collector = traced([check], registry)

    pipeline(1)
    pipeline(0)
    with pytest.raises(ValueError, match="negative"):
        pipeline(-1)
    collector.flush()

    outcomes = [
        value(registry, "ml_pipes_calls_total", outcome=outcome) for outcome in ("ok", "dropped", "error")
    ]
    assert outcomes == [1, 1, 1]
    assert value(registry, "ml_pipes_errors_total", step="0:check", type="ValueError") == 1


def test_dropped_items_do_not_make_a_dropped_call(registry: CollectorRegistry) -> None:
    pipeline, collector = traced([PerItem(), lambda item: item or SHORT_CIRCUIT, CollectItems()], registry)

    pipeline([0, 1])
    collector.flush()

    assert value(registry, "ml_pipes_calls_total", outcome="ok") == 1
    assert value(registry, "ml_pipes_step_seconds_count", step="1:<lambda>") == 2


def test_a_batch_and_its_steps_count_once_and_its_waits_once_per_caller(
    registry: CollectorRegistry, start: Start
) -> None:
    steps = [Batch(3, timeout=10.0, policy="full"), lambda items: items, UnBatch()]
    pipeline, collector = traced(steps, registry)

    for _ in range(2):
        calls = [start(pipeline, number) for number in range(3)]
        assert sorted(call.result(10) for call in calls) == [0, 1, 2]
    collector.flush()

    assert value(registry, "ml_pipes_calls_total", outcome="ok") == 6
    assert value(registry, "ml_pipes_wait_seconds_count", step="0:Batch") == 6
    assert value(registry, "ml_pipes_batch_size_count", step="0:Batch") == 2
    assert value(registry, "ml_pipes_batch_size_sum", step="0:Batch") == 6
    assert value(registry, "ml_pipes_step_seconds_count", step="1:<lambda>") == 2


def test_a_batch_of_one_calls_items_counts_once(registry: CollectorRegistry) -> None:
    steps = [Scatter(4), Batch(4, timeout=10.0, policy="full"), lambda items: items, UnBatch(), Gather()]
    pipeline, collector = traced(steps, registry)

    pipeline([1, 2, 3, 4])
    collector.flush()

    assert value(registry, "ml_pipes_batch_size_count", step="1:Batch") == 1
    assert value(registry, "ml_pipes_batch_size_sum", step="1:Batch") == 4
    assert value(registry, "ml_pipes_step_seconds_count", step="2:<lambda>") == 1
    assert value(registry, "ml_pipes_step_seconds_count", step="1:Batch") == 4


def test_what_is_remembered_of_batches_goes_with_them(registry: CollectorRegistry) -> None:
    pipeline, collector = traced([Batch(1, timeout=0.0), lambda items: items, UnBatch()], registry)

    for number in range(200):
        pipeline(number)
    collector.flush()
    gc.collect()

    assert value(registry, "ml_pipes_batch_size_count", step="0:Batch") == 200
    assert len(collector._seen) <= 1


def test_the_same_pipeline_built_twice_counts_on(registry: CollectorRegistry) -> None:
    for _ in range(2):
        pipeline, collector = traced([abs], registry)
        pipeline(-1)
        collector.flush()
    del pipeline, collector
    gc.collect()
    pipeline, collector = traced([abs], registry)

    pipeline(-1)
    collector.flush()

    assert value(registry, "ml_pipes_calls_total", outcome="ok") == 3


def test_pipelines_and_registries_are_kept_apart(registry: CollectorRegistry) -> None:
    faces, first = traced([abs], registry)
    text, second = traced([abs], registry, "text")
    other, third = traced([abs], CollectorRegistry())

    for pipeline in (faces, faces, text, other):
        pipeline(-1)
    for collector in (first, second, third):
        collector.flush()

    assert value(registry, "ml_pipes_calls_total", outcome="ok") == 2
    assert value(registry, "ml_pipes_calls_total", pipeline="text", outcome="ok") == 1


def test_without_a_registry_it_is_the_clients_own() -> None:
    pipeline = Pipeline[int, int]([abs])
    collectors = [PrometheusCollector("own registry"), PrometheusCollector("own registry")]

    for collector in collectors:
        pipeline.set_tracing(collector)
        pipeline(-1)
        collector.flush()

    labels = {"pipeline": "own registry", "outcome": "ok"}
    assert REGISTRY.get_sample_value("ml_pipes_calls_total", labels) == 2


def test_what_it_exports_is_valid_open_metrics_text(registry: CollectorRegistry) -> None:
    pipeline, collector = traced([Batch(1, timeout=0.0), lambda items: items, UnBatch()], registry)
    pipeline(1)
    collector.flush()

    families = list(text_string_to_metric_families(generate_latest(registry).decode()))

    assert {family.name for family in families} == {
        "ml_pipes_batch_size",
        "ml_pipes_call_seconds",
        "ml_pipes_calls",
        "ml_pipes_errors",
        "ml_pipes_step_seconds",
        "ml_pipes_traces_dropped",
        "ml_pipes_wait_seconds",
    }


def test_other_buckets_in_the_same_registry_are_refused(registry: CollectorRegistry) -> None:
    first = PrometheusCollector("faces", registry, buckets=(0.1, 1))

    with pytest.raises(ValueError, match=r"have the buckets \(0.1, 1.0\), and \(0.2,\) came"):
        PrometheusCollector("faces", registry, buckets=[0.2])

    assert first.dropped == 0


def test_calls_that_are_missing_are_counted(registry: CollectorRegistry) -> None:
    pipeline, collector = traced([abs], registry)
    held, go_on = Event(), Event()
    add = collector._add

    def hold(run: Any) -> None:
        held.set()
        assert go_on.wait(10)
        add(run)

    collector._add = hold  # type: ignore[method-assign] # to hold it while more comes
    collector._courier._inbox.limit = 1
    pipeline(-1)
    assert held.wait(10)
    for _ in range(4):
        pipeline(-1)

    told_while_it_hangs = value(registry, "ml_pipes_traces_dropped_total")
    go_on.set()
    collector.flush()

    assert told_while_it_hangs == 3
    assert value(registry, "ml_pipes_calls_total", outcome="ok") == 2
    assert value(registry, "ml_pipes_traces_dropped_total") == 3


def test_so_are_those_that_come_after_the_stop_and_there_is_a_count_before_any(
    registry: CollectorRegistry,
) -> None:
    pipeline, collector = traced([abs], registry)
    before = value(registry, "ml_pipes_traces_dropped_total")
    pipeline(-1)
    collector.stop()

    pipeline(-1)
    pipeline(-1)

    assert before == 0
    assert value(registry, "ml_pipes_calls_total", outcome="ok") == 1
    assert value(registry, "ml_pipes_traces_dropped_total") == 2


def test_so_are_those_that_a_stop_throws_away(registry: CollectorRegistry) -> None:
    pipeline, collector = traced([abs], registry)
    held, go_on = Event(), Event()

    def hold(_: Any) -> None:
        held.set()
        assert go_on.wait(10)

    collector._add = hold  # type: ignore[method-assign] # to hold it while more comes
    pipeline(-1)
    assert held.wait(10)
    pipeline(-1)

    collector.stop(0.0)
    go_on.set()

    assert value(registry, "ml_pipes_traces_dropped_total") == 1


def test_without_the_package_the_error_names_the_extra_and_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "prometheus_client", None)

    with pytest.raises(ImportError, match=r'prometheus-client; install it with: pip install "ml-pipes\[prom'):
        PrometheusCollector("faces")


@pytest.mark.stress
def test_the_counts_of_many_threads_and_collectors_of_one_label_are_exact(
    registry: CollectorRegistry, start: Start
) -> None:
    def work() -> None:
        pipeline, collector = traced([abs, abs], registry)
        for number in range(300):
            pipeline(number)
        assert collector.stop()

    for working in [start(work) for _ in range(8)]:
        working.result(30)

    assert value(registry, "ml_pipes_calls_total", outcome="ok") == 2_400
    assert value(registry, "ml_pipes_step_seconds_count", step="1:abs") == 2_400
