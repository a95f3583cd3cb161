"""LazyPerItem / StreamItems."""

from __future__ import annotations

import copy
import gc
import itertools
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.errors import MissingNameError, RegionError, StepInputError, StructureError
from ml_pipes.standard import (
    CollectItems,
    Gather,
    LazyPerItem,
    PerItem,
    Recall,
    Scatter,
    Store,
    StreamItems,
    Take,
    TakeWhile,
)


class Source:
    """Numbers from 0 on; knows what was asked of it."""

    def __init__(self, count: int = 4, closing: Exception | None = None) -> None:
        self.asked: list[str] = []
        self._numbers = iter(range(count))
        self._closing = closing

    def __iter__(self) -> Source:
        self.asked.append("iter")
        return self

    def __next__(self) -> int:
        self.asked.append("next")
        return next(self._numbers)

    def close(self) -> None:
        self.asked.append("close")
        if self._closing is not None:
            raise self._closing


def stream_of(source: Any, *steps: Any) -> Any:
    return Pipeline([LazyPerItem(), *steps, StreamItems()])(source)


def double(value: int) -> int:
    return value * 2


def test_results_come_one_by_one_from_any_iterable() -> None:
    assert list(stream_of([1, 2, 3], double)) == [2, 4, 6]
    assert list(stream_of((value for value in (5, 6)), double)) == [10, 12]
    assert list(stream_of([])) == []
    assert list(stream_of(np.arange(3), double)) == [0, 2, 4]


def test_a_stream_is_its_own_iterator() -> None:
    stream = stream_of([1])

    assert iter(stream) is stream
    assert isinstance(stream, Iterator)


def test_nothing_runs_before_it_is_asked_for_and_nothing_is_drawn_ahead() -> None:
    source, seen = Source(), list[int]()

    stream = stream_of(source, lambda value: seen.append(value) or value)
    before = (list(source.asked), list(seen))
    first = next(stream)

    assert before == ([], [])
    assert (first, seen) == (0, [0])
    assert source.asked == ["iter", "next"]


def test_an_iterable_is_asked_for_its_iterator_at_the_first_next() -> None:
    opened: list[bool] = []

    class Loader:
        def __iter__(self) -> Iterator[int]:
            opened.append(True)
            return iter((1, 2))

    stream = stream_of(Loader(), double)
    before = list(opened)

    assert list(stream) == [2, 4]
    assert (before, opened) == ([], [True])


@pytest.mark.parametrize("value", ["text", b"bytes", bytearray(b"b"), {"a": 1}, 7, None])
def test_what_has_no_items_is_refused_at_the_call(value: Any) -> None:
    with pytest.raises(
        StepInputError, match=f"LazyPerItem requires an item iterable boundary, got {type(value).__name__}"
    ):
        stream_of(value)


def test_an_array_without_axes_is_refused_when_it_is_drawn_from() -> None:
    with pytest.raises(StepInputError, match="LazyPerItem requires an item iterable boundary, got ndarray"):
        next(stream_of(np.array(5)))


def test_an_item_that_short_circuits_is_dropped() -> None:
    assert list(stream_of(range(6), lambda value: SHORT_CIRCUIT if value % 2 else value)) == [0, 2, 4]
    assert list(stream_of(range(6), lambda _: SHORT_CIRCUIT)) == []


def test_each_item_has_a_context_of_its_own() -> None:
    assert list(stream_of([1, 2], Store("x"), double, Recall("x"))) == [(2, 1), (4, 2)]
    with pytest.raises(MissingNameError, match="'outer' was not stored"):
        list(Pipeline([Store("outer"), LazyPerItem(), Recall("outer"), StreamItems()])([1]))


def test_the_last_item_closes_the_source_and_the_stream_stays_at_its_end() -> None:
    source = Source(1)
    stream = stream_of(source)

    assert list(stream) == [0]
    assert source.asked == ["iter", "next", "next", "close"]
    assert list(stream) == []
    assert not stream.closed_early


def test_close_closes_the_source_at_once_and_twice_is_fine() -> None:
    source = Source()
    stream = stream_of(source)
    next(stream)

    stream.close()
    stream.close()

    assert source.asked == ["iter", "next", "close"]
    assert list(stream) == []
    assert stream.closed_early


def test_close_before_the_first_item_closes_the_source_that_was_never_drawn_from() -> None:
    source, items = Source(), [1]

    stream_of(source).close()
    stream_of(items).close()

    assert source.asked == ["close"]


def test_closing_at_the_end_is_not_early() -> None:
    stream = stream_of([1])
    list(stream)

    stream.close()

    assert not stream.closed_early


def test_a_stream_that_nobody_holds_closes_its_source_at_once() -> None:
    source = Source()
    stream = stream_of(source)
    next(stream)

    del stream
    gc.collect()  # for an interpreter that does not count references

    assert source.asked == ["iter", "next", "close"]


def test_the_error_of_a_step_says_where_closes_the_source_at_once_and_ends_the_stream() -> None:
    source = Source()
    stream = stream_of(source, lambda value: 1 // (value - 1))
    next(stream)

    with pytest.raises(ZeroDivisionError) as caught:
        next(stream)

    assert caught.value.__notes__ == ["in step 1:<lambda>, item 1 of 0:LazyPerItem"]
    assert source.asked[-1] == "close"
    assert list(stream) == []
    assert not stream.closed_early


def test_an_error_of_the_source_is_noted_too() -> None:
    def source() -> Iterator[int]:
        yield 1
        raise OSError("no more frames")

    stream = stream_of(source())

    assert next(stream) == 1
    with pytest.raises(OSError, match="no more frames") as caught:
        next(stream)
    assert caught.value.__notes__ == ["in step 0:LazyPerItem"]
    assert list(stream) == []


def test_an_interrupt_closes_the_source_too() -> None:
    def interrupted(value: int) -> int:
        raise KeyboardInterrupt

    source = Source()

    with pytest.raises(KeyboardInterrupt):
        next(stream_of(source, interrupted))

    assert source.asked[-1] == "close"


def test_the_failure_of_an_item_comes_before_one_of_closing_the_source() -> None:
    broken = OSError("could not close the camera")

    with pytest.raises(ZeroDivisionError):
        next(stream_of(Source(closing=broken), lambda value: 1 / value))
    with pytest.raises(OSError, match="could not close the camera"):
        list(stream_of(Source(closing=broken)))
    with pytest.raises(OSError, match="could not close the camera"):
        stream_of(Source(closing=broken)).close()


def test_a_failure_of_closing_the_source_at_its_end_says_where_it_was() -> None:
    with pytest.raises(OSError, match="could not close the camera") as caught:
        list(stream_of(Source(closing=OSError("could not close the camera"))))

    assert caught.value.__notes__ == ["in step 0:LazyPerItem"]


def test_a_step_that_raises_stop_iteration_does_not_end_the_stream_unnoticed() -> None:
    source = Source()
    stream = stream_of(source, lambda value: next(iter([value] * (1 - value))))

    assert next(stream) == 0
    with pytest.raises(RegionError, match="0:LazyPerItem: item 1 ended in a StopIteration") as caught:
        next(stream)
    assert isinstance(caught.value.__cause__, StopIteration)
    assert source.asked[-1] == "close"


def test_steps_after_the_region_take_from_an_endless_source_and_close_it() -> None:
    def frames() -> Iterator[int]:
        try:
            yield from itertools.count()
        finally:
            closed.append(True)

    closed: list[bool] = []
    lazy = [LazyPerItem(), double, StreamItems()]

    assert Pipeline([*lazy, Take("2")])(frames()) == [0, 2]
    assert Pipeline([*lazy, TakeWhile(lambda value: value < 5)])(frames()) == [0, 2, 4]
    assert Pipeline([*lazy, *lazy, Take(2)])(frames()) == [0, 4]
    assert Pipeline([*lazy, Take(0)])(frames()) == []
    assert closed == [True, True, True]  # a generator that was never started has no more to close


def test_an_error_noticed_in_a_later_step_names_the_step_of_the_region() -> None:
    pipeline = Pipeline([LazyPerItem(), lambda value: 1 // value, StreamItems(), Take(1)])

    with pytest.raises(ZeroDivisionError) as caught:
        pipeline([0])

    assert caught.value.__notes__[0].startswith("in step 1:<lambda>, item 0 of 0:LazyPerItem")


def test_regions_mix_with_it() -> None:
    eager = Pipeline([LazyPerItem(), PerItem(), double, CollectItems(), StreamItems()])
    outer = Pipeline([PerItem(), LazyPerItem(), double, StreamItems(), list, CollectItems()])
    after = Pipeline([LazyPerItem(), double, StreamItems(), Scatter(4), double, Gather()])

    assert list(eager([[1, 2], [3]])) == [[2, 4], [6]]
    assert outer([[1, 2], [3]]) == [[2, 4], [6]]
    assert after(range(50)) == [value * 4 for value in range(50)]


def test_a_stream_outlives_its_pipeline() -> None:
    stream = stream_of(range(4), Store("x"), lambda value: [value], Scatter(2), double, Gather())

    gc.collect()

    assert list(stream) == [[0], [2], [4], [6]]


def test_a_step_may_close_its_own_stream_and_must_not_draw_from_it() -> None:
    source = Source()
    streams: list[Any] = [stream_of(source, lambda value: streams[0].close() or value)]
    streams += [stream_of([1], lambda _: next(streams[1]))]

    assert list(streams[0]) == [0]
    assert source.asked == ["iter", "next", "close"]
    with pytest.raises(RegionError, match="being drawn from already"):
        next(streams[1])


def test_a_close_while_items_are_dropped_ends_the_stream() -> None:
    def drop(value: int) -> Any:
        if value == 2:
            streams[0].close()
        return SHORT_CIRCUIT

    source = Source(10**9)
    streams = [stream_of(source, drop)]

    assert list(streams[0]) == []
    assert source.asked.count("next") == 3
    assert source.asked[-1] == "close"


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, pickle.dumps])
def test_a_stream_is_not_copied(twin_of: Any) -> None:
    source = Source(1)
    stream = stream_of(source)

    with pytest.raises(TypeError, match="0:LazyPerItem: a stream cannot be copied or pickled"):
        twin_of(stream)

    assert list(stream) == [0]


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda step: pickle.loads(pickle.dumps(step))])
def test_the_pipeline_is_copied(twin_of: Any) -> None:
    twin = twin_of(Pipeline([LazyPerItem(), double, StreamItems()]))

    assert list(twin([1, 2])) == [2, 4]
    assert (repr(LazyPerItem()), repr(StreamItems())) == ("LazyPerItem()", "StreamItems()")


def test_the_region_must_be_closed_by_stream_items() -> None:
    with pytest.raises(
        StructureError, match="0:LazyPerItem must be closed with StreamItems, not 1:CollectItems"
    ):
        Pipeline([LazyPerItem(), CollectItems()])


def test_a_traced_stream_gives_the_same_and_its_span_stands_in_the_trace() -> None:
    collector = CaptureCollector()
    pipeline = Pipeline([LazyPerItem(), double, StreamItems(), Take(2)])
    pipeline.set_tracing(collector)

    assert pipeline([1, 2, 3]) == [2, 4]
    assert collector.last_trace is not None
    assert [span.label for span in collector.last_trace.spans] == ["0:LazyPerItem", "3:Take"]
