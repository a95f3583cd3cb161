"""The base of collectors that work on the thread of the run, one trace at a time."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future
from threading import Event
from typing import Any

import pytest

from ml_pipes.collectors import SerialCollector
from ml_pipes.core import Pipeline
from ml_pipes.tracing import InvocationTrace

Start = Callable[..., "Future[Any]"]
TRACE = InvocationTrace([], 0.001)


class Counting(SerialCollector):
    """Keeps the threads that it is called on; can be held inside."""

    def __init__(self) -> None:
        super().__init__()
        self.threads: list[int] = []
        self.inside = 0
        self.most_inside = 0
        self.entered = Event()
        self.go_on = Event()
        self.go_on.set()

    def _collect(self, trace: InvocationTrace) -> None:
        self.inside += 1
        self.most_inside = max(self.most_inside, self.inside)
        self.threads.append(threading.get_ident())
        self.entered.set()
        assert self.go_on.wait(10)
        self.inside -= 1


def test_it_collects_on_the_thread_of_the_call() -> None:
    collector, pipeline = Counting(), Pipeline[int, int]([abs])
    pipeline.set_tracing(collector)

    result = pipeline(-1)

    assert result == 1
    assert collector.threads == [threading.get_ident()]


def test_one_trace_at_a_time(start: Start) -> None:
    collector = Counting()
    collector.go_on.clear()

    calls = [start(collector.on_trace, TRACE) for _ in range(8)]
    assert collector.entered.wait(10)
    collector.go_on.set()
    for call in calls:
        call.result(10)

    assert len(collector.threads) == 8
    assert collector.most_inside == 1


def test_one_that_raises_is_logged_and_the_call_has_its_result(caplog: pytest.LogCaptureFixture) -> None:
    class Failing(SerialCollector):
        def _collect(self, trace: InvocationTrace) -> None:
            raise ValueError("no")

    pipeline = Pipeline[int, int]([abs])
    pipeline.set_tracing(Failing())

    assert [pipeline(-1), pipeline(-2)] == [1, 2]

    assert len(caplog.records) == 2


def test_an_interrupt_inside_leaves_it_open_to_others(start: Start) -> None:
    class Interrupted(SerialCollector):
        def _collect(self, trace: InvocationTrace) -> None:
            if threading.current_thread() is threading.main_thread():
                raise KeyboardInterrupt

    collector = Interrupted()

    with pytest.raises(KeyboardInterrupt):
        collector.on_trace(TRACE)

    assert start(collector.on_trace, TRACE).result(10) is None


def test_it_is_abstract() -> None:
    with pytest.raises(TypeError, match="_collect"):
        SerialCollector()  # type: ignore[abstract] # that is what is tested


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_child_forked_while_a_trace_is_collected_collects_its_own(start: Start) -> None:
    collector = Counting()
    collector.go_on.clear()
    held = start(collector.on_trace, TRACE)
    assert collector.entered.wait(10)

    child = os.fork()
    if child == 0:
        collector.go_on.set()
        collector.on_trace(TRACE)
        os._exit(0 if len(collector.threads) == 2 else 9)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    collector.go_on.set()
    held.result(10)
