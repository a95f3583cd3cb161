"""Figures of many durations: percentiles, a summary, and how many make them sure.

Knows numbers. Knows nothing of where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["Summary", "percentile_of", "samples_needed", "summary"]

_Floats = npt.NDArray[np.float64]


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


def _flat(values: npt.ArrayLike) -> _Floats:
    return np.asarray(values, dtype=np.float64).reshape(-1)


def _check_fraction(fraction: float) -> None:
    if not 0.0 <= fraction <= 1.0:
        raise ValueError(f"a percentile is given as a fraction, 0 to 1, such as 0.99; got {fraction!r}")
