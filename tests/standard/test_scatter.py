"""Scatter / Gather."""

from __future__ import annotations

import decimal
import gc
import threading
from threading import Barrier, Event
from typing import Any

import pytest

from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Scatter, UnBatch


def scatter_threads() -> set[threading.Thread]:
    return {thread for thread in threading.enumerate() if thread.name.startswith("ml_pipes-")}


@pytest.mark.parametrize("workers", [0, -1])
def test_fewer_than_one_worker_are_refused(workers: int) -> None:
    with pytest.raises(ValueError, match=f"Scatter: max_concurrency must be 1 or more, got {workers}"):
        Scatter(workers)


@pytest.mark.parametrize("workers", [2.5, None, "2", True])
def test_a_number_of_workers_that_is_no_whole_number_is_refused(workers: Any) -> None:
    with pytest.raises(TypeError, match="Scatter: max_concurrency must be a whole number, 1 or more"):
        Scatter(workers)


def test_a_lazy_source_runs_in_the_callers_context_whichever_thread_draws() -> None:
    with decimal.localcontext() as context:
        context.prec = 3

        thirds = Pipeline([Scatter(3), lambda value: value, Gather()])(
            decimal.Decimal(1) / 3 for _ in range(30)
        )

    assert set(thirds) == {decimal.Decimal("0.333")}


def test_a_lazy_source_may_call_the_batch_that_it_is_inside_of() -> None:
    def lower(items: list[int]) -> Any:
        return (pipeline(item - 1) if item else 0 for item in items)

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(1, timeout=0.0), lower, Scatter(2), lambda value: value, Gather(), UnBatch()]
    )

    assert pipeline(3) == 0


def test_one_worker_is_the_caller_and_starts_no_thread() -> None:
    before = scatter_threads()

    threads = Pipeline([Scatter(1), lambda _: threading.get_ident(), Gather()])(range(5))

    assert set(threads) == {threading.get_ident()}
    assert scatter_threads() <= before


def test_one_item_starts_no_thread() -> None:
    before = scatter_threads()

    assert Pipeline([Scatter(8), lambda value: value, Gather()])([1]) == [1]
    assert scatter_threads() <= before


def test_as_many_items_run_at_once_as_were_asked_for_and_no_more() -> None:
    together, running, most = Barrier(4), set[int](), 0

    def step(value: int) -> int:
        nonlocal most
        running.add(value)
        most = max(most, len(running))
        together.wait(timeout=10)
        running.discard(value)
        return value

    assert Pipeline([Scatter(4), step, Gather()])(range(8)) == list(range(8))
    assert most == 4


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_scatter_in_scatter_in_scatter_ends(workers: int) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            *(Scatter(workers), Scatter(workers), PerItem(), Scatter(workers)),
            lambda value: value + 1,
            *(Gather(), CollectItems(), Gather(), Gather()),
        ]
    )

    assert pipeline([[[[1, 2]], [[3], []]], [], [[[4]]]]) == [[[[2, 3]], [[4], []]], [], [[[5]]]]


def test_one_operator_in_two_pipelines_serves_each_by_itself() -> None:
    scatter = Scatter(2)
    one: Pipeline[Any, Any] = Pipeline([scatter, lambda value: value + 1, Gather()])
    two: Pipeline[Any, Any] = Pipeline([scatter, lambda value: value * 10, Gather()])

    assert one(range(5)) == [1, 2, 3, 4, 5]
    assert two(range(5)) == [0, 10, 20, 30, 40]


def test_the_threads_of_a_pipeline_end_with_it() -> None:
    barrier = Barrier(3)
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(3), lambda _: (barrier.wait(10), threading.current_thread())[1], Gather()]
    )
    threads = [thread for thread in pipeline(range(3)) if thread is not threading.current_thread()]

    del pipeline
    gc.collect()
    for thread in threads:
        thread.join(timeout=10)

    assert len(threads) == 2
    assert not any(thread.is_alive() for thread in threads)


def test_many_callers_of_one_pipeline_get_their_own_items_back(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(3), lambda value: value, Gather()])

    futures = [start(pipeline, range(caller * 100, caller * 100 + 100)) for caller in range(16)]

    assert [future.result(timeout=30) for future in futures] == [
        list(range(caller * 100, caller * 100 + 100)) for caller in range(16)
    ]


def test_an_interrupted_caller_leaves_and_no_more_items_start() -> None:
    started: list[int] = []
    helper_in, let_go = Event(), Event()
    main = threading.get_ident()

    def step(value: int) -> int:
        started.append(value)
        if threading.get_ident() != main:
            helper_in.set()
            assert let_go.wait(timeout=10)
            return value
        assert helper_in.wait(timeout=10)
        let_go.set()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Pipeline([Scatter(2), step, Gather()])(range(100))

    assert len(started) <= 4
