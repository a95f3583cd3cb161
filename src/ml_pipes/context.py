"""The named values of one run, and the steps that read and write them.

Knows one run's names. Knows nothing of how runs are driven.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from ml_pipes.errors import MissingNameError
from ml_pipes.operator import Operator
from ml_pipes.selector import Selector, SelectorInput

__all__ = ["Context", "ContextOp", "Recall", "Store"]

InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")
CurrentT = TypeVar("CurrentT")


class Context:
    """An immutable name -> value store; storing gives a new one."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, Any] | None = None) -> None:
        self._values: dict[str, Any] = dict(values or {})

    def load(self, name: str) -> Any:
        """The value under ``name``.

        Raises:
            MissingNameError: nothing was stored under it (a ``KeyError``); the message lists what was.
        """
        try:
            return self._values[name]
        except KeyError:
            stored = ", ".join(map(repr, self._values)) or "(none)"
            raise MissingNameError(f"{name!r} was not stored before this step; stored: {stored}") from None

    def get(self, name: str, default: Any = None) -> Any:
        """The value under ``name``, or ``default``."""
        return self._values.get(name, default)

    def store(self, name: str, value: Any) -> Context:
        """A context that has ``value`` under ``name`` too; a later store overwrites."""
        return _context({**self._values, name: value})

    def with_values(self, **values: Any) -> Context:
        """A context that has these values too."""
        return _context({**self._values, **values})

    def merge(self, other: Mapping[str, Any]) -> Context:
        """A context that has the other mapping's values too."""
        return _context({**self._values, **other})

    def as_dict(self) -> dict[str, Any]:
        """A copy, as a dict."""
        return dict(self._values)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and self._values == other._values

    __hash__ = None  # type: ignore[assignment] # the values need not be hashable, as in a dict

    def __repr__(self) -> str:
        return f"Context({self._values!r})"


def _context(values: dict[str, Any]) -> Context:
    """A context around a dict that nobody else has: Store is on the way of every call."""
    context = Context.__new__(Context)
    context._values = values  # noqa: SLF001 - made on the line above
    return context


class ContextOp(ABC, Generic[InputT, OutputT]):
    """Base of the steps that read or write the context."""

    @abstractmethod
    def apply(self, current: InputT, context: Context) -> tuple[OutputT, Context]:
        """Take the current value and context; return both as they go on."""


@Operator
class Store(ContextOp[CurrentT, CurrentT]):
    """Keep the current value, or what is at ``source`` in it, under ``name``; the value passes.

    Raises:
        SelectorRuntimeError: ``source`` names a missing key or attribute (when called).
        SelectorIndexError: ``source`` has an index out of range (when called).
    """

    def __init__(self, name: str, *, source: SelectorInput | None = None) -> None:
        self.name = name
        self.source = source
        self._selector = Selector.from_input(source)

    def apply(self, current: CurrentT, context: Context) -> tuple[CurrentT, Context]:
        selected = current
        if self._selector.steps:
            selected = self._selector.select_value(
                current, error_prefix=f"Store({self.name!r})", root_label="current"
            )
        return current, context.store(self.name, selected)


@Operator
class Recall(ContextOp[CurrentT, tuple[Any, ...]]):
    """Append a stored value to the current one: ``(*current, stored)``.

    A tuple is extended; anything else, a list too, counts as one element, and so
    does the stored value even when it is a tuple. ``prepend=True`` puts it first.

    Raises:
        MissingNameError: nothing was stored under ``name`` (a ``KeyError``; when called).
    """

    def __init__(self, name: str, prepend: bool = False) -> None:
        self.name = name
        self.prepend = prepend

    def apply(self, current: CurrentT, context: Context) -> tuple[tuple[Any, ...], Context]:
        parts = current if isinstance(current, tuple) else (current,)
        stored = context.load(self.name)
        return ((stored, *parts) if self.prepend else (*parts, stored)), context
