"""One step into a value: what is at an index, under a name.

Knows mappings, sequences and attributes. Knows nothing of paths.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from types import MemberDescriptorType
from typing import Any

__all__ = ["MISSING", "at_index", "keys_of", "kind_of", "static_attribute", "under_name"]

MISSING: Any = object()
"""What is found where nothing is."""


def at_index(value: Any, index: int) -> Any:
    """What is at ``index``, or ``MISSING``.

    Raises:
        IndexError: it is a sequence, and too short.
    """
    if isinstance(value, Mapping):
        return value.get(index, MISSING)
    if isinstance(value, str | bytes) or not hasattr(type(value), "__getitem__"):
        return MISSING
    return value[index]


def under_name(value: Any, name: str) -> Any:
    """What is under the key or attribute ``name``, or ``MISSING``; an error inside a property is raised."""
    if isinstance(value, Mapping):
        return value.get(name, MISSING)
    static = static_attribute(value, name)
    if static is not MISSING and not isinstance(static, MemberDescriptorType):
        return getattr(value, name)
    if name in keys_of(value):
        return value[name]
    if static is MISSING and not _answers_names(type(value)):
        return MISSING
    try:
        return getattr(value, name)  # an unset slot, or a name that the class looks up in its own way
    except AttributeError:
        return MISSING


def static_attribute(value: Any, name: str) -> Any:
    """The attribute as it is kept, or ``MISSING``.

    Asked without running a property, so that an error inside one is not taken for a missing name.
    """
    return inspect.getattr_static(value, name, MISSING)


def keys_of(value: Any) -> Collection[Any]:
    """The names that ``value[name]`` takes: of things with ``keys()``, and of structured arrays."""
    if hasattr(type(value), "keys") and hasattr(type(value), "__getitem__"):
        return tuple(value.keys())
    names = getattr(getattr(value, "dtype", None), "names", None)
    return names if isinstance(names, tuple) else ()


def kind_of(value: Any) -> str:
    """What a message calls the value: its type, and how many it holds."""
    size = f" of {len(value)}" if isinstance(value, list | tuple | Mapping) else ""
    return f"a {type(value).__name__}{size}"


def _answers_names(kind: type) -> bool:
    """Attributes of such objects cannot be seen without asking for them."""
    plain: Any = object.__getattribute__
    return hasattr(kind, "__getattr__") or kind.__getattribute__ is not plain
