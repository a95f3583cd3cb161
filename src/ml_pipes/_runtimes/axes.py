"""Which sides of a model's inputs and outputs are to be freed.

Knows names and shapes. Knows nothing of model files or of any runtime.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NoReturn

from ml_pipes._runtimes.source import Shape

__all__ = ["ROWS", "Axes", "check_axes"]

Axes = tuple[int, ...] | Mapping[str, tuple[int, ...]]
ROWS = "rows"


def check_axes(axes: Axes, declared: Mapping[str, Shape | None], inputs: Sequence[str], model: str) -> None:
    """Raise ValueError for what would free nothing: no axes, a name or an axis that is not there."""
    parts = list(axes.values()) if isinstance(axes, Mapping) else [axes]
    if not parts or not all(_are_axes(part) for part in parts):
        raise ValueError(
            "free_axes: axes must be numbers from 0 up, one or more, in a tuple or in a tuple per name, "
            f"got {axes!r}"
        )
    if not isinstance(axes, Mapping):
        ranks = [len(shape) for name in inputs if (shape := declared[name]) is not None]
        if not ranks or max(axes) >= max(ranks):
            _refuse(model, "no input has", max(axes), max(ranks, default=None))
        return
    unknown = [name for name in axes if name not in declared]
    if unknown:
        raise ValueError(f"free_axes: {model} has no {', '.join(unknown)}; it has {', '.join(declared)}")
    for name, part in axes.items():
        shape = declared[name]
        if shape is None or max(part) >= len(shape):
            _refuse(model, f"{name!r} has not", max(part), None if shape is None else len(shape))


def _are_axes(part: object) -> bool:
    """Is it one whole number or more, each from 0 up?"""
    if not isinstance(part, (tuple, list)) or not part:
        return False
    return all(isinstance(axis, int) and not isinstance(axis, bool) and axis >= 0 for axis in part)


def _refuse(model: str, who: str, axis: int, rank: int | None) -> NoReturn:
    there = "no shape is declared" if rank is None else f"there are {rank} axes, 0 to {rank - 1}"
    raise ValueError(f"free_axes: {model}: {who} axis {axis}: {there}")
