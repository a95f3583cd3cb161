"""How much of the hardware was used.

Knows the figures of hardware as a file has them. Knows nothing of pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ml_pipes.benchmark.report.canvas import BLUE, Section, bars, figure, lines, rows_axis
from ml_pipes.benchmark.report.rows import Row, known
from ml_pipes.benchmark.report.words import number

__all__ = ["busy_section"]

# A figure of a result, or None.
_Ask = Callable[[Row], float | None]


def _models(row: Row, key: str) -> float | None:
    models = row.hardware.get("models")
    return known(models.get(key)) if isinstance(models, Mapping) else None


def _gpu_percent(row: Row) -> float | None:
    gpus = row.hardware.get("gpus")
    if not isinstance(gpus, list | tuple):
        return None
    shares = [known(gpu.get("busy_share")) for gpu in gpus if isinstance(gpu, Mapping)]
    seen = [share for share in shares if share is not None]
    return float(np.mean(seen)) * 100.0 if seen else None


def _share_of_cpus(row: Row, key: str) -> float | None:
    """CPUs that were kept busy, per cent of those that the process may use."""
    cpus, usable = known(row.hardware.get(key)), _usable_cpus(row)
    return None if cpus is None or not usable else cpus / usable * 100.0


def _usable_cpus(row: Row) -> float | None:
    cpu = row.environment.get("cpu")
    if not isinstance(cpu, Mapping):
        return None
    affinity = cpu.get("affinity")
    may_run_on = float(len(affinity)) if isinstance(affinity, list) and affinity else None
    return may_run_on or known(cpu.get("usable_cpus")) or known(cpu.get("cores"))


def _percent(value: float | None) -> float | None:
    return None if value is None else value * 100.0


_SHARES: tuple[tuple[str, str, _Ask], ...] = (
    ("a model ran", BLUE, lambda row: _percent(_models(row, "busy_share"))),
    ("CPU, this process", "#e69f00", lambda row: _share_of_cpus(row, "process_cpus")),
    ("CPU, other programs", "#b3bcc6", lambda row: _share_of_cpus(row, "foreign_cpus")),
    ("GPU", "#009e73", _gpu_percent),
)
_COUNTS: tuple[tuple[str, str, _Ask], ...] = (
    ("models running at a time, mean", "#cc79a7", lambda row: _models(row, "mean_concurrency")),
    ("CPUs busy, this process", "#e69f00", lambda row: known(row.hardware.get("process_cpus"))),
    ("CPUs busy, other programs", "#b3bcc6", lambda row: known(row.hardware.get("foreign_cpus"))),
)


def busy_section(rows: Sequence[Row]) -> Section | None:
    """Shares and numbers of what was busy; None where nothing is known."""
    shares = [(row, _figures(row, _SHARES)) for row in rows]
    counts = [(row, _figures(row, _COUNTS)) for row in rows]
    able = [row for (row, some), (_, others) in zip(shares, counts, strict=True) if some or others]
    if not able:
        return None
    seen = [(how, "x") for how in _SHARES if any(how[2](row) is not None for row in able)]
    # CPUs are counted only where it is not known how many there are.
    has_cpu_share = any(_share_of_cpus(row, "process_cpus") is not None for row in able)
    others = _COUNTS[:1] if has_cpu_share else _COUNTS
    seen += [(how, "x2") for how in others if any(how[2](row) is not None for row in able)]
    by_axis = [[how for how, axis in seen if axis == wanted] for wanted in ("x", "x2")]
    most = max(map(len, by_axis))
    made = figure(
        [
            _trace(able, how, axis, (at - (len(hows) - 1) / 2.0) * 0.84 / most, 0.84 / most)
            for axis, hows in zip(("x", "x2"), by_axis, strict=True)
            for at, how in enumerate(hows)
        ],
        height_px=120 + (16 * most + 10) * len(able),
        barmode="overlay",
        showlegend=True,
    )
    _axes(made, able, {axis for _, axis in seen})
    return Section("busy", "What was busy", made, _READING)


_READING = (
    "Left: of the time of the measurement, the share in which at least one model ran, and of the CPUs that "
    "the process may use, the share that it and all other programs used. Right: how many model runs there "
    "were at a time. A model that runs less than all the time waits for the steps around it; other programs "
    "that are busy make every figure of this page worse than it could be."
)


def _figures(row: Row, asked: Sequence[tuple[str, str, _Ask]]) -> list[float]:
    return [value for _, _, ask in asked if (value := ask(row)) is not None]


def _trace(rows: Sequence[Row], how: tuple[str, str, _Ask], axis: str, off: float, width: float) -> Any:
    name, color, ask = how
    unit = "%" if axis == "x" else ""
    values = [(place, row, ask(row)) for place, row in enumerate(rows)]
    seen = [(place, row, value) for place, row, value in values if value is not None]
    return bars(
        orientation="h",
        xaxis=axis,
        y=[place + off for place, _, _ in seen],
        x=[value for _, _, value in seen],
        width=width * 0.9,
        name=name,
        marker={"color": color},
        text=[f"{number(value, 0 if unit else 2)}{unit}" for _, _, value in seen],
        textposition="outside",
        cliponaxis=False,
        textfont={"size": 10},
        hoverinfo="text",
        hovertext=[
            lines([row.label, f"{name}: {number(value, 1 if unit else 2)}{unit}"]) for _, row, value in seen
        ],
    )


def _axes(made: Any, rows: Sequence[Row], used: set[str]) -> None:
    both = len(used) == 2
    made.update_yaxes(**rows_axis([row.name for row in rows]))
    made.update_layout(
        xaxis={"title": {"text": "% of the time, or of the CPUs"}, "domain": [0.0, 0.62 if both else 1.0]},
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0.0},
        margin={"l": 64, "r": 24, "t": 64, "b": 48},
    )
    if "x2" in used:
        grid = made.layout.xaxis.gridcolor
        made.update_layout(
            xaxis2={
                "title": {"text": "at a time", "font": {"size": 12}},
                "ticks": "outside",
                "ticklen": 5,
                "tickcolor": "rgba(0,0,0,0)",
                "domain": [0.68 if both else 0.0, 1.0],
                "anchor": "y",
                "rangemode": "tozero",
                "gridcolor": grid,
                "linecolor": grid,
                "showline": True,
            }
        )
