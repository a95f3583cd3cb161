"""Interleaved timing: every candidate runs once a round, so that a slow moment hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

__all__ = ["Timing", "interleave"]


@dataclass(frozen=True)
class Timing:
    """Seconds of CPU per call, one sample a round."""

    samples_s: tuple[float, ...]

    @property
    def median_s(self) -> float:
        """The median sample."""
        return statistics.median(self.samples_s)

    def over(self, base: Timing) -> tuple[float, float, float]:
        """Ratio to ``base`` round by round: median, and the 10th and 90th percentiles."""
        ratios = [mine / theirs for mine, theirs in zip(self.samples_s, base.samples_s, strict=True)]
        deciles = statistics.quantiles(ratios, n=10)
        return statistics.median(ratios), deciles[0], deciles[-1]

    def minus(self, base: Timing) -> float:
        """Median of the differences to ``base`` round by round, seconds."""
        return statistics.median(m - b for m, b in zip(self.samples_s, base.samples_s, strict=True))


def interleave(
    candidates: Mapping[str, Callable[[], object]], *, rounds: int = 31, round_s: float = 0.004
) -> dict[str, Timing]:
    """Time each candidate in each round; CPU time of this thread, so that other work counts less.

    Args:
        candidates: name -> function of no argument.
        rounds: samples per candidate.
        round_s: about how long one sample takes, seconds.
    """
    loops = {name: _loops(call, round_s) for name, call in candidates.items()}
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, call in candidates.items():
            samples[name].append(_per_call(call, loops[name]))
    return {name: Timing(tuple(times)) for name, times in samples.items()}


def _loops(call: Callable[[], object], round_s: float) -> int:
    loops = 1
    while (spent := _per_call(call, loops) * loops) < round_s / 4:
        loops *= 4
    return max(1, round(loops * round_s / spent))


def _per_call(call: Callable[[], object], loops: int) -> float:
    repeated = range(loops)
    start = time.thread_time()
    for _ in repeated:
        call()
    return (time.thread_time() - start) / loops
