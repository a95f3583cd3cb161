"""What a comparison side by side found: shown, saved, loaded again.

Knows blocks of calls of two sides, and what their differences mean. Knows nothing of how they were made.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal, Self, TypeAlias

from ml_pipes.benchmark.files import read_json, write_json
from ml_pipes.benchmark.load import ClosedLoop, Load, load_from_dict
from ml_pipes.benchmark.plain import plain
from ml_pipes.benchmark.ratios import Block, Ratio, StatisticName, block_of, paired_ratio, value_of
from ml_pipes.benchmark.samples import Samples

__all__ = ["ComparisonResult", "ComparisonVerdict", "EndedBy", "Figure", "Round"]

ComparisonVerdict: TypeAlias = Literal["faster", "slower", "no difference found", "too little to tell"]
EndedBy: TypeAlias = Literal["blocks", "until", "max_s", "interrupt"]

_KIND = "comparison"
# A difference that is "seen" is one that would be found in so many of such comparisons.
_POWER = 0.8
_ENDED = {
    "max_s": "ENDED by max_s",
    "interrupt": "INTERRUPTED",
    "until": "ended when the interval was narrow enough",
}


@dataclass(frozen=True, eq=False)
class Round:
    """A block of calls of each side, made one after the other; times to the digits that files keep.

    Attributes:
        baseline: A's calls.
        candidate: B's.
        candidate_first: B's were made first.
    """

    baseline: Samples
    candidate: Samples
    candidate_first: bool

    def __post_init__(self) -> None:
        for name in ("baseline", "candidate"):
            # So that a result says the same when it is loaded again.
            object.__setattr__(self, name, Samples.from_dict(getattr(self, name).to_dict()))


@dataclass(frozen=True)
class Figure:
    """A statistic of both sides.

    Attributes:
        statistic: ``"p50"``, ``"mean"``, ``"throughput"``.
        baseline: A's, of all its calls: seconds, or calls per second.
        candidate: B's.
        ratio: B's by A's, from the rounds; since what the machine did to a round is taken out of it, it may
            differ a little from that of the two values.
    """

    statistic: StatisticName
    baseline: float
    candidate: float
    ratio: Ratio

    @property
    def verdict(self) -> ComparisonVerdict:
        """What may be said of B with the interval's confidence."""
        is_more = self.ratio.low > 1.0
        if is_more or self.ratio.high < 1.0:
            return "faster" if is_more == (self.statistic == "throughput") else "slower"
        return "no difference found" if math.isfinite(self.ratio.half_width) else "too little to tell"

    @property
    def would_have_seen(self) -> float:
        """The difference, 0.02 for 2 %, that four of five such comparisons would have found.

        Half the interval's width is found every second time; ``z(0.8)`` standard errors more, four times of
        five (J. Cohen, Statistical Power Analysis, 1988).
        """
        z = NormalDist().inv_cdf((1.0 + self.ratio.confidence) / 2.0)
        return self.ratio.half_width * (1.0 + NormalDist().inv_cdf(_POWER) / z)

    @property
    def text(self) -> str:
        """The verdict, and where none was found, how large a difference would have been."""
        if self.verdict != "no difference found":
            return self.verdict
        return f"{self.verdict} (would have seen {self.would_have_seen:.1%})".replace("%", " %")

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "statistic": self.statistic,
            "baseline": self.baseline,
            "candidate": self.candidate,
            "ratio": self.ratio.value,
            "low": self.ratio.low,
            "high": self.ratio.high,
            "confidence": self.ratio.confidence,
            "verdict": self.verdict,
        }


@dataclass(frozen=True, eq=False, repr=False)
class ComparisonResult:
    """Two sides measured in turn, and what differs. Equal to another of which the same JSON would be saved.

    The verdict is that of the first statistic, at ``confidence``. The others are further looks at the same
    calls: their intervals are wider, so that *all* of them hold with ``confidence`` (Bonferroni).

    Attributes:
        labels: the baseline's and the candidate's.
        rounds: what was measured, in order.
        statistics: which figures to show; the first one decides.
        confidence: of the intervals, 0 to 1.
        seed: of the order within the rounds, and of the intervals' draws.
        workload: how each block was called; in JSON, ``load``.
        candidates: how many were compared with this baseline at once; each gets its part of the error.
        until: the half width that was asked for; None when it was not.
        ended_by: what ended it: all blocks were made, the interval was narrow enough, time was over, Ctrl-C.
        elapsed_s: how long it took, warm-up included.
        warmup: calls of each side before the first round.
        environment: which machine it was, and what ran on it.
    """

    labels: tuple[str, str]
    rounds: tuple[Round, ...]
    statistics: tuple[StatisticName, ...] = ("p50", "p99", "mean", "throughput")
    confidence: float = 0.95
    seed: int = 0
    workload: Load = ClosedLoop(1)  # noqa: RUF009 - it is frozen
    candidates: int = 1
    until: float | None = None
    ended_by: EndedBy = "blocks"
    elapsed_s: float = 0.0
    warmup: tuple[int, int] = (0, 0)
    environment: dict[str, Any] | None = None

    @cached_property
    def figures(self) -> tuple[Figure, ...]:
        """Of each statistic, in order."""
        error = (1.0 - self.confidence) / self.candidates
        others = max(1, len(self.statistics) - 1)
        return tuple(
            self.figure(name, 1.0 - (error if at == 0 else error / others))
            for at, name in enumerate(self.statistics)
        )

    def figure(self, statistic: StatisticName, confidence: float | None = None) -> Figure:
        """Any statistic, looked at by itself.

        Args:
            statistic: ``"p50"`` and other percentiles, ``"mean"``, ``"throughput"``.
            confidence: of its interval; the result's by default.

        Raises:
            ValueError: no such statistic, or a confidence that cannot be.
        """
        a, b = self._blocks
        confidence = self.confidence if confidence is None else confidence
        ratio = paired_ratio(a, b, statistic, confidence=confidence, seed=self.seed)
        return Figure(statistic, value_of(a, statistic), value_of(b, statistic), ratio)

    @property
    def verdict(self) -> ComparisonVerdict:
        """What may be said of the candidate, by the first statistic."""
        return self.figures[0].verdict

    @property
    def errors(self) -> tuple[dict[str, int], dict[str, int]]:
        """What calls raised, by type and first words -> how often; the baseline's and the candidate's."""
        counts: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        for each in self.rounds:
            counts[0].update(each.baseline.errors)
            counts[1].update(each.candidate.errors)
        return dict(counts[0]), dict(counts[1])

    @property
    def invalid(self) -> tuple[str, ...]:
        """Why the figures must not be trusted, in words; empty when nothing was found."""
        sides = [(self.labels[0], [each.baseline for each in self.rounds])]
        sides += [(self.labels[1], [each.candidate for each in self.rounds])]
        return tuple(
            f"{label}: {reason} ({count} of {len(blocks)} blocks)"
            for label, blocks in sides
            for reason, count in Counter(_reason(words) for each in blocks for words in each.invalid).items()
        )

    def to_table(self) -> str:
        """A line per statistic, and below how it was measured."""
        head = ["statistic", *self.labels, "change", "low", "high", "sure"]
        rows = [head, *(_cells(figure) for figure in self.figures)]
        widths = [max(9, *(len(row[at]) for row in rows)) for at in range(len(head))]
        texts = ["verdict", *(figure.text for figure in self.figures)]
        lines = [
            f"{row[0]:<{widths[0]}} "
            + " ".join(f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True))
            + f"  {text}"
            for row, text in zip(rows, texts, strict=True)
        ]
        rule = "-" * max(map(len, lines))
        return "\n".join([lines[0], rule, *lines[1:], rule, *self._notes()])

    def to_dict(self) -> dict[str, Any]:
        """For JSON: each call of each block too. No number in it is NaN or infinite: such are None."""
        data = {
            "kind": _KIND,
            "labels": self.labels,
            "verdict": self.verdict,
            "figures": [figure.to_dict() for figure in self.figures],
            "statistics": self.statistics,
            "confidence": self.confidence,
            "seed": self.seed,
            "load": self.workload.to_dict(),
            "candidates": self.candidates,
            "until": self.until,
            "ended_by": self.ended_by,
            "elapsed_s": round(self.elapsed_s, 6),
            "warmup": self.warmup,
            "environment": self.environment,
            "rounds": [
                {
                    "candidate_first": each.candidate_first,
                    "baseline": each.baseline.to_dict(),
                    "candidate": each.candidate.to_dict(),
                }
                for each in self.rounds
            ],
        }
        return {key: plain(value) for key, value in data.items()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` gave, as a result again; its figures are made anew from the calls.

        Raises:
            ValueError: it is no comparison.
        """
        if not isinstance(data, Mapping) or data.get("kind") != _KIND:
            raise ValueError(f'this is no comparison: one is an object with "kind": "{_KIND}"')
        try:
            return cls(
                labels=(str(data["labels"][0]), str(data["labels"][1])),
                rounds=tuple(_round(each) for each in data["rounds"]),
                statistics=tuple(data["statistics"]),
                confidence=float(data["confidence"]),
                seed=int(data["seed"]),
                workload=load_from_dict(data["load"]),
                candidates=int(data.get("candidates", 1)),
                until=data.get("until"),
                ended_by=data.get("ended_by", "blocks"),
                elapsed_s=float(data.get("elapsed_s", 0.0)),
                warmup=tuple(data.get("warmup", (0, 0))),
                environment=data.get("environment"),
            )
        except (KeyError, IndexError, TypeError, AttributeError) as cause:
            raise ValueError(f"this is no comparison: {type(cause).__name__}: {cause}") from cause

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all; folders on the way are made.

        Args:
            path: the file; one that is there is replaced.
        """
        # Without indents: a line per time would be most of the file.
        write_json(path, self.to_dict())

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote.

        Raises:
            ValueError: the file holds no comparison.
            OSError: it cannot be read.
        """
        return read_json(path, "comparison", cls.from_dict)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ComparisonResult):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment] # it holds arrays

    def __str__(self) -> str:
        return self.to_table()

    def __repr__(self) -> str:
        first = self.figures[0]
        return (
            f"ComparisonResult({self.labels[1]!r} against {self.labels[0]!r}: {first.statistic} {first.text})"
        )

    @cached_property
    def _blocks(self) -> tuple[list[Block], list[Block]]:
        return (
            [block_of(each.baseline) for each in self.rounds],
            [block_of(each.candidate) for each in self.rounds],
        )

    def _notes(self) -> Iterator[str]:
        calls = [sum(side.count for side in sides) for sides in self._sides()]
        count = f"{calls[0]}" if calls[0] == calls[1] else f"{calls[0]} and {calls[1]}"
        yield (
            f"rounds: {len(self.rounds)}, of {count} calls each side, in random order (seed {self.seed})  "
            "(times in ms)"
        )
        yield f"load: {self.workload}"
        if len(self.statistics) > 1:
            yield f"{self.statistics[0]} decides; the intervals of the others are for all of them together"
        yield from filter(None, map(_shifted, self.figures))
        if self.ended_by != "blocks":
            yield f"{_ENDED[self.ended_by]}, after {self.elapsed_s:.1f} s"
        for label, errors in zip(self.labels, self.errors, strict=True):
            if errors:
                named = ", ".join(f"{count} x {name}" for name, count in errors.items())
                yield f"errors of {label}: {sum(errors.values())} ({named})"
        yield from (f"INVALID: {reason}" for reason in self.invalid)

    def _sides(self) -> tuple[list[Samples], list[Samples]]:
        return [each.baseline for each in self.rounds], [each.candidate for each in self.rounds]


def _round(data: Mapping[str, Any]) -> Round:
    return Round(
        baseline=Samples.from_dict(data["baseline"]),
        candidate=Samples.from_dict(data["candidate"]),
        candidate_first=bool(data["candidate_first"]),
    )


def _shifted(figure: Figure) -> str | None:
    """What to say where the two values, by themselves, tell another story than the rounds."""
    plain_ratio = figure.candidate / figure.baseline if figure.baseline else math.nan
    if not (figure.ratio.high < plain_ratio or plain_ratio < figure.ratio.low):
        return None
    return (
        f"{figure.statistic}: the values differ by {_change(plain_ratio)}, but within the rounds by "
        f"{_change(figure.ratio.value)}: the machine changed while it measured"
    )


def _reason(words: str) -> str:
    """What is common to the same reason of several blocks: its words up to the numbers."""
    return words.partition(":")[0]


def _cells(figure: Figure) -> Sequence[str]:
    scale = 1.0 if figure.statistic == "throughput" else 1e3
    ratio = figure.ratio
    return [
        figure.statistic + (" /s" if figure.statistic == "throughput" else ""),
        f"{figure.baseline * scale:.4g}",
        f"{figure.candidate * scale:.4g}",
        _change(ratio.value),
        _change(ratio.low) if ratio.low > 0.0 else "-",
        _change(ratio.high),
        f"{ratio.confidence * 100.0:.4g} %",
    ]


def _change(ratio: float) -> str:
    if not math.isfinite(ratio):
        return "-"
    percent = round((ratio - 1.0) * 100.0, 1) + 0.0  # which makes -0.0 to 0.0
    return f"{percent:+.1f} %"
