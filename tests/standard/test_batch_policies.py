"""When a batch of the Batch operator leaves: its three policies, and callers of a Scatter."""

from __future__ import annotations

from threading import Barrier, Event
from time import perf_counter
from typing import Any

import pytest

from ml_pipes.core import SHORT_CIRCUIT, Embed, Pipeline
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Scatter, UnBatch

# Longer than a test may take: who waits for it is found out.
_NEVER_S = 300.0


class Model:
    """Returns its items; remembers the sizes of the batches, and takes a millisecond."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, items: list[Any]) -> list[Any]:
        self.sizes.append(len(items))
        Event().wait(0.001)
        return items


@pytest.mark.parametrize("policy", ["fast", "", "FULL"])
def test_a_policy_that_is_none_of_the_three_is_refused(policy: Any) -> None:
    with pytest.raises(ValueError, match=r"Batch: policy must be 'auto', 'greedy' or 'full', got "):
        Batch(2, policy=policy)


@pytest.mark.parametrize("policy", [None, 1, True, ["auto"]])
def test_a_policy_is_a_text(policy: Any) -> None:
    with pytest.raises(TypeError, match=r"Batch: policy must be 'auto', 'greedy' or 'full', got "):
        Batch(2, policy=policy)


@pytest.mark.parametrize("policy", ["auto", "greedy"])
def test_only_full_may_wait_for_ever(policy: Any) -> None:
    with pytest.raises(TypeError, match=r'got None; to wait for a full batch, .* write policy="full"'):
        Batch(2, None, policy=policy)


def test_full_without_a_timeout_waits_until_it_is_full(start: Any) -> None:
    model = Model()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(3, None, policy="full"), model, UnBatch()])

    callers = [start(pipeline, item) for item in range(3)]

    assert [caller.result(timeout=10) for caller in callers] == [0, 1, 2]
    assert model.sizes == [3]


@pytest.mark.parametrize("policy", ["auto", "greedy"])
def test_ten_calls_of_one_thread_wait_for_nobody(policy: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(8, _NEVER_S, policy=policy), Model(), UnBatch()])

    results = [pipeline(item) for item in range(10)]

    stats = pipeline.stats()["0:Batch"]
    assert results == list(range(10))
    assert stats.batch_sizes == {1: 10}
    assert stats.reasons == {"alone": 10}


def test_full_pays_its_timeout_when_nobody_comes() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(8, 0.05, policy="full"), Model(), UnBatch()])
    began = perf_counter()

    pipeline(1)

    assert perf_counter() - began >= 0.05
    assert pipeline.stats()["0:Batch"].reasons == {"timeout": 1}


def test_callers_in_loops_that_end_one_by_one_never_wait_for_those_who_ended(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(8, _NEVER_S), Model(), UnBatch()])
    barrier = Barrier(4)

    def loop(rounds: int) -> list[int]:
        barrier.wait(timeout=10)
        return [pipeline(item) for item in range(rounds)]

    callers = [start(loop, rounds) for rounds in (5, 10, 20, 40)]

    assert [len(caller.result(timeout=30)) for caller in callers] == [5, 10, 20, 40]


def test_callers_that_short_circuit_or_fail_on_their_way_are_not_waited_for(start: Any) -> None:
    def step(value: int) -> Any:
        if value % 3 == 0:
            raise ZeroDivisionError
        return SHORT_CIRCUIT if value % 3 == 1 else value

    pipeline: Pipeline[Any, Any] = Pipeline([step, Batch(8, _NEVER_S), Model(), UnBatch()])

    def loop(value: int) -> list[Any]:
        outcomes: list[Any] = []
        for _ in range(20):
            try:
                outcomes.append(pipeline(value))
            except ZeroDivisionError:
                outcomes.append("error")
        return outcomes

    callers = [start(loop, value) for value in (3, 4, 5)]

    assert [caller.result(timeout=30) for caller in callers] == [
        ["error"] * 20,
        [SHORT_CIRCUIT] * 20,
        [5] * 20,
    ]


@pytest.mark.parametrize("count", [0, 1, 4, 5, 16, 17])
@pytest.mark.parametrize("lazy", [False, True])
def test_four_workers_around_a_batch_of_eight_pay_no_timeout_not_even_at_the_tail(
    count: int, lazy: bool
) -> None:
    model = Model()
    steps = [Scatter(4), Batch(8, _NEVER_S), model, UnBatch(), Gather()]
    pipeline: Pipeline[Any, Any] = Pipeline(steps)

    results = [pipeline(iter(range(count)) if lazy else range(count)) for _ in range(5)]

    assert results == [list(range(count))] * 5
    assert sum(model.sizes) == 5 * count
    assert max(model.sizes, default=0) <= 4


def test_four_workers_around_a_batch_of_eight_meet() -> None:
    model = Model()
    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(4), Batch(8, _NEVER_S), model, UnBatch(), Gather()])

    for _ in range(5):
        pipeline(range(16))

    assert len(model.sizes) < 60


def _nests() -> dict[str, tuple[list[Any], Any]]:
    """Regions in regions, and a value for them, all of which come back as they were."""
    batch = [Batch(8, _NEVER_S), Model(), UnBatch()]
    inner: Pipeline[Any, Any] = Pipeline([Batch(4, _NEVER_S), Model(), UnBatch()])
    lists = [[1, 2, 3], [], [4, 5, 6, 7], [8]]
    many = [Batch(4, _NEVER_S, many=True), Model(), UnBatch()]
    by_key = [Batch(8, _NEVER_S, key=lambda value: value % 2), Model(), UnBatch()]
    return {
        "two scatters": ([Scatter(2), Scatter(3), *batch, Gather(), Gather()], lists),
        "embedded": ([Scatter(4), Embed(inner), Gather()], lists[2]),
        "two batches": ([Scatter(4), *batch, Embed(inner), Gather()], list(range(10))),
        "per item": ([Scatter(4), PerItem(), *batch, CollectItems(), Gather()], lists),
        "scatter per item": ([PerItem(), Scatter(4), *batch, Gather(), CollectItems()], lists),
        "lists": ([Scatter(4), *many, Gather()], [each for each in lists if each]),
        "keys": ([Scatter(4), *by_key, Gather()], list(range(9))),
        "batch around": (
            [Scatter(4), Batch(2, _NEVER_S), Scatter(2), *batch, Gather(), UnBatch(), Gather()],
            list(range(9)),
        ),
        "several runners": (
            [Scatter(4), Batch(2, _NEVER_S, max_concurrency=2), Model(), UnBatch(), Gather()],
            list(range(9)),
        ),
    }


@pytest.mark.parametrize("name", sorted(_nests()))
def test_nested_regions_pay_no_timeout(name: str, start: Any) -> None:
    steps, value = _nests()[name]
    pipeline: Pipeline[Any, Any] = Pipeline(steps)

    def loop() -> list[Any]:
        return [pipeline(value) for _ in range(5)]

    callers = [start(loop) for _ in range(3)]

    assert [caller.result(timeout=30) for caller in callers] == [[value] * 5] * 3


def test_callers_of_two_outer_pipelines_wait_for_no_other_than_those_who_come(start: Any) -> None:
    inner: Pipeline[Any, Any] = Pipeline([Batch(8, _NEVER_S), Model(), UnBatch()])
    one: Pipeline[Any, Any] = Pipeline([Embed(inner), Batch(8, _NEVER_S), Model(), UnBatch()])
    two: Pipeline[Any, Any] = Pipeline([Embed(inner)])

    def loop(pipeline: Pipeline[Any, Any]) -> list[int]:
        return [pipeline(item) for item in range(20)]

    callers = [start(loop, pipeline) for pipeline in (one, one, two, two)]

    assert [caller.result(timeout=30) for caller in callers] == [list(range(20))] * 4


def test_a_closed_outer_pipeline_is_nothing_to_the_others_who_met_its_caller(start: Any) -> None:
    running, let_go = Event(), Event()

    def held(items: list[int]) -> list[int]:
        running.set()
        assert let_go.wait(timeout=20)
        return items

    inner: Pipeline[Any, Any] = Pipeline([Batch(2, None, policy="full"), held, UnBatch()])
    closing: Pipeline[Any, Any] = Pipeline([Embed(inner), Batch(1), Model(), UnBatch()])
    staying: Pipeline[Any, Any] = Pipeline([Embed(inner)])
    first = start(closing, 1)
    _until_waiting(inner, 1)
    second = start(staying, 2)
    assert running.wait(timeout=10)

    closing.close()
    let_go.set()

    assert second.result(timeout=10) == 2
    with pytest.raises(RuntimeError, match="the pipeline was closed"):
        first.result(timeout=10)


def _until_waiting(pipeline: Pipeline[Any, Any], rows: int) -> None:
    until = perf_counter() + 10
    while pipeline.stats()["0:Batch"].waiting < rows:
        assert perf_counter() < until
        Event().wait(0.001)
