"""The way of a run to where callers meet."""

from __future__ import annotations

from threading import get_ident
from typing import Any

from ml_pipes._engine.way import CallWay, Way, first_place
from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.company import Traveller
from ml_pipes.core import SHORT_CIRCUIT, Embed, Pipeline
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Scatter, UnBatch


def same(items: Any) -> Any:
    return items


def place_of(pipeline: Pipeline[Any, Any], index: int) -> Batcher:
    """The place at a step that was used."""
    place: Batcher = pipeline._places[index].peek()
    return place


def first(pipeline: Pipeline[Any, Any]) -> Batcher | None:
    assert pipeline._plan is not None
    return first_place(pipeline._plan.meetings)


def expected(pipeline: Pipeline[Any, Any], index: int) -> int:
    return len(place_of(pipeline, index)._company)


def test_no_place_is_on_the_way_of_plain_steps() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [same, Scatter(2), same, Gather(), PerItem(), same, CollectItems()]
    )

    assert first(pipeline) is None


def test_the_first_place_is_the_first_batch_in_the_list() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([same, Batch(2), same, UnBatch(), Batch(2), same, UnBatch()])

    assert first(pipeline) is place_of(pipeline, 1)


def test_the_first_place_may_be_within_regions_and_embedded_pipelines() -> None:
    inner: Pipeline[Any, Any] = Pipeline([same, PerItem(), Batch(2), same, UnBatch(), CollectItems()])
    outer: Pipeline[Any, Any] = Pipeline(
        [Scatter(2), same, Embed(inner), Gather(), Batch(2), same, UnBatch()]
    )

    assert first(outer) is place_of(inner, 2)


def test_an_embedded_pipeline_without_a_place_is_passed_over() -> None:
    plain: Pipeline[Any, Any] = Pipeline([same])
    outer: Pipeline[Any, Any] = Pipeline([Embed(plain), Batch(2), same, UnBatch()])

    assert first(outer) is place_of(outer, 1)


def test_a_closed_embedded_pipeline_is_passed_over() -> None:
    inner: Pipeline[Any, Any] = Pipeline([Batch(2), same, UnBatch()])
    outer: Pipeline[Any, Any] = Pipeline([Embed(inner), Batch(2), same, UnBatch()])
    inner.close()

    assert first(outer) is place_of(outer, 1)


def test_a_pipeline_that_embeds_itself_has_an_end_of_its_way() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([])
    pipeline.extend([same, Embed(pipeline)])

    assert first(pipeline) is None


def test_a_run_is_expected_at_one_place_after_the_other() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2), same, UnBatch(), Batch(2), same, UnBatch()])
    plan = pipeline._plan
    assert plan is not None
    through: list[object] = []
    way = Way(plan, Traveller(), through.append)
    way.reach(plan.steps[0])

    way.passed()

    assert way.traveller.heading is place_of(pipeline, 3)
    assert through == []


def test_a_run_that_is_through_says_so_once() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2), same, UnBatch()])
    plan = pipeline._plan
    assert plan is not None
    through: list[object] = []
    way = Way(plan, Traveller(), through.append)
    way.reach(plan.steps[0])

    way.passed()
    way.passed()

    assert way.traveller.heading is None
    assert through == [None]


def test_nobody_is_expected_after_a_call_whichever_way_it_ended() -> None:
    def step(value: int) -> Any:
        if value == 0:
            raise ZeroDivisionError
        return SHORT_CIRCUIT if value == 1 else value

    pipeline: Pipeline[Any, Any] = Pipeline([step, Batch(2), same, UnBatch(), Batch(2), same, UnBatch()])

    for value in range(3):
        try:
            pipeline(value)
        except ZeroDivisionError:
            continue

    assert [expected(pipeline, 1), expected(pipeline, 4)] == [0, 0]


def test_nobody_is_expected_after_a_scatter_whichever_way_it_ended() -> None:
    def step(value: int) -> Any:
        if value == 5:
            raise ZeroDivisionError
        return SHORT_CIRCUIT if value % 3 == 1 else value

    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            Scatter(3),
            step,
            Batch(2, timeout=20),
            same,
            UnBatch(),
            Batch(2, timeout=20),
            same,
            UnBatch(),
            Gather(),
        ]
    )

    for count in (0, 1, 5, 9):
        try:
            pipeline(range(count))
        except ZeroDivisionError:
            continue
    pipeline.close()

    assert [expected(pipeline, 2), expected(pipeline, 5)] == [0, 0]


def test_a_batch_in_an_embedded_pipeline_that_is_called_directly_knows_its_own_callers_only() -> None:
    inner: Pipeline[Any, Any] = Pipeline([Batch(2, timeout=20), same, UnBatch()])
    outer: Pipeline[Any, Any] = Pipeline([Embed(inner), same])

    results = [outer(1), inner(2)]

    assert results == [1, 2]
    assert expected(inner, 0) == 0


def test_a_call_that_ends_before_its_first_place_is_not_expected_there_any_more() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([same, Batch(2), same, UnBatch()])
    plan, place = pipeline._plan, first(pipeline)
    assert plan is not None
    assert place is not None
    way = CallWay(plan, place)
    before = expected(pipeline, 1)

    way.end()

    assert (before, expected(pipeline, 1)) == (1, 0)


def test_a_call_tells_the_place_that_it_leaves_last_whose_thread_may_come_back_there() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2), same, UnBatch()])
    plan, place = pipeline._plan, first(pipeline)
    assert plan is not None
    assert place is not None
    way = CallWay(plan, place)
    way.reach(plan.steps[0])

    told = [way.passed(place), way.passed(place)]

    assert told == [get_ident(), None]
