"""PerItem / CollectItems: the region runs for each item of an iterable, one after the other.

Knows iterables. Knows nothing of threads.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from ml_pipes._threads.tally import ItemTally
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.operator import Operator
from ml_pipes.region import Body, RegionCloser, RegionOpener
from ml_pipes.standard._sources import drawn_from

__all__ = ["CollectItems", "PerItem"]

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
    keeps_stats = True

    def run(self, value: Iterable[ItemT], body: Body[ItemT, Any]) -> list[Any]:
        tally = body.own(ItemTally)
        results: list[Any] = []
        begun = ended = 0
        tally.enter()
        try:
            with drawn_from(value, "PerItem") as items:
                for item in items:
                    begun += 1
                    result = body(item, item=ended)
                    ended += 1
                    if result is not SHORT_CIRCUIT:
                        results.append(result)
            return results
        finally:
            tally.leave(begun, ended - len(results), begun - ended)
