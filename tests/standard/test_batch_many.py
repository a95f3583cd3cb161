"""Batch(many=True): each caller brings a list and gets a list."""

from __future__ import annotations

from threading import Barrier, Event
from time import perf_counter
from typing import Any

import pytest

from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.errors import DeadlineExceeded, OversizeError, PipelineClosed, StepInputError
from ml_pipes.standard import Batch, UnBatch


class Model:
    """Doubles each item; remembers the batches, and can be held in the middle of one."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.running = Event()
        self.go_on = Event()
        self.go_on.set()

    def __call__(self, items: list[int]) -> list[int]:
        self.batches.append(list(items))
        self.running.set()
        assert self.go_on.wait(timeout=20)
        return [item * 2 for item in items]


def lists(model: Any, size: int = 8, **options: Any) -> Pipeline[Any, Any]:
    return Pipeline([Batch(size, **{"timeout": 300.0, "many": True, **options}), model, UnBatch()])


def until_waiting(pipeline: Pipeline[Any, Any], rows: int) -> None:
    until = perf_counter() + 10
    while pipeline.stats()["0:Batch"].waiting < rows:
        assert perf_counter() < until
        Event().wait(0.001)


@pytest.mark.parametrize("many", [None, 1, 0, "yes"])
def test_many_is_true_or_false(many: Any) -> None:
    with pytest.raises(TypeError, match="Batch: many must be True or False, got "):
        Batch(2, many=many)


def test_lists_of_3_5_and_9_share_batches_of_8_and_each_caller_gets_its_own(start: Any) -> None:
    model = Model()
    pipeline = lists(model, policy="full")
    values = [list(range(3)), list(range(10, 15)), list(range(20, 29))]
    model.go_on.clear()
    first = start(pipeline, list(range(90, 98)))
    assert model.running.wait(timeout=10)
    callers = []
    for value, waiting in zip(values, (3, 8, 17), strict=True):
        callers.append(start(pipeline, value))
        until_waiting(pipeline, waiting)
    callers.append(start(pipeline, list(range(40, 47))))
    until_waiting(pipeline, 24)

    model.go_on.set()

    assert [caller.result(timeout=10) for caller in callers] == [
        [0, 2, 4],
        [20, 22, 24, 26, 28],
        [40, 42, 44, 46, 48, 50, 52, 54, 56],
        [80, 82, 84, 86, 88, 90, 92],
    ]
    assert first.result(timeout=10) == list(range(180, 196, 2))
    assert [len(batch) for batch in model.batches] == [8, 8, 8, 8]


@pytest.mark.parametrize("count", [1, 3, 7, 8, 9, 16, 17, 100])
def test_a_list_of_any_length_is_split_and_rejoined_in_order(count: int) -> None:
    model = Model()

    results = lists(model)(list(range(count)))

    assert results == [item * 2 for item in range(count)]
    assert max(map(len, model.batches)) <= 8
    assert [item for batch in model.batches for item in batch] == list(range(count))


def test_an_empty_list_gives_an_empty_list_and_no_batch() -> None:
    model = Model()

    assert lists(model)([]) == []
    assert model.batches == []


@pytest.mark.parametrize("value", [(1, 2), range(1, 3), {1: 0, 2: 0}.keys(), iter([1, 2])])
def test_any_iterable_of_items_is_a_list(value: Any) -> None:
    assert lists(Model())(value) == [2, 4]


def test_a_generator_that_fails_fails_its_caller_before_any_row_joins() -> None:
    def source() -> Any:
        yield 1
        raise ZeroDivisionError

    model = Model()

    with pytest.raises(ZeroDivisionError):
        lists(model)(source())

    assert model.batches == []


@pytest.mark.parametrize("value", ["ab", b"ab", {1: 2}, 3, None])
def test_what_has_no_items_is_refused(value: Any) -> None:
    with pytest.raises(StepInputError, match=r"Batch\(many=True\) requires an item iterable boundary, got "):
        lists(Model())(value)


def test_items_count_for_their_rows() -> None:
    model = Model()

    results = lists(model, rows=lambda item: item)([3, 3, 3, 8, 1, 7, 1])

    assert results == [6, 6, 6, 16, 2, 14, 2]
    assert model.batches == [[3, 3], [3], [8], [1, 7], [1]]


def test_an_item_with_more_rows_than_a_batch_fails_its_own_caller_at_once_and_nobody_else(start: Any) -> None:
    model = Model()
    pipeline = lists(model, policy="full", rows=lambda item: item)
    waiting = start(pipeline, [3])
    until_waiting(pipeline, 3)

    with pytest.raises(
        OversizeError, match=r"0:Batch: an item has 9 rows, and a batch at most size=8; split"
    ):
        pipeline([1, 9, 1])

    assert pipeline([5]) == [10]
    assert waiting.result(timeout=10) == [6]
    assert model.batches == [[3, 5]]


def test_dropped_rows_are_left_out_of_their_callers_lists() -> None:
    def drop_odd(items: list[int]) -> list[Any]:
        return [SHORT_CIRCUIT if item % 2 else item for item in items]

    assert lists(drop_odd, size=2)([1, 2, 3, 4, 5]) == [2, 4]


def test_an_exception_among_the_results_fails_the_whole_list_of_its_caller_only(start: Any) -> None:
    def check(items: list[int]) -> list[Any]:
        return [ValueError(f"{item} is bad") if item == 2 else item for item in items]

    pipeline = lists(check, size=4, policy="full")
    bad, good = start(pipeline, [1, 2]), start(pipeline, [3, 4])

    assert good.result(timeout=10) == [3, 4]
    with pytest.raises(ValueError, match="2 is bad"):
        bad.result(timeout=10)


def test_when_a_part_of_a_list_fails_its_other_parts_do_not_run() -> None:
    seen: list[list[int]] = []

    def fail(items: list[int]) -> list[int]:
        seen.append(items)
        raise ValueError("the first part")

    with pytest.raises(ValueError, match="the first part"):
        lists(fail, size=2)([1, 2, 3, 4, 5])

    assert seen == [[1, 2]]


def test_isolated_items_of_a_list_fail_by_themselves(start: Any) -> None:
    def fail(items: list[int]) -> list[int]:
        if 2 in items:
            raise ValueError("2 is bad")
        return items

    pipeline = lists(fail, size=4, policy="full", on_error="isolate")
    bad, good = start(pipeline, [1, 2]), start(pipeline, [3, 4])

    assert good.result(timeout=10) == [3, 4]
    with pytest.raises(ValueError, match="2 is bad"):
        bad.result(timeout=10)


def test_a_caller_that_leaves_in_the_middle_of_its_list_is_in_nobodys_way(start: Any) -> None:
    model = Model()
    pipeline = lists(model, size=2)
    model.go_on.clear()
    first = start(pipeline, [90, 91])
    assert model.running.wait(timeout=10)
    leaving = start(lambda: pipeline.call([1, 2, 3, 4, 5], deadline=0.2))
    until_waiting(pipeline, 5)
    staying = start(pipeline, [7, 8, 9])

    with pytest.raises(DeadlineExceeded):
        leaving.result(timeout=10)
    model.go_on.set()

    assert first.result(timeout=10) == [180, 182]
    assert staying.result(timeout=10) == [14, 16, 18]
    assert not {1, 2, 3, 4, 5} & {item for batch in model.batches for item in batch}


def test_a_deadline_between_the_parts_of_a_list_ends_it(start: Any) -> None:
    seen: list[list[int]] = []

    def slow(items: list[int]) -> list[int]:
        seen.append(items)
        Event().wait(0.3)
        return items

    with pytest.raises(DeadlineExceeded):
        lists(slow, size=2).call([1, 2, 3, 4, 5, 6], deadline=0.1)

    assert seen == [[1, 2]]


def test_close_releases_a_caller_whose_list_is_half_done(start: Any) -> None:
    model = Model()
    pipeline = lists(model, size=2)
    model.go_on.clear()
    caller = start(pipeline, [1, 2, 3, 4])
    assert model.running.wait(timeout=10)

    pipeline.close()
    model.go_on.set()

    with pytest.raises(PipelineClosed):
        caller.result(timeout=10)
    assert model.batches == [[1, 2]]


@pytest.mark.stress
@pytest.mark.parametrize("runners", [1, 2])
def test_lists_of_32_threads_come_back_to_their_owners(start: Any, runners: int) -> None:
    too_large: list[int] = []

    def model(items: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if len(items) > 7:
            too_large.append(len(items))
        return items

    pipeline = lists(model, size=7, timeout=0.05, max_concurrency=runners)
    barrier = Barrier(32)

    def calls(thread: int) -> bool:
        barrier.wait(timeout=20)
        values = [[(thread, call * 10 + at) for at in range(call % 11)] for call in range(50)]
        return [pipeline(value) for value in values] == values

    threads = [start(calls, thread) for thread in range(32)]

    assert all(thread.result(timeout=50) for thread in threads)
    assert too_large == []
    assert pipeline.stats()["0:Batch"].waiting == 0


def test_a_caller_whose_every_item_is_dropped_goes_on_with_an_empty_list() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, many=True), lambda items: [SHORT_CIRCUIT] * len(items), UnBatch()]
    )

    assert pipeline([1, 2, 3]) == []


def test_a_body_that_short_circuits_as_a_whole_ends_the_calls_of_all_whose_items_it_had() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2, many=True), lambda items: SHORT_CIRCUIT, UnBatch()])

    assert pipeline([1, 2, 3]) is SHORT_CIRCUIT
