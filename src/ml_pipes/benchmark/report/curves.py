"""Latency over throughput, and latency over its percentile.

Knows rows and figures. Knows nothing of pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes.benchmark.report.canvas import Section, colors, figure, lines, points, shown, size_axis
from ml_pipes.benchmark.report.groups import Group, asked, groups_of
from ml_pipes.benchmark.report.rows import Row
from ml_pipes.benchmark.report.thinning import percentile_points
from ml_pipes.benchmark.report.words import shortened, with_unit

__all__ = ["percentile_figure", "percentile_section", "throughput_section"]

_POINTS = 400
# Beyond these many lines a legend takes more room than the figure.
_MOST_NAMED = 24
_TICKS = {
    1: "0",
    2: "50",
    4: "75",
    10: "90",
    20: "95",
    100: "99",
    1000: "99.9",
    10**4: "99.99",
    10**5: "99.999",
}


def throughput_section(rows: Sequence[Row]) -> Section | None:
    """Latency over throughput; None where no two results differ only in how much was asked."""
    groups = groups_of([row for row in rows if _is_point(row)])
    if not any(len(group.rows) > 1 for group in groups):
        return None
    traces = [
        _curve(group, color, percentile)
        for group, color in zip(groups, colors(len(groups)), strict=True)
        for percentile in ("p50", "p99")
    ]
    made = figure(
        [trace for trace in traces if trace is not None],
        height_px=430,
        legend={"groupclick": "togglegroup"},
        showlegend=len(groups) <= _MOST_NAMED,
    )
    made.update_xaxes(title_text="throughput, successful calls per second", rangemode="tozero")
    found = [ms for row in rows if _is_point(row) for ms in (row.p50_ms, row.p99_ms) if ms is not None]
    made.update_yaxes(title_text="latency, ms", **size_axis(found))
    reading = (
        "Each line is one pipeline asked for more and more; the number at a point says how much (callers in "
        "a closed loop, calls per second in an open one). Right and low is good. Where a line turns upwards "
        "without going further right, it gives no more: callers only wait longer. Solid: p99, dotted: p50."
    )
    return Section("throughput", "Throughput and latency", made, reading)


def percentile_section(rows: Sequence[Row]) -> Section | None:
    """Latency over its percentile; None where no result has its calls."""
    able = [(row.name, row.latency_ms) for row in rows if len(row.latency_ms) > 1]
    return percentile_figure(able, colors(len(able)), "percentiles")


def percentile_figure(
    named: Sequence[tuple[str, npt.NDArray[np.float64]]], coloring: Sequence[str], key: str
) -> Section | None:
    """Latencies over their percentiles; None where there are none.

    Args:
        named: names, and milliseconds in any order.
        coloring: a colour for each.
        key: of the section.
    """
    traces, longest, everything = [], 2, []
    for (name, latency_ms), color in zip(named, coloring, strict=True):
        x, y_ms = percentile_points(latency_ms[np.isfinite(latency_ms)], _POINTS)
        if len(x):
            longest = max(longest, int(x[-1]))
            everything += [float(y_ms[0]), float(y_ms[-1])]
            traces.append(_percentiles(name, x, y_ms, color))
    if not traces:
        return None
    made = figure(traces, height_px=430, showlegend=1 < len(traces) <= _MOST_NAMED)
    ticks = [at for at in _TICKS if at <= longest]
    made.update_xaxes(
        type="log",
        title_text="percentile of the calls",
        tickvals=ticks,
        ticktext=[_TICKS[at] for at in ticks],
    )
    made.update_yaxes(title_text="latency, ms", **size_axis(everything))
    reading = (
        "From all calls that were measured: at 99, one call in a hundred took at least so long; each "
        "mark to the right is rarer. Flat is good; a step is something that happens now and then and costs "
        "that much. A line ends with the slowest call: what is beyond was not measured."
    )
    return Section(key, "Latency by percentile", made, reading)


def _is_point(row: Row) -> bool:
    return (
        row.throughput_per_s is not None and row.p50_ms is not None and asked(row.result.workload) is not None
    )


def _curve(group: Group, color: str, percentile: str) -> Any:
    is_main = percentile == "p99"
    both = [(row, row.p99_ms if is_main else row.p50_ms) for row in group.rows]
    seen = [(row, ms) for row, ms in both if ms is not None]
    if not seen:
        return None
    amounts = [asked(row.result.workload) for row, _ in seen]
    return points(
        x=[row.throughput_per_s for row, _ in seen],
        y=[ms for _, ms in seen],
        mode="lines+markers+text" if is_main else "lines+markers",
        text=[f"{amount[0]:g}" if amount else "" for amount in amounts],
        textposition="top center",
        textfont={"size": 11},
        cliponaxis=False,
        name=shown(shortened(group.name, 34)),
        legendgroup=shown(group.name),
        showlegend=is_main,
        line={"color": color, "width": 2, "dash": "solid" if is_main else "dot"},
        marker={
            "color": color,
            "size": 8 if is_main else 6,
            "symbol": "circle" if is_main else "circle-open",
        },
        hoverinfo="text",
        hovertext=[_told(row, ms, percentile) for row, ms in seen],
    )


def _told(row: Row, ms: float, percentile: str) -> str:
    return lines(
        [
            row.label,
            f"asked: {row.result.workload}",
            f"throughput {with_unit(row.throughput_per_s, 'per s')}",
            f"{percentile} {with_unit(ms, 'ms')}",
            *([] if row.is_valid is not False else ["INVALID"]),
        ]
    )


def _percentiles(name: str, x: Any, y_ms: Any, color: str) -> Any:
    below = [f"{(1.0 - 1.0 / float(at)) * 100.0:.6g}" for at in x]
    return points(
        x=x.tolist(),
        y=y_ms.tolist(),
        mode="lines",
        name=shown(shortened(name, 40)),
        line={"color": color, "width": 2},
        hoverinfo="text",
        hovertext=[
            lines(
                [
                    name,
                    f"p{share}: {with_unit(float(ms), 'ms')}",
                    f"1 call in {at:,.4g} took so long or longer",
                ]
            )
            for at, ms, share in zip(x, y_ms, below, strict=True)
        ],
    )
