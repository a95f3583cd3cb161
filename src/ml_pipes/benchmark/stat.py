"""The figures of one step, and what became of them between two measurements.

Knows times. Knows nothing of what took them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["InvocationStat", "InvocationStatDiff", "RegionStat", "pairs"]

_Side: TypeAlias = Literal["baseline", "candidate"]
_TIMES = ("mean_ms", "stddev_ms", "min_ms", "max_ms")


@dataclass(frozen=True)
class InvocationStat:
    """How long something took, over its runs.

    Attributes:
        label: what it was, ``i:name`` of a step.
        count: how many runs there were.
        mean_ms: milliseconds; NaN, as all below, when there were none.
        stddev_ms: of the sample (``ddof=1``), milliseconds; 0 for one run.
        min_ms: milliseconds.
        max_ms: milliseconds.
        percentiles: 0 to 1 -> milliseconds.
        children: of a region, the steps of its body, one run of the body each.
    """

    label: str
    count: int
    mean_ms: float
    stddev_ms: float
    min_ms: float
    max_ms: float
    percentiles: dict[float, float]
    children: list[InvocationStat] = field(default_factory=list)

    @classmethod
    def from_seconds(
        cls,
        label: str,
        durations_s: npt.ArrayLike,
        percentiles: Iterable[float],
        children: Sequence[InvocationStat] = (),
    ) -> InvocationStat:
        """The figures of these times.

        Percentiles are interpolated linearly between the two nearest times, as ``numpy.percentile`` does
        (Hyndman and Fan, 1996, definition 7).

        Args:
            label: what took them.
            durations_s: seconds.
            percentiles: 0 to 1.
            children: of a region.
        """
        wanted = list(percentiles)
        times_ms = np.asarray(durations_s, dtype=np.float64) * 1e3
        count = int(times_ms.size)
        if not count:
            nothing = dict.fromkeys(wanted, math.nan)
            return cls(label, 0, math.nan, math.nan, math.nan, math.nan, nothing, list(children))
        at = [float(time_ms) for time_ms in np.quantile(times_ms, wanted, method="linear")]
        return cls(
            label,
            count,
            float(times_ms.mean()),
            float(times_ms.std(ddof=1)) if count > 1 else 0.0,
            float(times_ms.min()),
            float(times_ms.max()),
            dict(zip(wanted, at, strict=True)),
            list(children),
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the attributes; percentiles have text keys; ``children`` where there are some."""
        children = {"children": [child.to_dict() for child in self.children]} if self.children else {}
        return {
            "label": self.label,
            "count": self.count,
            **{name: _or_none(getattr(self, name)) for name in _TIMES},
            "percentiles": {str(float(p)): _or_none(ms) for p, ms in self.percentiles.items()},
            **children,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> InvocationStat:
        """What :meth:`to_dict` gave, as figures again; keys that are not known are left out.

        Raises:
            KeyError: something is missing.
            TypeError: something is of another kind.
            ValueError: a number is none.
        """
        return cls(
            label=str(data["label"]),
            count=int(data["count"]),
            **{name: _or_nan(data[name]) for name in _TIMES},
            percentiles={float(p): _or_nan(ms) for p, ms in data["percentiles"].items()},
            children=[cls.from_dict(child) for child in data.get("children", ())],
        )


@dataclass(frozen=True)
class InvocationStatDiff:
    """What became of one step: the candidate's figures less the baseline's.

    Attributes:
        label: the step.
        only_in: ``"baseline"`` or ``"candidate"`` where only that one has it, and there are no differences.
        mean_delta_ms: of the means, milliseconds.
        mean_delta_pct: of the means, per cent of the baseline's; None where that is 0.
        percentile_deltas: of the percentiles that both have, 0 to 1 -> milliseconds.
        children: of a region, the steps of its body.
    """

    label: str
    only_in: str | None
    mean_delta_ms: float | None
    mean_delta_pct: float | None
    percentile_deltas: dict[float, float] | None
    children: list[InvocationStatDiff] = field(default_factory=list)

    @classmethod
    def between(
        cls, baseline: InvocationStat | None, candidate: InvocationStat | None, label: str
    ) -> InvocationStatDiff:
        """The difference of two steps of the same label, of which one may be missing.

        A step without runs has no times: then there are no differences either.
        """
        children = [
            cls.between(one, other, label)
            for one, other, label in pairs(
                baseline.children if baseline else (), candidate.children if candidate else ()
            )
        ]
        if baseline is None or candidate is None:
            side: _Side = "candidate" if baseline is None else "baseline"
            return cls(label, side, None, None, None, children)
        if not (baseline.count and candidate.count):
            return cls(label, None, None, None, None, children)
        delta_ms = candidate.mean_ms - baseline.mean_ms
        common = [p for p in baseline.percentiles if p in candidate.percentiles]
        return cls(
            label,
            None,
            delta_ms,
            delta_ms / baseline.mean_ms * 100.0 if baseline.mean_ms else None,
            {p: candidate.percentiles[p] - baseline.percentiles[p] for p in common},
            children,
        )


@dataclass(frozen=True)
class RegionStat:
    """What one ``Batch`` did.

    Attributes:
        label: the region, with those around it: ``1:Scatter/0:Batch``.
        batch_sizes: items of a batch -> how many such batches ran.
        wait: from a caller's arrival to the start of its batch.
    """

    label: str
    batch_sizes: dict[int, int]
    wait: InvocationStat

    @property
    def batches(self) -> int:
        """How many batches ran."""
        return sum(self.batch_sizes.values())

    @property
    def mean_batch_size(self) -> float | None:
        """Items per batch; None when none ran."""
        items = sum(size * count for size, count in self.batch_sizes.items())
        return items / self.batches if self.batches else None

    def to_dict(self) -> dict[str, Any]:
        """For JSON: the attributes; sizes are text, as JSON's keys are."""
        sizes = {str(size): self.batch_sizes[size] for size in sorted(self.batch_sizes)}
        return {"label": self.label, "batch_sizes": sizes, "wait": self.wait.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RegionStat:
        """What :meth:`to_dict` gave, as figures again; raises as that of :class:`InvocationStat`."""
        sizes = {int(size): int(count) for size, count in data["batch_sizes"].items()}
        return cls(str(data["label"]), sizes, InvocationStat.from_dict(data["wait"]))


def pairs(
    baseline: Sequence[InvocationStat], candidate: Sequence[InvocationStat]
) -> Iterator[tuple[InvocationStat | None, InvocationStat | None, str]]:
    """The steps of both by label, with None for the side that has none, in the order of both lists."""
    mine = {stat.label: stat for stat in baseline}
    others = {stat.label: stat for stat in candidate}
    order = list(mine)
    at = 0
    for label in others:
        if label in mine:
            at = order.index(label) + 1
        else:
            order.insert(at, label)
            at += 1
    for label in order:
        yield mine.get(label), others.get(label), label


def _or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _or_nan(value: Any) -> float:
    return math.nan if value is None else float(value)
