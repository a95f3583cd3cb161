"""What is asked of a measurement is checked when it is asked."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.benchmark.load import ClosedLoop, Offline, OpenLoop
from ml_pipes.benchmark.scenarios import Server, SingleStream


def test_a_hundred_runs_after_ten_of_one_caller_are_the_default() -> None:
    config = MeasurementConfig()

    assert (config.runs, config.warmup, config.percentiles) == (100, 10, (0.5, 0.95, 0.99))
    assert (config.load, config.duration_s, config.hardware) == (ClosedLoop(1), None, True)


def test_percentiles_may_be_a_list() -> None:
    wanted: Any = [0.5, 1]

    assert MeasurementConfig(5, 0, wanted).percentiles == (0.5, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": 0}, "runs must be 1 or more, got 0"),
        ({"warmup": -1}, "warmup must be 0 or more, got -1"),
        ({"percentiles": (95,)}, r"a percentile must be 0 to 1, got 95; the median is 0\.5"),
        ({"percentiles": (float("nan"),)}, "a percentile must be 0 to 1, got nan"),
        ({"duration_s": 0.0}, r"duration_s must be seconds, above 0, or None, got 0\.0"),
        ({"duration_s": float("inf")}, "duration_s must be seconds"),
        ({"scenario": SingleStream(), "load": ClosedLoop(2)}, "a scenario has its own load and duration"),
        ({"scenario": SingleStream(), "duration_s": 1.0}, "a scenario has its own load and duration"),
        ({"duration_s": 1.0, "load": Offline()}, "Offline works off a number of calls"),
    ],
)
def test_a_number_that_cannot_be_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MeasurementConfig(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runs": 1.5}, r"runs must be a whole number, got 1\.5"),
        ({"warmup": True}, "warmup must be a whole number, got True"),
        ({"percentiles": ("p50",)}, "a percentile must be a number, got 'p50'"),
        ({"scenario": "Server"}, r"scenario must be one such as SingleStream\(\), got 'Server'"),
        ({"load": 4}, r"load must be a load such as ClosedLoop\(4\).*got 4"),
    ],
)
def test_something_of_another_kind_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TypeError, match=message):
        MeasurementConfig(**arguments)


def test_the_load_of_a_scenario_is_the_measurements() -> None:
    scenario = Server(rate_per_s=50.0, latency_bound_s=0.1)

    config = MeasurementConfig(scenario=scenario)

    assert config.load == OpenLoop(50.0)
    assert config.to_dict()["scenario"]["name"] == "Server"
    assert replace(config, runs=5).scenario == scenario


def test_it_can_be_saved() -> None:
    config = MeasurementConfig(load=OpenLoop(50.0), duration_s=2.0)

    assert config.to_dict() == {
        "runs": None,
        "warmup": 10,
        "percentiles": [0.5, 0.95, 0.99],
        "load": OpenLoop(50.0).to_dict(),
        "duration_s": 2.0,
        "hardware": True,
        "steps": True,
        "scenario": None,
    }
