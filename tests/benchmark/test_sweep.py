"""Every configuration is measured, saved, and not measured twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.runner import Combination, file_names
from ml_pipes.benchmark.sweep import BenchmarkSweep
from ml_pipes.core import Pipeline
from ml_pipes.factory import DataFactory, InputFn, PipelineFactory

_QUICK = MeasurementConfig(runs=2, warmup=0)


class _Made:
    """Makes pipelines and inputs, and notes which."""

    def __init__(self, fails_for: int | None = None, error: type[BaseException] = ValueError) -> None:
        self.pipelines: list[int] = []
        self.inputs: list[int] = []
        self._fails_for = fails_for
        self._error = error

    def pipeline(self, size: int = 0) -> Pipeline[int, int]:
        self.pipelines.append(size)
        if size == self._fails_for:
            raise self._error("no such size")
        return Pipeline([abs])

    def data(self, n: int = 0) -> InputFn:
        self.inputs.append(n)
        return lambda: ("id", n, "", {})

    def sweep(self, configs: list[dict[str, Any]], *args: Any, **options: Any) -> BenchmarkSweep:
        options = {"measurement": _QUICK, **options}
        return BenchmarkSweep(
            PipelineFactory(self.pipeline), configs, DataFactory(self.data), *args, **options
        )


def test_all_combinations_are_measured_the_inputs_outermost() -> None:
    made = _Made()

    results = made.sweep([{"size": 1}, {"size": 2}], [{"n": 3}, {"n": 4}]).run()

    assert [result.label for result in results] == [
        "n:3|size:1",
        "n:3|size:2",
        "n:4|size:1",
        "n:4|size:2",
    ]
    assert results[1].metadata == {"pipeline_config": {"size": 2}, "data_config": {"n": 3}}
    assert [result.total.count for result in results] == [2, 2, 2, 2]
    assert (made.pipelines, made.inputs) == ([1, 2, 1, 2], [3, 4])


def test_inputs_without_a_configuration_are_called_input() -> None:
    results = _Made().sweep([{"size": 1}, {}]).run()

    assert [result.label for result in results] == ["input|size:1", "input"]


def test_a_prefix_and_more_metadata_are_added() -> None:
    [result] = _Made().sweep([{"size": 1}], label_prefix="mine", extra_metadata={"host": "x"}).run()

    assert result.label == "mine|input|size:1"
    assert result.metadata == {"host": "x", "pipeline_config": {"size": 1}, "data_config": {}}


def test_the_default_measurement_has_100_runs() -> None:
    [result] = _Made().sweep([{}], measurement=None).run()

    assert result.total.count == 100


@pytest.mark.parametrize("argument", [0, 1])
def test_what_is_no_factory_is_refused(argument: int) -> None:
    made = _Made()
    factories: list[Any] = [PipelineFactory(made.pipeline), DataFactory(made.data)]
    factories[argument] = made.pipeline

    with pytest.raises(TypeError, match=r"must be a \w+Factory, got a method; \w+\.ensure_factory"):
        BenchmarkSweep(factories[0], [{}], factories[1])


def test_a_wrong_key_is_found_before_anything_is_measured() -> None:
    made = _Made()

    with pytest.raises(TypeError, match=r"configs\[1\]: unknown config key 'sise'; it takes size"):
        made.sweep([{"size": 1}, {"sise": 2}])
    with pytest.raises(TypeError, match=r"data_configs\[0\]: unknown config key 'm'"):
        made.sweep([{}], [{"m": 1}])


def test_a_combination_that_fails_has_a_result_that_says_why_and_the_sweep_goes_on() -> None:
    results = _Made(fails_for=1).sweep([{"size": 1}, {"size": 2}]).run()

    assert [result.error for result in results] == ["ValueError: no such size", None]
    assert [result.total.count for result in results] == [0, 2]
    assert "\nerror: ValueError: no such size" in results[0].to_table()


def test_a_failure_is_raised_where_that_was_asked_for() -> None:
    sweep = _Made(fails_for=1).sweep([{"size": 1}, {"size": 2}], stop_on_error=True)

    with pytest.raises(ValueError, match="no such size"):
        sweep.run()


def test_results_are_saved_as_they_come_and_not_measured_again(tmp_path: Path) -> None:
    first, second = _Made(), _Made()

    results = first.sweep([{"size": 1}, {"size": 2}]).run(resume_dir=tmp_path)
    again = second.sweep([{"size": 1}, {"size": 2}, {"size": 3}]).run(resume_dir=tmp_path)

    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "input_size_1.json",
        "input_size_2.json",
        "input_size_3.json",
    ]
    assert second.pipelines == [3]
    assert again[:2] == results
    assert BenchmarkResult.load(tmp_path / "input_size_1.json") == results[0]


@pytest.mark.parametrize("change", ["measurement", "metadata", "failed", "broken"])
def test_what_is_not_the_same_or_not_whole_is_measured_again(tmp_path: Path, change: str) -> None:
    fails = _Made(fails_for=1 if change == "failed" else None)
    fails.sweep([{"size": 1}]).run(resume_dir=tmp_path)
    if change == "broken":
        (tmp_path / "input_size_1.json").write_text("{", encoding="utf-8")
    made = _Made()
    options: dict[str, dict[str, Any]] = {
        "measurement": {"measurement": MeasurementConfig(runs=3, warmup=0)},
        "metadata": {"extra_metadata": {"host": "y"}},
    }

    [result] = made.sweep([{"size": 1}], **options.get(change, {})).run(resume_dir=tmp_path)

    assert made.pipelines == [1]
    assert BenchmarkResult.load(tmp_path / "input_size_1.json") == result
    assert result.error is None


def test_a_failed_combination_is_saved_with_its_reason(tmp_path: Path) -> None:
    _Made(fails_for=1).sweep([{"size": 1}]).run(resume_dir=tmp_path)

    assert json.loads((tmp_path / "input_size_1.json").read_text())["error"] == "ValueError: no such size"


def test_an_interrupt_gives_back_what_was_measured() -> None:
    made = _Made(fails_for=2, error=KeyboardInterrupt)

    results = made.sweep([{"size": 1}, {"size": 2}, {"size": 3}]).run()

    assert [result.label for result in results] == ["input|size:1"]


def test_an_interrupt_before_anything_was_measured_is_raised() -> None:
    made = _Made(fails_for=1, error=KeyboardInterrupt)

    with pytest.raises(KeyboardInterrupt):
        made.sweep([{"size": 1}, {"size": 2}]).run()


def test_an_interrupt_within_a_combination_ends_the_sweep_and_is_not_saved(tmp_path: Path) -> None:
    calls = iter(range(100))

    def make(size: int) -> Pipeline[int, int]:
        def step(value: int) -> int:
            if next(calls) == 3:
                raise KeyboardInterrupt
            return value

        return Pipeline([step])

    sweep = BenchmarkSweep(
        PipelineFactory(make),
        [{"size": 1}, {"size": 2}, {"size": 3}],
        DataFactory(_Made().data),
        measurement=_QUICK,
    )

    results = sweep.run(resume_dir=tmp_path)

    assert [result.total.count for result in results] == [2, 1]
    assert [path.name for path in tmp_path.iterdir()] == ["input_size_1.json"]


def _named(*labels: str) -> list[str]:
    made = _Made()
    return file_names(
        [Combination(label, {"at": at}, made.pipeline, made.data) for at, label in enumerate(labels)]
    )


def test_files_are_named_by_label() -> None:
    assert _named("n:1|size:2") == ["n_1_size_2.json"]


def test_labels_with_the_same_slug_have_files_of_their_own() -> None:
    names = _named("a/b", "a:b", "A:b", "c")

    assert len({name.lower() for name in names}) == 4
    assert all(name.startswith(("a_b-", "A_b-")) for name in names[:3])
    assert names == _named("a/b", "a:b", "A:b", "c")


def test_a_long_label_has_a_name_that_file_systems_take() -> None:
    names = _named("ä" * 300 + "1", "ä" * 300 + "2")

    assert names[0] != names[1]
    assert max(len(name.encode()) for name in names) < 200
