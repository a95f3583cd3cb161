"""Intervals by turning a test around: all values that a test by re-drawing labels does not refuse.

Knows numbers that should not depend on which of two labels a block of calls bears. Knows nothing of
calls, of statistics, or of who gave out the labels.

A test by randomisation asks how often labels that are given out anew would make a difference as large
as the one that was seen. Where labels were in truth given out by coin, its error is exact: whatever the
machine did meanwhile, in slow phases, in drifts or in rare long calls, it did to the labels that a coin
had put there (R. A. Fisher, The Design of Experiments, 1935, chapter III; E. L. Lehmann and J. P. Romano,
Testing Statistical Hypotheses, 3rd ed., 2005, section 15.2). The values of a parameter that the test
does not refuse are an interval for it (section 3.5 there). The percentile bootstrap, which draws whole
blocks anew, needs many of them to be as sure as it says (B. Efron and R. J. Tibshirani, An Introduction
to the Bootstrap, 1993, chapters 13 and 14).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Reference", "accepted", "shuffles", "sign_flips"]

Floats: TypeAlias = npt.NDArray[np.float64]
Reference: TypeAlias = Floats
"""``(draws, n)``: each row times n scores, summed, is the sum under labels given out anew; the first row
stands for the labels as they were."""

# Up to so many pairs each way of giving out labels is looked at, else so many draws.
_ENUMERATED = 12
_DRAWS = 5000
# The interval is looked for within this factor of the estimate; beyond, there is no bound.
_WIDEST = math.log(1e3)
_FIRST_STEP = 5e-4
_PRECISION = 2e-3
_SAME = 1e-9


def sign_flips(pairs: int, seed: int) -> Reference:
    """Labels within pairs: each pair's difference keeps its sign or changes it.

    Args:
        pairs: how many.
        seed: of the draws, where there are too many ways to look at each.
    """
    if pairs <= _ENUMERATED:
        ways = np.arange(2**pairs)[:, None] >> np.arange(pairs)[None, :]
        return np.asarray(1.0 - 2.0 * (ways & 1), dtype=np.float64)
    random = np.random.default_rng([seed, pairs])
    signs = 1.0 - 2.0 * random.integers(0, 2, size=(_DRAWS, pairs))
    signs[0] = 1.0
    return np.asarray(signs, dtype=np.float64)


def shuffles(first: int, second: int, seed: int) -> Reference:
    """Labels without pairs: ``first`` of the blocks, whichever, bear one label, ``second`` the other.

    The row's numbers make the difference of the two means.

    Args:
        first: blocks of one label, which come first among the scores.
        second: blocks of the other.
        seed: of the draws.
    """
    random = np.random.default_rng([seed, first, second])
    weights = np.concatenate([np.full(first, 1.0 / first), np.full(second, -1.0 / second)])
    rows = np.tile(weights, (_DRAWS, 1))
    random.permuted(rows[1:], axis=1, out=rows[1:])
    return rows


def accepted(
    scores: Callable[[float], Floats], estimate: float, confidence: float, reference: Reference
) -> tuple[float, float]:
    """The interval of all values of a positive parameter that the test does not refuse.

    Args:
        scores: of a value: one number per pair or block, whose labels do not matter when the value is true.
        estimate: a value that the test does not refuse, above 0.
        confidence: 0 to 1; the test is two-sided. An end is, by itself, a bound at ``(1 + confidence) / 2``.
        reference: how labels may be given out anew.

    Returns:
        Its ends; 0 or infinite where no value within a factor of 1000 is refused.
    """

    def is_refused(log_value: float) -> bool:
        at = scores(math.exp(log_value))
        sums = np.abs(reference @ at)
        noise = _SAME * float(np.abs(at).max(initial=0.0))
        p = float(np.mean(sums >= sums[0] * (1.0 - _SAME) - noise))
        return p <= (1.0 - confidence) * (1.0 + _SAME)

    middle = math.log(estimate)
    low, high = (_edge(is_refused, middle, direction) for direction in (-1.0, 1.0))
    return math.exp(low), math.exp(high)


def _edge(is_refused: Callable[[float], bool], middle: float, direction: float) -> float:
    """Where the refused values begin, on the refused side of it; infinite when they do not."""
    inner, outer = 0.0, _FIRST_STEP
    while not is_refused(middle + direction * outer):
        inner, outer = outer, 2.0 * outer
        if outer > _WIDEST:
            return direction * math.inf
    while outer - inner > _PRECISION * outer and outer > 1e-6:
        tried = 0.5 * (inner + outer)
        if is_refused(middle + direction * tried):
            outer = tried
        else:
            inner = tried
    return middle + direction * outer
