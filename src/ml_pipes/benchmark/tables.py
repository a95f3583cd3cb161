"""Results as plain text: a table of one, of several side by side, of the differences of two.

Knows figures and text. Knows nothing of how they were measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from ml_pipes.benchmark.stat import InvocationStat, InvocationStatDiff, pairs

__all__ = ["comparison_table", "diff_table", "percentile_name", "stat_table"]

_COLLAPSED = "* Child spans are collapsed"
_UNIT = "(all values in ms)"


def percentile_name(p: float) -> str:
    """``p50`` for 0.5, ``p99.9`` for 0.999: each digit that was given, and no more."""
    exact = (Decimal(repr(float(p))) * 100).normalize()
    return f"p{exact:f}"


def stat_table(total: InvocationStat, operators: Sequence[InvocationStat], *, expand_regions: bool) -> str:
    """A line for the whole, one per step, the steps of regions indented below them; milliseconds.

    Args:
        total: of the whole.
        operators: of the steps.
        expand_regions: show the steps of regions; else a region that has some is marked with ``*``.
    """
    wanted = list(total.percentiles)
    columns = ["mean", *map(percentile_name, wanted), "stddev", "min", "max"]
    rows = [("total", total), *_steps(operators, expand_regions)]
    width = max(len(label) for label, _ in [("operator", None), *rows])
    head = _line("operator", width, columns)
    lines = [head, "-" * len(head)]
    lines += [_line(label, width, _cells(stat, wanted)) for label, stat in rows]
    lines += ["-" * len(head), f"runs: {total.count}  {_UNIT}"]
    if not expand_regions and any(stat.children for stat in operators):
        lines.append(_COLLAPSED)
    return "\n".join(lines)


def comparison_table(
    results: Sequence[tuple[str, InvocationStat, Sequence[InvocationStat]]], *, expand_regions: bool
) -> str:
    """A line per result, then the mean of each step, a column per result; milliseconds.

    Args:
        results: of each, its label, its whole and its steps.
        expand_regions: as in :func:`stat_table`.
    """
    if not results:
        return "no results"
    wanted = list(dict.fromkeys(p for _, total, _ in results for p in total.percentiles))
    columns = ["mean", *map(percentile_name, wanted), "stddev", "min", "max", "runs"]
    names = [f"[{at}] {label}".rstrip() for at, (label, _, _) in enumerate(results, 1)]
    width = max(map(len, ["result", *names]))
    head = _line("result", width, columns)
    lines = [head, "-" * len(head)]
    for name, (_, total, _) in zip(names, results, strict=True):
        lines.append(_line(name, width, [*_cells(total, wanted), f"{total.count}"]))
    lines += ["", *_means([operators for _, _, operators in results], expand_regions), "", _UNIT]
    if not expand_regions and any(stat.children for _, _, operators in results for stat in operators):
        lines.append(_COLLAPSED)
    return "\n".join(lines)


def diff_table(
    labels: tuple[str, str],
    totals: tuple[InvocationStat, InvocationStat],
    operators: tuple[Sequence[InvocationStat], Sequence[InvocationStat]],
) -> str:
    """The means of two results and their differences, a line per step; milliseconds.

    Args:
        labels: the baseline's and the candidate's, as all that follows.
        totals: of the whole.
        operators: of the steps.
    """
    rows: list[tuple[str, InvocationStat | None, InvocationStat | None]] = [("total", *totals)]
    rows += _paired(*operators, depth=0)
    wanted = [p for p in totals[0].percentiles if p in totals[1].percentiles]
    columns = ["baseline", "candidate", "delta", "delta %", *(f"d{percentile_name(p)}" for p in wanted)]
    width = max(map(len, ["operator", *(label for label, _, _ in rows)]))
    head = _line("operator", width, columns)
    lines = [f"baseline:  {labels[0]}", f"candidate: {labels[1]}", "", head, "-" * len(head)]
    for label, one, other in rows:
        cells = _diff_cells(InvocationStatDiff.between(one, other, label), one, other, wanted)
        lines.append(_line(label, width, cells))
    lines += ["-" * len(head), f"runs: {totals[0].count} and {totals[1].count}  {_UNIT}"]
    return "\n".join(line.rstrip() for line in lines)


def _line(label: str, width: int, cells: Iterable[str]) -> str:
    return f"{label:<{width}} " + " ".join(f"{cell:>9}" for cell in cells)


def _cells(stat: InvocationStat, wanted: Sequence[float]) -> list[str]:
    at = [stat.percentiles.get(p, math.nan) for p in wanted]
    return [_ms(value) for value in (stat.mean_ms, *at, stat.stddev_ms, stat.min_ms, stat.max_ms)]


def _ms(value: float | None) -> str:
    """With two digits; a dash where there is no time."""
    return "-" if value is None or math.isnan(value) else f"{value:9.2f}"


def _steps(
    operators: Sequence[InvocationStat], expand_regions: bool, depth: int = 0
) -> Iterator[tuple[str, InvocationStat]]:
    for stat in operators:
        is_collapsed = bool(stat.children) and not expand_regions
        yield "  " * depth + stat.label + ("*" if is_collapsed else ""), stat
        if not is_collapsed:
            yield from _steps(stat.children, expand_regions, depth + 1)


def _means(results: Sequence[Sequence[InvocationStat]], expand_regions: bool) -> list[str]:
    """The mean of each step, a column per result; steps of the same label stand in one line."""
    rows = list(_aligned(results, expand_regions, 0))
    width = max(map(len, ["operator", *(label for label, _ in rows)]))
    head = _line("operator", width, [f"[{at}]" for at in range(1, len(results) + 1)])
    cells = ([_ms(stat.mean_ms if stat else None) for stat in stats] for _, stats in rows)
    return [
        head,
        "-" * len(head),
        *(_line(label, width, means) for (label, _), means in zip(rows, cells, strict=True)),
    ]


def _aligned(
    results: Sequence[Sequence[InvocationStat]], expand_regions: bool, depth: int
) -> Iterator[tuple[str, list[InvocationStat | None]]]:
    order: list[InvocationStat] = []
    for operators in results:
        order = [one or other for one, other, _ in pairs(order, operators) if one or other]  # type: ignore[misc] # one of them is there
    by_label = [{stat.label: stat for stat in operators} for operators in results]
    for label in (stat.label for stat in order):
        stats = [steps.get(label) for steps in by_label]
        children = [stat.children if stat else [] for stat in stats]
        is_collapsed = any(children) and not expand_regions
        yield "  " * depth + label + ("*" if is_collapsed else ""), stats
        if any(children) and expand_regions:
            yield from _aligned(children, expand_regions, depth + 1)


def _paired(
    baseline: Sequence[InvocationStat], candidate: Sequence[InvocationStat], depth: int
) -> Iterator[tuple[str, InvocationStat | None, InvocationStat | None]]:
    for one, other, label in pairs(baseline, candidate):
        yield "  " * depth + label, one, other
        children = (one.children if one else (), other.children if other else ())
        yield from _paired(*children, depth=depth + 1)


def _diff_cells(
    diff: InvocationStatDiff,
    one: InvocationStat | None,
    other: InvocationStat | None,
    wanted: Sequence[float],
) -> list[str]:
    means = [_ms(one.mean_ms if one else None), _ms(other.mean_ms if other else None)]
    if diff.only_in is not None:
        return [*means, f"only in {diff.only_in}"]
    deltas = diff.percentile_deltas or {}
    percent = "-" if diff.mean_delta_pct is None else f"{diff.mean_delta_pct:+.1f}%"
    return [*means, _signed(diff.mean_delta_ms), percent, *(_signed(deltas.get(p)) for p in wanted)]


def _signed(value: float | None) -> str:
    return "-" if value is None else f"{value:+.2f}"
