"""PerItem / CollectItems: the region runs for each item of an iterable, one after the other.

Knows iterables. Knows nothing of threads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.errors import StepInputError
from ml_pipes.operator import Operator
from ml_pipes.region import Body, RegionCloser, RegionOpener

__all__ = ["CollectItems", "PerItem", "items_of"]

ItemT = TypeVar("ItemT")


@Operator
class CollectItems(RegionCloser):
    """Ends a :class:`PerItem`; a list of the results goes on."""


@Operator
class PerItem(RegionOpener[Iterable[ItemT], list[Any]]):
    """Run the steps up to ``CollectItems()`` for each item; the list of results goes on.

    Each item has a fresh context. An item whose run short-circuits is dropped.
    The first error ends the region; an iterator that can be closed is closed.

    Raises:
        StepInputError: the value is no iterable of items: text, bytes, a mapping (a ``TypeError``).
    """

    closing_type = CollectItems

    def run(self, value: Iterable[ItemT], body: Body[ItemT, Any]) -> list[Any]:
        items = items_of(value, "PerItem")
        close = getattr(items, "close", _nothing)
        try:
            results = [body(item, item=index) for index, item in enumerate(items)]
        except BaseException:
            with contextlib.suppress(Exception):  # the failure of an item comes before one of the closing
                close()
            raise
        close()
        return [result for result in results if result is not SHORT_CIRCUIT]


def items_of(value: Iterable[ItemT], region: str) -> Iterator[ItemT]:
    """An iterator over the items of a value, where it has items in the sense of a region.

    Raises:
        StepInputError: it is no iterable, or text, bytes or a mapping.
    """
    if not isinstance(value, str | bytes | bytearray | memoryview | Mapping) and isinstance(value, Iterable):
        with contextlib.suppress(TypeError):  # an array without axes says that it can be iterated, and cannot
            return iter(value)
    raise StepInputError(
        f"{region} requires an item iterable boundary, got {type(value).__name__}; "
        "the step before must return a list or another iterable of items"
    )


def _nothing() -> None:
    """How an iterator without a close() is closed."""
