"""Iterables that an operator draws items from, and closes.

Knows iterators. Knows nothing of what the items are.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Generic, NoReturn, TypeVar

from ml_pipes.errors import StepInputError

__all__ = ["check_items", "close_source", "drawn_from", "items_of"]

ItemT = TypeVar("ItemT")


def check_items(value: Any, place: str) -> None:
    """The value has items, told without asking for its iterator: a data loader's starts its workers.

    Raises:
        StepInputError: it is text, bytes, a mapping, or no iterable.
    """
    is_whole = isinstance(value, str | bytes | bytearray | memoryview | Mapping)
    if is_whole or not isinstance(value, Iterable):
        _refuse(value, place)


def items_of(value: Iterable[ItemT], place: str) -> Iterator[ItemT]:
    """An iterator over the items of a value, where it has items in the sense of a region.

    Raises:
        StepInputError: it is text, bytes, a mapping, or no iterable.
    """
    check_items(value, place)
    try:
        return iter(value)
    except TypeError:  # an array without axes says that it can be iterated, and cannot
        _refuse(value, place)


class drawn_from(Generic[ItemT]):  # noqa: N801 - used as a function, ``with drawn_from(...) as items``
    """The items of a value, whose iterator is closed at the end, whichever end it is.

    (A class: a generator's context costs a microsecond more, and PerItem pays it per call.)

    Raises:
        StepInputError: it has no items: text, bytes, a mapping, no iterable.
    """

    __slots__ = ("_items",)

    def __init__(self, value: Iterable[ItemT], place: str) -> None:
        self._items = items_of(value, place)

    def __enter__(self) -> Iterator[ItemT]:
        return self._items

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        if error is None:
            close_source(self._items)
            return
        with contextlib.suppress(Exception):  # the failure of an item comes before one of the closing
            close_source(self._items)


def close_source(source: Any) -> None:
    """Close what can be closed."""
    close = getattr(source, "close", None)
    if close is not None:
        close()


def _refuse(value: Any, place: str) -> NoReturn:
    raise StepInputError(
        f"{place} requires an item iterable boundary, got {type(value).__name__}; "
        "the step before must return a list or another iterable of items"
    ) from None
