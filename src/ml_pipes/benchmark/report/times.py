"""Latency over the time of the measurement, a panel per result.

Knows rows and figures. Knows nothing of pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ml_pipes.benchmark.report.canvas import BLUE, RED, Section, panels, points, size_axis
from ml_pipes.benchmark.report.rows import Row
from ml_pipes.benchmark.report.thinning import thinned
from ml_pipes.benchmark.samples import Samples

__all__ = ["time_section"]

# What a browser draws without keeping its reader waiting.
_POINTS_IN_ALL = 16_000
_POINTS_IN_ONE = 4_000
_LEAST_POINTS = 150
_MOST_PANELS = 60


def time_section(rows: Sequence[Row]) -> Section | None:
    """Latency over time; None where no result has its calls."""
    able = [row for row in rows if row.result.samples is not None and row.result.samples.count]
    chosen = able[:_MOST_PANELS]
    if not chosen:
        return None
    most = max(_LEAST_POINTS, min(_POINTS_IN_ONE, _POINTS_IN_ALL // len(chosen)))
    made, places = panels(
        [(row.name,) for row in chosen], x_title="since the start, s", y_title="latency, ms", showlegend=False
    )
    drawn, there, ends_ms, any_failed = 0, 0, [], False
    for row, place in zip(chosen, places, strict=True):
        assert row.result.samples is not None  # noqa: S101 - chosen for it
        for failed in (False, True):
            at_s, latency_ms = _calls(row.result.samples, failed=failed)
            if not len(at_s):
                continue
            kept = thinned(latency_ms, most)
            made.add_trace(_points(at_s[kept], latency_ms[kept], failed=failed), **place)
            drawn, there = drawn + len(kept), there + len(at_s)
            ends_ms += [float(latency_ms.min()), float(latency_ms.max())]
            any_failed = any_failed or failed
    if not there:
        return None
    made.update_yaxes(**size_axis(ends_ms))
    return Section(
        "time", "Latency over time", made, _reading(drawn, there, any_failed, len(able) - len(chosen))
    )


def _calls(samples: Samples, *, failed: bool) -> tuple[Any, Any]:
    """Of the calls that were meant to start in the window, in that order: seconds from its start, and ms."""
    latency_ms = (samples.ended_s - samples.intended_s) * 1e3
    at_s = samples.intended_s - samples.since_s
    kept = np.flatnonzero(samples.began & (samples.failed == failed) & np.isfinite(latency_ms))
    kept = kept[np.argsort(at_s[kept], kind="stable")]
    return at_s[kept], latency_ms[kept]


def _points(at_s: Any, latency_ms: Any, *, failed: bool) -> Any:
    color, symbol, word = (RED, "x", "<br>failed") if failed else (BLUE, "circle", "")
    return points(
        x=np.round(at_s, 5).tolist(),
        y=np.round(latency_ms, 5).tolist(),
        mode="markers",
        name="failed" if failed else "calls",
        marker={"color": color, "size": 6 if failed else 4, "opacity": 0.75, "symbol": symbol},
        hovertemplate=f"at %{{x:.3f}} s<br>%{{y:.3f}} ms{word}<extra></extra>",
    )


def _reading(drawn: int, there: int, any_failed: bool, panels_left_out: int) -> str:
    calls = (
        "Each point is a call, at the time when it was meant to start. A level band is a steady measurement; "
        "a slope means that it was still warming up, or asked for more than there is; peaks that come at "
        "once in many calls are a stall."
    )
    said = [calls]
    if any_failed:
        said.append("Red crosses failed.")
    if drawn < there:
        said.append(
            f"Drawn are {drawn:,} of {there:,} calls: of each stretch of calls the first, the fastest and "
            "the slowest, so no peak is missing, but the middle is thinner than it was."
        )
    if panels_left_out:
        said.append(f"The last {panels_left_out} results are not drawn.")
    return " ".join(said)
