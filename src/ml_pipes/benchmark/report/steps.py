"""Where the time of a call goes: a bar per result, of its steps, and regions' steps inside them.

Knows the figures of steps. Knows nothing of pages.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ml_pipes.benchmark.report.canvas import STEP_COLORS, Section, bars, figure, lines, rows_axis, shown
from ml_pipes.benchmark.report.rows import Row, known
from ml_pipes.benchmark.report.words import shortened, with_unit
from ml_pipes.benchmark.stat import InvocationStat
from ml_pipes.benchmark.tables import percentile_name

__all__ = ["step_section"]

_OUTSIDE = "outside of the steps"
_OUTSIDE_COLOR = "#c3ccd5"
_WIDTHS = (0.8, 0.5, 0.3, 0.16)
# Of the call: less is a rounding, or the few calls at the window's edges.
_LEAST_OUTSIDE = 0.02
# Of the call: what is shorter in every result cannot be seen, and is not in the legend.
_LEAST_NAMED = 0.01


@dataclass(frozen=True)
class _Piece:
    """A step in a bar.

    Attributes:
        at: which bar.
        kind: the step's name without its number, which another pipeline may number otherwise.
        depth: how many regions are around it.
        start_ms: where it begins in the bar.
        length_ms: how long it is there.
        share: of its call.
        told: what is said of it.
    """

    at: int
    kind: str
    depth: int
    start_ms: float
    length_ms: float
    share: float
    told: str


def step_section(rows: Sequence[Row]) -> Section | None:
    """The steps' means; None where no result has steps."""
    able = [row for row in rows if any(known(stat.mean_ms) for stat in row.result.operators)]
    if not able:
        return None
    pieces = [piece for at, row in enumerate(able) for piece in _Bar(at, row).pieces()]
    coloring, named = _coloring(pieces), _named(pieces)
    made = figure(
        list(_traces(pieces, coloring, named)),
        height_px=max(120 + 30 * len(able), min(100 + 19 * len(named), 420)),
        barmode="overlay",
        showlegend=True,
        legend={"traceorder": "normal"},
    )
    made.update_yaxes(**rows_axis([row.name for row in able]))
    made.update_xaxes(title_text="mean, ms", rangemode="tozero")
    return Section("steps", "Time by step", made, _reading(pieces, len(named) < len(coloring)))


class _Bar:
    """The pieces of one bar."""

    def __init__(self, at: int, row: Row) -> None:
        self._at = at
        self._row = row
        self._total_ms = row.mean_ms or 0.0
        self._seen: Counter[str] = Counter()

    def pieces(self) -> Iterator[_Piece]:
        """Steps one after another, each followed by what is inside, then what is left of the call."""
        end_ms = 0.0
        for stat in self._row.result.operators:
            length_ms = known(stat.mean_ms)
            if length_ms is not None:
                yield from self._step(stat, "", 0, end_ms, length_ms)
                end_ms += length_ms
        left_ms = self._total_ms - end_ms
        if left_ms > _LEAST_OUTSIDE * self._total_ms:
            whole = with_unit(self._total_ms, "ms")
            told = lines([self._row.label, _OUTSIDE, f"{with_unit(left_ms, 'ms')} of {whole} a call"])
            yield self._piece(_OUTSIDE, 0, end_ms, left_ms, told)

    def _step(
        self, stat: InvocationStat, around: str, depth: int, start_ms: float, length_ms: float
    ) -> Iterator[_Piece]:
        path = f"{around}{stat.label}"
        told = lines([self._row.label, *self._told(stat, path, depth)])
        yield self._piece(self._kind(stat.label), depth, start_ms, length_ms, told)
        within = [(child, known(child.mean_ms)) for child in stat.children]
        inside = [(child, mean_ms) for child, mean_ms in within if mean_ms is not None]
        # Means of different runs need not add up: what would stick out of its region is drawn to fit.
        scale = min(1.0, length_ms / (sum(mean_ms for _, mean_ms in inside) or 1.0))
        for child, mean_ms in inside:
            yield from self._step(child, f"{path}/", depth + 1, start_ms, mean_ms * scale)
            start_ms += mean_ms * scale

    def _piece(self, kind: str, depth: int, start_ms: float, length_ms: float, told: str) -> _Piece:
        share = length_ms / self._total_ms if self._total_ms else 1.0
        return _Piece(self._at, kind, depth, start_ms, length_ms, share, told)

    def _kind(self, label: str) -> str:
        number, colon, name = label.partition(":")
        bare = name if colon and number.isdecimal() else label
        self._seen[bare] += 1
        return bare if self._seen[bare] == 1 else f"{bare} ({self._seen[bare]})"

    def _told(self, stat: InvocationStat, path: str, depth: int) -> Iterator[str]:
        yield path
        share = f", {stat.mean_ms / self._total_ms:.1%} of a call" if self._total_ms and not depth else ""
        yield f"mean {with_unit(stat.mean_ms, 'ms')}{share}"
        for fraction in (0.5, 0.99):
            at_ms = known(stat.percentiles.get(fraction))
            if at_ms is not None:
                yield f"{percentile_name(fraction)} {with_unit(at_ms, 'ms')}"
        yield f"runs: {stat.count:,}"


def _coloring(pieces: Sequence[_Piece]) -> dict[str, str]:
    """A colour per kind, the strong ones for those that take the most; in the order of first sight."""
    kinds = dict.fromkeys(piece.kind for piece in pieces)
    largest = {kind: max(piece.share for piece in pieces if piece.kind == kind) for kind in kinds}
    ranked = sorted((kind for kind in kinds if kind != _OUTSIDE), key=lambda kind: -largest[kind])
    found = {kind: STEP_COLORS[at % len(STEP_COLORS)] for at, kind in enumerate(ranked)}
    return {kind: found.get(kind, _OUTSIDE_COLOR) for kind in kinds}


def _named(pieces: Sequence[_Piece]) -> set[str]:
    """Kinds that can be seen somewhere; all where none can."""
    found = {piece.kind for piece in pieces if piece.share >= _LEAST_NAMED}
    return found or {piece.kind for piece in pieces}


def _traces(pieces: Sequence[_Piece], coloring: dict[str, str], named: set[str]) -> Iterator[Any]:
    """Per kind and depth: what is inside comes later, so that it is drawn above."""
    deepest = max(piece.depth for piece in pieces)
    told: set[str] = set()
    for depth in range(deepest + 1):
        for rank, (kind, color) in enumerate(coloring.items()):
            chosen = [piece for piece in pieces if piece.kind == kind and piece.depth == depth]
            if not chosen:
                continue
            yield bars(
                orientation="h",
                y=[piece.at for piece in chosen],
                base=[piece.start_ms for piece in chosen],
                x=[piece.length_ms for piece in chosen],
                width=_WIDTHS[min(depth, len(_WIDTHS) - 1)],
                name=shown(shortened(kind, 30)),
                legendgroup=shown(kind),
                legendrank=1000 + rank,
                showlegend=kind in named and kind not in told,
                marker={"color": color, "line": {"color": "#ffffff", "width": _edges(chosen)}},
                hoverinfo="text",
                hovertext=[piece.told for piece in chosen],
            )
            told.add(kind)


def _edges(pieces: Sequence[_Piece]) -> list[float]:
    """How thick their edges are: of what is small, an edge would hide the colour."""
    return [0.5 if piece.share >= _LEAST_NAMED else 0.0 for piece in pieces]


def _reading(pieces: Sequence[_Piece], has_unnamed: bool) -> str:
    said = ["The mean time of each step, one after another; point at one for its p50, p99 and runs."]
    if any(piece.depth for piece in pieces):
        said.append(
            "The narrower bars inside a region are its own steps, one run of its body; what they leave free "
            "is the region's, or other runs of the body."
        )
    if any(piece.kind == _OUTSIDE for piece in pieces):
        said.append(
            "Grey is time in which a call was in no step: in an open loop mostly the wait for its start."
        )
    if has_unnamed:
        said.append("Steps that take less than 1 % of every call are not in the legend.")
    return " ".join(said)
