"""What the hardware was busy with in a window."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from ml_pipes.benchmark.hardware import Gpu, Hardware, hardware, models_of
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.watch import GpuReading, Reading
from ml_pipes.tracing import InvocationTrace, StepSpan


class Model:
    """Stands for a step that runs a model."""

    is_inference = True


def ten_calls(since_s: float = 100.0, until_s: float = 110.0) -> Samples:
    """One after another, a second each."""
    started = 100.0 + np.arange(10)
    return Samples(
        started, started, started + 1.0, np.zeros(10, dtype=bool), since_s=since_s, until_s=until_s
    )


# One and a half CPUs of our own and half a one of others' between 100 and 110 s, none before and after.
READINGS = [
    Reading(99.0, 1.0, 50.0, 10),
    Reading(100.0, 1.0, 50.0, 30),
    Reading(110.0, 16.0, 70.0, 20),
    Reading(111.0, 16.0, 70.0, 99),
]


def test_cpu_is_counted_within_the_window_only() -> None:
    found = hardware(ten_calls(), READINGS)

    assert found.process_cpus == pytest.approx(1.5)
    assert found.foreign_cpus == pytest.approx(0.5)
    assert found.cpu_s_per_item == pytest.approx(1.5)


def test_between_readings_cpu_is_interpolated() -> None:
    found = hardware(ten_calls(since_s=102.0, until_s=106.0), READINGS)

    assert found.process_cpus == pytest.approx(1.5)
    assert found.cpu_s_per_item == pytest.approx(1.5)


def test_the_peak_of_memory_is_that_of_the_readings_in_the_window() -> None:
    assert hardware(ten_calls(), READINGS).memory_peak_bytes == 30


def test_of_a_window_that_no_readings_span_no_cpu_is_known() -> None:
    found = hardware(ten_calls(), READINGS[:2])

    assert math.isnan(found.process_cpus)
    assert math.isnan(found.foreign_cpus)
    assert math.isnan(found.cpu_s_per_item)
    assert found.memory_peak_bytes == 30


def test_without_readings_and_traces_nothing_is_known() -> None:
    found = hardware(ten_calls())

    assert str(found) == "nothing is known"
    assert found.models is None


def test_models_are_as_busy_as_their_runs_fill_the_window() -> None:
    runs = [StepSpan("1:Infer", 100.0 + i, 0.25, operator_type=Model) for i in range(10)]
    found = hardware(ten_calls(), (), [InvocationTrace([run]) for run in runs])

    assert found.models is not None
    assert found.models.runs == 10
    assert found.models.busy_share == pytest.approx(0.25)
    assert found.models.idle_share == pytest.approx(0.75)
    assert found.models.mean_concurrency == pytest.approx(0.25)
    assert found.models.peak_concurrency == 1
    assert (found.models.gaps, found.models.mean_gap_s, found.models.max_gap_s) == (10, 0.75, 0.75)


def test_models_that_never_rest_leave_no_gap() -> None:
    found = models_of(np.array([[99.0, 120.0]]), 100.0, 110.0)

    assert (found.busy_share, found.gaps, found.max_gap_s) == (1.0, 0, 0.0)
    assert math.isnan(found.mean_gap_s)


def test_a_card_is_told_by_its_mean_and_its_peak() -> None:
    readings = [
        Reading(100.0, 0.0, 0.0, 1, (GpuReading("H200", 0.5, 10, 100),)),
        Reading(110.0, 0.0, 0.0, 1, (GpuReading("H200", 1.0, 30, 100),)),
    ]

    assert hardware(ten_calls(), readings).gpus == (Gpu("H200", 0.75, 30, 100),)


@pytest.mark.parametrize(
    "found",
    [
        Hardware(2.0),
        hardware(ten_calls(), READINGS, [InvocationTrace()]),
        hardware(ten_calls(), READINGS[:2]),
        Hardware(1.0, gpus=(Gpu("H200", 0.75, 30, 100),)),
    ],
)
def test_it_comes_back_from_strict_json(found: Hardware) -> None:
    back = Hardware.from_dict(json.loads(json.dumps(found.to_dict(), allow_nan=False)))

    # NaN is no equal of itself; its text is.
    assert repr(back) == repr(found)


def test_it_reads_as_one_line() -> None:
    assert str(hardware(ten_calls(), READINGS, [InvocationTrace()])) == (
        "models busy 0% of the time, 0.00 at a time; 1.50 CPUs, others 0.50; "
        "1.5e+03 ms of CPU per call; 0 MiB"
    )
