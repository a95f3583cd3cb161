"""LazyPerItem / StreamItems: the region runs for an item when somebody asks for the next one.

Knows iterators, who draws from them and when they are closed. Knows nothing of threads.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from ml_pipes._threads.tally import ItemTally
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.errors import RegionError
from ml_pipes.operator import Operator
from ml_pipes.region import Body, RegionCloser, RegionOpener
from ml_pipes.standard._sources import check_items, close_source, items_of

__all__ = ["ItemStream", "LazyPerItem", "StreamItems"]

ItemT = TypeVar("ItemT")
ErrorT = TypeVar("ErrorT", bound=BaseException)

_END: Any = object()


@Operator
class StreamItems(RegionCloser):
    """Ends a :class:`LazyPerItem`; an :class:`ItemStream` of the results goes on."""


@Operator
class LazyPerItem(RegionOpener[Iterable[ItemT], Iterator[Any]]):
    """Run the steps up to ``StreamItems()`` for an item when the next result is asked for.

    An :class:`ItemStream` goes on at once; nothing of the source or the steps runs
    before its first ``next()``. Each item has a fresh context. An item whose run
    short-circuits is dropped.

    Raises:
        StepInputError: the value is no iterable of items: text, bytes, a mapping (a ``TypeError``).
    """

    closing_type = StreamItems
    keeps_stats = True

    def run(self, value: Iterable[ItemT], body: Body[ItemT, Any]) -> ItemStream:
        check_items(value, "LazyPerItem")
        return ItemStream(value, body)


class ItemStream(Iterator[Any]):
    """The results of a :class:`LazyPerItem`, each made when it is asked for.

    Nothing is drawn from the source ahead. The source is closed as soon as the
    stream ends: by its last item, by an error of the source or of a step, by
    :meth:`close`, or when nobody holds the stream any more.

    Any thread may draw, one at a time: a second one that asks meanwhile is refused.
    To work on the results in several threads, put ``Scatter()`` after the stream.

    Raises:
        RegionError: it is being drawn from already, by another thread or by one of
            its own steps (a ``RuntimeError``; at ``next``).
        BaseException: what the source or a step raises, once; then the stream is at its end (at ``next``).
    """

    def __init__(self, source: Iterable[Any], body: Body[Any, Any]) -> None:
        # Whoever takes the token may touch the source. A list's pop and append are atomic, so
        # nobody waits: not close(), and not a garbage collection in the middle of something else.
        self._token = [True]
        self._closing = False
        self._closed_early = False
        self._count = self._ended = self._dropped = 0
        self._tally = body.own(ItemTally)
        self._tally.enter()
        self._label = body.label
        self._body: Body[Any, Any] | None = body
        self._source: Iterable[Any] | None = source
        self._items: Iterator[Any] | None = None

    def __iter__(self) -> ItemStream:
        return self

    def __next__(self) -> Any:
        self._take_token()
        body = self._body  # the end lets go of it, and an end may fail
        try:
            result = self._draw()
        except StopIteration as error:  # the stream would end, and nobody would know of the failure
            raise self._failed(
                RegionError(
                    f"{self._label}: item {self._count - 1} ended in a StopIteration, which ends a stream "
                    "unnoticed; give next() a default there, or catch it"
                ),
                body,
            ) from error
        except BaseException as error:
            self._failed(error, body)
            raise
        finally:
            self._token.append(True)
        if self._closing:  # close() came meanwhile, and left it to whoever had the token
            self.close()
        if result is _END:
            raise StopIteration
        return result

    def close(self) -> None:
        """End the stream and close its source; closing twice is fine, and it never waits.

        Where an item is being worked on at this moment, by another thread or around
        this very call, the source is closed as soon as that item is done.
        """
        self._closing = True
        try:
            self._token.pop()
        except IndexError:
            return
        try:
            self._closed_early |= self._body is not None
            self._end()
        finally:
            self._token.append(True)

    @property
    def closed_early(self) -> bool:
        """It was closed before its source had come to an end; an error is no closing."""
        return self._closed_early

    def __del__(self) -> None:
        self.close()

    def __reduce__(self) -> str:
        raise TypeError(
            f"{self._label}: a stream cannot be copied or pickled, since its source cannot be drawn from "
            "twice; make a list of it first"
        )

    def _take_token(self) -> None:
        try:
            self._token.pop()
        except IndexError:
            if self._closing:
                raise StopIteration from None
            raise RegionError(
                f"{self._label}: this stream is being drawn from already, and gives one result at a time; "
                "draw in one thread, or put Scatter() after the stream"
            ) from None

    def _draw(self) -> Any:
        """The next result that is not dropped, or ``_END``; for whoever has the token."""
        while self._body is not None and not self._closing:
            if self._items is None:
                self._items = items_of(self._source, "LazyPerItem")  # type: ignore[arg-type] # there is one while there is a body
            item = next(self._items, _END)
            if item is _END:
                self._end()
                break
            index, self._count = self._count, self._count + 1
            result = self._body(item, item=index)
            self._ended += 1
            if result is not SHORT_CIRCUIT:
                return result
            self._dropped += 1
        return _END

    def _failed(self, error: ErrorT, body: Body[Any, Any] | None) -> ErrorT:
        """The error, with its place noted, when all is closed; for whoever has the token."""
        if body is not None:
            body.note(error)
        with contextlib.suppress(Exception):  # the failure of an item comes before one of the closing
            self._end()
        return error

    def _end(self) -> None:
        """Let go of the steps, and close the source; for whoever has the token."""
        items, source = self._items, self._source
        if self._body is not None:
            self._tally.leave(self._count, self._dropped, self._count - self._ended)
        self._items = self._source = self._body = None
        # A list that was never asked for its iterator has nothing to close; a generator has.
        close_source(source if items is None and isinstance(source, Iterator) else items)
