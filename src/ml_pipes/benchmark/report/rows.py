"""A result as the figures that the page shows of it, each None where it is not known.

Knows results. Knows nothing of how a page looks.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes.benchmark.parts import part_to_dict
from ml_pipes.benchmark.report.words import shortened
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.stat import InvocationStat
from ml_pipes.benchmark.statistics import percentile_of

__all__ = ["Row", "known", "percentile_ms", "rows_of"]

_LONGEST_NAME = 36


@dataclass(frozen=True)
class Row:
    """A result, and what is shown of it.

    Attributes:
        number: its place, from 1.
        result: the result.
        name: its label, short enough for a figure, with its number where there are several.
        throughput_per_s: successful calls per second.
        p50_ms: latency, milliseconds, as the three below.
        p95_ms: as above.
        p99_ms: as above.
        mean_ms: as above.
        stddev_ms: of the latencies.
        calls: successful ones that were measured.
        errors: calls that raised, or never ended.
        cpu_ms: CPU of the process per call, milliseconds.
        busy_share: of the time, in which at least one model ran, 0 to 1.
        is_valid: the verdict; None where there is none.
        reasons: why it is not valid.
    """

    number: int
    result: BenchmarkResult
    name: str
    throughput_per_s: float | None
    p50_ms: float | None
    p95_ms: float | None
    p99_ms: float | None
    mean_ms: float | None
    stddev_ms: float | None
    calls: int
    errors: int
    cpu_ms: float | None
    busy_share: float | None
    is_valid: bool | None
    reasons: tuple[str, ...]

    @property
    def label(self) -> str:
        """The whole label; the number where it has none."""
        return self.result.label or f"result {self.number}"

    @property
    def hardware(self) -> Mapping[str, Any]:
        """What is known of it, with the names that it has in files."""
        return _part(self.result.hardware)

    @property
    def environment(self) -> Mapping[str, Any]:
        """What is known of where it was measured."""
        return _part(self.result.environment)

    @property
    def latency_ms(self) -> npt.NDArray[np.float64]:
        """Of each success that was kept, in the order of starts; milliseconds, finite."""
        samples = self.result.samples
        if samples is None:
            return np.zeros(0)
        latency_ms = samples.latency_s * 1e3
        return latency_ms[np.isfinite(latency_ms)]


def rows_of(results: Sequence[BenchmarkResult]) -> list[Row]:
    """A row per result, in order."""
    return [_row(number, result, len(results)) for number, result in enumerate(results, 1)]


def percentile_ms(result: BenchmarkResult, fraction: float) -> float | None:
    """The percentile that was reported; where it was not, that of the calls, if they were kept."""
    reported = known(result.total.percentiles.get(fraction))
    if reported is not None or result.samples is None:
        return reported
    return known(percentile_of(result.samples.latency_s, fraction) * 1e3)


def known(value: Any) -> float | None:
    """The number; None where it is none, NaN or infinite."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def _row(number: int, result: BenchmarkResult, count: int) -> Row:
    label = shortened(result.label or f"result {number}", _LONGEST_NAME)
    hardware = _part(result.hardware)
    cpu_s = known(hardware.get("cpu_s_per_item"))
    is_valid, reasons = _verdict(result)
    unfinished = 0 if result.samples is None else result.samples.unfinished
    return Row(
        number=number,
        result=result,
        name=label if count == 1 else f"{number} · {label}",
        throughput_per_s=known(result.throughput_per_s),
        p50_ms=percentile_ms(result, 0.5),
        p95_ms=percentile_ms(result, 0.95),
        p99_ms=percentile_ms(result, 0.99),
        **_mean(result.total),
        calls=result.total.count,
        errors=sum(result.errors.values()) + unfinished,
        cpu_ms=None if cpu_s is None else cpu_s * 1e3,
        busy_share=known(_part(hardware.get("models")).get("busy_share")),
        is_valid=is_valid,
        reasons=reasons,
    )


def _mean(total: InvocationStat) -> dict[str, Any]:
    return {"mean_ms": known(total.mean_ms), "stddev_ms": known(total.stddev_ms)}


def _verdict(result: BenchmarkResult) -> tuple[bool | None, tuple[str, ...]]:
    """The verdict; without one, what the measurement found wrong with itself."""
    if result.error is not None:
        return False, (f"there are no figures: {result.error}",)
    found = () if result.samples is None else tuple(map(str, result.samples.invalid))
    if result.samples is not None and result.samples.interrupted:
        found = ("it was interrupted; shown is what was measured until then", *found)
    verdict = _part(result.verdict)
    if not verdict:
        return (False, found) if found else (None, ())
    reasons = tuple(map(str, verdict.get("reasons") or ()))
    return bool(verdict.get("valid")) and not found, tuple(dict.fromkeys((*reasons, *found)))


def _part(part: Any) -> Mapping[str, Any]:
    """A part with the names that it has in files, whether it is an object, was loaded, or is not there."""
    data = part_to_dict(part)
    return data if isinstance(data, Mapping) else {}
