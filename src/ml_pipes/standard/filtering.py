"""Steps that let a value pass or end its run, and steps that keep some items of an iterable.

Knows the predicates, keys and counts that were given. Knows nothing of pipelines.
"""

from __future__ import annotations

import operator
import re
import sys
from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.errors import StepInputError
from ml_pipes.operator import Operator
from ml_pipes.selector import Selector, SelectorInput
from ml_pipes.standard._given import check_path, check_takes_one
from ml_pipes.standard._sources import drawn_from

__all__ = ["Distinct", "DistinctBy", "DropNull", "Filter", "FilterNotNull", "Take", "TakeWhile"]

CurrentT = TypeVar("CurrentT")
ItemT = TypeVar("ItemT")

_DROPPED: Any = SHORT_CIRCUIT  # what no annotation of a result names


@Operator
class Filter:
    """Let the current value pass where ``predicate`` holds; where not the run ends, or the item is dropped.

    Args:
        predicate: any callable of one value; what it gives is taken as true or false.
        source: path of the part that ``predicate`` is asked about; the whole value unless it is given.

    Raises:
        TypeError: ``predicate`` cannot be called with one value, or ``source`` is no path (when built).
        ValueError: ``source`` cannot be read (when built).
        SelectorRuntimeError: ``source`` names a missing key or attribute (a ``TypeError``; when called).
        SelectorIndexError: ``source`` has an index out of range (an ``IndexError``; when called).
    """

    def __init__(self, predicate: Callable[[Any], Any], *, source: SelectorInput | None = None) -> None:
        check_takes_one("Filter: predicate", predicate)
        self.predicate = predicate
        self.source = source
        self._selector = Selector() if source is None else check_path("Filter: source", source)

    def __call__(self, current: CurrentT) -> CurrentT:
        value = self._selector.select_value(current, error_prefix="Filter: source", root_label="current")
        return current if self.predicate(value) else _DROPPED


@Operator
class FilterNotNull:
    """Let the current value pass where there is something at ``source``, and it is not None.

    An error inside a property on the way is raised: it is no missing value.

    Raises:
        TypeError: ``source`` is no path (when built).
        ValueError: ``source`` cannot be read (when built).
    """

    def __init__(self, *, source: SelectorInput) -> None:
        self.source = source
        self._selector = check_path("FilterNotNull: source", source)

    def __call__(self, current: CurrentT) -> CurrentT:
        value = self._selector.select_value_or_missing(current, missing=None)
        return _DROPPED if value is None else current


@Operator
class DropNull:
    """Let every value pass but None; 0, an empty text and an empty list are values."""

    def __call__(self, current: ItemT | None) -> ItemT:
        return _DROPPED if current is None else current


@Operator
class DistinctBy(Generic[ItemT]):
    """Keep the first item of each key, in a list, in order.

    Args:
        fn: gives an item's key, which must be hashable.

    Raises:
        TypeError: ``fn`` cannot be called with one value (when built).
        StepInputError: the value is no iterable of items (text, bytes, a mapping), or a key is not
            hashable (a ``TypeError``; when called).
    """

    def __init__(self, fn: Callable[[ItemT], Any]) -> None:
        check_takes_one("DistinctBy: fn", fn)
        self.fn = fn

    def __call__(self, items: Iterable[ItemT]) -> list[ItemT]:
        place = type(self).__name__
        first: dict[Any, ItemT] = {}
        with drawn_from(items, place) as source:
            for index, item in enumerate(source):
                key = self.fn(item)
                try:
                    hash(key)
                except TypeError as error:
                    raise StepInputError(
                        f"{place}: the key of item {index} is a {type(key).__name__} that cannot be hashed "
                        f"({error}); give something hashable, such as a text or a tuple"
                    ) from error
                first.setdefault(key, item)
        return list(first.values())


@Operator
class Distinct(DistinctBy[Any]):
    """Keep the first item of each value at ``source``, in a list, in order.

    Raises:
        TypeError: ``source`` is no path (when built).
        ValueError: ``source`` cannot be read (when built).
        StepInputError: the value is no iterable of items (text, bytes, a mapping), or what is at
            ``source`` is not hashable (a ``TypeError``; when called).
        SelectorRuntimeError: an item has nothing at ``source`` (a ``TypeError``; when called).
        SelectorIndexError: ``source`` has an index out of range (an ``IndexError``; when called).
    """

    def __init__(self, *, source: SelectorInput) -> None:
        self.source = source
        selector = check_path("Distinct: source", source)
        super().__init__(partial(_value_at, selector))


@Operator
class Take:
    """Keep the first ``count`` items, in a list; no item after them is drawn, and the source is closed.

    Args:
        count: how many, 0 or more; a text of digits will do.

    Raises:
        TypeError: ``count`` is no whole number and no text (when built).
        ValueError: ``count`` is negative, or no text of digits (when built).
        StepInputError: the value is no iterable of items (a ``TypeError``; when called).
    """

    def __init__(self, count: int | str) -> None:
        self.count = _checked_count(count)

    def __call__(self, current: Iterable[ItemT]) -> list[ItemT]:
        with drawn_from(current, "Take") as source:
            return list(islice(source, min(self.count, sys.maxsize)))


@Operator
class TakeWhile(Generic[ItemT]):
    """Keep the leading items for which ``predicate`` holds, in a list; the source is closed.

    The first item for which it does not hold is drawn and left out.

    Args:
        predicate: any callable of one item; what it gives is taken as true or false.

    Raises:
        TypeError: ``predicate`` cannot be called with one value (when built).
        StepInputError: the value is no iterable of items (a ``TypeError``; when called).
    """

    def __init__(self, predicate: Callable[[ItemT], Any]) -> None:
        check_takes_one("TakeWhile: predicate", predicate)
        self.predicate = predicate

    def __call__(self, current: Iterable[ItemT]) -> list[ItemT]:
        taken: list[ItemT] = []
        with drawn_from(current, "TakeWhile") as source:
            for item in source:
                if not self.predicate(item):
                    break
                taken.append(item)
        return taken


def _value_at(selector: Selector, item: Any) -> Any:
    return selector.select_value(item, error_prefix="Distinct: source", root_label="item")


def _checked_count(count: Any) -> int:
    wanted = "Take: count must be a whole number, 0 or more"
    if isinstance(count, str):
        if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", count):
            raise ValueError(f"{wanted}, or such a number as text, got {count!r}")
        number = int(count)
    else:
        try:
            number = operator.index(count)
        except TypeError:
            raise TypeError(f"{wanted}, got {count!r}") from None
        if isinstance(count, bool):
            raise TypeError(f"{wanted}, got {count!r}")
    if number < 0:
        raise ValueError(f"{wanted}, got {number}")
    return number
