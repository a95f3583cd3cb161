"""What becomes of a batch that fails: shared, isolated, or one row's own."""

from __future__ import annotations

import contextvars
import traceback
from concurrent.futures import Future
from threading import Barrier, Event
from time import perf_counter
from typing import Any

import pytest

from ml_pipes._threads.run import Run
from ml_pipes._threads.ticket import Ticket
from ml_pipes.core import Pipeline
from ml_pipes.errors import BatchSizeError, OversizeError
from ml_pipes.standard import Batch, Gather, Scatter, UnBatch


def full(model: Any, size: int = 4, **options: Any) -> Pipeline[Any, Any]:
    return Pipeline([Batch(size, None, policy="full", **options), model, UnBatch()])


def outcomes(pipeline: Pipeline[Any, Any], start: Any, values: Any) -> list[Any]:
    """What each of the callers got, an error as a value."""

    def call(value: Any) -> Any:
        try:
            return pipeline(value)
        except BaseException as error:  # noqa: BLE001 - interrupts are among the cases
            return error

    callers: list[Future[Any]] = [start(call, value) for value in values]
    return [caller.result(timeout=10) for caller in callers]


def guilty(items: list[int]) -> list[int]:
    """Fails with item 2 in it."""
    if 2 in items:
        raise ValueError("2 is bad")
    return items


@pytest.mark.parametrize("on_error", ["raise", "", "ISOLATE"])
def test_on_error_is_one_of_two(on_error: Any) -> None:
    with pytest.raises(ValueError, match="Batch: on_error must be 'share' or 'isolate', got "):
        Batch(2, on_error=on_error)


@pytest.mark.parametrize("on_error", [None, True, 1])
def test_on_error_is_a_text(on_error: Any) -> None:
    with pytest.raises(TypeError, match="Batch: on_error must be 'share' or 'isolate', got "):
        Batch(2, on_error=on_error)


def test_a_shared_failure_reaches_everybody_as_a_copy_of_his_own(start: Any) -> None:
    errors = outcomes(full(guilty, size=8), start, range(8))

    assert [type(error) for error in errors] == [ValueError] * 8
    assert len(set(map(id, errors))) == 8
    assert len({id(error.__cause__) for error in errors}) == 1
    assert [error.__notes__ for error in errors] == [["in step 1:guilty, in 0:Batch"]] * 8
    assert len({len(traceback.extract_tb(error.__traceback__)) for error in errors}) <= 2


def test_an_isolated_failure_reaches_the_guilty_only(start: Any) -> None:
    results = outcomes(full(guilty, on_error="isolate"), start, range(4))

    assert [results[0], results[1], results[3]] == [0, 1, 3]
    assert isinstance(results[2], ValueError)


def test_isolation_runs_a_batch_that_succeeds_once(start: Any) -> None:
    seen: list[list[int]] = []

    def model(items: list[int]) -> list[int]:
        seen.append(items)
        return items

    results = outcomes(full(model, on_error="isolate"), start, range(4))

    assert results == [0, 1, 2, 3]
    assert len(seen) == 1


def test_an_isolated_item_that_was_alone_is_not_run_twice() -> None:
    seen: list[list[int]] = []

    def model(items: list[int]) -> list[int]:
        seen.append(items)
        raise ValueError("bad")

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, on_error="isolate"), model, UnBatch()])

    with pytest.raises(ValueError, match="bad"):
        pipeline(1)

    assert seen == [[1]]


def test_isolated_items_that_all_fail_get_their_own_errors(start: Any) -> None:
    def model(items: list[int]) -> list[int]:
        raise ValueError(f"bad: {items}")

    errors = outcomes(full(model, on_error="isolate"), start, range(4))

    assert [str(error) for error in errors] == ["bad: [0]", "bad: [1]", "bad: [2]", "bad: [3]"]


def test_a_count_that_is_wrong_for_one_item_is_isolated_too(start: Any) -> None:
    def model(items: list[int]) -> list[int]:
        return [item for item in items if item != 2]

    results = outcomes(full(model, on_error="isolate"), start, range(4))

    assert [results[0], results[1], results[3]] == [0, 1, 3]
    assert isinstance(results[2], BatchSizeError)
    assert "took 1 items and returned 0" in str(results[2])


@pytest.mark.parametrize("on_error", ["share", "isolate"])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit, MemoryError])
def test_whatever_kills_the_leader_everybody_is_released_and_the_region_works_again(
    start: Any, kind: type[BaseException], on_error: Any
) -> None:
    dies = [True]

    def model(items: list[int]) -> list[int]:
        if dies[0]:
            raise kind("died")
        return items

    pipeline = full(model, on_error=on_error)

    errors = outcomes(pipeline, start, range(4))
    dies[0] = False

    assert [type(error) for error in errors] == [kind] * 4
    assert len(set(map(id, errors))) == 4
    assert outcomes(pipeline, start, range(4)) == [0, 1, 2, 3]


@pytest.mark.parametrize("on_error", ["share", "isolate"])
def test_an_exception_among_the_results_is_raised_to_its_caller_alone(start: Any, on_error: Any) -> None:
    original = ValueError("2 is bad")

    def model(items: list[int]) -> list[Any]:
        return [original if item == 2 else item for item in items]

    results = outcomes(full(model, on_error=on_error), start, range(4))

    assert [results[0], results[1], results[3]] == [0, 1, 3]
    assert isinstance(results[2], ValueError)
    assert results[2] is not original
    assert results[2].__notes__ == ["in step 0:Batch"]


@pytest.mark.parametrize("result", [None, 1, {}, "abcd", iter("abcd"), [1, 2, 3], [1, 2, 3, 4, 5]])
def test_a_wrong_answer_is_an_error_with_both_numbers_for_everybody(start: Any, result: Any) -> None:
    errors = outcomes(full(lambda _: result), start, range(4))

    assert [type(error) for error in errors] == [BatchSizeError] * 4
    assert all("0:Batch: " in str(error) and "took 4 items and returned " in str(error) for error in errors)


@pytest.mark.parametrize("rows", [3, "size", [len]])
def test_rows_is_a_function(rows: Any) -> None:
    with pytest.raises(TypeError, match="Batch: rows must be a callable of one value, got "):
        Batch(2, rows=rows)


@pytest.mark.parametrize("count", [0, -1])
def test_an_item_of_less_than_a_row_is_refused(count: int) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, rows=lambda item: item), guilty, UnBatch()])

    with pytest.raises(ValueError, match=rf"Batch: what rows\(\) returns must be 1 or more, got {count}"):
        pipeline(count)

    assert pipeline(1) == 1


@pytest.mark.parametrize("count", [None, 1.0, "1", True])
def test_rows_that_are_no_whole_number_are_refused(count: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, rows=lambda item: item), guilty, UnBatch()])

    with pytest.raises(TypeError, match=r"Batch: what rows\(\) returns must be a whole number"):
        pipeline(count)

    assert pipeline(1) == 1


def test_a_sizing_function_that_raises_fails_its_own_caller_only() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, rows=len), guilty, UnBatch()])

    with pytest.raises(TypeError, match="has no len"):
        pipeline(None)

    assert [pipeline("ab"), pipeline("abc")] == ["ab", "abc"]


def test_an_item_that_is_larger_than_a_batch_fails_at_once_and_the_next_is_served() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, 300.0, rows=len), guilty, UnBatch()])

    with pytest.raises(
        OversizeError, match="0:Batch: an item has 5 rows, and a batch at most size=4; split it"
    ):
        pipeline("abcde")

    assert pipeline("abcd") == "abcd"


def test_no_batch_has_more_rows_than_its_size_whatever_the_items_weigh(start: Any) -> None:
    seen: list[int] = []

    def model(items: list[list[int]]) -> list[int]:
        seen.append(sum(map(len, items)))
        return [sum(item) for item in items]

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(10, 0.05, policy="full", rows=len), model, UnBatch()])

    results = outcomes(pipeline, start, [[item] * 3 for item in range(6)])

    assert results == [0, 3, 6, 9, 12, 15]
    assert max(seen) <= 10
    assert sum(seen) == 18


def test_the_body_sees_the_context_of_the_caller_that_leads() -> None:
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2), lambda items: [variable.get()] * len(items), UnBatch()]
    )
    variable.set("mine")

    assert pipeline(1) == "mine"


def test_a_batch_that_fails_within_a_scatter_fails_the_item_of_the_lowest_index(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(4), Batch(2, 300.0, on_error="isolate"), guilty, UnBatch(), Gather()]
    )

    with pytest.raises(ValueError, match="2 is bad") as caught:
        pipeline(range(10))

    assert caught.value.__notes__ == ["in step 2:guilty, in 1:Batch, item 2 of 0:Scatter"]


def test_a_failing_list_never_gives_a_caller_of_another_list_an_error_that_is_not_its_own(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first_runs, first_ends, second_is_taken, second_goes_on = Event(), Event(), Event(), Event()
    tickets_of = Run.tickets

    def model(items: list[int]) -> list[int]:
        if items == [1, 2]:
            first_runs.set()
            assert first_ends.wait(timeout=20)
            raise ValueError("the first part")
        return items

    def tickets(run: Run) -> list[Ticket]:
        if 3 in [row.item for row in run.rows]:  # the thread of its leader is stopped before the run
            second_is_taken.set()
            assert second_goes_on.wait(timeout=20)
        return tickets_of(run)

    monkeypatch.setattr(Run, "tickets", tickets)
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, 300.0, policy="greedy", many=True, max_concurrency=2), model, UnBatch()]
    )
    failing = start(pipeline, [1, 2, 3])
    assert first_runs.wait(timeout=10)
    other = start(pipeline, [4])
    assert second_is_taken.wait(timeout=10)
    first_ends.set()
    assert isinstance(failing.exception(timeout=10), ValueError)

    second_goes_on.set()

    assert other.result(timeout=10) == [4]


@pytest.mark.stress
@pytest.mark.parametrize("runners", [1, 2])
def test_the_guilty_among_32_threads_get_their_own_errors_and_nobody_else_does(
    start: Any, runners: int
) -> None:
    def model(items: list[int]) -> list[int]:
        bad = [item for item in items if item % 7 == 0]
        if bad:
            raise ValueError(str(bad[0]))
        return items

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(5, 0.05, on_error="isolate", max_concurrency=runners), model, UnBatch()]
    )
    barrier = Barrier(32)

    def calls(thread: int) -> int:
        barrier.wait(timeout=20)
        wrong = 0
        for value in range(thread * 1000, thread * 1000 + 60):
            try:
                wrong += pipeline(value) != value or value % 7 == 0
            except ValueError as error:
                wrong += str(error) != str(value)
        return wrong

    began = perf_counter()
    threads = [start(calls, thread) for thread in range(32)]

    assert [thread.result(timeout=50) for thread in threads] == [0] * 32
    assert perf_counter() - began < 50
