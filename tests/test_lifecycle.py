"""What a pipeline owns ends with it: by close(), by ``with``, or as garbage."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from threading import Barrier, Event
from types import SimpleNamespace
from typing import Any

import pytest

from ml_pipes.core import Embed, Pipeline, RegionCloser, RegionOpener
from ml_pipes.errors import PipelineClosed
from ml_pipes.region import Body
from ml_pipes.standard import Batch, Gather, Scatter, UnBatch


def items_of(items: list[Any]) -> list[Any]:
    return items


def our_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("ml_pipes-")}


def test_a_closed_pipeline_says_so_and_closing_twice_is_fine() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([abs])

    pipeline.close()
    pipeline.close()

    with pytest.raises(
        PipelineClosed, match="the pipeline was closed; make a new one, or close it after"
    ) as caught:
        pipeline(1)
    assert isinstance(caught.value, RuntimeError)
    with pytest.raises(PipelineClosed):
        pipeline.extend([abs])


def test_with_closes_at_the_end_also_after_an_error() -> None:
    with pytest.raises(ZeroDivisionError), Pipeline[Any, Any]([lambda value: 1 // value]) as pipeline:
        pipeline(0)

    with pytest.raises(PipelineClosed):
        pipeline(1)


def test_those_who_wait_in_a_batch_are_released_with_errors_of_their_own(start: Any) -> None:
    entered, pipeline = threading.Semaphore(0), Pipeline[Any, Any]([])
    pipeline.extend(
        [
            lambda value: (entered.release(), value)[1],
            Batch(8, timeout=60, policy="full"),
            items_of,
            UnBatch(),
        ]
    )
    callers = [start(pipeline, item) for item in range(5)]
    for _ in callers:
        assert entered.acquire(timeout=10)

    pipeline.close()

    errors = [caller.exception(timeout=5) for caller in callers]
    assert [type(error) for error in errors] == [PipelineClosed] * 5
    assert len({id(error) for error in errors}) == 5


def test_a_batch_that_runs_ends_as_it_would(start: Any) -> None:
    running, let_go = Event(), Event()

    def model(items: list[int]) -> list[int]:
        running.set()
        assert let_go.wait(timeout=10)
        return items

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1, timeout=0.0), model, UnBatch()])
    caller = start(pipeline, 7)
    assert running.wait(timeout=10)

    pipeline.close()
    let_go.set()

    assert caller.result(timeout=5) == 7


def test_items_that_run_end_and_their_caller_does_the_rest(start: Any) -> None:
    both_running, let_go = Barrier(3), Event()

    def step(item: int) -> int:
        if item < 2:
            both_running.wait(timeout=10)
            assert let_go.wait(timeout=10)
        return item

    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(2), step, Gather()])
    caller = start(pipeline, range(20))
    both_running.wait(timeout=10)

    pipeline.close()
    let_go.set()

    assert caller.result(timeout=5) == list(range(20))


def test_close_ends_the_threads() -> None:
    barrier = Barrier(3)

    def step(_: int) -> threading.Thread:
        barrier.wait(timeout=10)
        return threading.current_thread()

    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(3), step, Gather()])
    threads = [thread for thread in pipeline(range(3)) if thread is not threading.current_thread()]

    pipeline.close()
    for thread in threads:
        thread.join(timeout=10)

    assert len(threads) == 2
    assert not any(thread.is_alive() for thread in threads)


def test_close_releases_those_who_came_before_the_list_grew(start: Any) -> None:
    entered = threading.Semaphore(0)
    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            lambda value: (entered.release(), value)[1],
            Batch(8, timeout=60, policy="full"),
            items_of,
            UnBatch(),
        ]
    )
    caller = start(pipeline, 1)
    assert entered.acquire(timeout=10)

    pipeline.extend([abs])
    pipeline.close()

    assert isinstance(caller.exception(timeout=5), PipelineClosed)


def test_those_who_came_before_and_after_the_list_grew_meet_in_its_batch(start: Any) -> None:
    entered = threading.Semaphore(0)
    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            lambda value: (entered.release(), value)[1],
            Batch(2, timeout=60, policy="full"),
            items_of,
            UnBatch(),
        ]
    )
    before = start(pipeline, 1)
    assert entered.acquire(timeout=10)

    pipeline.extend([lambda value: -value])

    assert pipeline(2) == -2
    assert before.result(timeout=5) == 1


def test_closing_while_a_scatter_begins_leaves_no_thread(start: Any) -> None:
    before = our_threads()
    for _ in range(50):
        pipeline: Pipeline[Any, Any] = Pipeline([Scatter(8), abs, Gather()])
        caller = start(pipeline, range(20))
        pipeline.close()
        assert isinstance(caller.exception(timeout=10), PipelineClosed | type(None))
    for thread in our_threads() - before:
        thread.join(timeout=10)

    assert our_threads() - before == set()


def test_a_region_that_fails_to_close_does_not_keep_the_others_open() -> None:
    closed: list[str] = []

    class End(RegionCloser):
        pass

    class Holding(RegionOpener[Any, Any]):
        closing_type = End

        def run(self, value: Any, body: Body[Any, Any]) -> Any:
            body.own(lambda label: SimpleNamespace(close=lambda: _fail_to_close(closed, label)))
            return body(value)

    pipeline: Pipeline[Any, Any] = Pipeline([Holding(), End(), Holding(), End()])
    pipeline(1)

    with pytest.raises(OSError, match="will not close"):
        pipeline.close()

    assert sorted(closed) == ["0:Holding", "2:Holding"]


def _fail_to_close(closed: list[str], label: str) -> None:
    closed.append(label)
    raise OSError("will not close")


def test_an_embedded_pipeline_stays_open_for_its_other_users() -> None:
    inner: Pipeline[Any, Any] = Pipeline([Scatter(2), abs, Gather()])
    outer: Pipeline[Any, Any] = Pipeline([Embed(inner)])

    outer.close()

    assert inner([-1, -2]) == [1, 2]


def test_a_closed_embedded_pipeline_says_where_it_is() -> None:
    inner: Pipeline[Any, Any] = Pipeline([abs])
    outer: Pipeline[Any, Any] = Pipeline([abs, Embed(inner)])
    inner.close()

    with pytest.raises(PipelineClosed) as caught:
        outer(1)

    assert caught.value.__notes__ == ["in step 1:Embed"]


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_a_copy_of_a_closed_pipeline_is_open(twin_of: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(2), abs, Gather()])
    pipeline.close()

    assert twin_of(pipeline)([-1]) == [1]


def test_two_hundred_pipelines_made_used_and_dropped_leave_no_thread() -> None:
    before = our_threads()
    used: list[threading.Thread] = []

    for _ in range(200):
        pipeline: Pipeline[Any, Any] = Pipeline(
            [Scatter(2), Batch(2, timeout=0.0), items_of, UnBatch(), Gather()]
        )
        pipeline(range(4))
        used += our_threads() - before
        del pipeline
    gc.collect()
    for thread in used:
        thread.join(timeout=10)

    assert our_threads() - before == set()
