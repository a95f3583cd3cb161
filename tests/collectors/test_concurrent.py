"""The base of collectors with a thread of their own: a call never waits for it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from threading import Event, Semaphore

import pytest

from ml_pipes.collectors import ConcurrentCollector
from ml_pipes.core import Pipeline
from ml_pipes.tracing import InvocationTrace

TRACE = InvocationTrace([], 0.001)


class Keeping(ConcurrentCollector):
    """Keeps what comes; can be held in the middle of one."""

    def __init__(self, maxsize: int = 0) -> None:
        super().__init__(maxsize)
        self.traces: list[InvocationTrace] = []
        self.threads: list[threading.Thread] = []
        self.entered = Semaphore(0)
        self.go_on = Event()
        self.go_on.set()

    def _collect(self, trace: InvocationTrace) -> None:
        self.threads.append(threading.current_thread())
        self.entered.release()
        assert self.go_on.wait(10)
        self.traces.append(trace)


@pytest.fixture
def held() -> Iterator[Keeping]:
    """One that has a first trace in hand, with room for three more."""
    collector = Keeping(maxsize=3)
    collector.go_on.clear()
    collector.on_trace(TRACE)
    assert collector.entered.acquire(timeout=10)
    yield collector
    collector.go_on.set()


def test_all_traces_come_on_one_thread_with_the_collectors_name() -> None:
    collector, pipeline = Keeping(), Pipeline[int, int]([abs])
    pipeline.set_tracing(collector)

    results = [pipeline(-number) for number in range(20)]

    assert results == list(range(20))
    assert collector.flush() is True
    assert len(collector.traces) == 20
    assert {thread.name for thread in collector.threads} == {"ml_pipes-Keeping"}


def test_while_it_hangs_calls_have_their_results_and_what_does_not_fit_is_counted(held: Keeping) -> None:
    pipeline = Pipeline[int, int]([abs])
    pipeline.set_tracing(held)

    results = [pipeline(-number) for number in range(10)]

    assert results == list(range(10))
    assert held.dropped == 7
    held.go_on.set()
    assert held.flush() is True
    assert len(held.traces) == 4


def test_while_it_hangs_a_flush_and_a_stop_end_in_time_and_say_so(held: Keeping) -> None:
    held.on_trace(TRACE)

    flushed, stopped = held.flush(0.01), held.stop(0.01)

    assert (flushed, stopped) == (False, False)
    assert held.dropped == 1


def test_one_that_raises_is_logged_and_the_next_trace_comes(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(ConcurrentCollector):
        seen = 0

        def _collect(self, trace: InvocationTrace) -> None:
            self.seen += 1
            raise ValueError("no")

    collector, pipeline = Failing(), Pipeline[int, int]([abs])
    pipeline.set_tracing(collector)

    with caplog.at_level(logging.ERROR):
        results = [pipeline(-1), pipeline(-2), pipeline(-3)]
        assert collector.flush()

    assert results == [1, 2, 3]
    assert collector.seen == 3
    assert [record.getMessage() for record in caplog.records] == [
        "Failing failed, 1 times so far; it goes on"
    ]


def test_with_ends_it_after_what_is_there_and_later_traces_are_dropped_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Keeping() as collector:
        collector.on_trace(TRACE)

    collector.on_trace(TRACE)
    collector.stop()

    assert len(collector.traces) == 1
    assert collector.dropped == 1
    assert "dropped" in caplog.text
    collector.threads[0].join(10)
    assert not collector.threads[0].is_alive()


def test_it_needs_no_thread_before_the_first_trace() -> None:
    before = threading.active_count()

    collector = Keeping()

    assert collector.flush() is True
    assert collector.stop() is True
    assert threading.active_count() == before


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="maxsize must be at least 0, got -1; 0 means 65,536"):
        Keeping(maxsize=-1)
