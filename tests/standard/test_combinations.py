"""Scatter, Batch, PerItem and Embed together, without a model: exact batch sizes and results."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest

from ml_pipes.core import Pipeline, embed
from ml_pipes.errors import DeadlineExceeded
from ml_pipes.standard import Batch, CollectItems, Gather, Map, PerItem, Scatter, UnBatch

# No test waits this long: a batch that is not full by then fails the test by its size.
PATIENCE_S = 20


class Model:
    """Doubles numbers, and remembers how many it was given at a time."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def __call__(self, items: list[int]) -> list[int]:
        self.sizes.append(len(items))
        return [2 * item for item in items]


class Held(Model):
    """A model whose first run goes on only when it may."""

    def __init__(self) -> None:
        super().__init__()
        self.began, self.may_go_on = Event(), Event()

    def __call__(self, items: list[int]) -> list[int]:
        self.began.set()
        assert self.may_go_on.wait(PATIENCE_S)
        return super().__call__(items)


def full(size: int, **options: Any) -> Batch[Any]:
    return Batch(size, timeout=PATIENCE_S, policy="full", **options)


def in_fours(items: list[int]) -> list[list[int]]:
    return [items[at : at + 4] for at in range(0, len(items), 4)]


def joined(parts: list[list[int]]) -> list[int]:
    return [item for part in parts for item in part]


def doubled(count: int, start: int = 0) -> list[int]:
    return [2 * item for item in range(start, start + count)]


def until_waiting(pipeline: Pipeline[Any, Any], label: str, rows: int) -> None:
    """Return once so many rows wait in the region."""
    for _ in range(10_000):
        if pipeline.stats()[label].waiting == rows:
            return
        Event().wait(0.001)
    raise AssertionError(f"{pipeline.stats()[label].waiting} rows wait, {rows} were wanted")


def test_after_a_gather_the_model_runs_once_on_all() -> None:
    model = Model()
    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(4), lambda item: item + 1, Gather(), model])

    assert pipeline(list(range(8))) == doubled(8, start=1)
    assert model.sizes == [8]


def test_the_workers_of_a_scatter_meet_in_full_batches() -> None:
    model = Model()
    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(4), full(4), model, UnBatch(), Gather()])

    assert pipeline(list(range(8))) == doubled(8)
    assert model.sizes == [4, 4]


def test_tiles_meet_and_are_stitched_in_their_order() -> None:
    model = Model()
    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            lambda side: list(range(side * side)),
            Scatter(8),
            full(8),
            model,
            UnBatch(),
            Gather(),
            Map(sum),
        ]
    )

    assert pipeline(4) == sum(doubled(16))
    assert model.sizes == [8, 8]


def test_pieces_of_four_are_runs_of_four() -> None:
    model = Model()
    pipeline: Pipeline[Any, Any] = Pipeline([in_fours, PerItem(), model, CollectItems(), joined])

    assert pipeline(list(range(16))) == doubled(16)
    assert model.sizes == [4, 4, 4, 4]


def test_pieces_of_two_callers_never_share_a_run(start: Any) -> None:
    model = Model()
    pipeline: Pipeline[Any, Any] = Pipeline([in_fours, PerItem(), model, CollectItems(), joined])

    callers = [start(pipeline, list(range(6))), start(pipeline, list(range(6, 12)))]

    assert [caller.result(PATIENCE_S) for caller in callers] == [doubled(6), doubled(6, start=6)]
    assert sorted(model.sizes) == [2, 2, 4, 4]


@pytest.mark.parametrize("policy", ["auto", "greedy", "full"])
def test_one_list_of_sixteen_leaves_in_fours_under_each_policy(policy: Any) -> None:
    model = Model()
    batch: Batch[Any] = Batch(4, timeout=PATIENCE_S, policy=policy, many=True)
    pipeline: Pipeline[Any, Any] = Pipeline([batch, model, UnBatch()])

    assert pipeline(list(range(16))) == doubled(16)
    assert model.sizes == [4, 4, 4, 4]
    assert pipeline.stats()["0:Batch"].reasons == {"full": 4}


def test_the_rest_of_one_list_leaves_with_the_beginning_of_the_next(start: Any) -> None:
    model = Model()
    pipeline: Pipeline[Any, Any] = Pipeline([full(4, many=True), model, UnBatch()])

    callers = [start(pipeline, list(range(6))), start(pipeline, list(range(6, 12)))]

    assert [caller.result(PATIENCE_S) for caller in callers] == [doubled(6), doubled(6, start=6)]
    assert model.sizes == [4, 4, 4]


def test_lists_of_three_five_and_nine_leave_in_eights_and_a_rest_that_waits_for_nobody(start: Any) -> None:
    model = Held()
    batch: Batch[Any] = Batch(8, timeout=PATIENCE_S, many=True)
    pipeline: Pipeline[Any, Any] = Pipeline([batch, model, UnBatch()])
    first = start(pipeline, [0])
    assert model.began.wait(PATIENCE_S)

    callers = [start(pipeline, list(range(count))) for count in (3, 5, 9)]
    until_waiting(pipeline, "0:Batch", 17)
    model.may_go_on.set()

    assert first.result(PATIENCE_S) == [0]
    assert [caller.result(PATIENCE_S) for caller in callers] == [doubled(3), doubled(5), doubled(9)]
    assert model.sizes == [1, 8, 8, 1]
    assert pipeline.stats()["0:Batch"].reasons == {"alone": 2, "full": 2}


def test_a_scatter_in_a_scatter_gives_the_results_in_their_order_and_shares_its_helpers() -> None:
    model = Model()
    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            *(Scatter(2), lambda page: [10 * page + crop for crop in range(page)]),
            *(Scatter(3), Batch(8, timeout=0.01), model, UnBatch(), Gather()),
            Gather(),
        ]
    )

    assert pipeline([3, 0, 5, 1]) == [[60, 62, 64], [], [100, 102, 104, 106, 108], [20]]
    assert sum(model.sizes) == 9
    # Two callers of the inner Scatter at once, and the two helpers that all its callers share.
    assert max(model.sizes) <= 4


def test_callers_of_two_pipelines_meet_in_the_one_that_both_embed(start: Any) -> None:
    model = Model()
    shared: Pipeline[Any, Any] = Pipeline([full(4), model, UnBatch()])
    of_files: Pipeline[Any, Any] = Pipeline([Map(int), embed(shared)])
    of_frames: Pipeline[Any, Any] = Pipeline([embed(shared), lambda number: f"{number}"])

    callers = [start(of_files, text) for text in ("1", "2")] + [start(of_frames, item) for item in (3, 4)]

    assert [caller.result(PATIENCE_S) for caller in callers] == [2, 4, "6", "8"]
    assert model.sizes == [4]
    assert of_files.stats()["1:Embed/0:Batch"].rows == 4
    assert of_frames.stats()["0:Embed/0:Batch"].rows == 4
    assert shared.stats()["0:Batch"].rows == 4


def test_two_regions_of_one_pipeline_fill_their_own_batches(start: Any) -> None:
    detector, second = Model(), Model()
    pipeline: Pipeline[Any, Any] = Pipeline(
        [
            *(full(4), detector, UnBatch()),
            lambda face: [face, face + 1],
            *(PerItem(), full(4), second, UnBatch(), CollectItems()),
        ]
    )

    callers = [start(pipeline, item) for item in range(4)]

    assert [caller.result(PATIENCE_S) for caller in callers] == [[0, 2], [4, 6], [8, 10], [12, 14]]
    assert (detector.sizes, second.sizes) == ([4], [4, 4])


def test_who_leaves_at_its_deadline_takes_no_place_in_a_batch(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4), model, UnBatch()])
    first = start(pipeline, 1)
    assert model.began.wait(PATIENCE_S)

    with pytest.raises(DeadlineExceeded):
        pipeline.call(2, deadline=0.01)
    others = [start(pipeline, item) for item in (3, 4)]
    until_waiting(pipeline, "0:Batch", 2)
    model.may_go_on.set()

    assert [call.result(PATIENCE_S) for call in (first, *others)] == [2, 6, 8]
    assert model.sizes == [1, 2]
    assert pipeline.stats()["0:Batch"].dropped == 1
