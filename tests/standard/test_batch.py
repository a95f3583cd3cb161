"""Batch / UnBatch."""

from __future__ import annotations

import copy
import pickle
from threading import Barrier
from typing import Any

import numpy as np
import pytest

from ml_pipes.core import Embed, Pipeline
from ml_pipes.errors import BatchSizeError
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Pick, Recall, Scatter, Store, UnBatch


def double_all(items: list[int]) -> list[int]:
    return [item * 2 for item in items]


@pytest.mark.parametrize("size", [0, -3])
def test_a_size_below_one_is_refused(size: int) -> None:
    with pytest.raises(ValueError, match=f"Batch: size must be 1 or more, got {size}"):
        Batch(size)


@pytest.mark.parametrize("size", [4.0, float("inf"), "4", None, True])
def test_a_size_that_is_no_whole_number_is_refused(size: Any) -> None:
    with pytest.raises(TypeError, match="Batch: size must be a whole number, 1 or more"):
        Batch(size)


@pytest.mark.parametrize("timeout", [None, "0.1", True])
def test_a_timeout_that_is_no_number_is_refused(timeout: Any) -> None:
    with pytest.raises(TypeError, match="Batch: timeout must be finite seconds, 0 or more"):
        Batch(2, timeout)


@pytest.mark.parametrize("timeout", [-0.1, float("inf"), float("nan")])
def test_a_timeout_that_is_no_time_is_refused(timeout: float) -> None:
    with pytest.raises(ValueError, match="Batch: timeout must be finite seconds, 0 or more"):
        Batch(2, timeout)


def test_callers_meet_and_each_gets_its_own_result(start: Any) -> None:
    sizes: list[int] = []

    def model(items: list[int]) -> list[int]:
        sizes.append(len(items))
        return double_all(items)

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, timeout=20, policy="full"), model, UnBatch()])
    callers = [start(pipeline, item) for item in range(4)]

    assert [caller.result(timeout=10) for caller in callers] == [0, 2, 4, 6]
    assert sizes == [4]


def test_each_caller_finds_its_own_stored_values_after_the_batch(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Store("mine"), Batch(4, timeout=20, policy="full"), double_all, UnBatch(), Recall("mine")]
    )

    callers = [start(pipeline, item) for item in range(4)]

    assert [caller.result(timeout=10) for caller in callers] == [(0, 0), (2, 1), (4, 2), (6, 3)]


def test_the_rows_of_an_array_go_to_the_callers(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, timeout=20, policy="full"), lambda items: np.array(items, np.float32), UnBatch()]
    )

    callers = [start(pipeline, item) for item in (3, 4)]

    assert [int(caller.result(timeout=10)) for caller in callers] == [3, 4]


def test_a_wrong_count_is_an_error_for_all_and_names_the_region(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [lambda v: v, Batch(2, timeout=20, policy="full"), lambda items: items[:1], UnBatch()]
    )

    callers = [start(pipeline, item) for item in (1, 2)]

    for caller in callers:
        with pytest.raises(BatchSizeError, match=r"1:Batch: .* took 2 items and returned 1") as caught:
            caller.result(timeout=10)
        assert caught.value.__notes__ == ["in step 1:Batch"]


def test_the_error_of_the_body_reaches_everybody_with_the_way_to_the_step(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, timeout=20, policy="full"), lambda items: 1 // 0, UnBatch()]
    )

    callers = [start(pipeline, item) for item in (1, 2)]

    errors = [caller.exception(timeout=10) for caller in callers]
    assert [type(error) for error in errors] == [ZeroDivisionError] * 2
    assert errors[0] is not errors[1]
    assert [error.__notes__ for error in errors if error] == [["in step 1:<lambda>, in 0:Batch"]] * 2


def test_a_batch_of_one_caller_leaves_at_its_timeout() -> None:
    assert Pipeline([Batch(8, timeout=0.0), double_all, UnBatch()])(3) == 6


def test_scatter_workers_meet_in_a_batch() -> None:
    sizes: list[int] = []

    def model(items: list[int]) -> list[int]:
        sizes.append(len(items))
        return double_all(items)

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(4), Batch(4, timeout=20, policy="full"), model, UnBatch(), Gather()]
    )

    assert pipeline(range(8)) == [0, 2, 4, 6, 8, 10, 12, 14]
    assert sizes == [4, 4]


def test_callers_through_embedding_pipelines_meet_in_one_batch(start: Any) -> None:
    inner: Pipeline[Any, Any] = Pipeline([Batch(2, timeout=20, policy="full"), double_all, UnBatch()])
    one: Pipeline[Any, Any] = Pipeline([lambda v: v + 1, Embed(inner)])
    two: Pipeline[Any, Any] = Pipeline([Embed(inner), lambda v: -v])

    first, second = start(one, 1), start(two, 5)

    assert [first.result(timeout=10), second.result(timeout=10)] == [4, -10]


def test_a_batch_in_the_body_of_a_batch(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            Batch(2, timeout=20, policy="full"),
            *(Scatter(2), Batch(2, timeout=20, policy="full"), double_all, UnBatch(), Gather()),
            *(PerItem(), lambda value: value + 1, CollectItems()),
            UnBatch(),
        ]
    )

    callers = [start(pipeline, item) for item in (1, 2)]

    assert [caller.result(timeout=10) for caller in callers] == [3, 5]


def test_one_batch_operator_in_two_pipelines_never_mixes_their_callers(start: Any) -> None:
    batch, barrier = Batch(2, timeout=0.01), Barrier(2)
    one: Pipeline[Any, Any] = Pipeline([batch, lambda items: [("one", item) for item in items], UnBatch()])
    two: Pipeline[Any, Any] = one + Pipeline([lambda value: value])

    def call(pipeline: Pipeline[Any, Any], item: int) -> Any:
        barrier.wait(timeout=10)
        return pipeline(item)

    three: Pipeline[Any, Any] = Pipeline(
        [batch, lambda items: [("three", item) for item in items], UnBatch()]
    )
    callers = [start(call, one, 1), start(call, three, 2)]

    assert [caller.result(timeout=10) for caller in callers] == [("one", 1), ("three", 2)]
    assert two(3) == ("one", 3)


def test_a_pipeline_that_calls_itself_inside_its_batch_ends() -> None:
    def halve(items: list[int]) -> list[int]:
        return [item if item <= 1 else pipeline(item // 2) for item in items]

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1, timeout=0.0), halve, UnBatch()])

    assert pipeline(64) == 1


def test_a_pipeline_that_calls_itself_from_a_scatter_inside_its_batch_ends() -> None:
    def halve(item: int) -> int:
        return item if item <= 1 else int(pipeline(item // 2))

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1, timeout=0.0), Scatter(2), halve, Gather(), UnBatch()])

    assert pipeline(64) == 1


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_a_used_pipeline_copies_and_pickles_as_its_recipe(twin_of: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            Scatter(2),
            Batch(2, timeout=0.001),
            double_all,
            UnBatch(),
            Gather(),
            Store("x"),
            Recall("x"),
            Pick(1),
        ]
    )
    before = pipeline(range(5))

    twin = twin_of(pipeline)

    assert twin(range(5)) == before == [0, 2, 4, 6, 8]
    assert repr(twin) == repr(pipeline)
