"""What a sweep is going to measure, as text.

Knows names, places on axes and text. Knows nothing of what is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ml_pipes.benchmark.plain import text

__all__ = ["Cell", "grid_text", "plan_text"]

_ACTIVE, _FILTERED = "x", "-"
_MOST_LISTED = 30


@dataclass(frozen=True)
class Cell:
    """One combination.

    Attributes:
        label: its name.
        at: its place on each axis.
        is_active: it is going to be measured.
    """

    label: str
    at: tuple[int, ...]
    is_active: bool


def plan_text(cells: Sequence[Cell], axes: Mapping[str, Sequence[Any]]) -> str:
    """How many combinations there are, and which.

    Args:
        cells: all of them.
        axes: name -> values, where each combination is a place on these; else empty.
    """
    active = sum(cell.is_active for cell in cells)
    filtered = len(cells) - active
    if len(axes) in {2, 3}:
        head = f"plan: {len(cells)} combinations ({active} active, {filtered} filtered)"
    else:
        head = f"plan: {active} config(s)" + (f" ({filtered} filtered)" if filtered else "")
    return f"{head}\n{grid_text(cells, axes)}".rstrip("\n")


def grid_text(cells: Sequence[Cell], axes: Mapping[str, Sequence[Any]]) -> str:
    """Of two axes a grid, of three one for each value of the first; else a line per combination.

    ``x`` is going to be measured, ``-`` is left out by a filter. Takes what :func:`plan_text` takes.
    """
    is_active = {cell.at: cell.is_active for cell in cells}
    match list(axes.items()):
        case [rows, columns]:
            return "\n".join(_grid(rows, columns, is_active, ()))
        case [(name, values), rows, columns]:
            blocks = (
                "\n".join([f"{name}: {text(value)}", *_grid(rows, columns, is_active, (at,))])
                for at, value in enumerate(values)
            )
            return "\n\n".join(blocks)
        case _:
            return "\n".join(_listed([cell.label for cell in cells if cell.is_active]))


def _grid(
    rows: tuple[str, Sequence[Any]],
    columns: tuple[str, Sequence[Any]],
    is_active: Mapping[tuple[int, ...], bool],
    before: tuple[int, ...],
) -> Iterator[str]:
    corner = f"{rows[0]} \\ {columns[0]}"
    names = [text(value) for value in rows[1]]
    heads = [text(value) for value in columns[1]]
    width = max(map(len, [corner, *names]))
    yield "  ".join([f"{corner:<{width}}", *heads])
    for row, name in enumerate(names):
        marks = (
            f"{_ACTIVE if is_active[(*before, row, column)] else _FILTERED:>{len(head)}}"
            for column, head in enumerate(heads)
        )
        yield "  ".join([f"{name:<{width}}", *marks])


def _listed(labels: Sequence[str]) -> Iterator[str]:
    yield from (f"  {label}" for label in labels[:_MOST_LISTED])
    if len(labels) > _MOST_LISTED:
        yield f"  and {len(labels) - _MOST_LISTED} more"
