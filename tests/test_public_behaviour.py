"""Programs as they are written today go on working: results in files, builders, collectors of one's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ml_pipes.benchmark import (
    Benchmark,
    BenchmarkBuilder,
    BenchmarkCollector,
    BenchmarkResult,
    BenchmarkSweep,
    InputFn,
    InvocationStat,
    InvocationStatDiff,
    MeasurementConfig,
)
from ml_pipes.collectors import ConcurrentCollector
from ml_pipes.core import Pipeline
from ml_pipes.factory import data_factory, pipeline_factory
from ml_pipes.standard import CollectItems, PerItem
from ml_pipes.tracing import InvocationTrace, StepSpan

_SAVED = {
    "label": "n:3|size:640",
    "metadata": {"pipeline_config": {"size": 640}, "data_config": {"n": 3}},
    "total": {
        "label": "total",
        "count": 2,
        "mean_ms": 11.0,
        "stddev_ms": 1.5,
        "min_ms": 10.0,
        "max_ms": 12.0,
        "percentiles": {"0.5": 11.0, "0.95": 11.9},
    },
    "operators": [
        {
            "label": "0:PerItem",
            "count": 2,
            "mean_ms": 9.0,
            "stddev_ms": 0.0,
            "min_ms": 9.0,
            "max_ms": 9.0,
            "percentiles": {"0.5": 9.0, "0.95": 9.0},
            "children": [
                {
                    "label": "1:infer",
                    "count": 6,
                    "mean_ms": 1234.5,
                    "stddev_ms": 0.0,
                    "min_ms": 3.0,
                    "max_ms": 3.0,
                    "percentiles": {"0.5": 3.0, "0.95": 3.0},
                }
            ],
        }
    ],
}


class _Durations(ConcurrentCollector):
    """A collector as a program writes it."""

    def __init__(self) -> None:
        super().__init__(maxsize=8)
        self.labels: list[str] = []

    def _collect(self, trace: InvocationTrace) -> None:
        self.labels += [span.label for span in trace.spans]


@pipeline_factory
def _make(size: int = 1) -> Pipeline[int, int]:
    return Pipeline([lambda value: value + size])


@data_factory
def _data(n: int = 1) -> InputFn:
    return lambda: ("id", n, "tag", {})


def test_a_file_with_the_four_keys_alone_is_read_and_written_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(json.dumps(_SAVED), encoding="utf-8")

    result = BenchmarkResult.load(str(tmp_path / "old.json"))
    result.save(str(tmp_path / "new.json"))

    assert (tmp_path / "new.json").read_text("utf-8") == json.dumps(_SAVED, indent=2) + "\n"
    assert result.total.percentiles == {0.5: 11.0, 0.95: 11.9}
    assert result.operators[0].children[0] == InvocationStat(
        "1:infer", 6, 1234.5, 0.0, 3.0, 3.0, {0.5: 3.0, 0.95: 3.0}
    )
    assert result.slug("json") == "n_3_size_640.json"


def test_its_table_has_the_columns_and_lines_that_it_always_had(tmp_path: Path) -> None:
    (tmp_path / "old.json").write_text(json.dumps(_SAVED), encoding="utf-8")

    result = BenchmarkResult.load(str(tmp_path / "old.json"))

    assert result.to_table().splitlines() == [
        "operator       mean       p50       p95    stddev       min       max",
        "---------------------------------------------------------------------",
        "total         11.00     11.00     11.90      1.50     10.00     12.00",
        "0:PerItem      9.00      9.00      9.00      0.00      9.00      9.00",
        "  1:infer   1234.50      3.00      3.00      0.00      3.00      3.00",
        "---------------------------------------------------------------------",
        "runs: 2  (all values in ms)",
    ]
    assert result.to_table(expand_regions=False).splitlines()[3:] == [
        "0:PerItem*      9.00      9.00      9.00      0.00      9.00      9.00",
        "----------------------------------------------------------------------",
        "runs: 2  (all values in ms)",
        "* Child spans are collapsed",
    ]


def test_a_step_that_one_result_has_alone_says_which_and_has_no_differences() -> None:
    stat = InvocationStat("0:a", 2, 2.0, 0.0, 2.0, 2.0, {0.5: 2.0})
    before = BenchmarkResult("before", {}, stat, [stat])
    after = BenchmarkResult("after", {}, stat, [])

    diff = before.diff(after)

    assert diff.operators == [InvocationStatDiff("0:a", "baseline", None, None, None)]
    assert after.diff(before).operators == [InvocationStatDiff("0:a", "candidate", None, None, None)]


@pytest.mark.parametrize(
    "set_it",
    [
        lambda builder: builder.pipeline_config(size=1),
        lambda builder: builder.pipeline_config_axis("size", 1, 2),
        lambda builder: builder.pipeline_config_set([{"size": 1}]),
        lambda builder: builder.pipeline_config_filter(lambda config: config["size"] > 1),
        lambda builder: builder.data_config(n=1),
        lambda builder: builder.data_config_axis("n", 1, 2),
        lambda builder: builder.data_config_set([{"n": 1}]),
        lambda builder: builder.data_config_filter(lambda config: config["n"] > 1),
        lambda builder: builder.data_factory(_data),
        lambda builder: builder.data_input(lambda: ("id", 1, "tag", {})),
        lambda builder: builder.data_inputs([lambda: ("id", 1, "tag", {})], ["one"]),
        lambda builder: builder.runs(3),
        lambda builder: builder.warmup(0),
        lambda builder: builder.percentiles(0.5, 0.9),
        lambda builder: builder.label("mine"),
        lambda builder: builder.metadata({"host": "x"}),
    ],
)
def test_every_setting_gives_the_builder_back(set_it: Callable[[BenchmarkBuilder], Any]) -> None:
    builder = BenchmarkBuilder.factory(_make)

    assert set_it(builder) is builder


def test_a_sweep_by_position_gives_labels_and_both_configurations() -> None:
    sweep = BenchmarkSweep(
        _make, [{"size": 1}], _data, [{"n": 2}], MeasurementConfig(3, 1), "p", {"host": "x"}
    )

    [result] = sweep.run()

    assert (result.label, result.total.count) == ("p|n:2|size:1", 3)
    assert result.metadata == {"host": "x", "pipeline_config": {"size": 1}, "data_config": {"n": 2}}


def test_a_benchmark_by_position_puts_the_pipelines_own_collector_back() -> None:
    pipeline, own = Pipeline[int, int]([abs]), BenchmarkCollector(MeasurementConfig())
    pipeline.set_tracing(own)

    result = Benchmark(
        pipeline, lambda: ("id", -1, "tag", {}), MeasurementConfig(4, 2, (0.5,)), "a", {"b": 1}
    ).run()

    assert (result.label, result.metadata, result.total.count) == ("a", {"b": 1}, 4)
    assert list(result.total.percentiles) == [0.5]
    assert pipeline.trace_collector is own
    assert own.report().total.count == 0


def test_a_collector_of_ones_own_has_all_traces_after_a_flush() -> None:
    pipeline = Pipeline[Any, Any]([PerItem(), abs, CollectItems(), len])

    with _Durations() as collector:
        pipeline.set_tracing(collector)
        pipeline([1, 2])
        collector.flush()
        labels = list(collector.labels)

    assert labels == ["0:PerItem", "3:len"]


def test_a_trace_is_read_by_position_and_by_name() -> None:
    child = InvocationTrace([StepSpan("2:b", 0.0, 0.5)], 0.5, 3, 2)
    trace = InvocationTrace(
        [StepSpan("0:a", 0.0, 0.25), StepSpan("1:Scatter", 0.25, 0.75, child_trace=child)], 1.0
    )

    assert [span.label for span in trace.spans] == ["0:a", "1:Scatter"]
    assert trace.span_fractions() == {"0:a": 0.25, "1:Scatter": 0.75}
    assert trace.spans[1].child_trace is child
    assert (child.batch_size, child.workers, child.spans[0].duration_s) == (3, 2, 0.5)
