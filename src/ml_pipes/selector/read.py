"""Following a path into a value.

Knows how the steps of a path lead from one value to the next. Knows nothing of pipelines.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from ml_pipes.errors import SelectorIndexError, SelectorRuntimeError
from ml_pipes.selector.look import MISSING, at_index, kind_of, under_name
from ml_pipes.selector.path import SelectorInput, SelectorPart, parse_path, render_path
from ml_pipes.selector.write import SelectedField

__all__ = ["Selector"]

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
                found = at_index(value, part) if isinstance(part, int) else under_name(value, part)
            except IndexError:
                raise self._error(SelectorIndexError, at, value, error_prefix, root_label) from None
            if found is MISSING:
                raise self._error(SelectorRuntimeError, at, value, error_prefix, root_label)
            value = found
        return value

    def select_value_or_missing(self, value: Any, *, missing: Any = MISSING, root_label: str = "x") -> Any:
        """The value at the path, or ``missing`` when a part of it is not there."""
        try:
            return self.select_value(value, root_label=root_label)
        except (SelectorRuntimeError, SelectorIndexError) as error:
            if error.selector is not self:  # it comes from inside a property
                raise
            return missing

    def select_field(self, value: Any, *, root_label: str = "x") -> SelectedField:
        """The place at the path, to be written to; nothing is looked up before it is.

        Raises:
            ValueError: the path has no part: the value itself has no place.
        """
        if not self.steps:
            raise ValueError("select_field needs a path of at least one part, such as 'boxes' or 0")
        parent = Selector(self.steps[:-1])
        return SelectedField(
            value,
            parent,
            self.steps[-1],
            parent.render_path(root_label),
            self.render_path(root_label),
            root_label,
        )

    def _error(
        self, kind: type[_ErrorT], at: int, value: Any, error_prefix: str | None, root_label: str
    ) -> _ErrorT:
        prefix = f"{error_prefix}: " if error_prefix else ""
        part = self.steps[at]
        wanted = f"index {part}" if isinstance(part, int) else f"key or attribute {part!r}"
        path = self.render_path(root_label)
        return kind(
            f"{prefix}cannot resolve {path}: {self.render_path(root_label, at)} "
            f"is {kind_of(value)} and has no {wanted}",
            selector=self,
            path=path,
        )
