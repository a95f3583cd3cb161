"""By how much two sets of blocks of calls differ, and how sure that is.

Knows times of calls in blocks. Knows nothing of what was called, or how.

What is estimated, for blocks in pairs. Each pair has a level: the geometric mean of the medians of its
two blocks. All times of a pair are divided by it, which takes out what the machine did to both; a long
call stays as long as it is beside its neighbours. Then all calls of a side are one set, and the ratio
is that of the two sets' percentiles, means or throughputs. So the ratio of a percentile needs no block
to be long enough for it, and a slow phase of the machine does not drown a difference.

How sure. Under the ratio r, dividing B's times by r makes the two blocks of a pair alike. With the
common percentile q of all times so scaled, a pair's score is how many more of A's calls than of B's lie
beyond q (for a mean: how much more time A took than its calls would at the common mean). The sign of
each score is a coin's, if the order of the two blocks was; see :mod:`~ml_pipes.benchmark.resampling`.
For a thing compared with itself that is exact, and so is every interval where B's times are a multiple
of A's. Where they are spread otherwise it is an approximation, which tests hold against simulations.

That calls within a block depend on each other, and that only whole blocks may be compared, is the point
of T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013,
https://doi.org/10.1145/2464157.2464160.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ml_pipes.benchmark.resampling import Floats, accepted, shuffles, sign_flips
from ml_pipes.benchmark.samples import Samples

__all__ = [
    "Block",
    "Ratio",
    "StatisticName",
    "block_of",
    "fraction_of",
    "paired_ratio",
    "unpaired_ratio",
    "value_of",
]

StatisticName: TypeAlias = str
"""``"p50"`` and other percentiles, ``"p99.9"``; ``"mean"``; ``"throughput"``."""

_SAME = 1e-12


@dataclass(frozen=True, eq=False)
class Block:
    """Calls made one after another, or at once.

    Attributes:
        latency_s: of the successes, seconds.
        successes: that ended in the window.
        duration_s: of the window.
    """

    latency_s: Floats
    successes: int
    duration_s: float


@dataclass(frozen=True)
class Ratio:
    """B's figure by A's, and between which two it lies.

    Attributes:
        value: the ratio; NaN where there is none.
        low: lower end; 0 when nothing bounds it.
        high: upper end; infinite when nothing bounds it.
        confidence: how often such an interval holds the true ratio, 0 to 1; each end by itself
            bounds it with ``(1 + confidence) / 2``.
        blocks: of a side that it is made of.
    """

    value: float
    low: float
    high: float
    confidence: float
    blocks: int

    @property
    def half_width(self) -> float:
        """Half of what lies between the ends; infinite when one is missing, NaN without a ratio."""
        return math.inf if self.low == 0.0 else (self.high - self.low) / 2.0

    @property
    def is_known(self) -> bool:
        """There is a ratio."""
        return not math.isnan(self.value)


def block_of(samples: Samples) -> Block:
    """The measured calls as a block."""
    successes = int((samples.ended & ~samples.failed).sum())
    return Block(samples.latency_s, successes, samples.duration_s)


def fraction_of(statistic: StatisticName) -> float | None:
    """0.99 for ``"p99"``; None for a mean or a throughput.

    Raises:
        ValueError: it is none of them.
    """
    if statistic in {"mean", "throughput"}:
        return None
    try:
        percent = float(statistic.removeprefix("p")) if statistic.startswith("p") else math.nan
    except ValueError:
        percent = math.nan
    if not 0.0 < percent < 100.0:
        raise ValueError(
            f'a statistic is "mean", "throughput" or a percentile above p0 and below p100 such as "p50" or '
            f'"p99.9", got {statistic!r}'
        )
    return percent / 100.0


def value_of(blocks: Sequence[Block], statistic: StatisticName) -> float:
    """The figure of all calls of the blocks: seconds, or calls per second; NaN of none.

    Raises:
        ValueError: no such statistic.
    """
    fraction = fraction_of(statistic)
    if statistic == "throughput":
        duration_s = sum(block.duration_s for block in blocks)
        return sum(block.successes for block in blocks) / duration_s if duration_s > 0.0 else math.nan
    times = np.concatenate([np.zeros(0), *(block.latency_s for block in blocks)])
    return _of_times(times, fraction)


def paired_ratio(
    a: Sequence[Block],
    b: Sequence[Block],
    statistic: StatisticName,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Ratio:
    """B's figure by A's, from pairs of blocks of which a coin decided which came first.

    Pairs in which a side has no success are left out. Fewer than 6 pairs bound nothing at 95 %: five
    coins fall the same way once in 16 times.

    Args:
        a: A's blocks.
        b: B's, as many.
        statistic: of which.
        confidence: of the interval, above 0, below 1.
        seed: of the test's draws.

    Raises:
        ValueError: no such statistic, another number of blocks, or a confidence that cannot be.
    """
    fraction = fraction_of(statistic)
    _check_confidence(confidence)
    if len(a) != len(b):
        raise ValueError(f"paired_ratio: blocks come in pairs, got {len(a)} and {len(b)}")
    pairs = [(one, other) for one, other in zip(a, b, strict=True) if _has_time(one) and _has_time(other)]
    if not pairs:
        return Ratio(math.nan, math.nan, math.nan, confidence, 0)
    levels = [math.sqrt(float(np.median(one.latency_s) * np.median(other.latency_s))) for one, other in pairs]
    sides = [[_levelled(pair[at], level) for pair, level in zip(pairs, levels, strict=True)] for at in (0, 1)]
    scores, estimate = _scores(sides[0], sides[1], statistic, fraction)
    count = len(pairs)

    def differences(ratio: float) -> Floats:
        at = scores(ratio)
        return at[:count] - at[count:]

    return _ratio(differences, estimate, confidence, sign_flips(count, seed), count)


def unpaired_ratio(
    a: Sequence[Block],
    b: Sequence[Block],
    statistic: StatisticName,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Ratio:
    """B's figure by A's, from blocks that are in no pairs: two measurements, each cut into pieces of time.

    Holds what it says where blocks of one measurement do not depend on each other, and where the machine
    was the same for both: no test can tell a slower candidate from a slower machine.

    Args:
        a: A's blocks.
        b: B's.
        statistic: of which.
        confidence: of the interval, above 0, below 1.
        seed: of the test's draws.

    Raises:
        ValueError: no such statistic, or a confidence that cannot be.
    """
    fraction = fraction_of(statistic)
    _check_confidence(confidence)
    kept = [[block for block in side if _has_time(block)] for side in (a, b)]
    fewest = min(map(len, kept))
    if not fewest:
        return Ratio(math.nan, math.nan, math.nan, confidence, 0)
    scores, estimate = _scores(kept[0], kept[1], statistic, fraction)
    reference = shuffles(len(kept[0]), len(kept[1]), seed)
    return _ratio(scores, estimate, confidence, reference, fewest)


def _ratio(
    scores: Callable[[float], Floats], estimate: float, confidence: float, reference: Floats, blocks: int
) -> Ratio:
    if not (math.isfinite(estimate) and estimate > 0.0):
        return Ratio(math.nan, math.nan, math.nan, confidence, blocks)
    low, high = accepted(scores, estimate, confidence, reference)
    return Ratio(estimate, low, high, confidence, blocks)


def _scores(
    a: Sequence[Block], b: Sequence[Block], statistic: StatisticName, fraction: float | None
) -> tuple[Callable[[float], Floats], float]:
    """The function that gives the score of each block, A's first, under a ratio; and the ratio measured."""
    values = value_of(a, statistic), value_of(b, statistic)
    estimate = values[1] / values[0] if values[0] > 0.0 else math.nan
    if statistic == "throughput":
        return _throughput_scores(a, b), estimate
    times = np.concatenate([block.latency_s for block in (*a, *b)])
    sizes = np.array([len(block.latency_s) for block in (*a, *b)])
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    is_b = np.repeat(np.arange(len(sizes)) >= len(a), sizes)
    by_call = _beyond_mean if fraction is None else _beyond_percentile

    def scores(ratio: float) -> Floats:
        scaled = np.where(is_b, times / ratio, times)
        return np.asarray(np.add.reduceat(by_call(scaled, fraction or 0.0), starts))

    return scores, estimate


def _beyond_percentile(times: Floats, fraction: float) -> Floats:
    """1 for a time beyond the percentile, a half for one that is it, less their mean over all."""
    at = min(math.ceil(fraction * len(times)), len(times)) - 1
    limit = np.partition(times, at)[at]
    # Halves, so that a difference shows where all times of a side are the same.
    beyond = 0.5 * (times > limit * (1.0 - _SAME)) + 0.5 * (times > limit * (1.0 + _SAME))
    return np.asarray(beyond - beyond.mean())


def _beyond_mean(times: Floats, _: float) -> Floats:
    mean = times.mean()
    return np.asarray((times - mean) / mean)


def _throughput_scores(a: Sequence[Block], b: Sequence[Block]) -> Callable[[float], Floats]:
    """How many more calls ended in each block than would have at the common rate."""
    ended = np.array([block.successes for block in (*a, *b)], dtype=np.float64)
    durations_s = np.array([block.duration_s for block in (*a, *b)])
    is_b = np.arange(len(ended)) >= len(a)

    def scores(ratio: float) -> Floats:
        scaled_s = np.where(is_b, durations_s * ratio, durations_s)
        return np.asarray(ended - scaled_s * (ended.sum() / scaled_s.sum()))

    return scores


def _levelled(block: Block, level_s: float) -> Block:
    return Block(block.latency_s / level_s, block.successes, block.duration_s / level_s)


def _of_times(times: Floats, fraction: float | None) -> float:
    if not len(times):
        return math.nan
    if fraction is None:
        return float(times.mean())
    return float(np.percentile(times, fraction * 100.0, method="linear"))


def _has_time(block: Block) -> bool:
    """It has successes, and they took some time."""
    return len(block.latency_s) > 0 and block.duration_s > 0.0 and float(np.median(block.latency_s)) > 0.0


def _check_confidence(confidence: float) -> None:
    if not 0.0 < confidence < 1.0:
        raise ValueError(f"confidence must be above 0 and below 1, such as 0.95; got {confidence!r}")
