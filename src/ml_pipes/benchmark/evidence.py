"""What results tell a gate: a figure, how it compares with a baseline's, and what stands against it.

Knows results, of one side and of two. Knows nothing of conditions.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from ml_pipes.benchmark.comparison import ComparisonResult
from ml_pipes.benchmark.plain import plain
from ml_pipes.benchmark.ratios import (
    Block,
    Ratio,
    StatisticName,
    fraction_of,
    paired_ratio,
    unpaired_ratio,
    value_of,
)
from ml_pipes.benchmark.ratios import block_of as whole_block
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.samples import Samples

__all__ = ["Evidence", "NoEvidence", "OfComparison", "OfResult", "pieces"]

# Into how many pieces a measurement is cut: the most of which neighbours do not depend on each other.
_PIECES: Final = (24, 12, 6)
_CALLS_OF_A_PIECE = 5
# Of the correlation between neighbours; among 24 pieces that are independent it is beyond by chance in 10 %.
_CORRELATED = 0.25
# What is another each time, or is no trait of the machine.
_FLEETING: Final = ("date", "load")
_MOST_DIFFERENCES = 8


class NoEvidence(Exception):  # noqa: N818 - it is what there is none of
    """A figure is not to be had; says why."""


class Evidence(ABC):
    """What is known of a candidate.

    Attributes:
        label: of the candidate.
    """

    label: str

    @abstractmethod
    def value(self, statistic: StatisticName) -> float:
        """The figure: seconds, or calls per second.

        Raises:
            NoEvidence: it is not known.
        """

    @abstractmethod
    def ratio(self, statistic: StatisticName, confidence: float) -> Ratio:
        """The figure by the baseline's.

        Args:
            statistic: of which.
            confidence: of its interval.

        Raises:
            NoEvidence: it is not known.
            ValueError: there is no baseline.
        """

    @property
    @abstractmethod
    def calls(self) -> tuple[int, int]:
        """How many failed, those that never ended too, and how many were asked for."""

    @abstractmethod
    def doubts(self) -> Iterator[str]:
        """Why the candidate's figures must not be trusted."""

    def warnings(self) -> Iterator[str]:
        """What to bear in mind where it is compared with a baseline."""
        yield from ()

    @property
    def error(self) -> str | None:
        """Why there are no figures."""
        return None


class OfComparison(Evidence):
    """Two sides that were measured in turn.

    Args:
        result: what it found.
    """

    def __init__(self, result: ComparisonResult) -> None:
        self.label = result.labels[1]
        self._result = result
        self._sides = [
            [whole_block(each.baseline) for each in result.rounds],
            [whole_block(each.candidate) for each in result.rounds],
        ]

    def value(self, statistic: StatisticName) -> float:
        return _enough(self._sides[1], statistic)

    def ratio(self, statistic: StatisticName, confidence: float) -> Ratio:
        a, b = self._sides
        return paired_ratio(a, b, statistic, confidence=confidence, seed=self._result.seed)

    @property
    def calls(self) -> tuple[int, int]:
        return _calls([each.candidate for each in self._result.rounds])

    def doubts(self) -> Iterator[str]:
        yield from self._result.invalid


class OfResult(Evidence):
    """One measurement, and perhaps another of the baseline.

    Args:
        result: of the candidate.
        baseline: of the baseline.
    """

    def __init__(self, result: BenchmarkResult, baseline: BenchmarkResult | None) -> None:
        self.label = result.label or "the candidate"
        self._result = result
        self._baseline = baseline

    def value(self, statistic: StatisticName) -> float:
        if self._result.samples is not None:
            return _enough([whole_block(self._result.samples)], statistic)
        return _from_summary(self._result, statistic)

    def ratio(self, statistic: StatisticName, confidence: float) -> Ratio:
        if self._baseline is None:
            raise ValueError(
                "gate: a condition with 'not worse than' needs something to compare with; give a "
                "ComparisonResult, or baseline="
            )
        if self._baseline.error is not None:
            raise NoEvidence(f"the baseline has no figures: {self._baseline.error}")
        if self._baseline.workload != self._result.workload:
            raise NoEvidence(
                f"the loads differ, {self._baseline.workload} and {self._result.workload}: "
                "the figures cannot be compared"
            )
        a, b = _pieces_of(self._baseline, self._result)
        return unpaired_ratio(a, b, statistic, confidence=confidence)

    @property
    def calls(self) -> tuple[int, int]:
        if self._result.samples is not None:
            return _calls([self._result.samples])
        failed = sum(self._result.errors.values())
        return failed, failed + self._result.total.count

    def doubts(self) -> Iterator[str]:
        samples, verdict = self._result.samples, self._result.verdict
        if samples is not None and samples.interrupted:
            yield "it was interrupted"
        if verdict is not None:
            yield from () if verdict.valid else verdict.reasons
        elif samples is not None:
            yield from samples.invalid

    def warnings(self) -> Iterator[str]:
        if self._baseline is None:
            return
        yield (
            "the two were measured apart: where the machine changed in between, that looks like a "
            "difference; compare() measures them in turn"
        )
        yield from (f"the baseline: {doubt}" for doubt in OfResult(self._baseline, None).doubts())
        for name in ("environment", "measurement", "inputs"):
            differences = list(_differences(name, getattr(self._baseline, name), getattr(self._result, name)))
            yield from differences[:_MOST_DIFFERENCES]
            if len(differences) > _MOST_DIFFERENCES:
                yield f"and {len(differences) - _MOST_DIFFERENCES} more differences of the {name}"

    @property
    def error(self) -> str | None:
        return self._result.error


def pieces(samples: Samples, count: int) -> list[Block]:
    """A measurement cut into pieces of time, of as many calls each; none when they have fewer than 5.

    A piece lasts until the next one's first call, so that no stall is lost between two.

    Args:
        samples: the measurement.
        count: how many pieces.
    """
    order = np.argsort(samples.intended_s, kind="stable")
    order = order[samples.began[order]]
    if len(order) < count * _CALLS_OF_A_PIECE:
        return []
    parts = np.array_split(order, count)
    starts_s = [float(samples.intended_s[part[0]]) for part in parts[1:]]
    edges_s = [samples.since_s, *starts_s, samples.until_s]
    made = []
    for part, since_s, until_s in zip(parts, edges_s[:-1], edges_s[1:], strict=True):
        kept = part[~samples.failed[part]]
        latency_s = samples.ended_s[kept] - samples.intended_s[kept]
        made.append(Block(latency_s, len(kept), until_s - since_s))
    return made


def _pieces_of(baseline: BenchmarkResult, candidate: BenchmarkResult) -> tuple[list[Block], list[Block]]:
    """As many of each, and long enough that neighbours do not depend on each other.

    That is the method of batch means: G. S. Fishman, "Grouping observations in digital simulation",
    Management Science 24, 1978, https://doi.org/10.1287/mnsc.24.5.510.
    """
    named = {"the baseline": baseline, "the candidate": candidate}
    measured = []
    for which, result in named.items():
        if result.samples is None:
            raise NoEvidence(f"{which} has no raw samples, and figures without them have no interval")
        measured.append(result.samples)
        fewest = _PIECES[-1] * _CALLS_OF_A_PIECE
        if result.samples.count < fewest:
            raise NoEvidence(f"{which} has {result.samples.count} calls; it takes {fewest} or more")
    for count in _PIECES:
        a, b = (pieces(samples, count) for samples in measured)
        if a and b and max(_correlation(a), _correlation(b)) <= _CORRELATED:
            return a, b
    raise NoEvidence(
        "the machine changed while it was measured, and calls that depend on each other for so long have no "
        "interval; measure for longer, or in turn with compare()"
    )


def _correlation(blocks: list[Block]) -> float:
    """Between the medians of neighbours, from -1 to 1."""
    medians_s = np.array([np.median(block.latency_s) for block in blocks if len(block.latency_s)])
    around = medians_s - medians_s.mean() if len(medians_s) else medians_s
    spread = float((around**2).sum())
    return float((around[1:] * around[:-1]).sum()) / spread if spread > 0.0 else 0.0


def _enough(blocks: list[Block], statistic: StatisticName) -> float:
    """The figure of all calls, where there are enough of them.

    With fewer than ``log(0.05) / log(fraction)`` calls the longest one may well be below the percentile
    (Hahn and Meeker, Statistical Intervals, 1991, section 5.3).
    """
    value, fraction = value_of(blocks, statistic), fraction_of(statistic)
    if math.isnan(value):
        raise NoEvidence("no call succeeded")
    count = sum(len(block.latency_s) for block in blocks)
    _check_count(count, fraction, statistic)
    return value


def _check_count(count: int, fraction: float | None, statistic: StatisticName) -> None:
    if fraction is None:
        return
    needed = math.ceil(math.log(0.05) / math.log(fraction))
    if count < needed:
        raise NoEvidence(f"{count} calls do not tell a {statistic}; it takes {needed}")


def _from_summary(result: BenchmarkResult, statistic: StatisticName) -> float:
    """The figure of a result that did not keep its calls."""
    fraction = fraction_of(statistic)
    if statistic == "throughput":
        raise NoEvidence("the calls were not kept, and without them there is no throughput")
    _check_count(result.total.count, fraction, statistic)
    found = result.total.mean_ms if fraction is None else result.total.percentiles.get(fraction, math.nan)
    if fraction is not None and math.isnan(found):
        nearest = [ms for at, ms in result.total.percentiles.items() if math.isclose(at, fraction)]
        found = nearest[0] if nearest else math.nan
    if math.isnan(found):
        raise NoEvidence(f"the calls were not kept, and there is no {statistic} among the figures")
    return found / 1e3


def _calls(measured: list[Samples]) -> tuple[int, int]:
    failed = sum(int((each.began & each.failed).sum()) + each.unfinished for each in measured)
    return failed, sum(each.count + each.unfinished for each in measured)


def _differences(place: str, one: Any, other: Any) -> Iterator[str]:
    """Each leaf that is in one and another in the other, or in one only."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        for key in dict.fromkeys([*one, *other]):
            if place != "environment" or key not in _FLEETING:
                yield from _differences(f"{place} {key}", one.get(key), other.get(key))
    elif plain(one) != plain(other):
        yield f"{place} differs: {_short(one)}, now {_short(other)}"


def _short(value: Any) -> str:
    text = "not known" if value is None else str(value)
    return text if len(text) <= 60 else text[:57] + "..."
