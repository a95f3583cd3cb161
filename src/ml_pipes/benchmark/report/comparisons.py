"""A comparison side by side, in words and numbers: what the page says of it beside its figures.

Knows comparisons. Knows nothing of how a page looks.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ml_pipes.benchmark.comparison import ComparisonResult, Figure
from ml_pipes.benchmark.report.verdicts import Finding
from ml_pipes.benchmark.report.words import NOTHING, decimals_for, number, shortened, span

__all__ = ["Versus", "change", "figures_of", "versus_of"]

_STATES = {"faster": "valid", "slower": "invalid"}
_ENDED = {
    "max_s": "time was over",
    "interrupt": "it was interrupted",
    "until": "the interval was narrow enough",
}
_LONGEST_TITLE = 80


@dataclass(frozen=True)
class Versus:
    """What is said of a comparison.

    Attributes:
        key: its address in the page.
        title: which two.
        finding: what came of it.
        facts: how it was measured.
        lines: of each statistic: its name, both values, the change, its ends, how sure, and the verdict.
    """

    key: str
    title: str
    finding: Finding
    facts: tuple[tuple[str, str], ...]
    lines: tuple[tuple[str, ...], ...]


def versus_of(number_of_it: int, comparison: ComparisonResult) -> Versus:
    """A comparison in words."""
    baseline, candidate = comparison.labels
    return Versus(
        key=f"comparison-{number_of_it}",
        title=shortened(f"{candidate} against {baseline}", _LONGEST_TITLE),
        finding=_finding(comparison),
        facts=tuple(_facts(comparison)),
        lines=tuple(_line(figure) for figure in figures_of(comparison)),
    )


def figures_of(comparison: ComparisonResult) -> Sequence[Figure]:
    """Of each statistic; none without rounds."""
    return comparison.figures if comparison.rounds else ()


def change(ratio: float) -> str:
    """``-12.3 %`` of 0.877; a dash where there is no ratio."""
    return f"{(ratio - 1.0) * 100.0:+.1f} %" if math.isfinite(ratio) else NOTHING


def _finding(comparison: ComparisonResult) -> Finding:
    baseline, candidate = comparison.labels
    figures = figures_of(comparison)
    if not figures:
        return Finding("open", "TOO LITTLE TO TELL", f"{candidate} against {baseline}: no round was measured")
    first = figures[0]
    ends = (
        f"between {_low(first)} and {change(first.ratio.high)}, with {first.ratio.confidence:.0%} confidence"
    )
    text = f"{candidate} against {baseline}: {first.statistic} {change(first.ratio.value)} ({ends})"
    if first.verdict == "no difference found":
        text += f"; {first.text.partition('(')[2].rstrip(')')}"
    if comparison.invalid:
        return Finding("invalid", "INVALID", text, ((comparison.labels[1], comparison.invalid),))
    return Finding(_STATES.get(first.verdict, "open"), first.verdict.upper(), text)


def _line(figure: Figure) -> tuple[str, ...]:
    is_rate = figure.statistic == "throughput"
    scale, unit = (1.0, "per s") if is_rate else (1e3, "ms")
    values = (figure.baseline * scale, figure.candidate * scale)
    decimals = decimals_for(values)
    return (
        f"{figure.statistic}, {unit}",
        *(number(value, decimals) for value in values),
        change(figure.ratio.value),
        f"{_low(figure)} to {change(figure.ratio.high)}",
        f"{figure.ratio.confidence * 100.0:.4g} %",
        figure.text,
    )


def _low(figure: Figure) -> str:
    return change(figure.ratio.low) if figure.ratio.low > 0.0 else NOTHING


def _facts(comparison: ComparisonResult) -> Iterator[tuple[str, str]]:
    sides = [[each.baseline for each in comparison.rounds], [each.candidate for each in comparison.rounds]]
    calls = [float(sum(block.count for block in side)) for side in sides]
    yield "rounds", f"{len(comparison.rounds)}, in random order (seed {comparison.seed})"
    yield "calls", f"{span(calls, 'each side')}"
    yield "load", str(comparison.workload)
    yield "warm-up", f"{span([float(calls) for calls in comparison.warmup], 'calls')}, in no figure"
    ended = _ENDED.get(comparison.ended_by)
    yield "took", f"{comparison.elapsed_s:.1f} s" + (f"; ended since {ended}" if ended else "")
    if comparison.candidates > 1:
        yield "compared at once", f"{comparison.candidates} candidates, which share the error"
    for label, errors in zip(comparison.labels, comparison.errors, strict=True):
        if errors:
            named = ", ".join(f"{count} x {words}" for words, count in errors.items())
            yield f"errors of {label}", f"{sum(errors.values())} ({named})"
