"""What all figures share: Plotly, colours, a look, and text that is shown as it is.

Knows Plotly. Knows nothing of results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped] # it comes without types
from plotly.colors import sample_colorscale  # type: ignore[import-untyped] # as above
from plotly.subplots import make_subplots  # type: ignore[import-untyped] # as above

from ml_pipes.benchmark.report.words import shortened

__all__ = [
    "BLUE",
    "RED",
    "STEP_COLORS",
    "Section",
    "bars",
    "colors",
    "figure",
    "lines",
    "panels",
    "points",
    "rows_axis",
    "shown",
    "size_axis",
]

# Okabe and Ito's palette, which the colour-blind can tell apart (https://jfly.uni-koeln.de/color), and
# lighter tones of it; its yellow is darker, for white paper, and its blue lighter, for dark.
BLUE, RED = "#1f83c6", "#d62f2f"
_STRONG = (BLUE, "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9", "#c4b000", "#8a8a8a")
STEP_COLORS = (*_STRONG, "#8fb9d9", "#f5cf80", "#7fceb9", "#eaae7f", "#e5bcd3", "#a6d8f3")
_INK, _GRID = "#1d2733", "#dde4eb"
_PANEL_PX, _LONE_PANEL_PX = 170, 290
# Columns of panels -> letters above one.
_LONGEST_TITLE = {1: 100, 2: 66, 3: 44, 4: 32}
# Beyond this from the least to the greatest, what is small cannot be seen on a linear axis.
_WIDE = 25.0


@dataclass(frozen=True)
class Section:
    """A figure of the page.

    Attributes:
        key: its address in the page.
        title: above it.
        figure: by Plotly.
        reading: how it is read, in a sentence or two.
    """

    key: str
    title: str
    figure: Any
    reading: str


def shown(text: object) -> str:
    """Text that Plotly shows as it is: in Plotly, ``<b>`` is bold, ``<a>`` a link and ``&lt;`` an entity."""
    return escape(" ".join(str(text).split()), quote=False)


def lines(told: Iterable[object]) -> str:
    """Lines for a hover, shown as they are."""
    return "<br>".join(shown(line) for line in told)


def colors(count: int) -> list[str]:
    """So many colours; beyond the palette, a rainbow in order."""
    if count <= len(_STRONG):
        return list(_STRONG[:count])
    return [str(color) for color in sample_colorscale("Turbo", np.linspace(0.1, 0.88, count).tolist())]


def bars(**how: Any) -> Any:
    """A trace of bars."""
    return go.Bar(**how)


def points(**how: Any) -> Any:
    """A trace of points, or of a line through them."""
    return go.Scatter(**how)


def figure(traces: Sequence[Any] = (), *, height_px: int, **layout: Any) -> Any:
    """A figure of our look."""
    made = go.Figure(data=list(traces))
    return _looked(made, height_px, layout)


def panels(
    titles: Sequence[Sequence[str]], *, x_title: str, y_title: str, **more: Any
) -> tuple[Any, list[dict[str, int]]]:
    """A figure of small panels of one scale, and where each is: ``{"row": 1, "col": 1}``.

    Args:
        titles: of each panel, lines.
        x_title: below the lowest ones.
        y_title: beside the leftmost ones.
        more: of the layout.
    """
    count = len(titles)
    columns, rows = _grid(count)
    title_px = 12 + 14 * max(map(len, titles)) if count > 1 else 0
    inner_px = rows * (_PANEL_PX if count > 1 else _LONE_PANEL_PX)
    made = make_subplots(
        rows=rows,
        cols=columns,
        shared_xaxes="all",
        shared_yaxes="all",
        subplot_titles=[_panel_title(title, columns) for title in titles] if count > 1 else None,
        horizontal_spacing=0.05 if columns > 1 else 0.0,
        vertical_spacing=(title_px + 30.0) / inner_px if rows > 1 else 0.0,
    )
    made.update_annotations(font_size=11)
    margin = {"l": 64, "r": 24, "t": 28 + title_px, "b": 48}
    _looked(made, inner_px + margin["t"] + margin["b"], {"margin": margin, **more})
    made.update_xaxes(showticklabels=True, title_standoff=4)
    made.update_yaxes(title_standoff=4)
    places = [{"row": at // columns + 1, "col": at % columns + 1} for at in range(count)]
    for at, place in enumerate(places):
        if place["col"] == 1:
            made.update_yaxes(title_text=y_title, **place)
        if at + columns >= count:
            made.update_xaxes(title_text=x_title, **place)
    return made, places


def size_axis(values: Iterable[float]) -> dict[str, Any]:
    """An axis for sizes such as these: from 0, or logarithmic where they differ much."""
    positive = [value for value in values if math.isfinite(value) and value > 0.0]
    if not positive or max(positive) < _WIDE * min(positive):
        return {"rangemode": "tozero"}
    low, high = math.log10(min(positive)) - 0.1, math.log10(max(positive)) + 0.1
    factors = (1, 2, 5) if high - low < 3 else (1,)
    marks = [factor * 10.0**power for power in range(math.floor(low), math.ceil(high)) for factor in factors]
    inside = [mark for mark in marks if low <= math.log10(mark) <= high]
    return {
        "type": "log",
        "range": [low, high],
        "tickvals": inside,
        "ticktext": [f"{mark:,.10g}" for mark in inside],
    }


def rows_axis(names: Sequence[str]) -> dict[str, Any]:
    """An axis with a place per name, from the top: at 0, 1, 2, ... (names may be alike)."""
    return {
        "tickvals": list(range(len(names))),
        "ticktext": [shown(name) for name in names],
        "range": [len(names) - 0.5, -0.5],
        "showgrid": False,
        "zeroline": False,
    }


def _panel_title(title: Sequence[str], columns: int) -> str:
    return lines(shortened(line, _LONGEST_TITLE[columns]) for line in title)


def _grid(count: int) -> tuple[int, int]:
    """Columns and rows."""
    columns = next((columns for most, columns in ((1, 1), (4, 2), (9, 3)) if count <= most), 4)
    return columns, math.ceil(count / columns)


def _looked(made: Any, height_px: int, layout: dict[str, Any]) -> Any:
    made.update_layout(
        template=go.layout.Template(),
        height=height_px,
        margin={"l": 64, "r": 24, "t": 36, "b": 48},
        font={"family": "system-ui, sans-serif", "size": 12, "color": _INK},
        paper_bgcolor="#ffffff",
        plot_bgcolor="#ffffff",
        hovermode="closest",
        hoverlabel={
            "namelength": -1,
            "align": "left",
            "font": {"family": "system-ui, sans-serif", "size": 12},
        },
        legend={"title": {"text": ""}},
    )
    axis = {
        "gridcolor": _GRID,
        "linecolor": _GRID,
        "zerolinecolor": _GRID,
        "showline": True,
        "automargin": True,
    }
    axis |= {"title": {"font": {"size": 12}}, "ticks": "outside", "ticklen": 5, "tickcolor": "rgba(0,0,0,0)"}
    made.update_xaxes(**axis)
    made.update_yaxes(**axis)
    made.update_layout(**layout)
    return made
