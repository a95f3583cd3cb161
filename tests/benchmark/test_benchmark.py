"""A pipeline is measured, and is afterwards as it was before."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from ml_pipes.benchmark.benchmark import Benchmark
from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.benchmark.load import ClosedLoop, Offline, OpenLoop
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.scenarios import MultiStream, OfflineScenario, SingleStream
from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import Operator, Pipeline
from ml_pipes.standard import Batch, UnBatch
from ml_pipes.tracing import TracingConfig


def _input() -> tuple[Any, Any, Any, Any]:
    return ("minus one", -1, "tag", {"path": Path("a")})


def _fails_on_call(*calls: int, error: type[BaseException] = ValueError) -> Pipeline[int, int]:
    count = iter(range(1000))

    def step(value: int) -> int:
        if next(count) in calls:
            raise error("bad")
        return value

    return Pipeline([step])


@Operator
class _Noted:
    def __init__(self) -> None:
        self.values: list[Any] = []

    def __call__(self, value: Any) -> Any:
        self.values.append(value)
        return value


def test_a_result_has_the_runs_of_each_step() -> None:
    result = Benchmark(
        Pipeline[int, int]([abs, abs]), _input, MeasurementConfig(runs=7, warmup=3), "label", {"key": 1}
    ).run()

    assert (result.label, result.metadata, result.warmup) == ("label", {"key": 1}, 3)
    assert (result.total.label, result.total.count) == ("total", 7)
    assert [(step.label, step.count) for step in result.operators] == [("0:abs", 7), ("1:abs", 7)]
    assert list(result.total.percentiles) == [0.5, 0.95, 0.99]


def test_warmup_and_runs_are_all_the_calls_there_are() -> None:
    noted = _Noted()

    Benchmark(Pipeline[int, int]([noted]), _input, MeasurementConfig(runs=4, warmup=2)).run()

    assert noted.values == [-1] * 6


def test_inputs_take_turns() -> None:
    noted, ids = _Noted(), iter("abab")

    Benchmark(
        Pipeline[str, str]([noted]), lambda: (one := next(ids), one, "", {}), MeasurementConfig(4, 0)
    ).run()

    assert noted.values == ["a", "b", "a", "b"]


def test_a_result_holds_all_that_is_known(tmp_path: Path) -> None:
    result = Benchmark(Pipeline[int, int]([abs]), _input, MeasurementConfig(runs=5)).run()

    result.save(tmp_path / "a.json")

    assert result.samples is not None
    assert len(result.samples.latency_s) == 5
    assert result.workload == ClosedLoop(1)
    assert result.measurement == MeasurementConfig(runs=5).to_dict()
    assert result.environment is not None
    assert result.environment["python"]["version"]
    assert list(result.inputs) == [{"id": "minus one", "tag": "tag", "meta": {"path": Path("a")}}]
    assert BenchmarkResult.load(tmp_path / "a.json") == result


@pytest.mark.parametrize("load", [ClosedLoop(3), OpenLoop(2000.0, "constant"), Offline(3)], ids=str)
def test_callers_under_a_load_share_batches(load: Any) -> None:
    pipeline = Pipeline[int, int]([Batch(4), list, UnBatch()])

    result = Benchmark(pipeline, _input, MeasurementConfig(runs=30, warmup=5, load=load)).run()

    assert result.total.count >= 30
    assert result.workload == load
    [region] = result.regions
    assert region.label == "0:Batch"
    assert sum(size * count for size, count in region.batch_sizes.items()) >= 25
    assert "\nload: " in result.to_table()


@Operator
class _Model:
    is_inference = True

    def __call__(self, value: Any) -> Any:
        return value


def test_what_the_machine_was_busy_with_is_known() -> None:
    result = Benchmark(Pipeline[int, int]([_Model()]), _input, MeasurementConfig(runs=50)).run()

    assert result.hardware is not None
    assert result.hardware.models is not None
    assert result.hardware.models.runs == 50
    assert result.hardware.memory_peak_bytes
    assert "\nhardware: models busy " in result.to_table()


def test_the_machine_need_not_be_looked_at() -> None:
    config = MeasurementConfig(runs=5, hardware=False)

    assert Benchmark(Pipeline[int, int]([abs]), _input, config).run().hardware is None


def test_without_psutil_the_rest_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psutil", None)

    result = Benchmark(Pipeline[int, int]([_Model()]), _input, MeasurementConfig(runs=5)).run()

    assert result.hardware is not None
    assert result.hardware.memory_peak_bytes is None
    assert result.hardware.models is not None


@pytest.mark.parametrize(
    "scenario",
    [
        SingleStream(min_duration_s=0.01, max_drift=None),
        MultiStream(min_duration_s=0.01, samples_per_query=2, max_drift=None),
        OfflineScenario(min_duration_s=0.0),
    ],
    ids=lambda scenario: scenario.name,
)
def test_a_scenario_gives_a_figure_and_a_verdict(scenario: Any, tmp_path: Path) -> None:
    config = MeasurementConfig(runs=20, scenario=scenario)

    result = Benchmark(Pipeline[int, int]([abs]), _input, config).run()
    result.save(tmp_path / "a.json")

    assert result.figure is not None
    assert result.figure.scenario == scenario.name
    assert result.verdict is not None
    assert result.verdict.valid, result.verdict
    assert f"\n{scenario.name}: " in result.to_table()
    assert result.to_table().splitlines()[-1] == "VALID"
    assert BenchmarkResult.load(tmp_path / "a.json") == result


def test_a_scenario_that_is_not_kept_says_why() -> None:
    config = MeasurementConfig(runs=5, scenario=OfflineScenario(min_duration_s=100.0))

    result = Benchmark(Pipeline[int, int]([abs]), _input, config).run()

    assert "\nINVALID: it lasted " in result.to_table()


def test_steps_need_not_be_recorded() -> None:
    pipeline = Pipeline[int, int]([abs])
    pipeline.set_tracing(collector := CaptureCollector())

    result = Benchmark(pipeline, _input, MeasurementConfig(runs=5, steps=False)).run()

    assert (result.total.count, result.operators) == (5, [])
    assert collector.last_trace is None
    assert pipeline.trace_collector is collector


@pytest.mark.parametrize("fails", [False, True])
def test_the_pipelines_own_tracing_is_put_back(fails: bool) -> None:
    pipeline = _fails_on_call(*range(1000) if fails else ())
    pipeline.set_tracing(collector := CaptureCollector(), TracingConfig(capture_shapes=True))

    if fails:
        with pytest.raises(ValueError, match="bad"):
            Benchmark(pipeline, _input).run()
    else:
        Benchmark(pipeline, _input).run()
    before = collector.last_trace
    if not fails:
        pipeline(1)

    assert before is None
    assert pipeline.trace_collector is collector
    assert fails or (collector.last_trace is not None and collector.last_trace.spans[0].input_shape)


def test_failed_calls_are_counted_apart() -> None:
    result = Benchmark(_fails_on_call(3, 5), _input, MeasurementConfig(runs=8, warmup=0)).run()

    assert result.total.count == 6
    assert result.errors == {"ValueError: bad": 2}
    assert [step.count for step in result.operators] == [6]


@pytest.mark.parametrize("load", [ClosedLoop(1), ClosedLoop(2)], ids=str)
def test_where_no_call_succeeds_the_first_error_is_raised(load: ClosedLoop) -> None:
    benchmark = Benchmark(_fails_on_call(*range(1000)), _input, MeasurementConfig(4, 0, load=load))

    with pytest.raises(ValueError, match="bad") as raised:
        benchmark.run()

    assert any("none of its" in note for note in raised.value.__notes__)


def test_an_interrupt_gives_back_what_was_measured() -> None:
    pipeline = _fails_on_call(6, error=KeyboardInterrupt)

    result = Benchmark(pipeline, _input, MeasurementConfig(runs=50, warmup=2)).run()

    assert result.total.count == 4
    assert "INTERRUPTED: what was measured until then" in result.to_table()


def test_an_interrupt_before_anything_was_measured_is_raised() -> None:
    pipeline = _fails_on_call(1, error=KeyboardInterrupt)
    pipeline.set_tracing(collector := CaptureCollector())

    with pytest.raises(KeyboardInterrupt):
        Benchmark(pipeline, _input, MeasurementConfig(runs=50, warmup=2)).run()

    assert pipeline.trace_collector is collector


def test_progress_is_told() -> None:
    told: list[tuple[int, int | None]] = []

    Benchmark(Pipeline[int, int]([abs]), _input, MeasurementConfig(runs=5)).run(
        lambda done, total, _: told.append((done, total))
    )

    assert told[-1] == (5, 5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([abs], _input), "takes a Pipeline, got a list"),
        ((Pipeline[int, int]([abs]), 3), r"takes an InputFn.*got a int"),
        ((Pipeline[int, int]([abs]), _input, 100), "takes a MeasurementConfig, got a int"),
    ],
)
def test_an_argument_of_another_kind_is_refused(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Benchmark(*arguments)
