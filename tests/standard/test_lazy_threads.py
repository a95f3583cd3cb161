"""A stream of items among several threads: who may draw, and who closes the source."""

from __future__ import annotations

import itertools
from threading import Event
from typing import Any

import pytest

from ml_pipes.core import Pipeline
from ml_pipes.errors import RegionError
from ml_pipes.standard import LazyPerItem, StreamItems


class Source:
    """Numbers from 0 on, without end; knows what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self._numbers = itertools.count()

    def __iter__(self) -> Source:
        return self

    def __next__(self) -> int:
        self.asked.append("next")
        return next(self._numbers)

    def close(self) -> None:
        self.asked.append("close")


def stream_of(source: Any, *steps: Any) -> Any:
    return Pipeline([LazyPerItem(), *steps, StreamItems()])(source)


def double(value: int) -> int:
    return value * 2


def test_a_second_thread_that_draws_meanwhile_is_refused_and_the_first_goes_on(start: Any) -> None:
    inside, let_go = Event(), Event()

    def slow(value: int) -> int:
        inside.set()
        assert let_go.wait(timeout=10)
        return value

    stream = stream_of([1, 2], slow)
    first = start(next, stream)
    assert inside.wait(timeout=10)

    with pytest.raises(
        RegionError, match=r"0:LazyPerItem: this stream is being drawn from already.*Scatter\(\)"
    ):
        next(stream)
    let_go.set()

    assert first.result(timeout=10) == 1
    assert list(stream) == [2]


def test_threads_may_take_turns(start: Any) -> None:
    stream = stream_of(range(4), double)

    assert [start(next, stream).result(timeout=10) for _ in range(4)] == [0, 2, 4, 6]


def test_close_while_another_thread_draws_waits_for_nobody_and_closes_after_that_item(start: Any) -> None:
    inside, let_go, source = Event(), Event(), Source()

    def slow(value: int) -> int:
        inside.set()
        assert let_go.wait(timeout=10)
        return value

    stream = stream_of(source, slow)
    first = start(next, stream)
    assert inside.wait(timeout=10)

    stream.close()
    asked, at_the_end = list(source.asked), list(stream)
    let_go.set()

    assert (asked, at_the_end) == (["next"], [])
    assert first.result(timeout=10) == 0
    assert source.asked == ["next", "close"]
    assert stream.closed_early


@pytest.mark.stress
def test_many_threads_that_ask_again_get_each_result_once(start: Any) -> None:
    stream = stream_of(range(2000), double)

    def draw() -> list[int]:
        mine: list[int] = []
        while True:
            try:
                mine.append(next(stream))
            except StopIteration:
                return mine
            except RegionError:
                continue

    drawn = [start(draw) for _ in range(8)]

    results = [future.result(timeout=50) for future in drawn]
    assert sorted(itertools.chain(*results)) == list(range(0, 4000, 2))
    assert all(mine == sorted(mine) for mine in results)


@pytest.mark.stress
@pytest.mark.parametrize("seed", range(20))
def test_closing_and_drawing_at_once_closes_the_source_once(start: Any, seed: int) -> None:
    source = Source()
    stream = stream_of(source)
    started = Event()

    def draw() -> int:
        started.set()
        return sum(1 for _ in stream)

    drawing = start(draw)
    assert started.wait(timeout=10)
    closing = [start(stream.close) for _ in range(1 + seed % 3)]

    drawing.result(timeout=30)
    assert [future.result(timeout=10) for future in closing] == [None] * (1 + seed % 3)
    assert source.asked.count("close") == 1


def test_one_pipeline_gives_each_of_eight_threads_a_stream_of_its_own(start: Any) -> None:
    pipeline = Pipeline([LazyPerItem(), double, StreamItems()])

    futures = [start(lambda first=n: list(pipeline(range(first, first + 100)))) for n in range(8)]

    assert [future.result(timeout=30) for future in futures] == [
        list(range(n * 2, n * 2 + 200, 2)) for n in range(8)
    ]
