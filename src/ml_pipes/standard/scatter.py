"""Scatter / Gather: one call's items are worked on by several threads.

Knows items, how many may run at once and what an item's failure becomes. Knows
nothing of how threads are kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from functools import partial
from typing import Any, Literal, TypeAlias, TypeVar, get_args

from ml_pipes._threads.clock import now
from ml_pipes._threads.crew import Crew, Worker, fan_out
from ml_pipes._threads.deadline import deadline_at
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.errors import DeadlineExceeded
from ml_pipes.operator import Operator
from ml_pipes.region import Body, RegionCloser, RegionOpener
from ml_pipes.standard._checks import check_choice, check_count
from ml_pipes.standard._sources import items_of

__all__ = ["Gather", "Scatter"]

ItemT = TypeVar("ItemT")

_OnError: TypeAlias = Literal["raise", "return", "drop"]


class _Seen:
    """The items of one call, by what became of them: lists, which any thread may append to."""

    __slots__ = ("begun", "dropped", "failed")

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.dropped: list[int] = []
        self.failed: list[int] = []


@Operator
class Gather(RegionCloser):
    """Ends a :class:`Scatter`; the list of results, in the order of the items, goes on."""


@Operator
class Scatter(RegionOpener[Iterable[ItemT], list[Any]]):
    """Run the steps up to ``Gather()`` for each item, up to ``max_concurrency`` of them at once.

    The calling thread is one of the workers; the others, ``max_concurrency - 1``, are
    kept for the next call and shared by all callers: so a Scatter in the body of another
    has as many workers as the outer one has, and those others. Each item has a fresh context, and sees the
    caller's ContextVars. An item whose run short-circuits is dropped. Items are
    drawn as workers come free, by one worker at a time, on whichever thread.

    Where an item fails, ``on_error`` says what becomes of that:

    - ``"raise"``: no item after it starts, those running are waited for, and the
      failure of the lowest index is raised.
    - ``"return"``: the exception stands in the list, at the item's place, with the
      note that says where it came from; all other items run. Its traceback keeps
      alive what the call was working on, all of the call's items with it, until
      ``error.with_traceback(None)`` lets go of them.
    - ``"drop"``: the item is left out, and nothing tells of it but a trace.

    A failure of the source is raised in each case, and so is an interrupt: what is no
    ``Exception``, such as Ctrl-C.

    Args:
        max_concurrency: how many items of a call may run at once; 1 starts no thread.
        on_error: what becomes of an item's failure: ``"raise"``, ``"return"`` or ``"drop"``.

    Raises:
        TypeError: ``max_concurrency`` is no whole number, or ``on_error`` no text (when built).
        ValueError: ``max_concurrency`` is less than 1, or ``on_error`` none of the three (when built).
        StepInputError: the value is no iterable of items: text, bytes, a mapping (a ``TypeError``).
    """

    closing_type = Gather
    keeps_stats = True

    def __init__(self, max_concurrency: int = 1, *, on_error: _OnError = "raise") -> None:
        self.max_concurrency = check_count("Scatter: max_concurrency", max_concurrency)
        self.on_error = check_choice("Scatter: on_error", on_error, get_args(_OnError))

    def run(self, value: Iterable[ItemT], body: Body[ItemT, Any]) -> list[Any]:
        items = items_of(value, "Scatter")
        count = len(value) if isinstance(value, Sized) else None
        helpers = (self.max_concurrency if count is None else min(self.max_concurrency, count)) - 1
        crew = body.own(partial(Crew, size=self.max_concurrency - 1))
        seen = _Seen()
        crew.tally.enter()
        try:
            call = partial(self._result, body, seen)
            results = fan_out(items, call, crew, helpers, count=count, approach=body.approach())
            return [result for result in results if result is not SHORT_CIRCUIT]
        finally:
            crew.tally.leave(len(seen.begun), len(seen.dropped), len(seen.failed))

    def _result(
        self, body: Body[ItemT, Any], seen: _Seen, item: ItemT, index: int, worker: Worker | None
    ) -> Any:
        """The result of one item, or what stands for it where its run fails."""
        seen.begun.append(index)
        try:
            result = body(item, item=index, worker=worker)
        except Exception as error:
            seen.failed.append(index)
            # The call's deadline is no failure of one item.
            is_ours = isinstance(error, DeadlineExceeded) and deadline_at() <= now()
            if self.on_error == "raise" or is_ours:
                raise
            if self.on_error == "drop":
                seen.dropped.append(index)
                return SHORT_CIRCUIT
            # One that is raised gets the region's place when it leaves the region; this one does not leave.
            body.note(error)
            return error
        if result is SHORT_CIRCUIT:
            seen.dropped.append(index)
        return result
