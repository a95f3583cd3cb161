"""A sweep put together step by step: what is measured, with which inputs, how, and where results go.

Knows what can be asked for, and what cannot be asked for together. Knows
nothing of how anything is measured.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.benchmark.grid import Cell, grid_text, plan_text
from ml_pipes.benchmark.load import Load
from ml_pipes.benchmark.progress import progress_for
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.runner import Combination, Saving, run_all
from ml_pipes.benchmark.scenarios import Scenario
from ml_pipes.benchmark.space import ConfigFilter, ConfigSpace, Point, config_label
from ml_pipes.benchmark.sweep import combination_label
from ml_pipes.factory import (
    DataFactory,
    DataFactoryLike,
    Factory,
    InputFn,
    PipelineFactory,
    PipelineFactoryLike,
)
from ml_pipes.pipeline import Pipeline

__all__ = ["BenchmarkBuilder"]


class BenchmarkBuilder:
    """Puts a sweep together; every method but the last three gives the builder back.

    Args:
        source: the pipeline, or what makes pipelines of configurations.

    Raises:
        TypeError: it is neither.
    """

    def __init__(self, source: Pipeline[Any, Any] | PipelineFactoryLike) -> None:
        self._source: Pipeline[Any, Any] | PipelineFactory[Any, Any] = (
            source if isinstance(source, Pipeline) else PipelineFactory.ensure_factory(source)
        )
        self._pipeline_space = ConfigSpace("pipeline")
        self._data_space = ConfigSpace("data")
        self._input_fns: dict[str, InputFn] = {}
        self._data_factory: DataFactory | None = None
        self._prefix: str | None = None
        self._metadata: dict[str, Any] = {}
        self._asked: dict[str, Any] = {"runs": 100}
        self._warmup: int | None = None
        self._saving: Saving | None = None
        self._stop_on_error = False

    @classmethod
    def pipeline(cls, p: Pipeline[Any, Any]) -> Self:
        """Measure this pipeline.

        Raises:
            TypeError: it is none.
        """
        if not isinstance(p, Pipeline):
            raise TypeError(f"BenchmarkBuilder.pipeline takes a Pipeline, got a {type(p).__name__}")
        return cls(p)

    @classmethod
    def factory(cls, f: PipelineFactoryLike) -> Self:
        """Measure the pipelines that this makes.

        Raises:
            TypeError: it is no factory of pipelines, nor can be one.
        """
        return cls(PipelineFactory.ensure_factory(f))

    def pipeline_config(self, **kwargs: Any) -> Self:
        """What all pipelines are made with, unless an axis or a set says otherwise."""
        self._needs_factory("pipeline_config").add_base(kwargs)
        return self

    def pipeline_config_axis(self, key: str, *values: Any) -> Self:
        """Make pipelines with each of these values; of several axes, all combinations."""
        self._needs_factory("pipeline_config_axis").add_axis(key, values)
        return self

    def pipeline_config_set(self, configs: list[dict[str, Any]]) -> Self:
        """Make pipelines with each of these configurations."""
        self._needs_factory("pipeline_config_set").add_set(configs)
        return self

    def pipeline_config_filter(self, pred: ConfigFilter) -> Self:
        """Leave out the pipelines for whose whole configuration this is false."""
        self._needs_factory("pipeline_config_filter").add_filter(pred)
        return self

    def data_input(self, fn: InputFn) -> Self:
        """Give the inputs that this gives."""
        return self.data_inputs([fn], ["input"])

    def data_inputs(self, fns: list[InputFn], labels: list[str]) -> Self:
        """Measure with each of these, one after another.

        Args:
            fns: each gives inputs.
            labels: of each, for the results.

        Raises:
            ValueError: not as many labels as functions, none, or two that are the same.
        """
        if len(fns) != len(labels) or not fns or len(set(labels)) != len(labels):
            raise ValueError(
                f"data_inputs takes a label of its own for each function, got {len(fns)} functions and the "
                f"labels {', '.join(map(repr, labels)) or 'of none'}"
            )
        self._input_fns = dict(zip(labels, fns, strict=True))
        return self

    def data_factory(self, factory: DataFactoryLike) -> Self:
        """Give the inputs of what this makes of the data's configurations.

        Raises:
            TypeError: it is no factory of inputs, nor can be one.
        """
        self._data_factory = DataFactory.ensure_factory(factory)
        return self

    def data_config(self, **kwargs: Any) -> Self:
        """What all inputs are made with, unless an axis or a set says otherwise."""
        self._data_space.add_base(kwargs)
        return self

    def data_config_axis(self, key: str, *values: Any) -> Self:
        """Make inputs with each of these values; of several axes, all combinations."""
        self._data_space.add_axis(key, values)
        return self

    def data_config_set(self, configs: list[dict[str, Any]]) -> Self:
        """Make inputs with each of these configurations."""
        self._data_space.add_set(configs)
        return self

    def data_config_filter(self, pred: ConfigFilter) -> Self:
        """Leave out the inputs for whose whole configuration this is false."""
        self._data_space.add_filter(pred)
        return self

    def runs(self, n: int) -> Self:
        """Measure so many calls; 100 unless said otherwise."""
        return self._ask(runs=n)

    def warmup(self, n: int) -> Self:
        """Make so many calls before; a tenth of the runs, and at least 5, unless said otherwise."""
        self._warmup = n
        return self

    def percentiles(self, *ps: float) -> Self:
        """Report these, 0 to 1."""
        return self._ask(percentiles=ps)

    def load(self, load: Load) -> Self:
        """Who calls, how often and how many at once."""
        return self._ask(load=load)

    def duration(self, seconds: float | None) -> Self:
        """Measure for so many seconds, instead of a number of calls."""
        return self._ask(duration_s=seconds)

    def scenario(self, scenario: Scenario | None) -> Self:
        """Measure under this one's load and by its rules."""
        return self._ask(scenario=scenario)

    def hardware(self, watch: bool = True) -> Self:
        """Look at what the machine is busy with meanwhile, or not."""
        return self._ask(hardware=watch)

    def steps(self, record: bool = True) -> Self:
        """Record each step, or the whole call alone, which nothing then disturbs."""
        return self._ask(steps=record)

    def label(self, s: str) -> Self:
        """Begin each label with this; where there is nothing else to tell, it is the label."""
        self._prefix = s
        return self

    def metadata(self, d: dict[str, Any]) -> Self:
        """Put this into each result's metadata too."""
        self._metadata.update(d)
        return self

    def save_to(self, folder: str | Path, *, resume: bool = False) -> Self:
        """Save each result as JSON, as soon as it is there.

        Args:
            folder: made if it is not there.
            resume: do not measure again what is there already, of the same configuration and measurement.
        """
        self._saving = Saving(Path(folder), resume)
        return self

    def stop_on_error(self, stop: bool = True) -> Self:
        """Raise what a combination raises; else its result says so, and the sweep goes on."""
        self._stop_on_error = stop
        return self

    def plan(self) -> str:
        """How many combinations there are, and which; raises as :meth:`run`."""
        self._checked()
        return plan_text(self._cells(), self._axes())

    def grid(self) -> str:
        """Which combinations there are: of two axes a grid; raises as :meth:`run`."""
        self._checked()
        return grid_text(self._cells(), self._axes())

    def run(self, verbose: bool = True) -> list[BenchmarkResult]:
        """Measure each combination, the inputs' configurations outermost.

        Ctrl-C ends it, and what was measured is given back.

        Args:
            verbose: print the plan first, and show how far it is.

        Raises:
            ValueError: something is missing, or two things exclude each other.
            TypeError: a configuration does not fit its factory.
            KeyboardInterrupt: nothing was measured yet.
        """
        measurement, combinations = self._checked()
        if verbose:
            sys.stdout.write(f"{self.plan()}\n")
        return run_all(
            combinations,
            measurement,
            saving=self._saving,
            stop_on_error=self._stop_on_error,
            progress=progress_for(len(combinations), verbose=verbose),
        )

    def _checked(self) -> tuple[MeasurementConfig, list[Combination]]:
        """How to measure, and what; it raises before anything is made."""
        return self._measurement(), self._combinations()

    def _ask(self, **asked: Any) -> Self:
        self._asked.update(asked)
        return self

    def _measurement(self) -> MeasurementConfig:
        runs = self._asked["runs"]
        warmup = self._warmup
        if warmup is None:
            warmup = max(5, runs // 10) if isinstance(runs, int) else 5
        return MeasurementConfig(**self._asked, warmup=warmup)

    def _needs_factory(self, method: str) -> ConfigSpace:
        is_made = isinstance(self._source, Pipeline)
        if is_made:
            raise ValueError(
                f"{method}: a Pipeline that is made already takes no config; "
                "give BenchmarkBuilder.factory a function that makes it"
            )
        return self._pipeline_space

    def _check(self) -> None:
        if self._input_fns and self._data_factory is not None:
            raise ValueError("BenchmarkBuilder: give data_input, or data_factory, not both")
        if not self._input_fns and self._data_factory is None:
            raise ValueError("BenchmarkBuilder: the inputs are missing; call data_input or data_factory")
        if self._input_fns and not self._data_space.is_empty:
            raise ValueError(
                "BenchmarkBuilder: an InputFn that is made already takes no data_config; "
                "give data_factory a function that makes it"
            )

    def _pairs(self) -> list[tuple[Point, Point]]:
        """Each configuration of the inputs with each of the pipeline, those that are left out too."""
        self._check()
        if not self._input_fns:
            data = self._data_space.points()
        elif len(self._input_fns) == 1:
            data = [Point({}, (), is_active=True)]
        else:  # functions that were given one by one stand on an axis of their own
            data = [Point({}, (at,), is_active=True) for at in range(len(self._input_fns))]
        return list(itertools.product(data, self._pipeline_space.points()))

    def _axes(self) -> dict[str, Sequence[Any]]:
        """What all places are on; empty where some configurations are on none."""
        if self._data_space.has_set or self._pipeline_space.has_set:
            return {}
        axes: dict[str, Sequence[Any]] = {}
        if len(self._input_fns) > 1:
            axes["input"] = list(self._input_fns)
        axes.update(self._data_space.axes)
        for key, values in self._pipeline_space.axes.items():
            axes[key if key not in axes else f"pipeline {key}"] = values
        return axes

    def _cells(self) -> list[Cell]:
        return [
            Cell(self._label(data, made), (*data.at, *made.at), data.is_active and made.is_active)
            for data, made in self._pairs()
        ]

    def _label(self, data: Point, made: Point) -> str:
        given = list(self._input_fns)
        of_data = given[data.at[0] if data.at else 0] if given else config_label(data.config)
        of_pipeline = config_label(made.config)
        if self._prefix and not of_pipeline and of_data in {"", "input"}:
            return self._prefix
        return combination_label(self._prefix, of_data, of_pipeline)

    def _combinations(self) -> list[Combination]:
        pairs = [(data, made) for data, made in self._pairs() if data.is_active and made.is_active]
        numbers: dict[tuple[int, ...], int] = {}
        return [
            Combination(
                self._label(data, made),
                {**self._metadata, "pipeline_config": made.config, "data_config": data.config},
                self._maker_of_pipeline(made),
                self._maker_of_input(data),
                numbers.setdefault(data.at, len(numbers)),
                self._made_by(),
            )
            for data, made in pairs
        ]

    def _made_by(self) -> dict[str, str] | None:
        sources = {"pipeline": self._source, "data": self._data_factory}
        return {
            name: f"{source.__module__}:{getattr(source, '__qualname__', '')}"
            for name, source in sources.items()
            if isinstance(source, Factory)
        } or None

    def _maker_of_pipeline(self, made: Point) -> Callable[[], Pipeline[Any, Any]]:
        source = self._source
        if isinstance(source, Pipeline):
            return lambda: source
        # A wrong key is found before hours of measuring.
        source.validate_config(made.config, name="pipeline_config")
        return partial(source.build, made.config)

    def _maker_of_input(self, data: Point) -> Callable[[], InputFn]:
        if self._data_factory is None:
            fn = list(self._input_fns.values())[data.at[0] if data.at else 0]
            return lambda: fn
        self._data_factory.validate_config(data.config, name="data_config")
        return partial(self._data_factory.build, data.config)
