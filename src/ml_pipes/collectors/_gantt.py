"""Bars as one HTML page that needs nothing else: a row per thread, batches as lines between the rows.

Knows bars and colours. Knows nothing of traces or files.
"""

from __future__ import annotations

from collections import Counter
from importlib.resources import files
from typing import Any

from ml_pipes.collectors._bars import Bar, Layout, Thread, running

__all__ = ["gantt_page"]

# Okabe and Ito's palette, which the colour-blind can tell apart, and lighter tones of it
# (https://jfly.uni-koeln.de/color).
_COLORS = (
    "#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#0072b2", "#d55e00", "#999999",
    "#a6d8f3", "#f5cf80", "#7fceb9", "#e5bcd3", "#8fb9d9", "#eaae7f",
)  # fmt: skip
_DARK = ("#0072b2", "#d55e00", "#009e73")
_INSET_PX = 3
_LEAF_PX = 20
_GAP_PX = 10


def gantt_page(layout: Layout, title: str, left_out: int = 0) -> str:
    """The page's text.

    Args:
        layout: the bars.
        title: of the page; escaped, as all text is.
        left_out: how many calls are not in it.

    Raises:
        ImportError: Jinja2 is missing.
    """
    try:
        from jinja2 import Environment
    except ModuleNotFoundError as missing:
        raise ImportError(
            'the page of a timeline needs jinja2; install it with: pip install "ml-pipes[benchmark]"'
        ) from missing
    page = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
        files(__package__).joinpath("gantt.html").read_text(encoding="utf-8")
    )
    scale = _Scale(layout)
    colors = _colors(layout)
    rows, tops, top_px = [], {}, 0
    for thread in layout.threads:
        row = _row(thread, scale, colors)
        tops[thread.number] = (top_px, row["height_px"])
        top_px += row["height_px"] + _GAP_PX
        rows.append(row)
    return page.render(
        title=title,
        left_out=left_out,
        facts=_facts(layout),
        colors=colors,
        rows=rows,
        height_px=top_px,
        gap_px=_GAP_PX,
        busy=_busy(layout, scale),
        lines=[line for at in range(len(layout.meetings)) for line in _lines(layout, at, scale, tops)],
        length_ms=(layout.end - layout.start) * 1e3,
    )


class _Scale:
    """Times as parts of the page's width."""

    def __init__(self, layout: Layout) -> None:
        self._start = layout.start
        self._length = (layout.end - layout.start) or 1.0

    def at(self, time: float) -> float:
        """Percent from the left."""
        return round((time - self._start) / self._length * 100, 4)

    def ms(self, time: float) -> float:
        return (time - self._start) * 1e3


def _colors(layout: Layout) -> dict[str, str]:
    """A colour per step, in the order of their first sight; waits and nested runs have none."""
    names = dict.fromkeys(
        bar.name
        for thread in layout.threads
        for bar in thread.bars
        if bar.kind == "step" and bar.name != "result"
    )
    ordered = sorted(names, key=_step_number)
    return {name: _COLORS[at % len(_COLORS)] for at, name in enumerate(ordered)}


def _step_number(label: str) -> tuple[int, str]:
    number, _, name = label.partition(":")
    return (int(number) if number.isdecimal() else 1 << 30, name)


def _row(thread: Thread, scale: _Scale, colors: dict[str, str]) -> dict[str, Any]:
    deepest = max(bar.depth for bar in thread.bars)
    height_px = _LEAF_PX + 2 * _INSET_PX * deepest
    bars = [_shown(bar, scale, colors, height_px) for bar in thread.bars if bar.name != "result"]
    return {"name": thread.name, "height_px": height_px, "bars": bars}


def _shown(bar: Bar, scale: _Scale, colors: dict[str, str], height_px: int) -> dict[str, Any]:
    left = scale.at(bar.start)
    color = colors.get(bar.name) if bar.kind == "step" else None
    return {
        "left": left,
        "width": round(scale.at(bar.end) - left, 4),
        "top_px": _INSET_PX * bar.depth,
        "height_px": height_px - 2 * _INSET_PX * bar.depth,
        "color": color,
        "ink": "#fff" if color in _DARK else "#111",
        "kind": bar.kind + " error" * bar.error,
        "text": f"{bar.name} (batch {bar.batch})" if bar.kind == "away" else bar.name,
        "call": bar.call,
        "batch": bar.batch,
        "told": _told(bar, scale),
    }


def _told(bar: Bar, scale: _Scale) -> str:
    lines = [
        bar.name,
        f"{(bar.end - bar.start) * 1e3:.3f} ms, from {scale.ms(bar.start):.3f} to {scale.ms(bar.end):.3f}",
        f"call {bar.call}",
    ]
    if bar.batch is not None:
        lines.append(f"batch {bar.batch}")
    return "\n".join([*lines, *(f"{name}: {value}" for name, value in bar.details.items())])


def _busy(layout: Layout, scale: _Scale) -> list[dict[str, Any]]:
    """Stretches in which models ran, with how many."""
    steps = running(layout)
    most = max((count for _, count in steps), default=0)
    ends = [time for time, _ in steps[1:]]
    return [
        {
            "left": scale.at(time),
            "width": scale.at(end) - scale.at(time),
            "count": count,
            "share": count / most,
        }
        for (time, count), end in zip(steps, ends, strict=False)
        if count
    ]


def _lines(layout: Layout, at: int, scale: _Scale, tops: dict[int, tuple[int, int]]) -> list[dict[str, Any]]:
    """Upright lines from the members' rows to the row where their batch ran, and back."""
    run, members = layout.meetings[at].run, layout.meetings[at].members
    rows = {member.away.thread for member in members} | {run.thread}
    if len(rows) == 1:
        return []
    middles = [tops[row][0] + tops[row][1] / 2 for row in rows]
    here = tops[run.thread][0] + tops[run.thread][1] / 2
    shared = {"from_px": min(middles), "to_px": max(middles), "here_px": here, "batch": at}
    away = [middle for middle in middles if middle != here]
    return [
        {**shared, "left": scale.at(time), "kind": kind, "dots": away}
        for time, kind in ((run.start, "in"), (run.end, "out"))
    ]


def _facts(layout: Layout) -> list[tuple[str, str]]:
    bars = [bar for thread in layout.threads for bar in thread.bars]
    calls = [bar for bar in bars if bar.kind == "call"]
    length_s = layout.end - layout.start
    rate = f" ({len(calls) / length_s:,.1f} per second)" if length_s else ""
    facts = [
        ("calls", f"{len(calls)} in {length_s * 1e3:,.1f} ms{rate}"),
        ("threads", str(len(layout.threads))),
    ]
    if layout.meetings:
        sizes = Counter(int(meeting.run.details["items"]) for meeting in layout.meetings)
        waits = [bar.end - bar.start for bar in bars if bar.kind == "wait"]
        shown = ", ".join(f"{sizes[size]} of {size}" for size in sorted(sizes, reverse=True))
        facts.append(("batches", f"{len(layout.meetings)}: {shown}"))
        facts.append(("mean wait for a batch", f"{sum(waits) / max(len(waits), 1) * 1e3:.2f} ms"))
    steps = running(layout)
    if steps:
        ends = [time for time, _ in steps[1:]]
        pieces = [(end - time, count) for (time, count), end in zip(steps, ends, strict=False)]
        busy_s = sum(piece for piece, count in pieces if count)
        mean = sum(piece * count for piece, count in pieces) / length_s
        facts.append(("a model was running", f"{busy_s / length_s:.1%} of the time; {mean:.2f} on average"))
    return facts
