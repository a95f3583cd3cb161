"""One pipeline, measured: called again and again under a load, and what came of it.

Knows pipelines, inputs and measurements. Knows nothing of configurations.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import Any

from ml_pipes.benchmark.backlog import Backlog
from ml_pipes.benchmark.called import Called
from ml_pipes.benchmark.collector import BenchmarkCollector
from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.benchmark.environment import environment
from ml_pipes.benchmark.hardware import Hardware, hardware, models_of
from ml_pipes.benchmark.inputs import Given, prepared
from ml_pipes.benchmark.intervals import as_intervals
from ml_pipes.benchmark.load import ClosedLoop
from ml_pipes.benchmark.measure import Progress, measure
from ml_pipes.benchmark.parts import ScenarioFigure
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.scenarios import OfflineScenario
from ml_pipes.benchmark.sequential import sequential
from ml_pipes.benchmark.stat import InvocationStat
from ml_pipes.benchmark.watch import Watch
from ml_pipes.factory import InputFn
from ml_pipes.pipeline import Pipeline

__all__ = ["Benchmark"]

_DEFAULT = MeasurementConfig()


class Benchmark:
    """Measures a pipeline.

    Under the default load, one caller in a loop, the calls are made on the thread that runs it; under
    any other, on threads of their own. The inputs are made before.

    Args:
        pipeline: what is measured.
        input_fn: gives ``(id, value, tag, meta)``; see :func:`~ml_pipes.benchmark.inputs.prepared`.
        measurement: what is asked for.
        label: of the result.
        metadata: of the result.

    Raises:
        TypeError: an argument of another kind.
    """

    def __init__(
        self,
        pipeline: Pipeline[Any, Any],
        input_fn: InputFn,
        measurement: MeasurementConfig = _DEFAULT,
        label: str = "",
        metadata: dict[str, Any] | None = None,
    ) -> None:
        if not isinstance(pipeline, Pipeline):
            raise TypeError(f"Benchmark takes a Pipeline, got a {type(pipeline).__name__}")
        if not callable(input_fn):
            raise TypeError(
                "Benchmark takes an InputFn, a function () -> (id, value, tag, meta), "
                f"got a {type(input_fn).__name__}"
            )
        if not isinstance(measurement, MeasurementConfig):
            raise TypeError(f"Benchmark takes a MeasurementConfig, got a {type(measurement).__name__}")
        self.pipeline = pipeline
        self.input_fn = input_fn
        self.measurement = measurement
        self.label = label
        self.metadata = dict(metadata or {})

    def run(self, progress: Progress | None = None) -> BenchmarkResult:
        """Measure; the pipeline's own tracing is put back, whatever happens.

        Ctrl-C ends it, and what was measured is given back and marked.

        Args:
            progress: told about ten times a second how far it is: ``(done, total, elapsed_s)``.

        Raises:
            KeyboardInterrupt: nothing was measured yet.
            Exception: what the calls raised, where none succeeded; what ``input_fn`` raised.
        """
        config = self.measurement
        is_counted = config.duration_s is None and config.scenario is None
        calls = config.runs + config.warmup if is_counted else None
        given = prepared(self.input_fn, calls)
        collector, called = BenchmarkCollector(config), Called(self.pipeline)

        def input_at(index: int) -> Any:
            backlog.settle()  # between two calls: no call has to pay for it
            return given[index % len(given)].value

        tracing = _tracing(self.pipeline, collector if config.steps else None)
        with _watching(config.hardware) as watch, Backlog(collector) as backlog, tracing:
            samples = self._samples(called, input_at, progress)
        _check(called, samples)
        result = self._result(samples, collector, given)
        if config.scenario is not None:
            outcome = config.scenario.outcome(samples)
            result.verdict, result.figure = outcome.verdict, ScenarioFigure.of(outcome)
        if watch is not None:
            result.hardware = _hardware(watch, samples, collector)
        return result

    def _samples(
        self, call: Callable[[Any], Any], inputs: Callable[[int], Any], progress: Progress | None
    ) -> Samples:
        config = self.measurement
        if config.scenario is not None:
            runs = config.runs if isinstance(config.scenario, OfflineScenario) else None
            return config.scenario.run(
                call, inputs, runs=runs, warmup=config.warmup, limit_s=math.inf, progress=progress
            ).samples
        runs = None if config.duration_s is not None else config.runs
        if config.load == ClosedLoop(1):
            return sequential(
                call,
                inputs,
                runs=runs,
                duration_s=config.duration_s,
                warmup=config.warmup,
                progress=progress,
            )
        return measure(
            call,
            inputs,
            config.load,
            runs=runs,
            duration_s=config.duration_s,
            warmup=config.warmup,
            limit_s=math.inf,
            progress=progress,
        )

    def _result(self, samples: Samples, collector: BenchmarkCollector, given: list[Given]) -> BenchmarkResult:
        config = self.measurement
        result = collector.report(self.label, self.metadata, since_s=samples.since_s, until_s=samples.until_s)
        # As the callers saw it: with the time that a call was late, which its trace does not know.
        result.total = InvocationStat.from_seconds("total", samples.latency_s, config.percentiles)
        result.failures = {}
        result.samples = samples
        result.workload = config.load
        result.warmup = samples.warmup
        result.measurement = config.to_dict()
        result.environment = environment(look_s=0.0)  # the others' load meanwhile is the hardware's figure
        result.inputs = [one.to_dict() for one in given]
        return result


def _check(called: Called, samples: Samples) -> None:
    """Raise where there is nothing to report."""
    if len(samples.latency_s):
        return
    if samples.interrupted:
        raise KeyboardInterrupt
    failed = sum(samples.errors.values())
    called.raise_first_error(f"in a benchmark: none of its {failed} calls succeeded")


@contextmanager
def _watching(wanted: bool) -> Iterator[Watch | None]:
    """The machine, looked at meanwhile where that can be done: it is asked for by default."""
    if not wanted:
        yield None
        return
    watch = Watch()
    with ExitStack() as stack:
        with suppress(ImportError):
            stack.enter_context(watch)
        yield watch


def _hardware(watch: Watch, samples: Samples, collector: BenchmarkCollector) -> Hardware:
    seen = hardware(samples, watch.readings)
    runs = as_intervals(collector.model_runs_s)
    return replace(seen, models=models_of(runs, samples.since_s, samples.until_s)) if len(runs) else seen


@contextmanager
def _tracing(pipeline: Pipeline[Any, Any], collector: BenchmarkCollector | None) -> Iterator[None]:
    before = pipeline._tracing  # noqa: SLF001 - what set_tracing was given, its config too
    pipeline.set_tracing(collector)
    try:
        yield
    finally:
        pipeline._tracing = before  # noqa: SLF001 - as above
