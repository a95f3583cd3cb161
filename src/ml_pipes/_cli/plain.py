"""A result as what JSON can hold.

Knows arrays and records by what they have, and imports none of their packages.
Knows nothing of pipelines.
"""

from __future__ import annotations

import math
from collections.abc import Set as AbstractSet
from typing import Any

from ml_pipes._cli.parts import is_array, is_iterator, named
from ml_pipes.control import SHORT_CIRCUIT

__all__ = ["to_json"]

_MOST_LISTED = 10_000  # numbers of an array that are listed


def to_json(value: Any) -> Any:
    """Arrays as lists, or described where they have more than 10,000 numbers.

    Numbers that JSON has no token for (NaN, infinite) become None, and what has no form of its own the text
    it shows itself with.
    """
    if value is SHORT_CIRCUIT:
        return {"short_circuit": True}
    if is_array(value):
        return to_json(value.tolist()) if value.size <= _MOST_LISTED else _described(value)
    if (parts := named(value)) is not None:
        return {str(name): to_json(part) for name, part in parts.items()}
    if isinstance(value, list | tuple | AbstractSet) or is_iterator(value):
        return [to_json(part) for part in value]
    return _single(value)


def _single(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": len(value)}
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if value is None or isinstance(value, str | bool | int) else str(value)


def _described(array: Any) -> dict[str, Any]:
    about = {"dtype": str(array.dtype), "shape": list(array.shape)}
    if array.dtype.kind not in "biuf":
        return about
    return {**about, "min": _single(array.min()), "max": _single(array.max()), "mean": _single(array.mean())}
