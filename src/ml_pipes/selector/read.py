"""Following a path into a value.

Knows mappings, sequences and attributes. Knows nothing of pipelines.
"""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MemberDescriptorType
from typing import Any, TypeVar

from ml_pipes.errors import SelectorIndexError, SelectorRuntimeError
from ml_pipes.selector.path import SelectorInput, SelectorPart, parse_path, render_path

__all__ = ["Selector"]

_MISSING = object()
_ErrorT = TypeVar("_ErrorT", SelectorRuntimeError, SelectorIndexError)


@dataclass(frozen=True)
class Selector:
    """A parsed path; no steps select the value itself."""

    steps: tuple[SelectorPart, ...] = ()

    @classmethod
    def from_input(cls, selector: SelectorInput | None) -> Selector:
        """Parse a path as users write it; None selects the value itself."""
        return cls() if selector is None else cls(parse_path(selector))

    def render_path(self, root_label: str = "x", upto: int | None = None) -> str:
        """The path, or its first ``upto`` parts, as Python would write it."""
        return render_path(self.steps[:upto], root_label)

    def select_value(self, value: Any, *, error_prefix: str | None = None, root_label: str = "x") -> Any:
        """The value at the path.

        Raises:
            SelectorRuntimeError: a key or an attribute is missing (a ``TypeError``).
            SelectorIndexError: an index is out of range (an ``IndexError``).
        """
        for at, part in enumerate(self.steps):
            try:
                found = _index(value, part) if isinstance(part, int) else _name(value, part)
            except IndexError:
                raise self._error(SelectorIndexError, at, value, error_prefix, root_label) from None
            if found is _MISSING:
                raise self._error(SelectorRuntimeError, at, value, error_prefix, root_label)
            value = found
        return value

    def select_value_or_missing(self, value: Any, *, missing: Any = _MISSING, root_label: str = "x") -> Any:
        """The value at the path, or ``missing`` when a part of it is not there."""
        try:
            return self.select_value(value, root_label=root_label)
        except (SelectorRuntimeError, SelectorIndexError):
            return missing

    def _error(
        self, kind: type[_ErrorT], at: int, value: Any, error_prefix: str | None, root_label: str
    ) -> _ErrorT:
        prefix = f"{error_prefix}: " if error_prefix else ""
        part = self.steps[at]
        wanted = f"index {part}" if isinstance(part, int) else f"key or attribute {part!r}"
        path = self.render_path(root_label)
        return kind(
            f"{prefix}cannot resolve {path}: {self.render_path(root_label, at)} "
            f"is {_kind(value)} and has no {wanted}",
            selector=self,
            path=path,
        )


def _index(value: Any, index: int) -> Any:
    if isinstance(value, Mapping):
        return value.get(index, _MISSING)
    if isinstance(value, str | bytes) or not hasattr(type(value), "__getitem__"):
        return _MISSING
    return value[index]


def _name(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return value.get(name, _MISSING)
    # Asked without running a property, so that an error inside one is not taken for a missing name.
    static = inspect.getattr_static(value, name, _MISSING)
    if static is not _MISSING and not isinstance(static, MemberDescriptorType):
        return getattr(value, name)
    if name in _keys(value):
        return value[name]
    if static is _MISSING and not _answers_names(type(value)):
        return _MISSING
    try:
        return getattr(value, name)  # an unset slot, or a name that the class looks up in its own way
    except AttributeError:
        return _MISSING


def _keys(value: Any) -> Collection[Any]:
    """The names that ``value[name]`` takes: of things with ``keys()``, and of structured arrays."""
    if hasattr(type(value), "keys") and hasattr(type(value), "__getitem__"):
        return tuple(value.keys())
    names = getattr(getattr(value, "dtype", None), "names", None)
    return names if isinstance(names, tuple) else ()


def _answers_names(kind: type) -> bool:
    """Attributes of such objects cannot be seen without asking for them."""
    plain: Any = object.__getattribute__
    return hasattr(kind, "__getattr__") or kind.__getattribute__ is not plain


def _kind(value: Any) -> str:
    size = f" of {len(value)}" if isinstance(value, list | tuple | Mapping) else ""
    return f"a {type(value).__name__}{size}"
