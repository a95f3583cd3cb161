"""The parts of a result that not every result has: as JSON, from JSON, and as lines below its table.

Knows what the parts are called and how each is shown. Knows nothing of how
they were measured.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from ml_pipes.benchmark.hardware import Hardware
from ml_pipes.benchmark.load import ClosedLoop, load_from_dict
from ml_pipes.benchmark.plain import plain
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.scenarios import Outcome
from ml_pipes.benchmark.stat import RegionStat
from ml_pipes.benchmark.verdict import Verdict
from ml_pipes.stats import named_sizes

if TYPE_CHECKING:
    from ml_pipes.benchmark.result import BenchmarkResult

__all__ = ["READERS", "ScenarioFigure", "lines_about", "part_to_dict"]

_MOST_SIZES = 8


@dataclass(frozen=True)
class ScenarioFigure:
    """The one number that a scenario is about.

    Attributes:
        scenario: its name.
        metric: what the number is.
        value: the number; NaN where there is none.
        unit: of the number.
    """

    scenario: str
    metric: str
    value: float
    unit: str

    @classmethod
    def of(cls, outcome: Outcome) -> ScenarioFigure:
        """The number of what a scenario gave."""
        return cls(outcome.scenario, outcome.metric, outcome.value, outcome.unit)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the attributes."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ScenarioFigure:
        """What :meth:`to_dict` gave, after JSON."""
        value = data["value"]
        return cls(data["scenario"], data["metric"], math.nan if value is None else value, data["unit"])

    def __str__(self) -> str:
        return f"{self.scenario}: {self.metric} {self.value:.4g} {self.unit}"


def part_to_dict(part: Any) -> Any:
    """A part for JSON: what its ``to_dict`` gives, or what it is."""
    to_dict = getattr(part, "to_dict", None)
    return plain(part if to_dict is None else to_dict())


READERS: Final[dict[str, Callable[[Any], Any]]] = {
    "load": load_from_dict,
    "samples": Samples.from_dict,
    "hardware": Hardware.from_dict,
    "verdict": Verdict.from_dict,
    "figure": ScenarioFigure.from_dict,
}


def lines_about(result: BenchmarkResult) -> Iterator[str]:
    """What is known of a result beside the times of its steps, a line each."""
    if result.error is not None:
        yield f"error: {result.error}"
    if result.figure is not None:
        yield str(result.figure)
    if result.workload not in {None, ClosedLoop(1)}:
        yield f"load: {result.workload}"
    if (samples := result.samples) is not None and samples.duration_s > 0.0:
        yield f"throughput: {samples.throughput_per_s:.1f} per s, over {samples.duration_s:.2f} s"
    if result.errors:
        named = ", ".join(f"{count} x {name}" for name, count in sorted(result.errors.items()))
        yield f"errors: {sum(result.errors.values())} ({named})"
    for region in result.regions:
        yield _region_line(region)
    if result.hardware is not None:
        yield f"hardware: {result.hardware}"
    yield from _doubts(result)


def _doubts(result: BenchmarkResult) -> Iterator[str]:
    """Why the figures must not be trusted, or what they cannot tell."""
    if result.samples is not None and result.samples.interrupted:
        yield "INTERRUPTED: what was measured until then"
    if result.verdict is not None:
        if result.verdict.valid:
            yield "VALID"
        yield from (f"INVALID: {reason}" for reason in result.verdict.reasons)
    elif result.samples is not None:
        yield from (f"INVALID: {reason}" for reason in result.samples.invalid)


def _region_line(region: RegionStat) -> str:
    mean = region.mean_batch_size
    sizes = ", ".join(f"{count} x {size}" for size, count in named_sizes(region.batch_sizes))
    waits = ", ".join(
        f"{name} {ms:.2f}"
        for name, ms in (("mean", region.wait.mean_ms), ("max", region.wait.max_ms))
        if not math.isnan(ms)
    )
    size = "" if mean is None else f" of {mean:.1f} on average ({sizes})"
    return f"{region.label}: {region.batches} batches{size}" + (f", waits {waits} ms" if waits else "")
