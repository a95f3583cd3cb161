"""Batch(max_waiting=..., max_concurrency=...): how many may wait, and how many batches run at a time."""

from __future__ import annotations

from collections import defaultdict
from threading import Barrier, BrokenBarrierError, Event, Lock
from time import perf_counter
from typing import Any

import pytest

from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.departure import Departure
from ml_pipes._threads.fakes import FakeClock
from ml_pipes.core import Pipeline
from ml_pipes.errors import DeadlineExceeded, PipelineClosed, QueueFull
from ml_pipes.standard import Batch, UnBatch


class Held:
    """Returns its items when it is let go; knows how many batches run at once."""

    def __init__(self) -> None:
        self.running = 0
        self.most = 0
        self.go_on = Event()
        self._lock = Lock()

    def __call__(self, items: list[Any]) -> list[Any]:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        assert self.go_on.wait(timeout=20)
        with self._lock:
            self.running -= 1
        return items


class GatedModel:
    """Each batch runs until it is let go, by its first item."""

    def __init__(self) -> None:
        self._running: defaultdict[int, Event] = defaultdict(Event)
        self._go_on: defaultdict[int, Event] = defaultdict(Event)

    def __call__(self, items: list[int]) -> list[int]:
        self._running[items[0]].set()
        assert self._go_on[items[0]].wait(timeout=20)
        return items

    def is_running_within(self, first: int, seconds: float) -> bool:
        return self._running[first].wait(seconds)

    def until_running(self, first: int) -> None:
        assert self.is_running_within(first, 10)

    def end(self, first: int) -> None:
        self._go_on[first].set()


def until(is_so: Any) -> None:
    end = perf_counter() + 10
    while not is_so():
        assert perf_counter() < end
        Event().wait(0.001)


@pytest.mark.parametrize("name", ["max_waiting", "max_concurrency"])
@pytest.mark.parametrize("value", [0, -1])
def test_a_number_below_one_is_refused(name: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"Batch: {name} must be 1 or more, got {value}"):
        Batch(2, **{name: value})


@pytest.mark.parametrize("name", ["max_waiting", "max_concurrency"])
@pytest.mark.parametrize("value", [2.0, "2", True, float("inf")])
def test_what_is_no_whole_number_is_refused(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=f"Batch: {name} must be a whole number, 1 or more, got "):
        Batch(2, **{name: value})


def test_a_room_for_less_than_a_batch_is_refused() -> None:
    with pytest.raises(ValueError, match=r"Batch: max_waiting must be size \(8\) or more, .* got 7"):
        Batch(8, max_waiting=7)


def test_whoever_finds_the_room_full_is_told_so_at_once_and_nobody_else_notices(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2, 300.0, max_waiting=3), model, UnBatch()])
    callers = [start(pipeline, 0)]
    until(lambda: model.running == 1)
    callers += [start(pipeline, item) for item in (1, 2, 3)]
    until(lambda: pipeline.stats()["0:Batch"].waiting == 3)

    with pytest.raises(
        QueueFull, match=r"0:Batch: 3 rows wait, and with 1 more .* max_waiting=3; come again"
    ):
        pipeline(4)

    model.go_on.set()
    assert [caller.result(timeout=10) for caller in callers] == [0, 1, 2, 3]
    assert pipeline(5) == 5
    assert pipeline.stats()["0:Batch"].refused == 1


def test_a_place_that_a_caller_leaves_is_free_again(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1, 300.0, max_waiting=1), model, UnBatch()])
    first = start(pipeline, 0)
    until(lambda: model.running == 1)
    leaving = start(lambda: pipeline.call(1, deadline=0.1))
    with pytest.raises(DeadlineExceeded):
        leaving.result(timeout=10)

    staying = start(pipeline, 2)
    until(lambda: pipeline.stats()["0:Batch"].waiting == 1)
    model.go_on.set()

    assert [first.result(timeout=10), staying.result(timeout=10)] == [0, 2]


def test_a_list_needs_room_for_all_of_its_rows(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2, 300.0, many=True, max_waiting=4), model, UnBatch()])
    first = start(pipeline, [0, 0])
    until(lambda: model.running == 1)
    second = start(pipeline, [1, 2, 3])
    until(lambda: pipeline.stats()["0:Batch"].waiting == 3)

    with pytest.raises(QueueFull, match="3 rows wait, and with 2 more"):
        pipeline([4, 5])

    model.go_on.set()
    assert [first.result(timeout=10), second.result(timeout=10)] == [[0, 0], [1, 2, 3]]


def test_two_batches_run_at_once_and_no_third(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1, 300.0, max_concurrency=2), model, UnBatch()])
    callers = [start(pipeline, item) for item in range(6)]
    until(lambda: model.running == 2 and pipeline.stats()["0:Batch"].waiting == 4)

    model.go_on.set()

    assert [caller.result(timeout=10) for caller in callers] == list(range(6))
    assert model.most == 2


def test_two_full_batches_leave_side_by_side(start: Any) -> None:
    both = Barrier(2)

    def meet(items: list[int]) -> list[int]:
        both.wait(timeout=10)
        return items

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, None, policy="full", max_concurrency=2), meet, UnBatch()]
    )
    callers = [start(pipeline, item) for item in range(4)]

    assert [caller.result(timeout=20) for caller in callers] == list(range(4))


def test_one_batch_runs_at_a_time_unless_more_are_asked_for(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1, 300.0), model, UnBatch()])
    callers = [start(pipeline, item) for item in range(4)]
    until(lambda: model.running == 1 and pipeline.stats()["0:Batch"].waiting == 3)

    model.go_on.set()

    assert [caller.result(timeout=10) for caller in callers] == list(range(4))
    assert model.most == 1


def test_a_batch_that_dies_does_not_hinder_the_other_runner(start: Any) -> None:
    model, dead = Held(), Event()

    def run(items: list[int]) -> list[int]:
        if items == [0]:
            dead.set()
            raise SystemExit("died")
        return model(items)

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1, 300.0, max_concurrency=2), run, UnBatch()])
    living = start(pipeline, 1)
    until(lambda: model.running == 1)

    with pytest.raises(SystemExit):
        pipeline(0)
    model.go_on.set()

    assert living.result(timeout=10) == 1
    assert [pipeline(item) for item in (2, 3)] == [2, 3]


def test_close_releases_who_waits_and_lets_both_batches_end(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1, 300.0, max_concurrency=2), model, UnBatch()])
    running = [start(pipeline, item) for item in range(2)]
    until(lambda: model.running == 2)
    waiting = [start(pipeline, item) for item in (2, 3, 4)]
    until(lambda: pipeline.stats()["0:Batch"].waiting == 3)

    pipeline.close()

    assert [type(caller.exception(timeout=5)) for caller in waiting] == [PipelineClosed] * 3
    model.go_on.set()
    assert sorted(caller.result(timeout=10) for caller in running) == [0, 1]


def test_a_second_runner_that_comes_free_is_used_while_the_head_of_the_queue_leads(
    clock: FakeClock, start: Any
) -> None:
    batcher, model = Batcher("1:Batch", Departure(2, 9.0), clock, max_concurrency=2), GatedModel()
    running = [start(batcher.tickets(items, model).wait) for items in ([10, 11], [20, 21])]
    model.until_running(10)
    model.until_running(20)
    split = start(batcher.tickets([1, 2, 3, 4], model).wait)
    clock.until_sleeping(1)
    other = start(batcher.tickets([5, 6], model).wait)
    clock.until_sleeping(2)
    model.end(10)
    model.until_running(1)

    model.end(20)

    is_used = model.is_running_within(3, seconds=3)
    for first in (1, 3, 5):
        model.end(first)
    clock.advance(1.0)
    assert [call.result(timeout=5) for call in (*running, split, other)] == [
        *([10, 11], [20, 21]),
        *([1, 2, 3, 4], [5, 6]),
    ]
    assert is_used


@pytest.mark.stress
@pytest.mark.parametrize("policy", ["auto", "greedy", "full"])
@pytest.mark.parametrize("runners", [1, 2, 3])
def test_32_threads_each_get_their_own_answer(start: Any, policy: Any, runners: int) -> None:
    at_once, most = [0], [0]
    lock = Lock()

    def model(items: list[int]) -> list[int]:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        with lock:
            at_once[0] -= 1
        return [-item for item in items]

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(7, 0.002, policy=policy, max_concurrency=runners), model, UnBatch()]
    )
    barrier = Barrier(32)

    def calls(thread: int) -> bool:
        try:
            barrier.wait(timeout=20)
        except BrokenBarrierError:
            return False
        return all(pipeline(thread * 1000 + call) == -(thread * 1000 + call) for call in range(100))

    threads = [start(calls, thread) for thread in range(32)]

    assert all(thread.result(timeout=50) for thread in threads)
    assert most[0] <= runners
    stats = pipeline.stats()["0:Batch"]
    assert (stats.calls, stats.rows, stats.waiting, stats.running) == (3200, 3200, 0, 0)
    assert sum(size * count for size, count in stats.batch_sizes.items()) == 3200
