"""pipeline.stats(): the figures after runs that are known."""

from __future__ import annotations

import copy
import json
import pickle
from threading import Event
from time import perf_counter
from typing import Any

import pytest

from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.departure import Departure
from ml_pipes._threads.fakes import FakeClock
from ml_pipes.core import SHORT_CIRCUIT, Embed, Pipeline
from ml_pipes.errors import BatchSizeError, DeadlineExceeded, PipelineClosed, QueueFull
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Scatter, UnBatch
from ml_pipes.stats import PipelineStats

_NEVER_S = 300.0


def same(value: Any) -> Any:
    return value


def fail(value: Any) -> Any:
    raise ValueError("bad")


class Held:
    """Returns its items when it is let go."""

    def __init__(self) -> None:
        self.running = Event()
        self.go_on = Event()

    def __call__(self, items: list[Any]) -> list[Any]:
        self.running.set()
        assert self.go_on.wait(timeout=20)
        return items


def until_waiting(pipeline: Pipeline[Any, Any], rows: int) -> None:
    until = perf_counter() + 10
    while pipeline.stats()["0:Batch"].waiting < rows:
        assert perf_counter() < until
        Event().wait(0.001)


def test_a_pipeline_without_regions_has_no_figures() -> None:
    stats = Pipeline[Any, Any]([same]).stats()

    assert dict(stats) == {}
    assert str(stats) == "no region: nothing in this pipeline is batched, scattered or done per item"


def test_regions_that_were_never_used_are_there_with_zeros() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(2), Batch(2), same, UnBatch(), Gather(), PerItem(), same, CollectItems()]
    )

    stats = pipeline.stats()

    assert [(label, region.kind, region.calls) for label, region in stats.items()] == [
        ("0:Scatter", "Scatter", 0),
        ("1:Batch", "Batch", 0),
        ("5:PerItem", "PerItem", 0),
    ]


def test_calls_of_one_thread_are_batches_of_one() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, _NEVER_S), same, UnBatch()])

    for item in range(5):
        pipeline(item)

    stats = pipeline.stats()["0:Batch"]
    assert (stats.calls, stats.rows, stats.batches, stats.batch_sizes) == (5, 5, 5, {1: 5})
    assert (stats.wait.count, stats.run.count, stats.reasons) == (5, 5, {"alone": 5})
    assert (stats.waiting, stats.running, stats.dropped, stats.refused, stats.errors) == (0, 0, 0, 0, 0)


def test_a_list_is_one_call_of_several_rows() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, _NEVER_S, many=True), same, UnBatch()])

    pipeline(list(range(10)))

    stats = pipeline.stats()["0:Batch"]
    assert (stats.calls, stats.rows, stats.batches, stats.batch_sizes) == (1, 10, 3, {4: 2, 2: 1})
    assert stats.mean_batch_size == pytest.approx(10 / 3)


def test_weighted_items_count_for_their_rows() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(8, _NEVER_S, many=True, rows=same), same, UnBatch()])

    pipeline([3, 3, 3])

    stats = pipeline.stats()["0:Batch"]
    assert (stats.calls, stats.rows, stats.batch_sizes) == (1, 9, {6: 1, 3: 1})


def test_what_waits_and_runs_now_is_shown_and_gone_at_the_end(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, _NEVER_S), model, UnBatch()])
    callers = [start(pipeline, 0)]
    assert model.running.wait(timeout=10)
    callers += [start(pipeline, item) for item in (1, 2)]
    until_waiting(pipeline, 2)

    now = pipeline.stats()["0:Batch"]
    model.go_on.set()
    for caller in callers:
        caller.result(timeout=10)

    after = pipeline.stats()["0:Batch"]
    assert (now.waiting, now.running, now.calls, now.batches) == (2, 1, 3, 0)
    assert (after.waiting, after.running, after.batch_sizes) == (0, 0, {1: 1, 2: 1})
    assert after.reasons == {"alone": 1, "free": 1}


def test_figures_that_were_taken_do_not_change_later() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4), same, UnBatch()])
    pipeline(1)

    before = pipeline.stats()
    pipeline(2)

    assert before["0:Batch"].calls == 1
    assert before["0:Batch"].wait.count == 1


@pytest.mark.parametrize("body", [fail, lambda items: [], lambda items: [ValueError("bad")] * len(items)])
def test_callers_of_a_failed_batch_are_counted(body: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4), body, UnBatch()])

    for item in range(3):
        with pytest.raises((ValueError, BatchSizeError)):
            pipeline(item)

    stats = pipeline.stats()["0:Batch"]
    assert (stats.calls, stats.batches, stats.errors, stats.waiting, stats.running) == (3, 3, 3, 0, 0)


def test_who_leaves_before_its_batch_is_counted_as_dropped() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, None, policy="full", many=True), same, UnBatch()])

    with pytest.raises(DeadlineExceeded):
        pipeline.call([1, 2, 3], deadline=0.02)

    stats = pipeline.stats()["0:Batch"]
    assert (stats.calls, stats.rows, stats.dropped, stats.waiting, stats.batches) == (1, 3, 3, 0, 0)


def test_whoever_is_passed_over_because_its_time_is_up_is_counted_as_dropped(
    clock: FakeClock, start: Any
) -> None:
    batcher, model = Batcher("0:Batch", Departure(1, 9.0), clock), Held()
    first = start(batcher.ticket(0, model).wait)
    assert model.running.wait(timeout=10)
    ticket = batcher.ticket(1, model)
    ticket.deadline_at = clock.now() + 0.25
    late = start(ticket.wait)
    clock.until_sleeping(1)

    clock._now += 1.0  # the batch ends before the caller that is late gets to look
    model.go_on.set()
    first.result(timeout=10)
    clock.advance(0.0)

    assert isinstance(late.exception(timeout=10), DeadlineExceeded)
    stats = batcher.stats("Batch")
    assert (stats.rows, stats.batch_sizes, stats.dropped, stats.waiting) == (2, {1: 1}, 1, 0)


def test_the_rest_of_a_list_whose_first_part_failed_is_counted_as_dropped() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, _NEVER_S, many=True), fail, UnBatch()])

    with pytest.raises(ValueError, match="bad"):
        pipeline(list(range(9)))

    stats = pipeline.stats()["0:Batch"]
    assert (stats.rows, stats.batch_sizes, stats.dropped, stats.waiting) == (9, {4: 1}, 5, 0)


def test_calls_from_inside_the_own_body_are_counted_like_their_batches() -> None:
    def halve(items: list[int]) -> list[int]:
        return [item if item <= 1 else pipeline(item // 2) for item in items]

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1), halve, UnBatch()])

    pipeline(8)

    stats = pipeline.stats()["0:Batch"]
    assert stats.batch_sizes == {1: 4}
    assert (stats.calls, stats.rows) == (4, 4)


def test_those_whom_close_releases_are_dropped_and_the_figures_stay(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2, None, policy="full"), model, UnBatch()])
    running = [start(pipeline, item) for item in range(2)]
    assert model.running.wait(timeout=10)
    waiting = start(pipeline, 3)
    until_waiting(pipeline, 1)

    pipeline.close()
    assert isinstance(waiting.exception(timeout=10), PipelineClosed)
    model.go_on.set()
    for caller in running:
        caller.result(timeout=10)

    stats = pipeline.stats()["0:Batch"]
    assert (stats.calls, stats.dropped, stats.batch_sizes, stats.waiting, stats.running) == (
        3,
        1,
        {2: 1},
        0,
        0,
    )


def test_scatter_counts_calls_items_failures_and_drops() -> None:
    def step(value: int) -> Any:
        if value == 3:
            raise ValueError
        return SHORT_CIRCUIT if value == 1 else value

    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(2, on_error="return"), step, Gather()])

    pipeline(range(6))
    pipeline([])

    stats = pipeline.stats()["0:Scatter"]
    assert (stats.calls, stats.rows, stats.dropped, stats.errors, stats.running) == (2, 6, 1, 1, 0)


def test_embedded_regions_have_the_way_to_them_as_their_label() -> None:
    inner: Pipeline[Any, Any] = Pipeline([same, Batch(2), same, UnBatch()])
    middle: Pipeline[Any, Any] = Pipeline([Embed(inner), Scatter(2), same, Gather()])
    outer: Pipeline[Any, Any] = Pipeline([same, PerItem(), Embed(middle), CollectItems(), Embed(inner)])

    labels = list(outer.stats())

    assert labels == ["1:PerItem", "2:Embed/0:Embed/1:Batch", "2:Embed/1:Scatter", "4:Embed/1:Batch"]


def test_an_embedded_region_tells_of_its_other_callers_too() -> None:
    inner: Pipeline[Any, Any] = Pipeline([Batch(2), same, UnBatch()])
    outer: Pipeline[Any, Any] = Pipeline([Embed(inner)])

    outer(1)
    inner(2)

    assert outer.stats()["0:Embed/0:Batch"].calls == 2
    assert inner.stats()["0:Batch"].calls == 2


def test_a_pipeline_that_embeds_itself_has_an_end() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2), same, UnBatch()])
    pipeline.extend([Embed(pipeline)])

    assert list(pipeline.stats()) == ["0:Batch"]


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_a_copy_begins_with_zeros(twin_of: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2), same, UnBatch()])
    pipeline(1)

    twin = twin_of(pipeline)

    assert twin.stats()["0:Batch"].calls == 0
    assert pipeline.stats()["0:Batch"].calls == 1


def test_figures_survive_an_extension_of_the_list() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2), same, UnBatch()])
    pipeline(1)

    pipeline.extend([Scatter(2), same, Gather()])

    assert [(label, region.calls) for label, region in pipeline.stats().items()] == [
        ("0:Batch", 1),
        ("3:Scatter", 0),
    ]


def test_figures_print_as_a_table_and_go_through_json() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, _NEVER_S, many=True), same, UnBatch()])
    pipeline(list(range(10)))

    stats = pipeline.stats()

    shown = str(stats)
    assert "0:Batch" in shown
    assert "sizes    2: 1" in shown
    assert "4: 2" in shown
    assert "started  full 2, free 1" in shown
    assert PipelineStats.from_dict(json.loads(json.dumps(stats.to_dict())))["0:Batch"] == stats["0:Batch"]


def test_who_is_turned_away_is_not_counted_as_dropped(start: Any) -> None:
    entered, go_on = Event(), Event()

    def model(items: list[int]) -> list[int]:
        entered.set()
        assert go_on.wait(timeout=20)
        return items

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(1, max_waiting=1), model, UnBatch()])
    runs = start(pipeline, 1)
    assert entered.wait(timeout=10)
    waits = start(pipeline, 2)
    while not pipeline.stats()["0:Batch"].waiting:
        pass
    with pytest.raises(QueueFull):
        pipeline(3)
    go_on.set()
    assert [runs.result(timeout=10), waits.result(timeout=10)] == [1, 2]

    region = pipeline.stats()["0:Batch"]

    assert (region.calls, region.rows, region.refused, region.dropped) == (2, 2, 1, 0)
