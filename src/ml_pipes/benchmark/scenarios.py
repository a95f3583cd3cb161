"""Four ways in which models are used, as MLPerf measures them: a load, a figure, and rules for it.

The scenarios are those of LoadGen (Reddi et al., MLPerf Inference Benchmark,
https://arxiv.org/abs/1911.02549), with the figures of its later rules
(https://github.com/mlcommons/inference_policies/blob/master/inference_rules.adoc, section 3): a
MultiStream query comes as soon as the one before is done, and its 99th percentile is reported.
Ours are shorter by default: ``min_duration_s`` is 10 s where the rules ask for 600 s. A percentile
takes as many samples as bound it with 95 % confidence. Figures so measured are not MLPerf results.

Knows loads, samples and rules. Knows nothing of threads or pipelines.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ml_pipes.benchmark.load import ClosedLoop, Load, Offline, OpenLoop, Queries
from ml_pipes.benchmark.measure import Call, Inputs, measure
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.statistics import percentile_of, samples_needed
from ml_pipes.benchmark.verdict import Rules, Verdict, judge

__all__ = ["MultiStream", "OfflineScenario", "Outcome", "Scenario", "Server", "SingleStream"]


@dataclass(frozen=True)
class Outcome:
    """What a scenario gave.

    Attributes:
        scenario: its name.
        metric: what its figure is.
        value: the figure; NaN where there is none.
        unit: of the figure.
        verdict: whether it may be trusted.
        samples: the calls; of :class:`MultiStream`, one row per query.
    """

    scenario: str
    metric: str
    value: float
    unit: str
    verdict: Verdict
    samples: Samples

    def to_dict(self) -> dict[str, Any]:
        """The figure and the verdict, for JSON; without the samples."""
        return {
            "scenario": self.scenario,
            "metric": self.metric,
            "value": self.value if math.isfinite(self.value) else None,
            "unit": self.unit,
            "verdict": self.verdict.to_dict(),
        }

    def __str__(self) -> str:
        return f"{self.scenario}: {self.metric} {self.value:.4g} {self.unit}, {self.verdict}"


@dataclass(frozen=True, kw_only=True)
class Scenario(ABC):
    """A load, a figure and its rules.

    Attributes:
        min_duration_s: what the window lasts, at least.
        max_error_share: failed calls per call, 0 to 1.
        max_drift: see :class:`~ml_pipes.benchmark.verdict.Rules`.

    Raises:
        ValueError: a number that cannot be.
    """

    min_duration_s: float = 10.0
    max_error_share: float = 0.0
    max_drift: float | None = 0.2

    name: ClassVar[str]
    percentile: ClassVar[float | None] = None

    def __post_init__(self) -> None:
        _check(self, "min_duration_s", "seconds, 0 or more", 0.0 <= self.min_duration_s < math.inf)
        _check(self, "max_error_share", "a share, 0 to 1", 0.0 <= self.max_error_share <= 1.0)
        _ = self.load  # whose numbers are checked now, and not when it is measured

    @property
    @abstractmethod
    def load(self) -> Load:
        """How the calls come."""

    @property
    def rules(self) -> Rules:
        """What the samples must keep."""
        return Rules(
            percentile=self.percentile,
            min_duration_s=self.min_duration_s,
            max_error_share=self.max_error_share,
            max_drift=self.max_drift,
        )

    @abstractmethod
    def figure(self, samples: Samples) -> tuple[str, float, str]:
        """What it reports: the metric, its value, the unit."""

    def run(
        self, call: Call, inputs: Inputs, *, runs: int | None = None, warmup: int = 0, **about: Any
    ) -> Outcome:
        """Measure until there is enough for the rules, and judge.

        Args:
            call: takes one input.
            inputs: see :func:`~ml_pipes.benchmark.measure.measure`.
            runs: calls (of MultiStream: queries) that count, at least; by default as many as the
                percentile takes.
            warmup: calls before the window, at least.
            about: what else :func:`~ml_pipes.benchmark.measure.measure` takes.

        Raises:
            ValueError: an argument that cannot be.
            BaseException: what ``inputs`` raised.
        """
        enough = runs if runs is not None else self._enough()
        duration_s = self.min_duration_s or None
        samples = measure(call, inputs, self.load, runs=enough, duration_s=duration_s, warmup=warmup, **about)
        return self.outcome(samples)

    def outcome(self, samples: Samples) -> Outcome:
        """What the samples tell, measured under this scenario's load."""
        metric, value, unit = self.figure(samples)
        return Outcome(self.name, metric, value, unit, judge(samples, self.rules), samples)

    def _enough(self) -> int:
        return 1 if self.percentile is None else samples_needed(self.percentile)


@dataclass(frozen=True, kw_only=True)
class SingleStream(Scenario):
    """One caller, one call after another: the 90th percentile of the latency. A phone's camera."""

    name: ClassVar[str] = "SingleStream"
    percentile: ClassVar[float | None] = 0.9

    @property
    def load(self) -> Load:
        return ClosedLoop(1)

    def figure(self, samples: Samples) -> tuple[str, float, str]:
        return "p90 latency", percentile_of(samples.latency_s, 0.9) * 1e3, "ms"


@dataclass(frozen=True, kw_only=True)
class MultiStream(Scenario):
    """Queries of several samples, one after another: the 99th percentile of a query's latency.

    A query lasts as long as its slowest sample. A car's eight cameras.

    Attributes:
        samples_per_query: samples that come together.
    """

    samples_per_query: int = 8
    name: ClassVar[str] = "MultiStream"
    percentile: ClassVar[float | None] = 0.99

    @property
    def load(self) -> Load:
        return Queries(self.samples_per_query)

    def figure(self, samples: Samples) -> tuple[str, float, str]:
        return "p99 query latency", percentile_of(samples.latency_s, 0.99) * 1e3, "ms"


@dataclass(frozen=True, kw_only=True)
class Server(Scenario):
    """Calls come at a rate, independent of each other: valid while the 99th percentile keeps its bound.

    Attributes:
        rate_per_s: calls per second, on average.
        latency_bound_s: what the 99th percentile may be at most, seconds.
        seed: of the arrivals.
        max_in_flight: calls at a time.
    """

    rate_per_s: float
    latency_bound_s: float
    seed: int = 0
    max_in_flight: int = 256
    # A queue swells and shrinks by itself; the bound tells when it grows.
    max_drift: float | None = 0.5
    name: ClassVar[str] = "Server"
    percentile: ClassVar[float | None] = 0.99

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self, "latency_bound_s", "seconds, above 0", 0.0 < self.latency_bound_s < math.inf)

    @property
    def load(self) -> Load:
        return OpenLoop(self.rate_per_s, "poisson", self.seed, self.max_in_flight)

    @property
    def rules(self) -> Rules:
        return replace(super().rules, latency_bound_s=self.latency_bound_s)

    def figure(self, samples: Samples) -> tuple[str, float, str]:
        return "p99 latency", percentile_of(samples.latency_s, 0.99) * 1e3, "ms"


@dataclass(frozen=True, kw_only=True)
class OfflineScenario(Scenario):
    """All samples are there at once: how many per second are worked off. A folder of photographs.

    A latency counts from the common start and grows with each sample, so none is judged.

    Attributes:
        max_in_flight: calls at a time.
    """

    max_in_flight: int = 32
    max_drift: float | None = None
    name: ClassVar[str] = "Offline"

    @property
    def load(self) -> Load:
        return Offline(self.max_in_flight)

    def figure(self, samples: Samples) -> tuple[str, float, str]:
        return "throughput", samples.throughput_per_s, "samples/s"

    def run(
        self, call: Call, inputs: Inputs, *, runs: int | None = None, warmup: int = 0, **about: Any
    ) -> Outcome:
        """Work off ``runs`` samples, which must be given, and judge; see :meth:`Scenario.run`."""
        if runs is None:
            raise ValueError("Offline: say how many samples there are, runs=")
        return self.outcome(measure(call, inputs, self.load, runs=runs, warmup=warmup, **about))


def _check(scenario: Scenario, name: str, wanted: str, fits: bool) -> None:
    if not fits:
        raise ValueError(
            f"{type(scenario).__name__}: {name} must be {wanted}, got {getattr(scenario, name)!r}"
        )
