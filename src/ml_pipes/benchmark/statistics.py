"""Figures of many durations: percentiles, a summary, and how sure they are.

Knows numbers. Knows nothing of where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Interval", "Summary", "percentile_of", "ratio_interval", "samples_needed", "summary"]

_Floats = npt.NDArray[np.float64]

# Numbers drawn at a time, so that the memory for it stays small and in the cache.
_CHUNK = 30_000


@dataclass(frozen=True)
class Summary:
    """A set of durations in a few figures, seconds; NaN where there is none.

    Attributes:
        count: how many there are.
        mean_s: their mean.
        stddev_s: their standard deviation, with n - 1; 0 for a single one.
        min_s: the shortest.
        max_s: the longest.
        percentiles_s: fraction, 0 to 1 -> duration.
    """

    count: int
    mean_s: float
    stddev_s: float
    min_s: float
    max_s: float
    percentiles_s: dict[float, float]


@dataclass(frozen=True)
class Interval:
    """A figure, and between which two it lies with the given confidence.

    Attributes:
        value: the figure itself.
        low: lower end.
        high: upper end.
        confidence: how often such an interval holds the true figure, 0 to 1.
    """

    value: float
    low: float
    high: float
    confidence: float

    def excludes(self, value: float) -> bool:
        """The value lies outside; false when an end is NaN."""
        return value < self.low or value > self.high


def percentile_of(durations_s: npt.ArrayLike, fraction: float) -> float:
    """The value that this share of the durations does not exceed, as ``numpy.percentile`` interpolates it.

    Args:
        durations_s: any number of them; of none it is NaN, and NaN when one of them is.
        fraction: 0 for the shortest to 1 for the longest.

    Raises:
        ValueError: a fraction that cannot be.
    """
    values = _flat(durations_s)
    _check_fraction(fraction)
    return float(np.percentile(values, fraction * 100.0, method="linear")) if len(values) else math.nan


def summary(durations_s: npt.ArrayLike, percentiles: Sequence[float] = (0.5, 0.95, 0.99)) -> Summary:
    """The durations in a few figures; of none, a count of 0 and NaN.

    Args:
        durations_s: seconds.
        percentiles: fractions, 0 to 1.

    Raises:
        ValueError: a fraction that cannot be.
    """
    values = _flat(durations_s)
    for fraction in percentiles:
        _check_fraction(fraction)
    if not len(values):
        nan = math.nan
        return Summary(0, nan, nan, nan, nan, dict.fromkeys(percentiles, nan))
    at = np.percentile(values, [fraction * 100.0 for fraction in percentiles], method="linear")
    return Summary(
        count=len(values),
        mean_s=float(values.mean()),
        stddev_s=float(values.std(ddof=1)) if len(values) > 1 else 0.0,
        min_s=float(values.min()),
        max_s=float(values.max()),
        percentiles_s=dict(zip(percentiles, at.tolist(), strict=True)),
    )


def samples_needed(fraction: float, confidence: float = 0.95) -> int:
    """How many samples it takes for the longest of them to be beyond a percentile, with this confidence.

    All ``n`` lie below it with probability ``fraction ** n``, whatever their distribution; so
    ``n >= log(1 - confidence) / log(fraction)``. With fewer, a measured percentile may well be
    below the true one, and nothing in the samples would show it.
    (Hahn and Meeker, Statistical Intervals, 1991, section 5.3: the one-sided bound for a percentile.)

    Args:
        fraction: above 0, below 1.
        confidence: above 0, below 1.

    Raises:
        ValueError: a fraction or a confidence that cannot be.
    """
    for name, value in [("fraction", fraction), ("confidence", confidence)]:
        if not 0.0 < value < 1.0:
            raise ValueError(f"samples_needed: {name} must be above 0 and below 1, got {value!r}")
    return math.ceil(math.log(1.0 - confidence) / math.log(fraction))


def ratio_interval(
    a_blocks: Sequence[npt.ArrayLike],
    b_blocks: Sequence[npt.ArrayLike],
    statistic: float | str = 0.5,
    *,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Interval:
    """The ratio of a statistic of A to that of B, from blocks measured in pairs, with its interval.

    A's and B's i-th blocks were measured side by side, so what the machine did then is in both. A
    resample draws pairs of blocks, and from each drawn block as many samples as blocks have on average;
    the interval lies between the percentiles of the ratios so found (the percentile bootstrap in two
    stages: Davison and Hinkley, Bootstrap Methods and their Application, 1997, section 3.8).
    Every block counts alike, however many samples it has. Since noise within blocks is drawn twice, the
    interval is on the safe side: of simulated ones meant to
    hold the true ratio in 95 % of cases, 97 to 99 % did.

    Args:
        a_blocks: A's durations, block by block.
        b_blocks: B's, as many blocks; a pair in which either is empty is left out.
        statistic: a fraction, 0 to 1, for that percentile of all samples; or ``"mean"``.
        confidence: of the interval, above 0, below 1.
        resamples: how many to draw.
        seed: of the draws.

    Returns:
        The ratio and its interval. NaN without a pair of blocks, or when a sample is NaN; infinite where
        B's statistic is 0, NaN where A's is 0 too. One block of one sample gives an interval without width.

    Raises:
        ValueError: another number of blocks in A and B, or an argument that cannot be.
    """
    of = _statistic(statistic)
    if len(a_blocks) != len(b_blocks):
        raise ValueError(f"ratio_interval: blocks come in pairs, got {len(a_blocks)} and {len(b_blocks)}")
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"ratio_interval: confidence must be above 0 and below 1, got {confidence!r}")
    if resamples < 1:
        raise ValueError(f"ratio_interval: resamples must be 1 or more, got {resamples!r}")
    pairs = [(_flat(a), _flat(b)) for a, b in zip(a_blocks, b_blocks, strict=True)]
    pairs = [(a, b) for a, b in pairs if len(a) and len(b)]
    if not pairs:
        return Interval(math.nan, math.nan, math.nan, confidence)
    a, b = _Blocks([pair[0] for pair in pairs]), _Blocks([pair[1] for pair in pairs])
    if np.isnan(a.values).any() or np.isnan(b.values).any():
        return Interval(math.nan, math.nan, math.nan, confidence)
    value = _ratio(of(a.evened()), of(b.evened()))[0]
    ratios = _resampled(a, b, of, resamples, np.random.default_rng(seed))
    if np.isnan(ratios).any():
        return Interval(float(value), math.nan, math.nan, confidence)
    tail = (1.0 - confidence) / 2.0
    # Without interpolation: between an infinite ratio and another there is nothing.
    low, high = np.quantile(ratios, [tail, 1.0 - tail], method="nearest")
    return Interval(float(value), float(low), float(high), confidence)


class _Blocks:
    """Blocks of samples, end to end."""

    def __init__(self, blocks: list[_Floats]) -> None:
        self.values = np.concatenate(blocks)
        self.sizes = np.array([len(block) for block in blocks])
        self.starts = np.concatenate([[0], np.cumsum(self.sizes)[:-1]])
        self.per_block = math.ceil(self.sizes.mean())

    def evened(self) -> _Floats:
        """All samples as one row, ``(1, n)``; of blocks of many sizes, each repeated to the same weight."""
        if len(set(self.sizes.tolist())) == 1:
            return self.values[None, :]
        wanted = int(self.sizes.max())
        # Evenly over the sorted block, so that each of its percentiles stays where it is.
        blocks = [
            np.sort(self.values[start : start + size])[np.arange(wanted) * size // wanted]
            for start, size in zip(self.starts, self.sizes, strict=True)
        ]
        return np.concatenate(blocks)[None, :]

    def draw(self, chosen: npt.NDArray[Any], random: np.random.Generator) -> _Floats:
        """Samples of the chosen blocks: ``(resamples, blocks)`` indices -> ``(resamples, samples)``."""
        shape = (*chosen.shape, self.per_block)
        within = random.random(shape, dtype=np.float32) * self.sizes[chosen].astype(np.float32)[..., None]
        at = within.astype(np.int32)
        # A product of float32 can be rounded up to the size itself.
        np.minimum(at, (self.sizes[chosen] - 1).astype(np.int32)[..., None], out=at)
        at += self.starts[chosen].astype(np.int32)[..., None]
        drawn: _Floats = np.take(self.values, at.reshape(len(chosen), -1))
        return drawn


def _resampled(
    a: _Blocks,
    b: _Blocks,
    of: Callable[[_Floats], _Floats],
    resamples: int,
    random: np.random.Generator,
) -> _Floats:
    """The ratio of each resample."""
    count = len(a.sizes)
    step = max(1, _CHUNK // (count * max(a.per_block, b.per_block)))
    found: list[_Floats] = []
    for first in range(0, resamples, step):
        chosen = random.integers(0, count, size=(min(step, resamples - first), count))
        found.append(_ratio(of(a.draw(chosen, random)), of(b.draw(chosen, random))))
    return np.concatenate(found)


def _ratio(a: _Floats, b: _Floats) -> _Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(a / b, dtype=np.float64)


def _statistic(statistic: float | str) -> Callable[[_Floats], _Floats]:
    """Of each row of ``(rows, n)``; the rows may be reordered."""
    if statistic == "mean":
        return lambda rows: np.asarray(rows.mean(axis=1))
    if not isinstance(statistic, str):
        _check_fraction(statistic)
        return lambda rows: _percentile_of_rows(rows, statistic)
    raise ValueError(f'ratio_interval: statistic must be a fraction or "mean", got {statistic!r}')


def _percentile_of_rows(rows: _Floats, fraction: float) -> _Floats:
    """As ``numpy.percentile`` with ``method="linear"`` of rows without NaN, in less time."""
    at = fraction * (rows.shape[1] - 1)
    low = math.floor(at)
    high = min(low + 1, rows.shape[1] - 1)
    parted = np.partition(rows, [low, high], axis=1)
    below, above = parted[:, low], parted[:, high]
    return np.asarray(below + (above - below) * (at - low))


def _flat(values: npt.ArrayLike) -> _Floats:
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _check_fraction(fraction: float) -> None:
    if not 0.0 <= fraction <= 1.0:
        raise ValueError(f"a percentile is given as a fraction, 0 to 1, such as 0.99; got {fraction!r}")
