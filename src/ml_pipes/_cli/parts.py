"""What a result is made of: an array, parts with names, or parts in a row.

Knows arrays and records by what they have, and imports none of their packages.
Knows nothing of how they are shown.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["is_array", "is_iterator", "is_registry", "named"]


def is_array(value: Any) -> bool:
    """A NumPy array; without NumPy there is none."""
    numpy: Any = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray)


def is_iterator(value: Any) -> bool:
    """It gives its parts once."""
    return isinstance(value, Iterator)


def is_registry(value: Any) -> bool:
    """Arrays with names."""
    return type(value).__name__ == "TensorRegistry"


def named(value: Any) -> dict[Any, Any] | None:
    """Name -> part, of what has names for its parts."""
    if isinstance(value, Mapping):
        return dict(value)
    if is_registry(value):
        return {name: value[name] for name in value.keys()}  # noqa: SIM118 - a registry is no dict
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    return dict(value._asdict()) if isinstance(value, tuple) and hasattr(value, "_asdict") else None
