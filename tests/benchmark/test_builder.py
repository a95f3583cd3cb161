"""A sweep is put together step by step, and what cannot be asked for together is said early."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ml_pipes.benchmark.builder import BenchmarkBuilder
from ml_pipes.benchmark.load import ClosedLoop, Offline, OpenLoop
from ml_pipes.benchmark.scenarios import OfflineScenario
from ml_pipes.core import Pipeline
from ml_pipes.factory import InputFn, data_factory, pipeline_factory


def _make(size: int = 1, mode: str = "fast") -> Pipeline[int, int]:
    if mode == "broken":
        raise ValueError("no such mode")
    return Pipeline([lambda value: value + size])


def _data(n: int = 1) -> InputFn:
    return lambda: ("id", n, "", {})


def _give() -> tuple[Any, Any, Any, Any]:
    return ("id", -1, "", {})


def _builder() -> BenchmarkBuilder:
    return BenchmarkBuilder.factory(_make).data_factory(_data).runs(2).warmup(0)


def _labels(builder: BenchmarkBuilder) -> list[str]:
    return [result.label for result in builder.run(verbose=False)]


def test_a_pipeline_and_an_input_are_one_result() -> None:
    [result] = (
        BenchmarkBuilder.pipeline(Pipeline[int, int]([abs])).data_input(_give).runs(3).run(verbose=False)
    )

    assert (result.label, result.total.count) == ("input", 3)
    assert result.metadata == {"pipeline_config": {}, "data_config": {}}


def test_a_single_result_is_called_as_it_is_told() -> None:
    builder = BenchmarkBuilder(Pipeline[int, int]([abs])).data_input(_give).runs(1).label("mine")

    assert _labels(builder) == ["mine"]


def test_axes_give_all_combinations_the_inputs_outermost() -> None:
    builder = _builder().pipeline_config_axis("size", 1, 2).data_config_axis("n", 3, 4)

    assert _labels(builder) == ["n:3|size:1", "n:3|size:2", "n:4|size:1", "n:4|size:2"]


def test_sets_are_taken_as_they_are() -> None:
    builder = (
        _builder().pipeline_config_set([{"size": 1}, {"size": 2, "mode": "slow"}]).data_config_set([{"n": 5}])
    )

    assert _labels(builder) == ["n:5|size:1", "n:5|size:2|mode:slow"]


def test_a_base_is_in_each_configuration_and_in_what_filters_see() -> None:
    builder = (
        _builder()
        .pipeline_config(mode="slow")
        .pipeline_config_axis("size", 1, 2)
        .pipeline_config_filter(lambda config: config["mode"] == "slow" and config["size"] == 2)
        .data_config(n=7)
        .data_config_filter(lambda config: config["n"] == 7)
    )

    [result] = builder.run(verbose=False)

    assert result.metadata == {"pipeline_config": {"mode": "slow", "size": 2}, "data_config": {"n": 7}}
    assert result.label == "n:7|mode:slow|size:2"


def test_inputs_given_one_by_one_have_labels() -> None:
    builder = (
        BenchmarkBuilder.factory(_make)
        .data_inputs([_give, _give], ["a.jpg", "b.jpg"])
        .pipeline_config_axis("size", 1, 2)
        .label("mine")
        .runs(1)
    )

    assert _labels(builder) == [
        "mine|a.jpg|size:1",
        "mine|a.jpg|size:2",
        "mine|b.jpg|size:1",
        "mine|b.jpg|size:2",
    ]
    assert builder.plan().splitlines()[:2] == [
        "plan: 4 combinations (4 active, 0 filtered)",
        r"input \ size  1  2",
    ]


def test_metadata_are_merged() -> None:
    [result] = _builder().metadata({"host": "x"}).metadata({"run": 1}).run(verbose=False)

    assert result.metadata == {"host": "x", "run": 1, "pipeline_config": {}, "data_config": {}}


@pytest.mark.parametrize(("runs", "warmup"), [(3, 5), (100, 10), (1000, 100)])
def test_the_warmup_is_a_tenth_of_the_runs_and_at_least_5(runs: int, warmup: int) -> None:
    [result] = BenchmarkBuilder.factory(_make).data_factory(_data).runs(runs).run(verbose=False)

    assert (result.total.count, result.warmup) == (runs, warmup)


def test_what_is_asked_for_is_measured() -> None:
    builder = _builder().percentiles(0.5, 0.999).load(ClosedLoop(2)).steps(False).hardware(False)

    [result] = builder.run(verbose=False)

    assert list(result.total.percentiles) == [0.5, 0.999]
    assert (result.workload, result.operators) == (ClosedLoop(2), [])


def test_a_duration_counts_instead_of_runs() -> None:
    [result] = _builder().load(OpenLoop(2000.0, "constant")).duration(0.05).run(verbose=False)

    assert result.measurement is not None
    assert (result.measurement["runs"], result.measurement["duration_s"]) == (None, 0.05)


def test_a_scenario_counts_instead_of_a_load() -> None:
    [result] = _builder().scenario(OfflineScenario(min_duration_s=0.0)).run(verbose=False)

    assert result.figure is not None
    assert (result.figure.scenario, result.workload) == ("Offline", Offline())


def test_results_are_saved_and_found_again(tmp_path: Path) -> None:
    builder = _builder().pipeline_config_axis("size", 1, 2).save_to(tmp_path, resume=True)

    first = builder.run(verbose=False)
    second = builder.run(verbose=False)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["input_size_1.json", "input_size_2.json"]
    assert first == second


def test_without_resume_all_is_measured_again(tmp_path: Path) -> None:
    builder = _builder().save_to(tmp_path)

    [first], [second] = builder.run(verbose=False), builder.run(verbose=False)

    assert first != second


def test_a_combination_that_fails_does_not_end_the_sweep_unless_asked() -> None:
    builder = _builder().pipeline_config_axis("mode", "broken", "fast")

    assert [result.error for result in builder.run(verbose=False)] == ["ValueError: no such mode", None]
    with pytest.raises(ValueError, match="no such mode"):
        builder.stop_on_error().run(verbose=False)


def test_the_plan_is_printed_unless_it_is_not_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    builder = _builder().pipeline_config_axis("size", 1, 2).pipeline_config_axis("mode", "fast", "broken")

    builder.run(verbose=False)
    quiet = capsys.readouterr()
    builder.run()
    loud = capsys.readouterr()

    assert (quiet.out, quiet.err) == ("", "")
    assert loud.out == f"{builder.plan()}\n"
    assert loud.out.startswith("plan: 4 combinations (4 active, 0 filtered)\n")
    assert builder.grid() in loud.out
    assert loud.err.splitlines() == [
        "input|size:1|mode:broken: ValueError: no such mode",
        "input|size:2|mode:broken: ValueError: no such mode",
    ]


def test_the_same_key_on_both_sides_is_two_axes() -> None:
    def data(size: int) -> InputFn:
        return lambda: ("id", size, "", {})

    builder = (
        BenchmarkBuilder.factory(_make)
        .data_factory(data)
        .data_config_axis("size", 1, 2)
        .pipeline_config_axis("size", 3)
    )

    assert builder.grid().splitlines()[0].split() == ["size", "\\", "pipeline", "size", "3"]


def test_decorated_factories_are_welcome() -> None:
    builder = BenchmarkBuilder(pipeline_factory(_make)).data_factory(data_factory(_data)).runs(1)

    assert _labels(builder) == ["input"]


_MADE = Pipeline[int, int]([abs])


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda: BenchmarkBuilder.factory(_make).run(),
            "the inputs are missing; call data_input or data_factory",
        ),
        (lambda: BenchmarkBuilder.factory(_make).plan(), "the inputs are missing"),
        (
            lambda: BenchmarkBuilder.pipeline(_MADE).pipeline_config(size=1),
            "pipeline_config: a Pipeline that is made",
        ),
        (lambda: BenchmarkBuilder.pipeline(_MADE).pipeline_config_axis("size", 1), "takes no config"),
        (lambda: _builder().pipeline_config_axis("size", 1).pipeline_config_set([{}]), "mutually exclusive"),
        (lambda: _builder().data_config_set([{}]).data_config_axis("n", 1), "mutually exclusive"),
        (
            lambda: BenchmarkBuilder.factory(_make).data_input(_give).data_config(n=1).run(),
            "an InputFn that is made already takes no data_config",
        ),
        (lambda: _builder().data_input(_give).run(), "give data_input, or data_factory, not both"),
        (lambda: _builder().data_inputs([_give], ["a", "b"]), "got 1 functions and the labels 'a', 'b'"),
        (lambda: _builder().data_inputs([_give, _give], ["a", "a"]), "a label of its own"),
        (lambda: _builder().runs(0).run(), "runs must be 1 or more"),
    ],
)
def test_what_is_missing_or_excludes_something_else_is_said(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ask()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda: BenchmarkBuilder.pipeline(_make), "takes a Pipeline, got a function"),
        (lambda: BenchmarkBuilder.factory(3), "takes a callable, got a int"),
        (lambda: BenchmarkBuilder.factory(data_factory(_data)), "is a DataFactory, and a PipelineFactory"),
        (lambda: _builder().pipeline_config(sise=1).run(), "pipeline_config: unknown config key 'sise'"),
        (lambda: _builder().pipeline_config(sise=1).plan(), "pipeline_config: unknown config key 'sise'"),
        (lambda: _builder().pipeline_config(sise=1).grid(), "pipeline_config: unknown config key 'sise'"),
        (lambda: _builder().data_config_axis("m", 1).run(), "data_config: unknown config key 'm'"),
        (lambda: _builder().runs(1.5).run(), "runs must be a whole number"),
    ],
)
def test_something_of_another_kind_is_refused(ask: Callable[[], Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ask()
