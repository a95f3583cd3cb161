"""What is asked of a measurement: how often, under which load, which figures.

Knows numbers. Knows nothing of how it is done.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, asdict, dataclass, field
from math import isfinite
from typing import Any

from ml_pipes.benchmark.load import ClosedLoop, Load, Offline
from ml_pipes.benchmark.scenarios import Scenario

__all__ = ["MeasurementConfig"]


@dataclass(frozen=True)
class MeasurementConfig:
    """What is asked of a measurement.

    Attributes:
        runs: calls that are measured; with ``duration_s``, not used.
        warmup: calls before, which are in no figure.
        percentiles: of the times, 0 to 1.
        load: who calls, how often and how many at once; one caller in a loop unless asked otherwise.
        duration_s: measure for so many seconds instead; None for ``runs`` calls.
        hardware: look at what the machine is busy with meanwhile.
        steps: record each step too. Without, the figures are those of the whole call, which nothing then
            disturbs: a recorded step costs its call some 0.3 us.
        scenario: measure under this one's load and by its rules; ``load`` is its load then, ``duration_s``
            its own affair, and ``runs`` counts for :class:`OfflineScenario` only.

    Raises:
        TypeError: ``load`` is no load, or a number is none.
        ValueError: a number that cannot be.
    """

    runs: int = 100
    warmup: int = 10
    percentiles: tuple[float, ...] = (0.5, 0.95, 0.99)
    _: KW_ONLY
    load: Load = field(default_factory=ClosedLoop)
    duration_s: float | None = None
    hardware: bool = True
    steps: bool = True
    scenario: Scenario | None = None

    def __post_init__(self) -> None:
        _whole("runs", self.runs, 1)
        _whole("warmup", self.warmup, 0)
        # A list is as good, and what is frozen should hold nothing that changes.
        object.__setattr__(self, "percentiles", tuple(self.percentiles))
        for p in self.percentiles:
            if isinstance(p, bool) or not isinstance(p, int | float):
                raise TypeError(f"MeasurementConfig: a percentile must be a number, got {p!r}")
            if not 0 <= p <= 1:
                raise ValueError(
                    f"MeasurementConfig: a percentile must be 0 to 1, got {p!r}; the median is 0.5"
                )
        self._take_scenario()
        if not isinstance(self.load, Load):
            raise TypeError(
                f"MeasurementConfig: load must be a load such as ClosedLoop(4) or OpenLoop(50.0), "
                f"got {self.load!r}"
            )
        if isinstance(self.load, Offline) and self.duration_s is not None:
            raise ValueError("MeasurementConfig: Offline works off a number of calls; leave duration_s out")
        if self.duration_s is not None and not (isfinite(self.duration_s) and self.duration_s > 0):
            raise ValueError(
                f"MeasurementConfig: duration_s must be seconds, above 0, or None, got {self.duration_s!r}"
            )

    def _take_scenario(self) -> None:
        if self.scenario is None:
            return
        if not isinstance(self.scenario, Scenario):
            raise TypeError(
                f"MeasurementConfig: scenario must be one such as SingleStream(), got {self.scenario!r}"
            )
        if self.load not in {ClosedLoop(), self.scenario.load} or self.duration_s is not None:
            raise ValueError("MeasurementConfig: a scenario has its own load and duration; give it alone")
        object.__setattr__(self, "load", self.scenario.load)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the attributes."""
        scenario = self.scenario
        return {
            "runs": None if self.duration_s is not None else self.runs,
            "warmup": self.warmup,
            "percentiles": list(self.percentiles),
            "load": self.load.to_dict(),
            "duration_s": self.duration_s,
            "hardware": self.hardware,
            "steps": self.steps,
            "scenario": None if scenario is None else {"name": scenario.name, **asdict(scenario)},
        }


def _whole(name: str, value: int, least: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"MeasurementConfig: {name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"MeasurementConfig: {name} must be {least} or more, got {value}")
