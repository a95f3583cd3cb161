"""The table of results: columns, their digits, and which cell is best.

Knows rows. Knows nothing of HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ml_pipes.benchmark.report.rows import Row
from ml_pipes.benchmark.report.words import NOTHING, decimals_for, number

__all__ = ["Cell", "Column", "table_of"]

_Best: TypeAlias = Literal["least", "most"] | None


@dataclass(frozen=True)
class Column:
    """A column's head.

    Attributes:
        title: its name.
        unit: below it; empty for none.
        is_number: it is sorted as numbers, and stands at the right.
    """

    title: str
    unit: str
    is_number: bool


@dataclass(frozen=True)
class Cell:
    """What stands in a place.

    Attributes:
        text: as it is read.
        value: as it is sorted; None comes last.
        is_best: it is the best of its column.
    """

    text: str
    value: float | str | None
    is_best: bool = False


@dataclass(frozen=True)
class _Figure:
    title: str
    unit: str
    ask: Callable[[Row], float | None]
    best: _Best = None
    most_decimals: int = 4


_FIGURES = (
    _Figure("throughput", "per s", lambda row: row.throughput_per_s, "most", 2),
    _Figure("p50", "ms", lambda row: row.p50_ms, "least", 3),
    _Figure("p95", "ms", lambda row: row.p95_ms, "least", 3),
    _Figure("p99", "ms", lambda row: row.p99_ms, "least", 3),
    _Figure("mean", "ms", lambda row: row.mean_ms, "least", 3),
    _Figure("calls", "", lambda row: float(row.calls), None, 0),
    _Figure("errors", "", lambda row: float(row.errors), None, 0),
    _Figure("CPU per call", "ms", lambda row: row.cpu_ms, "least", 3),
    _Figure(
        "models busy", "%", lambda row: None if row.busy_share is None else row.busy_share * 100.0, None, 0
    ),
)


def table_of(rows: Sequence[Row]) -> tuple[list[Column], list[list[Cell]]]:
    """Columns and lines; a column that no result has something for is left out.

    The best is marked where there are several results that differ, and only among those that are not invalid.
    """
    columns = [Column("#", "", True), Column("result", "", False)]
    lines = [[Cell(str(row.number), float(row.number)), Cell(row.label, row.label)] for row in rows]
    loads = [_load(row) for row in rows]
    if len(set(loads)) > 1:
        columns.append(Column("load", "", False))
        for line, load in zip(lines, loads, strict=True):
            line.append(Cell(load or NOTHING, load or None))
    for figure in _FIGURES:
        values = [figure.ask(row) for row in rows]
        if all(value is None for value in values):
            continue
        columns.append(Column(figure.title + (" ± sd" if figure.title == "mean" else ""), figure.unit, True))
        for line, cell in zip(lines, _cells(figure, rows, values), strict=True):
            line.append(cell)
    if any(row.is_valid is not None for row in rows):
        columns.append(Column("verdict", "", False))
        for line, row in zip(lines, rows, strict=True):
            word = NOTHING if row.is_valid is None else "valid" if row.is_valid else "INVALID"
            line.append(Cell(word, word))
    return columns, lines


def _cells(figure: _Figure, rows: Sequence[Row], values: Sequence[float | None]) -> list[Cell]:
    decimals = min(figure.most_decimals, decimals_for(values))
    best = _best(figure.best, rows, values)
    return [
        Cell(_text(figure, row, value, decimals), value, best is not None and value == best)
        for row, value in zip(rows, values, strict=True)
    ]


def _text(figure: _Figure, row: Row, value: float | None, decimals: int) -> str:
    text = number(value, decimals)
    if figure.title != "mean" or value is None:
        return text
    return f"{text} ± {number(row.stddev_ms, decimals)}"


def _best(which: _Best, rows: Sequence[Row], values: Sequence[Any]) -> float | None:
    fit = [
        value
        for row, value in zip(rows, values, strict=True)
        if value is not None and row.is_valid is not False
    ]
    if which is None or len(fit) < 2 or min(fit) == max(fit):
        return None
    return float(min(fit) if which == "least" else max(fit))


def _load(row: Row) -> str:
    return "" if row.result.workload is None else str(row.result.workload)
