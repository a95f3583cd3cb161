"""Real threads under load: nothing is lost, crossed or left hanging."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Recall, Scatter, Store, UnBatch

THREADS = 32
CALLS = 2_000


class GuiltyError(Exception):
    """Raised by the calls that are meant to fail; names the call."""


def is_guilty(call_id: int) -> bool:
    return call_id % 100 == 37


def fail_if_guilty(call_id: int) -> int:
    if is_guilty(call_id):
        raise GuiltyError(call_id)
    return call_id


def outcomes(pipeline: Pipeline[Any, Any], value_of: Any = lambda call_id: call_id) -> dict[int, Any]:
    """The outcome of each of 64,000 calls by its id: 2,000 on each of 32 threads."""
    barrier = threading.Barrier(THREADS)

    def calls(thread: int) -> list[tuple[int, Any]]:
        barrier.wait(timeout=30)
        return [
            (call_id, _outcome(pipeline, value_of(call_id)))
            for call_id in range(thread, THREADS * CALLS, THREADS)
        ]

    with ThreadPoolExecutor(THREADS) as pool:
        answered = [pair for pairs in pool.map(calls, range(THREADS)) for pair in pairs]
    assert max(Counter(call_id for call_id, _ in answered).values()) == 1
    return dict(answered)


def _outcome(pipeline: Pipeline[Any, Any], value: Any) -> Any:
    try:
        return pipeline(value)
    except GuiltyError as error:
        return error


@pytest.mark.stress
@pytest.mark.timeout(300)
def test_64_000_calls_through_batch_each_get_their_own_answer_and_the_guilty_their_own_error() -> None:
    largest = 0

    def model(ids: list[int]) -> list[Any]:
        nonlocal largest
        largest = max(largest, len(ids))
        return [GuiltyError(call_id) if is_guilty(call_id) else call_id for call_id in ids]

    got = outcomes(Pipeline([Store("id"), Batch(8, timeout=0.001), model, UnBatch(), Recall("id")]))

    assert len(got) == THREADS * CALLS
    assert largest == 8
    for call_id, outcome in got.items():
        if is_guilty(call_id):
            assert outcome.args == (call_id,)
        else:
            assert outcome == (call_id, call_id)


@pytest.mark.stress
@pytest.mark.timeout(300)
def test_64_000_calls_through_batch_when_a_failing_item_takes_its_batch_with_it() -> None:
    def model(ids: list[int]) -> list[int]:
        return [fail_if_guilty(call_id) for call_id in ids]

    got = outcomes(Pipeline([Batch(8, timeout=0.001), model, UnBatch()]))

    taken_along = Counter(outcome.args[0] for outcome in got.values() if isinstance(outcome, GuiltyError))
    for call_id, outcome in got.items():
        if is_guilty(call_id):
            assert isinstance(outcome, GuiltyError)
        else:
            assert isinstance(outcome, GuiltyError) or outcome == call_id
    assert len(got) == THREADS * CALLS
    assert max(taken_along.values()) <= 8


@pytest.mark.stress
@pytest.mark.timeout(300)
def test_64_000_calls_through_scatter_each_get_their_own_items_back() -> None:
    def shared_out(call_id: int) -> list[tuple[int, int]]:
        return [(call_id, part) for part in range(4)]

    def work(call_id: int, part: int) -> Any:
        fail_if_guilty(call_id)
        return SHORT_CIRCUIT if part == 3 else (call_id, part)

    got = outcomes(Pipeline([shared_out, Scatter(3), work, Gather()]))

    assert len(got) == THREADS * CALLS
    for call_id, outcome in got.items():
        if is_guilty(call_id):
            assert outcome.args == (call_id,)
            assert outcome.__notes__ == ["in step 2:work, item 0 of 1:Scatter"]
        else:
            assert outcome == [(call_id, 0), (call_id, 1), (call_id, 2)]


@pytest.mark.stress
@pytest.mark.timeout(300)
def test_64_000_calls_through_scatter_around_batch_around_items_each_get_their_own() -> None:
    def shared_out(call_id: int) -> list[tuple[int, int]]:
        return [(call_id, 0), (call_id, 1)]

    def model(pairs: list[tuple[int, int]]) -> list[Any]:
        return [
            GuiltyError(call_id) if is_guilty(call_id) else [(call_id, part)] * 2 for call_id, part in pairs
        ]

    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            *(Store("id"), shared_out, Scatter(2)),
            *(Store("part"), Batch(8, timeout=0.001), model, UnBatch()),
            *(PerItem(), lambda call_id, part: (part, call_id), CollectItems(), Recall("part")),
            *(Gather(), Recall("id")),
        ]
    )
    got = outcomes(pipeline)

    assert len(got) == THREADS * CALLS
    for call_id, outcome in got.items():
        if is_guilty(call_id):
            assert outcome.args == (call_id,)
        else:
            parts = [([(part, call_id)] * 2, (call_id, part)) for part in (0, 1)]
            assert outcome == (parts, call_id)
