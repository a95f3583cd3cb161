"""The inbox with a thread of its own: nobody who posts waits, and what is lost is counted."""

from __future__ import annotations

import gc
import logging
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Event, Semaphore
from types import SimpleNamespace
from typing import Any

import pytest

from ml_pipes._threads.courier import Courier

Start = Callable[..., "Future[Any]"]
PATIENCE_S = 10.0


class Handler:
    """Keeps what comes; can be held in the middle of one."""

    def __init__(self) -> None:
        self.things: list[Any] = []
        self.threads: list[threading.Thread] = []
        self.entered = Semaphore(0)
        self.go_on = Event()
        self.go_on.set()

    def __call__(self, thing: Any) -> None:
        self.threads.append(threading.current_thread())
        self.entered.release()
        assert self.go_on.wait(PATIENCE_S)
        self.things.append(thing)


@pytest.fixture
def handler() -> Iterator[Handler]:
    handler = Handler()
    yield handler
    handler.go_on.set()


def held(handler: Handler, limit: int) -> Courier:
    """A courier whose handler has the thing 0 in hand."""
    courier = Courier(handler, limit=limit, label="held")
    handler.go_on.clear()
    assert courier.post(0)
    assert handler.entered.acquire(timeout=PATIENCE_S)
    return courier


def test_what_is_posted_comes_to_the_handler_in_order_on_one_daemon_thread_with_its_name(
    handler: Handler,
) -> None:
    courier = Courier(handler, limit=100, label="letters")

    posted = [courier.post(number) for number in range(50)]

    assert courier.flush(PATIENCE_S)
    assert posted == [True] * 50
    assert handler.things == list(range(50))
    assert {(thread.name, thread.daemon) for thread in handler.threads} == {("ml_pipes-letters", True)}
    assert (courier.dropped, courier.pending) == (0, 0)


def test_no_thread_is_made_before_the_first_post(handler: Handler) -> None:
    before = threading.active_count()

    courier = Courier(handler, limit=1, label="idle")

    assert threading.active_count() == before
    assert courier.flush(0.0)
    assert courier.stop(0.0)


def test_the_post_that_makes_the_thread_goes_on_before_the_handler_is_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gone_on, order = Event(), list[str]()

    def sleep(_: float) -> None:
        # A sleep gives the interpreter's lock away; here it lasts until the other thread had it.
        assert gone_on.wait(PATIENCE_S)

    monkeypatch.setattr("ml_pipes._threads.courier.time", SimpleNamespace(sleep=sleep))
    courier = Courier(order.append, limit=1, label="polite")

    courier.post("handled")
    order.append("posted")
    gone_on.set()

    assert courier.flush(PATIENCE_S)
    assert order == ["posted", "handled"]


def test_while_the_handler_hangs_a_post_returns_and_what_does_not_fit_is_dropped_and_counted(
    handler: Handler,
) -> None:
    courier = held(handler, limit=3)

    posted = [courier.post(number) for number in (1, 2, 3, 4, 5)]

    assert posted == [True, True, True, False, False]
    assert (courier.dropped, courier.pending) == (2, 4)
    handler.go_on.set()
    assert courier.flush(PATIENCE_S)
    assert handler.things == [0, 1, 2, 3]


def test_while_the_handler_hangs_a_flush_ends_in_time(handler: Handler) -> None:
    courier = held(handler, limit=3)

    assert courier.flush(0.01) is False


def test_while_the_handler_hangs_a_stop_ends_in_time_and_what_waits_is_counted_as_dropped(
    handler: Handler,
) -> None:
    courier = held(handler, limit=3)
    courier.post(1)
    courier.post(2)

    stopped = courier.stop(0.01)

    assert stopped is False
    assert courier.dropped == 2
    handler.go_on.set()
    handler.threads[0].join(PATIENCE_S)
    assert handler.things == [0]


def test_a_stop_delivers_what_is_there_ends_the_thread_and_may_come_twice(handler: Handler) -> None:
    courier = Courier(handler, limit=10, label="stopped")
    for number in range(5):
        courier.post(number)

    stopped = [courier.stop(PATIENCE_S), courier.stop(PATIENCE_S)]

    assert stopped == [True, True]
    assert handler.things == [0, 1, 2, 3, 4]
    handler.threads[0].join(PATIENCE_S)
    assert not handler.threads[0].is_alive()


def test_what_comes_after_the_stop_is_dropped_counted_and_logged_once(
    handler: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    courier = Courier(handler, limit=10, label="stopped")
    courier.stop(PATIENCE_S)

    posted = [courier.post(1), courier.post(2)]

    assert posted == [False, False]
    assert courier.dropped == 2
    assert [record.getMessage() for record in caplog.records] == [
        "stopped was stopped: what comes now is dropped, 1 so far"
    ]


@pytest.mark.parametrize("error", [ValueError("no"), SystemExit(3), KeyboardInterrupt()])
def test_what_the_handler_raises_is_logged_and_the_next_thing_comes(
    error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    came: list[int] = []

    def handle(thing: int) -> None:
        if thing < 3:
            raise error
        came.append(thing)

    courier = Courier(handle, limit=10, label="wrong")
    with caplog.at_level(logging.ERROR):
        for number in range(5):
            courier.post(number)
        assert courier.flush(PATIENCE_S)

    assert came == [3, 4]
    assert courier.failed == 3
    assert [record.getMessage() for record in caplog.records] == ["wrong failed, 1 times so far; it goes on"]
    assert caplog.records[0].exc_info is not None
    assert caplog.records[0].exc_info[1] is error


def test_a_handler_that_was_too_slow_says_what_was_dropped(
    handler: Handler, caplog: pytest.LogCaptureFixture
) -> None:
    courier = held(handler, limit=1)
    courier.post(1)
    courier.post(2)

    handler.go_on.set()
    assert courier.flush(PATIENCE_S)

    assert [record.getMessage() for record in caplog.records] == ["held is too slow: 1 dropped so far"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_is_lost_is_replaced_by_the_next_post(
    handler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    courier = Courier(handler, limit=10, label="lost")
    monkeypatch.setattr("ml_pipes._threads.courier._deliver", lambda inbox: sys.exit())
    courier.post(1)
    lost = courier._inbox.thread
    if lost is not None:
        lost.join(PATIENCE_S)
    monkeypatch.undo()

    courier.post(2)

    assert courier.flush(PATIENCE_S)
    assert handler.things == [1, 2]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_flush_replaces_a_lost_thread_too(handler: Handler, monkeypatch: pytest.MonkeyPatch) -> None:
    courier = Courier(handler, limit=10, label="lost")
    monkeypatch.setattr("ml_pipes._threads.courier._deliver", lambda inbox: sys.exit())
    courier.post(1)
    lost = courier._inbox.thread
    if lost is not None:
        lost.join(PATIENCE_S)
    monkeypatch.undo()

    assert courier.flush(PATIENCE_S)

    assert handler.things == [1]


def test_without_a_thread_to_be_had_things_wait_for_the_next_post(
    handler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    courier = Courier(handler, limit=10, label="poor")
    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        posted = courier.post(1)
        flushed = courier.flush(0.0)

    courier.post(2)

    assert (posted, flushed) == (True, False)
    assert courier.flush(PATIENCE_S)
    assert handler.things == [1, 2]


def test_a_handler_that_flushes_its_own_courier_does_not_wait_for_itself() -> None:
    told: list[bool] = []
    courier = Courier(lambda thing: told.append(courier.flush(PATIENCE_S)), limit=10, label="own")

    courier.post(1)

    assert courier.flush(PATIENCE_S)
    assert told == [False]


def test_a_handler_that_stops_its_own_courier_does_not_wait_for_itself() -> None:
    told: list[bool] = []
    courier = Courier(lambda thing: told.append(courier.stop(PATIENCE_S)), limit=10, label="own")

    courier.post(1)

    assert courier.flush(PATIENCE_S)
    assert told == [False]
    assert courier.post(2) is False


def test_a_stop_lets_a_waiting_flush_go_which_says_that_not_all_came(handler: Handler, start: Start) -> None:
    courier = held(handler, limit=10)
    courier.post(1)
    flushing = start(courier.flush, PATIENCE_S)
    while not courier._inbox.waiters:
        pass

    courier.stop(0.01)

    handler.go_on.set()
    assert flushing.result(PATIENCE_S) is False


def test_after_a_sleep_the_thread_comes_back(handler: Handler) -> None:
    courier = Courier(handler, limit=10, label="sleepy")
    for number in range(3):
        courier.post(number)
        assert courier.flush(PATIENCE_S)
        while not courier._inbox.asleep:
            pass

    assert handler.things == [0, 1, 2]
    assert len(set(handler.threads)) == 1


def test_an_idle_courier_that_is_garbage_ends_its_thread() -> None:
    class Owner:
        def __init__(self) -> None:
            self.threads: list[threading.Thread] = []
            self.courier = Courier(self.handle, limit=10, label="garbage")

        def handle(self, thing: list[threading.Thread]) -> None:
            thing.append(threading.current_thread())

    owner, came = Owner(), list[threading.Thread]()
    owner.courier.post(came)
    assert owner.courier.flush(PATIENCE_S)
    gone = weakref.ref(owner)

    del owner
    while gone() is not None:
        gc.collect()

    came[0].join(PATIENCE_S)
    assert not came[0].is_alive()


def test_what_is_posted_is_delivered_although_the_courier_is_garbage(handler: Handler) -> None:
    courier = held(handler, limit=10)
    courier.post(1)

    del courier
    gc.collect()

    handler.go_on.set()
    handler.threads[0].join(PATIENCE_S)
    assert handler.things == [0, 1]


def test_a_limit_below_one_is_refused(handler: Handler) -> None:
    with pytest.raises(ValueError, match="the limit of none must be at least 1, got 0"):
        Courier(handler, limit=0, label="none")


@pytest.mark.stress
def test_of_32_threads_each_thing_is_handled_once_or_counted_as_dropped(start: Start) -> None:
    came: list[tuple[int, int]] = []
    courier = Courier(came.append, limit=5_000, label="busy")

    def post(thread: int) -> list[tuple[int, int]]:
        return [(thread, number) for number in range(2_000) if courier.post((thread, number))]

    sent = [
        thing for posting in [start(post, thread) for thread in range(32)] for thing in posting.result(30)
    ]

    assert courier.stop(PATIENCE_S)
    assert Counter(came) == Counter(sent)
    assert len(sent) + courier.dropped == 64_000
