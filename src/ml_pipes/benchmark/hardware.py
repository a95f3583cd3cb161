"""What the hardware was busy with while something was measured.

Knows samples, readings of the machine, and when models ran. Knows nothing of how they were taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ml_pipes.benchmark.intervals import (
    Intervals,
    busy_share,
    clipped,
    gaps,
    inference_intervals,
    mean_concurrency,
    peak_concurrency,
)
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.watch import Reading
from ml_pipes.tracing import InvocationTrace

__all__ = ["Gpu", "Hardware", "Models", "hardware", "models_of"]

_MIB = 2.0**20


@dataclass(frozen=True)
class Models:
    """How busy the models kept the time of a window.

    Attributes:
        runs: model runs in it.
        busy_share: the share of it in which at least one ran, 0 to 1: what is left is what steps around
            the model, waiting and Python cost.
        idle_share: the rest.
        gaps: how often none ran.
        mean_gap_s: how long such a gap was, on average, seconds; NaN without gaps.
        max_gap_s: the longest, seconds; 0 without gaps.
        mean_concurrency: how many ran at a time, on average.
        peak_concurrency: how many ran at a time, at most.
    """

    runs: int
    busy_share: float
    idle_share: float
    gaps: int
    mean_gap_s: float
    max_gap_s: float
    mean_concurrency: float
    peak_concurrency: int


@dataclass(frozen=True)
class Gpu:
    """A graphics card over a window.

    Attributes:
        name: its name.
        busy_share: mean share of time in which a kernel ran, 0 to 1; by whomever.
        memory_peak_bytes: in use at most; by whomever.
        memory_total_bytes: all of it.
    """

    name: str
    busy_share: float
    memory_peak_bytes: int
    memory_total_bytes: int


@dataclass(frozen=True)
class Hardware:
    """What the hardware was busy with in a window; NaN where it is not known.

    Attributes:
        duration_s: the window.
        process_cpus: CPUs that this process kept busy, on average; 2.0 are two of them all the time.
        foreign_cpus: CPUs that all others kept busy, on average, time stolen by other machines too.
        cpu_s_per_item: CPU seconds of this process per call that ended in the window.
        memory_peak_bytes: the most that this process had in memory when it was looked at.
        models: how busy the models were, where traces tell.
        gpus: the graphics cards.
    """

    duration_s: float
    process_cpus: float = math.nan
    foreign_cpus: float = math.nan
    cpu_s_per_item: float = math.nan
    memory_peak_bytes: int | None = None
    models: Models | None = None
    gpus: tuple[Gpu, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what is not known is None."""
        data: dict[str, Any] = _without_nan(asdict(self))
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Hardware:
        """What :meth:`to_dict` wrote; what is missing or None is not known."""
        models = data.get("models")
        figures = {name: _number(data.get(name)) for name in _FIGURES}
        return cls(
            **figures,
            memory_peak_bytes=data.get("memory_peak_bytes"),
            models=None if models is None else Models(**{k: _number(v) for k, v in models.items()}),
            gpus=tuple(Gpu(**gpu) for gpu in data.get("gpus", ())),
        )

    def __str__(self) -> str:
        parts: list[str] = []
        if self.models is not None:
            parts.append(
                f"models busy {self.models.busy_share:.0%} of the time, "
                f"{self.models.mean_concurrency:.2f} at a time"
            )
        if not math.isnan(self.process_cpus):
            parts.append(f"{self.process_cpus:.2f} CPUs, others {self.foreign_cpus:.2f}")
        if not math.isnan(self.cpu_s_per_item):
            parts.append(f"{self.cpu_s_per_item * 1e3:.3g} ms of CPU per call")
        if self.memory_peak_bytes is not None:
            parts.append(f"{self.memory_peak_bytes / _MIB:.0f} MiB")
        parts += [
            f"{gpu.name} busy {gpu.busy_share:.0%}, {gpu.memory_peak_bytes / _MIB:.0f} MiB"
            for gpu in self.gpus
        ]
        return "; ".join(parts) or "nothing is known"


_FIGURES = ("duration_s", "process_cpus", "foreign_cpus", "cpu_s_per_item")


def hardware(
    samples: Samples,
    readings: Sequence[Reading] = (),
    traces: Iterable[InvocationTrace] | None = None,
) -> Hardware:
    """What the hardware was busy with in the window of the samples.

    CPU times at the window's edges are interpolated between the readings beside them, so the more
    readings, and the longer the window, the better; of a window that no two readings span, no CPU is
    known.

    Args:
        samples: what was measured, in times of the same clock as the readings and the traces; not ones
            that were loaded from a file, whose times are relative.
        readings: of a :class:`~ml_pipes.benchmark.watch.Watch` around the measurement.
        traces: of the calls in the window; None where nothing was traced.
    """
    since_s, until_s = samples.since_s, samples.until_s
    models = None if traces is None else models_of(inference_intervals(traces), since_s, until_s)
    if not readings or samples.duration_s <= 0.0:
        return Hardware(samples.duration_s, models=models)
    own_s, machine_s = _cpu_between(readings, since_s, until_s)
    ended = int(samples.ended.sum())
    inside = _within(readings, since_s, until_s)
    return Hardware(
        duration_s=samples.duration_s,
        process_cpus=own_s / samples.duration_s,
        # The system counts the two in different ways, the machine's in ticks.
        foreign_cpus=float(np.maximum(machine_s - own_s, 0.0)) / samples.duration_s,
        cpu_s_per_item=own_s / ended if ended else math.nan,
        memory_peak_bytes=max(reading.memory_bytes for reading in inside),
        models=models,
        gpus=_gpus(inside),
    )


def models_of(intervals: Intervals, since_s: float, until_s: float) -> Models:
    """How busy model runs kept a window.

    Args:
        intervals: ``(n, 2)``, see :mod:`~ml_pipes.benchmark.intervals`.
        since_s: the window's start.
        until_s: the window's end.
    """
    idle = gaps(intervals, since_s, until_s)
    lengths_s = idle[:, 1] - idle[:, 0]
    busy = busy_share(intervals, since_s, until_s)
    return Models(
        runs=len(clipped(intervals, since_s, until_s)),
        busy_share=busy,
        idle_share=1.0 - busy,
        gaps=len(idle),
        mean_gap_s=float(lengths_s.mean()) if len(idle) else math.nan,
        max_gap_s=float(lengths_s.max(initial=0.0)),
        mean_concurrency=mean_concurrency(intervals, since_s, until_s),
        peak_concurrency=peak_concurrency(intervals, since_s, until_s),
    )


def _cpu_between(readings: Sequence[Reading], since_s: float, until_s: float) -> tuple[float, float]:
    """CPU seconds of this process and of the machine in the window; NaN when no two readings span it."""
    at_s = np.array([reading.at_s for reading in readings])
    tolerance_s = 0.05 * (until_s - since_s)
    if len(at_s) < 2 or at_s[0] > since_s + tolerance_s or at_s[-1] < until_s - tolerance_s:
        return math.nan, math.nan
    own_s, machine_s = (
        np.interp([since_s, until_s], at_s, [getattr(reading, name) for reading in readings])
        for name in ("process_cpu_s", "machine_cpu_s")
    )
    return float(own_s[1] - own_s[0]), float(machine_s[1] - machine_s[0])


def _within(readings: Sequence[Reading], since_s: float, until_s: float) -> Sequence[Reading]:
    """The readings in the window; where there are none, all."""
    return [reading for reading in readings if since_s <= reading.at_s <= until_s] or readings


def _gpus(readings: Sequence[Reading]) -> tuple[Gpu, ...]:
    cards = zip(*(reading.gpus for reading in readings), strict=False)
    return tuple(
        Gpu(
            name=card[0].name,
            busy_share=float(np.mean([now.busy_share for now in card])),
            memory_peak_bytes=max(now.memory_bytes for now in card),
            memory_total_bytes=card[0].memory_total_bytes,
        )
        for card in cards
    )


def _number(value: Any) -> Any:
    return math.nan if value is None else value


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
