"""The instrument against what is known: a model of known cost has known figures."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np
import pytest

from ml_pipes._threads.clock import Gate, now
from ml_pipes._threads.fakes import FakeClock
from ml_pipes.benchmark.hardware import hardware
from ml_pipes.benchmark.intervals import busy_share, mean_concurrency
from ml_pipes.benchmark.load import ClosedLoop, Load, OpenLoop
from ml_pipes.benchmark.measure import measure
from ml_pipes.benchmark.statistics import summary
from ml_pipes.benchmark.watch import Watch
from ml_pipes.core import Operator, Pipeline
from ml_pipes.tracing import InvocationTrace, TraceCollector


class Waits:
    """Takes the time that it is asked for without using the CPU, and notes when it really ran."""

    def __init__(self) -> None:
        self.runs: list[tuple[float, float]] = []
        self._lock = Lock()

    def __call__(self, cost_s: float) -> float:
        began_s = now()
        Gate().wait(cost_s)
        with self._lock:
            self.runs.append((began_s, now()))
        return cost_s


def test_a_caller_in_a_loop_gets_the_percentiles_of_the_models_costs(clock: FakeClock) -> None:
    costs_s = [0.01, 0.02, 0.03, 0.04, 0.5]

    samples = measure(clock.advance, costs_s, ClosedLoop(), runs=500, warmup=5, clock=clock)

    told, known = summary(samples.latency_s), summary(costs_s * 100)
    assert told.mean_s == pytest.approx(known.mean_s)
    assert told.percentiles_s == pytest.approx(known.percentiles_s)
    assert samples.throughput_per_s == pytest.approx(1 / 0.12)
    assert samples.mean_in_flight == pytest.approx(1.0)


def test_sixteen_callers_go_on_from_the_warm_up_into_the_window_without_a_pause(
    clock: FakeClock, start: Callable[..., Any]
) -> None:
    def call(index: int) -> None:
        if index >= 192:
            raise RuntimeError("beyond the window, where nobody moves the clock")
        clock.wait(Gate(), 0.25)

    running = start(measure, call, lambda index: index, ClosedLoop(16), runs=160, warmup=32, clock=clock)
    for _ in range(12):
        clock.until_sleeping(17)  # the foreman, sixteen callers
        clock.advance(0.25)
    samples = running.result(timeout=10)

    assert samples.count == 160
    assert set(samples.latency_s.tolist()) == {0.25}  # p99 is p50
    assert samples.throughput_per_s == 64.0
    # No call waited for another at either edge: all sixteen ran all the time.
    assert samples.mean_in_flight == 16.0


@pytest.mark.stress
@pytest.mark.parametrize("load", [ClosedLoop(1), ClosedLoop(4), OpenLoop(100.0)], ids=str)
def test_real_calls_have_the_times_that_the_model_itself_has_seen(load: Load) -> None:
    model = Waits()

    samples = measure(model, [0.01, 0.01, 0.01, 0.03], load, duration_s=1.0, warmup=4)

    runs = np.array(model.runs)
    began = runs[(samples.since_s <= runs[:, 0]) & (runs[:, 0] < samples.until_s)]
    ended = runs[(samples.since_s < runs[:, 1]) & (runs[:, 1] <= samples.until_s)]
    seen = summary(began[:, 1] - began[:, 0], (0.5, 0.9))
    told = summary(samples.service_s, (0.5, 0.9))
    assert told.mean_s == pytest.approx(seen.mean_s, rel=0.02)
    assert told.percentiles_s == pytest.approx(seen.percentiles_s, rel=0.02)
    assert samples.throughput_per_s == pytest.approx(len(ended) / samples.duration_s, rel=0.02)
    assert samples.mean_in_flight == pytest.approx(
        mean_concurrency(runs, samples.since_s, samples.until_s), rel=0.02
    )


@pytest.mark.stress
def test_the_traces_tell_the_share_of_time_in_which_the_model_really_ran() -> None:
    model = Waits()

    @Operator
    class Infer:
        is_inference = True

        def __call__(self, cost_s: float) -> float:
            return model(cost_s)

    class Keeps(TraceCollector):
        def __init__(self) -> None:
            self.traces: list[InvocationTrace] = []

        def on_trace(self, trace: InvocationTrace) -> None:
            self.traces.append(trace)

    kept, around = Keeps(), Waits()
    pipeline = Pipeline([Infer(), around])
    pipeline.set_tracing(kept)

    with Watch(0.05) as watch:
        samples = measure(pipeline, 0.01, ClosedLoop(), duration_s=0.6, warmup=3)
    found = hardware(samples, watch.readings, kept.traces)

    assert found.models is not None
    really = busy_share(model.runs, samples.since_s, samples.until_s)
    assert found.models.busy_share == pytest.approx(really, rel=0.02)
    assert found.models.peak_concurrency == 1
    assert found.process_cpus < 0.5  # it waits
