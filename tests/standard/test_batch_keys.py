"""Batch(key=...): what may share a batch."""

from __future__ import annotations

from threading import Barrier, Event
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, UnBatch


class Seen:
    """Returns its items, remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []

    def __call__(self, items: list[Any]) -> list[Any]:
        self.batches.append(list(items))
        return items


def of_lists(model: Any, **options: Any) -> Pipeline[Any, Any]:
    return Pipeline([Batch(8, 300.0, many=True, **options), model, UnBatch()])


@pytest.mark.parametrize("key", [3, "shape", [len]])
def test_a_key_is_a_function(key: Any) -> None:
    with pytest.raises(TypeError, match="Batch: key must be a callable of one value, got "):
        Batch(2, key=key)


def test_a_key_takes_one_value() -> None:
    with pytest.raises(
        TypeError, match=r"Batch: key cannot be called with one value: .* requires 2 \(a, b\)"
    ):
        Batch(2, key=lambda a, b: a)


def test_items_of_different_keys_never_share_a_batch() -> None:
    model = Seen()

    results = of_lists(model, key=lambda item: item % 3)([0, 1, 2, 3, 4, 5, 6])

    assert results == [0, 1, 2, 3, 4, 5, 6]
    assert sorted(model.batches) == [[0, 3, 6], [1, 4], [2, 5]]


def test_arrays_of_two_shapes_or_dtypes_do_not_meet() -> None:
    model = Seen()
    items = [
        np.zeros((3, 64)),
        np.zeros((3, 32)),
        np.zeros((3, 64)),
        np.zeros((3, 64), np.float32),
        SimpleNamespace(array=np.zeros((3, 32))),
    ]

    of_lists(model)(items)

    assert sorted(map(len, model.batches)) == [1, 2, 2]


def test_tuples_with_arrays_meet_where_each_part_is_alike() -> None:
    model = Seen()
    items = [(np.zeros(3), 1), (np.zeros(3), 2), (np.zeros(4), 1), (np.zeros(3), 1, 1)]

    of_lists(model)(items)

    assert sorted(map(len, model.batches)) == [1, 1, 2]


def test_values_without_a_shape_are_all_alike() -> None:
    model = Seen()

    of_lists(model)([1, "a", None, {"b": 1}, [2]])

    assert model.batches == [[1, "a", None, {"b": 1}, [2]]]


def test_a_key_of_none_lets_everything_meet() -> None:
    model = Seen()

    of_lists(model, key=lambda item: None)([np.zeros(3), np.zeros(4)])

    assert len(model.batches) == 1


def test_two_shapes_do_not_add_up_their_waits(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(8, 1.0, policy="full", key=lambda item: item), Seen(), UnBatch()]
    )
    barrier = Barrier(2)

    def call(item: int) -> int:
        barrier.wait(timeout=10)
        result: int = pipeline(item)
        return result

    callers = [start(call, item) for item in (1, 2)]

    assert [caller.result(timeout=10) for caller in callers] == [1, 2]
    stats = pipeline.stats()["0:Batch"]
    assert stats.reasons == {"timeout": 2}
    assert stats.wait.max is not None
    assert stats.wait.max < 1.9


def test_a_key_that_cannot_be_hashed_is_refused_and_nobody_else_notices() -> None:
    pipeline = of_lists(Seen(), key=lambda item: [item] if item == 2 else item)

    with pytest.raises(
        TypeError, match=r"Batch: what key\(\) returns must be hashable, got a list; return a"
    ):
        pipeline([1, 2])

    assert pipeline([1, 3]) == [1, 3]
    assert pipeline.stats()["0:Batch"].waiting == 0


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_key_that_raises_fails_its_own_caller_only(start: Any, error: type[BaseException]) -> None:
    def key(item: int) -> int:
        if item == 2:
            raise error("no key")
        return item

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(8, 300.0, key=key), Seen(), UnBatch()])

    with pytest.raises(error, match="no key"):
        pipeline(2)

    assert [pipeline(1), pipeline(3)] == [1, 3]


def test_keys_that_never_come_twice_leave_nothing_behind() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(8, 300.0, key=lambda item: item), Seen(), UnBatch()])

    for item in range(500):
        pipeline(item)

    assert len(pipeline._places[0].peek()._queues._queues) <= 2


def test_the_oldest_key_goes_first(start: Any) -> None:
    model, running, go_on = Seen(), Event(), Event()

    def held(items: list[str]) -> list[str]:
        running.set()
        assert go_on.wait(timeout=20)
        return model(items)

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(8, 300.0, policy="greedy", key=lambda item: item[0]), held, UnBatch()]
    )
    callers = [start(pipeline, "x0")]
    assert running.wait(timeout=10)
    for waiting, item in enumerate(("b1", "a1", "b2", "c1", "a2"), 1):
        callers.append(start(pipeline, item))
        _until_waiting(pipeline, waiting)

    go_on.set()

    assert [caller.result(timeout=10) for caller in callers] == ["x0", "b1", "a1", "b2", "c1", "a2"]
    assert model.batches == [["x0"], ["b1", "b2"], ["a1", "a2"], ["c1"]]


@pytest.mark.stress
def test_32_threads_with_five_keys_each_get_their_own(start: Any) -> None:
    mixed: list[list[int]] = []

    def model(items: list[int]) -> list[int]:
        if len({item % 5 for item in items}) > 1 or len(items) > 7:
            mixed.append(items)
        return items

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(7, 0.05, key=lambda item: item % 5, max_concurrency=2), model, UnBatch()]
    )
    barrier = Barrier(32)

    def calls(thread: int) -> bool:
        barrier.wait(timeout=20)
        return all(pipeline(thread * 1000 + call) == thread * 1000 + call for call in range(100))

    threads = [start(calls, thread) for thread in range(32)]

    assert all(thread.result(timeout=50) for thread in threads)
    assert mixed == []


def _until_waiting(pipeline: Pipeline[Any, Any], rows: int) -> None:
    until = perf_counter() + 10
    while pipeline.stats()["0:Batch"].waiting < rows:
        assert perf_counter() < until
        Event().wait(0.001)
