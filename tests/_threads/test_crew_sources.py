"""A source that takes its time: what the others do meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from threading import Barrier, Event
from typing import Any

import pytest

from ml_pipes._threads.crew import Crew, fan_out


def is_helper() -> bool:
    return threading.current_thread().name.startswith("ml_pipes-")


class SlowSource:
    """Two items at once, a third when it is let go; who asks for that one is known."""

    def __init__(self) -> None:
        self.asked, self.let_go, self.closed = Event(), Event(), Event()

    def __iter__(self) -> Iterator[int]:
        try:
            yield from (0, 1)
            self.asked.set()
            assert self.let_go.wait(timeout=20)
            yield 2
        finally:
            self.closed.set()


def test_a_failure_does_not_wait_for_a_source_that_a_helper_asks_and_the_late_item_does_not_start(
    start: Any,
) -> None:
    source, both, started, crew = SlowSource(), Barrier(2), list[int](), Crew("slow", 1)

    def step(item: int, *_: Any) -> None:
        started.append(item)
        both.wait(timeout=10)
        if not is_helper():  # the helper has asked for the third item by now
            assert source.asked.wait(timeout=10)
            raise OSError("broken")

    caller = start(fan_out, source, step, crew, 1)
    try:
        error = caller.exception(timeout=5)
    finally:
        source.let_go.set()

    assert str(error) == "broken"
    assert source.closed.wait(timeout=10)
    crew.close()
    for thread in threading.enumerate():
        if thread.name.startswith("ml_pipes-slow"):
            thread.join(timeout=10)
    assert sorted(started) == [0, 1]


def test_helpers_serve_others_while_a_source_takes_its_time(start: Any) -> None:
    source, crew, together, both = SlowSource(), Crew("slow", 2), Barrier(2), Barrier(2)
    waiting = start(fan_out, source, lambda item, *_: both.wait(timeout=10), crew, 2)
    assert source.asked.wait(timeout=10)

    other = start(fan_out, range(2), lambda item, *_: together.wait(timeout=5), crew, 1)

    try:
        assert sorted(other.result(timeout=10)) == [0, 1]
    finally:
        source.let_go.set()
        both.abort()
        with pytest.raises(threading.BrokenBarrierError):
            waiting.result(timeout=10)
