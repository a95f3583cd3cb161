"""Threads that help a caller through its items."""

from __future__ import annotations

import contextvars
import gc
import threading
import weakref
from collections.abc import Iterator
from threading import Barrier, Event
from typing import Any

import pytest

from ml_pipes._threads.crew import Crew, fan_out

COLOUR: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")


def test_results_come_in_the_order_of_the_items_whichever_ends_first() -> None:
    second_done = Event()

    def call(item: str, *_: Any) -> str:
        if item == "first":
            assert second_done.wait(timeout=10)
        else:
            second_done.set()
        return item.upper()

    assert fan_out(["first", "second"], call, Crew("2:Scatter", 1), helpers=1) == ["FIRST", "SECOND"]


def test_the_calling_thread_works_too() -> None:
    barrier = Barrier(3)

    def call(*_: Any) -> int:
        barrier.wait(timeout=10)
        return threading.get_ident()

    workers = fan_out(range(3), call, Crew("2:Scatter", 2), helpers=2)

    assert len(set(workers)) == 3
    assert threading.get_ident() in workers


def test_threads_are_named_after_the_region_and_end_with_the_crew() -> None:
    crew = Crew("2:Scatter", 2)
    barrier = Barrier(3)
    workers = fan_out(range(3), lambda *_: (barrier.wait(timeout=10), threading.current_thread())[1], crew, 2)
    threads = [thread for thread in workers if thread is not threading.current_thread()]

    del crew
    gc.collect()
    for thread in threads:
        thread.join(timeout=10)

    assert sorted(thread.name for thread in threads) == ["ml_pipes-2:Scatter-0", "ml_pipes-2:Scatter-1"]
    assert not any(thread.is_alive() for thread in threads)


def test_the_first_failure_keeps_the_rest_from_starting_and_those_running_are_waited_for() -> None:
    started: list[int] = []
    all_running, failed = Barrier(3), Event()

    def call(item: int, *_: Any) -> int:
        started.append(item)
        all_running.wait(timeout=10)
        if item == 0:
            failed.set()
            raise ValueError("item 0")
        assert failed.wait(timeout=10)
        return item

    with pytest.raises(ValueError, match="item 0"):
        fan_out(range(30), call, Crew("2:Scatter", 2), helpers=2)

    assert len(started) <= 6  # three ran, and each of three workers may have had its next one in hand
    assert {0, 1, 2} <= set(started)


def test_of_several_failures_the_one_of_the_lowest_index_is_raised() -> None:
    third_failed, all_running = Event(), Barrier(3)

    def call(item: int, *_: Any) -> int:
        all_running.wait(timeout=10)
        if item == 2:
            third_failed.set()
        elif item == 1:
            assert third_failed.wait(timeout=10)
        else:
            return item
        raise ValueError(f"item {item}")

    with pytest.raises(ValueError, match="item 1"):
        fan_out(range(3), call, Crew("2:Scatter", 2), helpers=2)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_comes_before_a_failure_and_leaves_the_crew_usable(kind: type[BaseException]) -> None:
    crew, both_running = Crew("2:Scatter", 1), Barrier(2)

    def call(item: int, *_: Any) -> int:
        both_running.wait(timeout=10)
        raise kind() if item == 1 else ValueError("item 0")

    with pytest.raises(kind):
        fan_out(range(2), call, crew, helpers=1)

    assert fan_out(range(3), lambda item, *_: item + 1, crew, helpers=1) == [1, 2, 3]


def test_a_failing_source_is_raised_after_the_items_it_gave() -> None:
    seen: list[int] = []

    def source() -> Iterator[int]:
        yield 1
        raise OSError("disk")

    with pytest.raises(OSError, match="disk"):
        fan_out(source(), lambda item, *_: seen.append(item), None, helpers=0)

    assert seen == [1]


def test_a_step_that_raises_stop_iteration_is_a_failure_not_an_end() -> None:
    def call(item: int, *_: Any) -> int:
        return next(iter([])) if item == 1 else item

    with pytest.raises(StopIteration):
        fan_out(range(3), call, None, helpers=0)


def test_items_are_drawn_only_as_workers_come_free() -> None:
    drawn: list[int] = []
    most_ahead = 0
    done: list[int] = []

    def source() -> Iterator[int]:
        for item in range(1000):
            drawn.append(item)
            yield item

    def call(item: int, *_: Any) -> int:
        nonlocal most_ahead
        most_ahead = max(most_ahead, len(drawn) - len(done))
        done.append(item)
        return item

    assert fan_out(source(), call, Crew("2:Scatter", 3), helpers=3) == list(range(1000))
    assert most_ahead <= 4


def test_a_source_that_can_be_closed_is_closed_after_a_failure() -> None:
    closed: list[bool] = []

    def source() -> Iterator[int]:
        try:
            yield from range(9)
        finally:
            closed.append(True)

    with pytest.raises(ZeroDivisionError):
        fan_out(source(), lambda item, *_: 1 // item, None, helpers=0)

    assert closed == [True]


def test_each_item_sees_the_callers_context_variables_and_its_own_changes_only() -> None:
    COLOUR.set("red")

    def call(item: int, *_: Any) -> str:
        before = COLOUR.get()
        COLOUR.set(f"item {item}")
        return before

    seen = fan_out(range(20), call, Crew("2:Scatter", 3), helpers=3)

    assert seen == ["red"] * 20
    assert COLOUR.get() == "red"


def test_a_small_caller_gets_its_turn_between_the_items_of_a_big_one(start: Any) -> None:
    crew, big_done, done_by_then = Crew("2:Scatter", 1), list[int](), list[int]()
    both_small = Barrier(2, action=lambda: done_by_then.append(len(big_done)))
    helper_in, small_asked, small_helped = Event(), Event(), Event()
    here = threading.local()

    def big(item: int, *_: Any) -> None:
        if getattr(here, "is_caller", False):
            assert small_helped.wait(timeout=10)
        else:
            helper_in.set()
            assert small_asked.wait(timeout=10)
        big_done.append(item)

    def small(*_: Any) -> None:
        small_asked.set()  # its caller is here only after it has asked for the helper
        both_small.wait(timeout=10)  # passes only when the helper takes one of the two
        small_helped.set()

    def call_big() -> None:
        here.is_caller = True
        fan_out(range(1000), big, crew, helpers=1)

    whole = start(call_big)
    assert helper_in.wait(timeout=10)
    fan_out(range(2), small, crew, helpers=1)
    whole.result(timeout=10)

    assert done_by_then == [1]
    assert sorted(big_done) == list(range(1000))


def test_an_idle_helper_keeps_nothing_of_its_last_caller() -> None:
    class Item:
        pass

    crew, barrier = Crew("2:Scatter", 1), Barrier(2)
    items = [Item(), Item()]
    gone = [weakref.ref(item) for item in items]
    idle = Barrier(2)

    fan_out(items, lambda *_: barrier.wait(timeout=10), crew, helpers=1)
    del items
    fan_out(range(2), lambda *_: idle.wait(timeout=10), crew, helpers=1)
    gc.collect()

    assert [ref() for ref in gone] == [None, None]


def test_when_no_thread_can_be_started_the_caller_does_the_work_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)

    assert fan_out(range(5), lambda item, *_: item * item, Crew("2:Scatter", 3), helpers=3) == [
        0,
        1,
        4,
        9,
        16,
    ]


def test_a_job_that_is_done_keeps_nothing_alive_in_the_queue_of_busy_helpers(start: Any) -> None:
    class Item:
        pass

    crew, busy, let_go = Crew("2:Scatter", 1), Barrier(3), Event()

    def slow(*_: Any) -> None:
        busy.wait(timeout=10)
        assert let_go.wait(timeout=10)

    slow_call = start(fan_out, range(2), slow, crew, 1)
    busy.wait(timeout=10)
    items = [Item(), Item()]
    gone = [weakref.ref(item) for item in items]
    fan_out(items, lambda item, *_: item, crew, helpers=1)
    del items
    still_there = [ref() for ref in gone]
    let_go.set()
    slow_call.result(timeout=10)

    assert still_there == [None, None]


def test_after_a_failed_item_nothing_holds_the_items() -> None:
    class Item:
        pass

    item = Item()
    gone = weakref.ref(item)
    gc.disable()
    try:
        with pytest.raises(TypeError):
            fan_out([item], lambda value, *_: len(value), None, helpers=0)  # type: ignore[arg-type] # meant to fail
        del item
        assert gone() is None
    finally:
        gc.enable()
