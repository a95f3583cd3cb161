"""Scatter / Gather: one call's items are worked on by several threads.

Knows items and how many may run at once. Knows nothing of how threads are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from functools import partial
from typing import Any, TypeVar

from ml_pipes._threads.crew import Crew, fan_out
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.operator import Operator
from ml_pipes.region import Body, RegionCloser, RegionOpener
from ml_pipes.standard._checks import check_count
from ml_pipes.standard._sources import items_of

__all__ = ["Gather", "Scatter"]

ItemT = TypeVar("ItemT")


@Operator
class Gather(RegionCloser):
    """Ends a :class:`Scatter`; the list of results, in the order of the items, goes on."""


@Operator
class Scatter(RegionOpener[Iterable[ItemT], list[Any]]):
    """Run the steps up to ``Gather()`` for each item, up to ``max_concurrency`` of them at once.

    The calling thread is one of the workers; the others are kept for the next
    call and shared by all callers. Each item has a fresh context, and sees the
    caller's ContextVars. An item whose run short-circuits is dropped. Items are
    drawn as workers come free, by one worker at a time, on whichever thread. The
    first failure keeps the items after it from starting; those running are waited
    for, and the failure of the lowest index is raised.

    Args:
        max_concurrency: how many items of a call may run at once; 1 starts no thread.

    Raises:
        TypeError: ``max_concurrency`` is no whole number (when built).
        ValueError: ``max_concurrency`` is less than 1 (when built).
        StepInputError: the value is no iterable of items: text, bytes, a mapping (a ``TypeError``).
    """

    closing_type = Gather

    def __init__(self, max_concurrency: int = 1) -> None:
        self.max_concurrency = check_count("Scatter: max_concurrency", max_concurrency)

    def run(self, value: Iterable[ItemT], body: Body[ItemT, Any]) -> list[Any]:
        items = items_of(value, "Scatter")
        count = len(value) if isinstance(value, Sized) else self.max_concurrency
        helpers = min(self.max_concurrency, count) - 1
        crew = body.own(partial(Crew, size=self.max_concurrency - 1)) if helpers > 0 else None
        results = fan_out(items, lambda item, index: body(item, item=index), crew, helpers)
        return [result for result in results if result is not SHORT_CIRCUIT]
