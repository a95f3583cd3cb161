"""The figures of regions as data: how many, how long, how large, and a table of them.

Each kind is merged by ``+``: those of several processes become one. Knows
nothing of what counted them, of threads or of pipelines.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from itertools import accumulate
from math import ceil, inf, log2
from typing import Any, Final

__all__ = ["Histogram", "PipelineStats", "RegionStats", "named_sizes"]

_PER_DOUBLING: Final = 16
_GROWTH: Final = 2.0 ** (1 / _PER_DOUBLING)
_LEAST_S: Final = 2.0**-30
_MOST_S: Final = 2.0**30
_FIRST: Final = -30 * _PER_DOUBLING
_LAST: Final = 30 * _PER_DOUBLING
_ZERO: Final = _FIRST - 1


class Histogram:
    """How often which time was seen: seconds, 0 or more.

    Bucket ``i`` counts the times in ``(2 ** ((i - 1) / 16), 2 ** (i / 16)]`` seconds: each is 4.4 % wider
    than the one before. 0 has a bucket of its own. The bounds are the same everywhere, so two histograms
    merge by addition and nothing is lost. There are 962 buckets at most, from 1 ns to 34 years
    (2 ** 30 s); what is shorter or longer is counted in the first or the last.

    A percentile is the point of its bucket that is at most 2.2 % away from every time in it. Count,
    sum, least and greatest are those of the times themselves (a sum of floats is rounded as such).

    The buckets are those of Prometheus' native histograms with schema 4
    (https://prometheus.io/docs/specs/native_histograms), which are OpenTelemetry's exponential
    histograms with scale 4. The point within one is DDSketch's, ``2 * upper / (1 + growth)``
    (Masson, Rim and Lee, 2019, https://arxiv.org/abs/1908.10693, section 2.1).

    Args:
        values_s: times to begin with, seconds.

    Raises:
        ValueError: a time is negative or not finite.
    """

    __slots__ = ("_buckets", "_max_s", "_min_s", "_sum_s")

    def __init__(self, values_s: Iterable[float] = ()) -> None:
        self._buckets: dict[int, int] = {}
        self._sum_s = 0.0
        self._min_s = inf
        self._max_s = 0.0
        for value_s in values_s:
            self.add(value_s)

    def add(self, value_s: float) -> None:
        """Count one time, seconds.

        Raises:
            ValueError: it is negative or not finite; nothing was counted.
        """
        at = ceil(log2(value_s) * _PER_DOUBLING) if _LEAST_S < value_s < _MOST_S else _outer_bucket(value_s)
        buckets = self._buckets
        buckets[at] = buckets.get(at, 0) + 1
        self._sum_s += value_s
        if value_s < self._min_s:  # noqa: PLR1730 - a call of min() for each batch costs more
            self._min_s = value_s
        if value_s > self._max_s:  # noqa: PLR1730 - as above: no call
            self._max_s = value_s

    @property
    def count(self) -> int:
        """How many times were counted."""
        return sum(self._buckets.values())

    @property
    def sum(self) -> float:
        """The sum of all times, seconds."""
        return self._sum_s

    @property
    def min(self) -> float | None:
        """The least time, seconds; None when empty."""
        return self._min_s if self._buckets else None

    @property
    def max(self) -> float | None:
        """The greatest time, seconds; None when empty."""
        return self._max_s if self._buckets else None

    @property
    def mean(self) -> float | None:
        """The mean time, seconds; None when empty."""
        return self._sum_s / self.count if self._buckets else None

    def percentile(self, q: float) -> float | None:
        """The time that ``q`` percent of all do not exceed: by nearest rank, seconds; None when empty.

        The first and the last rank are the least and the greatest time themselves.

        Args:
            q: 0 to 100.

        Raises:
            ValueError: ``q`` is not within 0 to 100.
        """
        if not 0 <= q <= 100:
            raise ValueError(f"percentile: q must be 0 to 100, not {q!r}; the median is 50")
        count = self.count
        rank = ceil(q * count / 100)
        if rank <= 1:
            return self.min
        if rank >= count:
            return self.max
        ordered = sorted(self._buckets)
        ranks = accumulate(self._buckets[at] for at in ordered)
        at = next(at for at, last in zip(ordered, ranks, strict=True) if last >= rank)
        return min(max(_middle_s(at), self._min_s), self._max_s)

    def __add__(self, other: object) -> Histogram:
        if not isinstance(other, Histogram):
            return NotImplemented
        merged = Histogram()
        merged._buckets = _added(self._buckets, other._buckets)
        merged._sum_s = self._sum_s + other._sum_s
        merged._min_s = min(self._min_s, other._min_s)
        merged._max_s = max(self._max_s, other._max_s)
        return merged

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Histogram):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        if not self._buckets:
            return "Histogram(empty)"
        named = [("min", 0), ("p50", 50), ("p99", 99), ("max", 100)]
        times = ", ".join(f"{name} {_ms(self.percentile(q))}" for name, q in named)
        return f"Histogram({self.count:,}: {times} ms)"

    def to_dict(self) -> dict[str, Any]:
        """For JSON; ``buckets`` holds each bucket's number, as in the class's text, and its count."""
        return {
            "count": self.count,
            "sum_s": self._sum_s,
            "min_s": self.min,
            "max_s": self.max,
            "zeros": self._buckets.get(_ZERO, 0),
            "buckets": {str(at): self._buckets[at] for at in sorted(self._buckets) if at != _ZERO},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Histogram:
        """What :meth:`to_dict` gave, as a histogram again."""
        made = cls()
        made._buckets = {int(at): count for at, count in data["buckets"].items()}
        if data["zeros"]:
            made._buckets[_ZERO] = data["zeros"]
        if made._buckets:
            made._sum_s, made._min_s, made._max_s = data["sum_s"], data["min_s"], data["max_s"]
        return made


@dataclass(frozen=True)
class RegionStats:
    """What one region did so far, and what it does now.

    Attributes:
        label: the region, ``i:name``.
        kind: what it is: ``Batch``, ``Scatter``, ``PerItem``.
        calls: calls that came in; those that were refused are not among them.
        rows: rows, or items, of these calls.
        batches: batches that started.
        batch_sizes: rows of a batch -> how many such batches started.
        reasons: why a batch started -> how many did.
        wait: from a caller's arrival to the start of its batch, seconds.
        run: one run of the body, seconds.
        waiting: rows that wait now.
        running: runs of the body that are under way now.
        dropped: rows whose caller left before their batch started (its deadline came, or the pipeline was
            closed), or items that were dropped.
        refused: calls that were turned away because the room was full.
        errors: results of the body, or items, that were errors.
    """

    label: str
    kind: str
    calls: int = 0
    rows: int = 0
    batches: int = 0
    batch_sizes: dict[int, int] = field(default_factory=dict)
    reasons: dict[str, int] = field(default_factory=dict)
    wait: Histogram = field(default_factory=Histogram)
    run: Histogram = field(default_factory=Histogram)
    waiting: int = 0
    running: int = 0
    dropped: int = 0
    refused: int = 0
    errors: int = 0

    @property
    def mean_batch_size(self) -> float | None:
        """Rows per batch that started; None while there is none."""
        batches = sum(self.batch_sizes.values())
        return sum(size * count for size, count in self.batch_sizes.items()) / batches if batches else None

    def __add__(self, other: object) -> RegionStats:
        """Both together; raises ValueError when the other is of another region."""
        if not isinstance(other, RegionStats):
            return NotImplemented
        if (self.label, self.kind) != (other.label, other.kind):
            raise ValueError(
                f"{self.label}: figures of a {self.kind} can be added to those of the same region, not of "
                f"{other.label}, a {other.kind}; add those of the same pipeline in other processes"
            )
        merged: dict[str, Any] = {}
        for name in _COUNTED:
            mine, others = getattr(self, name), getattr(other, name)
            merged[name] = _added(mine, others) if isinstance(mine, dict) else mine + others
        return RegionStats(self.label, self.kind, **merged)

    def to_dict(self) -> dict[str, Any]:
        """For JSON: each attribute under its name; batch sizes are strings, as JSON's keys are."""
        sizes = {str(size): self.batch_sizes[size] for size in sorted(self.batch_sizes)}
        plain = {f.name: getattr(self, f.name) for f in fields(self)}
        own = {"batch_sizes": sizes, "reasons": dict(self.reasons)}
        return {**plain, **own, "wait": self.wait.to_dict(), "run": self.run.to_dict()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> RegionStats:
        """What :meth:`to_dict` gave, as figures again."""
        sizes = {int(size): count for size, count in data["batch_sizes"].items()}
        own = {"batch_sizes": sizes, "reasons": dict(data["reasons"])}
        times = {name: Histogram.from_dict(data[name]) for name in ("wait", "run")}
        return cls(**{**data, **own, **times})


_COUNTED: Final = tuple(f.name for f in fields(RegionStats) if f.name not in {"label", "kind"})


class PipelineStats(Mapping[str, RegionStats]):
    """The figures of a pipeline's regions by label, in order; printed, a table.

    Args:
        regions: one per label.

    Raises:
        ValueError: two have the same label.
    """

    def __init__(self, regions: Iterable[RegionStats] = ()) -> None:
        self._regions: dict[str, RegionStats] = {}
        for region in regions:
            if region.label in self._regions:
                raise ValueError(
                    f"{region.label}: a pipeline has one region of this label, and came twice; add the two"
                )
            self._regions[region.label] = region

    def __getitem__(self, label: str) -> RegionStats:
        return self._regions[label]

    def __iter__(self) -> Iterator[str]:
        return iter(self._regions)

    def __len__(self) -> int:
        return len(self._regions)

    def __add__(self, other: object) -> PipelineStats:
        """Both together, label by label; a region that only one of them has is kept as it is."""
        if not isinstance(other, PipelineStats):
            return NotImplemented
        merged = dict(self._regions)
        for label, region in other.items():
            merged[label] = merged[label] + region if label in merged else region
        return PipelineStats(merged.values())

    def to_dict(self) -> dict[str, Any]:
        """For JSON: label -> the region's figures."""
        return {label: region.to_dict() for label, region in self.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> PipelineStats:
        """What :meth:`to_dict` gave, as figures again."""
        return cls(RegionStats.from_dict(region) for region in data.values())

    def __str__(self) -> str:
        if not self:
            return "no region: nothing in this pipeline is batched, scattered or done per item"
        lines = _aligned([_cells(region) for region in self.values()])
        width = max(map(len, self))
        for label, region in self.items():
            if about := _about_batches(region):
                lines += ["", *(f"{'' if at else label:<{width}}  {line}" for at, line in enumerate(about))]
        return "\n".join(lines)

    __repr__ = __str__


def _outer_bucket(value_s: float) -> int:
    """The bucket of a time that is 0, or shorter or longer than the buckets reach."""
    if value_s == 0.0:
        return _ZERO
    if 0.0 < value_s < inf:
        return _FIRST if value_s < 1.0 else _LAST
    raise ValueError(f"Histogram: a time must be 0 s or more and finite, not {value_s!r}")


def _middle_s(at: int) -> float:
    """The point of a bucket that is nearest, relatively, to the farthest of its times."""
    return 0.0 if at == _ZERO else 2.0 * _GROWTH**at / (1.0 + _GROWTH)


def _added(mine: Mapping[Any, int], others: Mapping[Any, int]) -> dict[Any, int]:
    return {key: mine.get(key, 0) + others.get(key, 0) for key in {**mine, **others}}


_BLOCKS: Final = " ▏▎▍▌▋▊▉█"
_BAR_CELLS: Final = 8
_MOST_SIZES: Final = 8
# Without these a row says nothing; every other column is left out where it is empty for all.
_ALWAYS: Final = frozenset({"region", "calls"})
_LAST_COLUMNS: Final = ("waiting", "running", "dropped", "refused", "errors")


def _cells(region: RegionStats) -> dict[str, str]:
    """Column -> what stands there; nothing where the region has no such figure."""
    mean, wait, run = region.mean_batch_size, region.wait, region.run
    return {
        "region": region.label,
        "calls": f"{region.calls:,}",
        "rows": f"{region.rows:,}",
        "batches": f"{region.batches:,}" if region.batches else "",
        "mean size": "" if mean is None else f"{mean:.1f}",
        "wait ms p50": _ms(wait.percentile(50)),
        "wait ms p99": _ms(wait.percentile(99)),
        "run ms p50": _ms(run.percentile(50)),
        "run ms p99": _ms(run.percentile(99)),
        **{name: f"{getattr(region, name):,}" for name in _LAST_COLUMNS},
    }


def _aligned(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Headers and a line per row: names to the left, figures to the right."""
    columns = [name for name in rows[0] if name in _ALWAYS or any(row[name] not in {"", "0"} for row in rows)]
    # The first of several words stands above the others: the table is narrower so.
    above = [" ".join(name.split()[:-1]) for name in columns]
    table = [*([above] if any(above) else []), [name.split()[-1] for name in columns]]
    table += [[row[name] or "-" for name in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(f"{cell:{'>' if at else '<'}{widths[at]}}" for at, cell in enumerate(line)).rstrip()
        for line in table
    ]


def _about_batches(region: RegionStats) -> list[str]:
    """How large the batches were, and why they started."""
    lines: list[str] = []
    if region.batch_sizes:
        named = named_sizes(region.batch_sizes)
        most = max(count for _, count in named)
        lines.append("sizes    " + "  ".join(f"{name}: {n:,} {_bar(n / most)}" for name, n in named))
    if region.reasons:
        ranked = sorted(region.reasons.items(), key=lambda reason: -reason[1])
        lines.append("started  " + ", ".join(f"{reason} {count:,}" for reason, count in ranked))
    return lines


def named_sizes(sizes: Mapping[int, int]) -> list[tuple[str, int]]:
    """Each size and its count; where there are many, those between two powers of two together."""
    if len(sizes) <= _MOST_SIZES:
        return [(str(size), sizes[size]) for size in sorted(sizes)]
    grouped: dict[int, int] = {}
    for size in sorted(sizes):
        upper = 1 << (size - 1).bit_length()
        grouped[upper] = grouped.get(upper, 0) + sizes[size]
    return [(f"{up // 2 + 1}-{up}" if up > 2 else str(up), count) for up, count in grouped.items()]


def _bar(share: float) -> str:
    """A bar of at most eight cells, an eighth of one at least."""
    eighths = max(1, round(share * _BAR_CELLS * 8))
    return _BLOCKS[8] * (eighths // 8) + _BLOCKS[eighths % 8].strip()


def _ms(seconds: float | None) -> str:
    """Milliseconds with three digits, as many as a percentile has."""
    if seconds is None:
        return ""
    ms = seconds * 1e3
    decimals = 3 if ms < 1.0 else 2 if ms < 10.0 else 1 if ms < 100.0 else 0
    return f"{ms:,.{decimals}f}"
