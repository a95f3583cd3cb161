"""Writing to the place at the end of a path, in the object that is there.

Knows what can be written to, and what refuses. Knows nothing of how a path is read.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from types import FunctionType, MemberDescriptorType
from typing import TYPE_CHECKING, Any

from ml_pipes.errors import SelectorIndexError, SelectorRuntimeError
from ml_pipes.selector.look import MISSING, at_index, keys_of, kind_of, static_attribute, under_name
from ml_pipes.selector.path import SelectorPart

if TYPE_CHECKING:
    from ml_pipes.selector.read import Selector

__all__ = ["SelectedField"]


@dataclass(frozen=True)
class SelectedField:
    """The place of one part in what a path leads to; made by ``Selector.select_field``.

    Attributes:
        root: the value that the path starts from.
        parent_selector: the way to what holds the place.
        field_selection: the key, attribute or index of the place in it.
        parent_path: the way to the holder, as Python would write it.
        field_path: the way to the place, as Python would write it.
        root_label: what messages call the root.
    """

    root: object
    parent_selector: Selector
    field_selection: SelectorPart
    parent_path: str
    field_path: str
    root_label: str = "x"

    def set(
        self, value: Any, *, create_missing_mappings: bool = False, error_prefix: str | None = None
    ) -> None:
        """Write ``value`` to the place, in the object itself; it is written whole or not at all.

        Args:
            value: what will be there.
            create_missing_mappings: where a mapping on the way lacks a key, and only names follow
                it, dicts are made in it.
            error_prefix: what messages begin with, such as the operator's name.

        Raises:
            SelectorRuntimeError: the way there is missing, or what holds the place cannot be
                written to: a tuple, a frozen dataclass, a read-only array (a ``TypeError``).
            SelectorIndexError: an index is out of range (an ``IndexError``).
        """
        parts = (*self.parent_selector.steps, self.field_selection)
        gap = _gap(self.root, parts) if create_missing_mappings else None
        if gap is not None:
            holder, at = gap
            for part in reversed(parts[at + 1 :]):
                value = {part: value}
            holder[parts[at]] = value
            return
        holder = self.parent_selector.select_value(
            self.root, error_prefix=error_prefix, root_label=self.root_label
        )
        try:
            _write(holder, self.field_selection, value)
        except (_RefusedError, IndexError) as error:
            out_of_range = isinstance(error, IndexError)
            raise (SelectorIndexError if out_of_range else SelectorRuntimeError)(
                f"{f'{error_prefix}: ' if error_prefix else ''}cannot write {self.field_path}: "
                f"{self.parent_path} is {kind_of(holder)}, "
                f"{f'and has no index {self.field_selection}' if out_of_range else error}; "
                "name another place, or make a new value instead",
                selector=type(self.parent_selector)(parts),
                path=self.field_path,
            ) from error.__cause__


class _RefusedError(Exception):
    """The holder cannot be written to; says why."""


def _gap(root: object, parts: Sequence[SelectorPart]) -> tuple[MutableMapping[Any, Any], int] | None:
    """The mapping on the way that lacks a key, and which part that is.

    None where all but the last part are there, or what is missing is not a
    matter of names: a missing index is no place for a dict.
    """
    value: Any = root
    for at, part in enumerate(parts[:-1]):
        try:
            found = at_index(value, part) if isinstance(part, int) else under_name(value, part)
        except IndexError:
            return None
        if found is MISSING:
            fits = isinstance(value, MutableMapping) and all(isinstance(part, str) for part in parts[at:])
            return (value, at) if fits else None
        value = found
    return None


def _write(holder: Any, part: SelectorPart, value: Any) -> None:
    if isinstance(part, int) or isinstance(holder, Mapping):
        _write_item(holder, part, value)
        return
    # In the order in which reading looks: what is written is what will be read.
    static = static_attribute(holder, part)
    is_attribute = static is not MISSING and not isinstance(static, MemberDescriptorType)
    if not is_attribute and (part in keys_of(holder) or _takes_names(type(holder))):
        _write_item(holder, part, value)
    else:
        _write_attribute(holder, part, value, static)


def _write_item(holder: Any, part: SelectorPart, value: Any) -> None:
    if not hasattr(type(holder), "__setitem__"):
        raise _RefusedError("which cannot be written to")
    if getattr(getattr(holder, "flags", None), "writeable", True) is False:
        raise _RefusedError("which is read-only")
    holder[part] = value


def _write_attribute(holder: Any, name: str, value: Any, static: Any) -> None:
    if isinstance(static, property) and static.fset is None:
        raise _RefusedError(f"whose property {name} has no setter")
    try:
        setattr(holder, name, value)
    except (AttributeError, TypeError) as error:
        # An error inside somebody's setter is theirs, and no refusal.
        if isinstance(static, property) or isinstance(getattr(type(static), "__set__", None), FunctionType):
            raise
        raise _RefusedError(f"which refuses it ({error})") from error


def _takes_names(kind: type) -> bool:
    """``value[name] = ...`` adds a name, as in a registry."""
    return hasattr(kind, "keys") and hasattr(kind, "__setitem__")
