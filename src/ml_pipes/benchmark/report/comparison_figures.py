"""The figures of a comparison: how much differs, how it went round by round, and by percentile.

Knows comparisons and figures. Knows nothing of pages.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ml_pipes.benchmark.comparison import ComparisonResult, Figure
from ml_pipes.benchmark.report.canvas import (
    BLUE,
    RED,
    Section,
    figure,
    lines,
    points,
    rows_axis,
    shown,
    size_axis,
)
from ml_pipes.benchmark.report.comparisons import change, figures_of
from ml_pipes.benchmark.report.curves import percentile_figure
from ml_pipes.benchmark.report.words import shortened, with_unit
from ml_pipes.benchmark.samples import Samples

__all__ = ["comparison_sections"]

_ORANGE, _GREEN, _GREY = "#e69f00", "#009e73", "#8a8a8a"
_COLORS = {"faster": _GREEN, "slower": RED}


def comparison_sections(comparison: ComparisonResult, key: str) -> list[Section]:
    """What there is to draw."""
    if not comparison.rounds:
        return []
    made = [_changes(figures_of(comparison), key), _rounds(comparison, key), _percentiles(comparison, key)]
    return [section for section in made if section is not None]


def _changes(found: Sequence[Figure], key: str) -> Section | None:
    able = [each for each in found if each.ratio.is_known and math.isfinite(each.ratio.value)]
    if not able:
        return None
    made = figure(
        [_change(at, each) for at, each in enumerate(able)],
        height_px=110 + 40 * len(able),
        showlegend=False,
        shapes=[
            {"type": "line", "x0": 0, "x1": 0, "yref": "paper", "y0": 0, "y1": 1, "line": {"color": _GREY}}
        ],
    )
    made.update_yaxes(**rows_axis([each.statistic for each in able]))
    made.update_xaxes(title_text="change of the candidate, %", zeroline=False)
    reading = (
        "How much the candidate differs, and between which two the true difference lies. A line that "
        "crosses 0 has found no difference; the shorter it is, the smaller a difference would have been "
        "found. Of times left is good, of throughput right; green is faster, red slower. Where a line has no "
        "end, nothing bounds the difference."
    )
    return Section(f"{key}-changes", "What differs", made, reading)


def _change(at: int, each: Figure) -> Any:
    low, value, high = ((end - 1.0) * 100.0 for end in (each.ratio.low, each.ratio.value, each.ratio.high))
    color = _COLORS.get(each.verdict, _GREY)
    return points(
        x=[value],
        y=[at],
        mode="markers+text",
        text=[change(each.ratio.value)],
        textposition="top center",
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [high - value if math.isfinite(high) else 0.0],
            "arrayminus": [value - low if each.ratio.low > 0.0 else 0.0],
            "color": color,
            "thickness": 2.5,
            "width": 7,
            "visible": each.ratio.low > 0.0 or math.isfinite(high),
        },
        marker={"color": color, "size": 11},
        hoverinfo="text",
        hovertext=[
            lines(
                [
                    each.statistic,
                    f"{change(each.ratio.value)}, {change(each.ratio.low)} to {change(each.ratio.high)}",
                    each.text,
                ]
            )
        ],
    )


def _rounds(comparison: ComparisonResult, key: str) -> Section | None:
    sides = ([each.baseline for each in comparison.rounds], [each.candidate for each in comparison.rounds])
    medians = [[_median_ms(block) for block in side] for side in sides]
    known = [ms for side in medians for ms in side if ms is not None]
    if not known:
        return None
    traces = [
        points(
            x=list(range(1, len(side) + 1)),
            y=side,
            mode="lines+markers",
            name=shown(shortened(label, 36)),
            line={"color": color, "width": 1.5},
            marker={"color": color, "size": 6},
            hoverinfo="text",
            hovertext=[
                lines([label, f"round {at}", f"p50 {with_unit(ms, 'ms')}"]) for at, ms in enumerate(side, 1)
            ],
        )
        for label, side, color in zip(comparison.labels, medians, (BLUE, _ORANGE), strict=True)
    ]
    made = figure(traces, height_px=320, showlegend=True)
    made.update_xaxes(title_text="round")
    made.update_yaxes(title_text="p50 latency of a block, ms", **size_axis(known))
    reading = (
        "The median of each block of calls, both sides of a round beside each other. Where both wander "
        "together it was the machine, which the comparison takes out."
    )
    return Section(f"{key}-rounds", "Round by round", made, reading)


def _percentiles(comparison: ComparisonResult, key: str) -> Section | None:
    sides = ([each.baseline for each in comparison.rounds], [each.candidate for each in comparison.rounds])
    named = [
        (label, np.concatenate([block.latency_s for block in side]) * 1e3)
        for label, side in zip(comparison.labels, sides, strict=True)
    ]
    return percentile_figure(named, (BLUE, _ORANGE), f"{key}-percentiles")


def _median_ms(block: Samples) -> float | None:
    latency_s = block.latency_s[np.isfinite(block.latency_s)]
    return float(np.median(latency_s)) * 1e3 if len(latency_s) else None
