"""pipeline.call(value, deadline=...): a call ends in time wherever it waits, and nobody else notices."""

from __future__ import annotations

from threading import Event, get_ident
from time import perf_counter
from typing import Any

import pytest

from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.departure import Departure
from ml_pipes._threads.fakes import FakeClock
from ml_pipes._threads.turnstile import Turnstile
from ml_pipes.core import Embed, Pipeline
from ml_pipes.errors import DeadlineExceeded, PipelineClosed
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Scatter, UnBatch

# Longer than a test may take.
_NEVER_S = 300.0


class Held:
    """Returns its items when it is let go; remembers the batches."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.running = Event()
        self.go_on = Event()

    def __call__(self, items: list[Any]) -> list[Any]:
        self.batches.append(list(items))
        self.running.set()
        assert self.go_on.wait(timeout=20)
        return items


def same(value: Any) -> Any:
    return value


def until_waiting(pipeline: Pipeline[Any, Any], rows: int, label: str = "0:Batch") -> None:
    until = perf_counter() + 10
    while pipeline.stats()[label].waiting < rows:
        assert perf_counter() < until
        Event().wait(0.001)


def within(pipeline: Pipeline[Any, Any], value: Any, deadline: float) -> Any:
    return pipeline.call(value, deadline=deadline)


def spend(seconds: float) -> None:
    Event().wait(seconds)


@pytest.mark.parametrize("deadline", [True, "1", [1], 1j])
def test_a_deadline_is_a_number(deadline: Any) -> None:
    with pytest.raises(TypeError, match="deadline must be seconds from now, got "):
        Pipeline[Any, Any]([same]).call(1, deadline=deadline)


def test_a_deadline_is_not_nan() -> None:
    with pytest.raises(ValueError, match="deadline must be seconds from now, got nan"):
        Pipeline[Any, Any]([same]).call(1, deadline=float("nan"))


@pytest.mark.parametrize("deadline", [0, 0.0, -1, -1.5, float("-inf")])
@pytest.mark.parametrize("steps", [[], [same], [Batch(2), same, UnBatch()], [Scatter(2), same, Gather()]])
def test_no_step_starts_once_it_is_too_late(steps: list[Any], deadline: float) -> None:
    with pytest.raises(DeadlineExceeded, match="the deadline went by") as caught:
        Pipeline[Any, Any](steps).call([1], deadline=deadline)

    assert isinstance(caught.value, TimeoutError)


@pytest.mark.parametrize("deadline", [None, float("inf"), 60, 1e12])
def test_a_call_in_time_is_a_call_like_others(deadline: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(2), Batch(2, _NEVER_S), same, UnBatch(), Gather(), PerItem(), same, CollectItems()]
    )

    assert pipeline.call([1, 2, 3], deadline=deadline) == [1, 2, 3]


def test_a_closed_pipeline_says_so_whatever_the_deadline() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([same])
    pipeline.close()

    with pytest.raises(PipelineClosed):
        pipeline.call(1, deadline=-1)


def test_the_message_says_where_the_call_waited_and_the_note_which_step(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([same, Batch(2, None, policy="full"), same, UnBatch()])

    with pytest.raises(
        DeadlineExceeded, match=r"while the call waited in 1:Batch, .* ms ago; allow more"
    ) as caught:
        pipeline.call(1, deadline=0.02)

    assert caught.value.__notes__ == ["in step 1:Batch"]


def test_who_waits_while_the_model_is_busy_raises_at_its_deadline_and_the_model_never_sees_it(
    start: Any,
) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(4, _NEVER_S), model, UnBatch()])
    first = start(pipeline, 0)
    assert model.running.wait(timeout=10)
    leaving = start(within, pipeline, 1, 0.1)
    staying = start(pipeline, 2)

    with pytest.raises(DeadlineExceeded):
        leaving.result(timeout=10)
    until_waiting(pipeline, 1)
    model.go_on.set()

    assert [first.result(timeout=10), staying.result(timeout=10)] == [0, 2]
    assert model.batches == [[0], [2]]


def test_four_of_eight_give_up_and_the_others_and_the_next_hundred_are_right(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(8, _NEVER_S), model, UnBatch()])
    first = start(pipeline, 99)
    assert model.running.wait(timeout=10)
    staying = [start(pipeline, item) for item in range(4)]
    leaving = [start(within, pipeline, item, 0.1) for item in range(4, 8)]
    for caller in leaving:
        assert isinstance(caller.exception(timeout=10), DeadlineExceeded)

    until_waiting(pipeline, 4)
    model.go_on.set()

    assert [caller.result(timeout=10) for caller in (first, *staying)] == [99, 0, 1, 2, 3]
    assert sorted(model.batches[1]) == [0, 1, 2, 3]
    assert [pipeline.call(item, deadline=20) for item in range(100)] == list(range(100))


def test_a_member_of_a_batch_that_runs_raises_in_time_and_the_batch_ends_for_the_others(start: Any) -> None:
    model = Held()
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2, None, policy="full"), model, UnBatch()])
    follower = start(within, pipeline, 1, 2.0)
    until_waiting(pipeline, 1)
    leader = start(pipeline, 2)
    assert model.running.wait(timeout=10)

    with pytest.raises(DeadlineExceeded):
        follower.result(timeout=10)
    model.go_on.set()

    assert leader.result(timeout=10) == 2


def test_the_leaders_deadline_does_not_hold_for_those_it_leads(start: Any) -> None:
    def slow(items: list[int]) -> list[int]:
        spend(2.5)
        return items

    inner: Pipeline[Any, Any] = Pipeline([same])
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, None, policy="full"), slow, PerItem(), Embed(inner), CollectItems(), UnBatch()]
    )
    patient = start(pipeline, 1)
    until_waiting(pipeline, 1)

    with pytest.raises(DeadlineExceeded):
        pipeline.call(2, deadline=2.0)

    assert patient.result(timeout=10) == 1


def test_when_all_of_a_batch_are_too_late_its_body_stops() -> None:
    began: list[Any] = []

    def slow(items: list[int]) -> list[int]:
        spend(0.2)
        return items

    def never(items: list[int]) -> list[int]:
        began.append(items)
        return items

    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2), slow, never, UnBatch()])

    with pytest.raises(DeadlineExceeded):
        pipeline.call(1, deadline=0.1)

    assert began == []


def _waits() -> dict[str, tuple[list[Any], Any]]:
    """Lists in which a call waits for ever in a Batch, and a value."""
    batch = [Batch(8, None, policy="full"), same, UnBatch()]
    inner: Pipeline[Any, Any] = Pipeline(batch)
    nested: Pipeline[Any, Any] = Pipeline([Scatter(2), Embed(inner), Gather()])
    return {
        "batch": (batch, 1),
        "list": ([Batch(8, None, policy="full", many=True), same, UnBatch()], [1, 2]),
        "embed": ([Embed(inner)], 1),
        "scatter": ([Scatter(4), *batch, Gather()], [1, 2, 3]),
        "scatter, one worker": ([Scatter(1), *batch, Gather()], [1, 2, 3]),
        "scatter returns": ([Scatter(3, on_error="return"), *batch, Gather()], [1, 2, 3]),
        "scatter drops": ([Scatter(3, on_error="drop"), *batch, Gather()], [1, 2, 3]),
        "one worker drops": ([Scatter(1, on_error="drop"), *batch, Gather()], [1, 2, 3]),
        "per item": ([PerItem(), *batch, CollectItems()], [1, 2]),
        "batch in scatter in embed": ([Embed(nested)], [1, 2, 3]),
        "scatter in scatter": ([Scatter(2), Embed(nested), Gather()], [[1, 2], [3]]),
        "batch in batch": ([Batch(1), Scatter(2), *batch, Gather(), UnBatch()], [1, 2]),
        "isolated": ([Batch(8, None, policy="full", on_error="isolate"), same, UnBatch()], 1),
    }


@pytest.mark.parametrize("name", sorted(_waits()))
def test_a_call_that_would_wait_for_ever_raises_in_time(name: str) -> None:
    steps, value = _waits()[name]
    pipeline: Pipeline[Any, Any] = Pipeline(steps)
    began = perf_counter()

    with pytest.raises(DeadlineExceeded):
        pipeline.call(value, deadline=0.1)

    assert 0.1 <= perf_counter() - began < 10
    assert all(region.waiting == 0 for region in pipeline.stats().values())


def test_items_that_run_elsewhere_are_not_waited_for_past_the_deadline(start: Any) -> None:
    helper_works, let_go = Event(), Event()
    caller: list[int] = []

    def step(value: int) -> int:
        if get_ident() in caller:
            assert helper_works.wait(timeout=20)
        else:
            helper_works.set()
            assert let_go.wait(timeout=20)
        return value

    def call() -> None:
        caller.append(get_ident())
        within(pipeline, [0, 1], 0.2)

    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(2), step, Gather()])

    outcome = start(call).exception(timeout=10)

    let_go.set()
    assert isinstance(outcome, DeadlineExceeded)


@pytest.mark.parametrize("on_error", ["raise", "return", "drop"])
def test_a_step_that_takes_too_long_in_a_scatter_ends_the_call_whatever_becomes_of_failures(
    on_error: Any,
) -> None:
    began: list[int] = []

    def slow(value: int) -> int:
        began.append(value)
        spend(0.2)
        raise ValueError("and then it fails")

    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(1, on_error=on_error), slow, Gather()])

    if on_error == "raise":
        with pytest.raises((DeadlineExceeded, ValueError)):
            pipeline.call([1, 2, 3], deadline=0.1)
    else:
        with pytest.raises(DeadlineExceeded):
            pipeline.call([1, 2, 3], deadline=0.1)

    assert began == [1]


def test_an_inner_call_does_not_outlive_the_deadline_around_it() -> None:
    inner: Pipeline[Any, Any] = Pipeline([Batch(2, None, policy="full"), same, UnBatch()])
    outer: Pipeline[Any, Any] = Pipeline([lambda value: inner.call(value, deadline=200)])
    began = perf_counter()

    with pytest.raises(DeadlineExceeded):
        outer.call(1, deadline=0.1)

    assert perf_counter() - began < 10


def test_an_inner_call_may_have_less_time_and_the_outer_goes_on() -> None:
    inner: Pipeline[Any, Any] = Pipeline([Batch(2, None, policy="full"), same, UnBatch()])

    def impatient(value: int) -> str:
        try:
            inner.call(value, deadline=0.02)
        except DeadlineExceeded:
            return "too late"
        return "in time"

    outer: Pipeline[Any, Any] = Pipeline([impatient, same])

    assert outer.call(1, deadline=60) == "too late"


def test_an_inner_deadline_is_one_items_failure_in_a_scatter_that_drops() -> None:
    inner: Pipeline[Any, Any] = Pipeline([Batch(2, None, policy="full"), same, UnBatch()])

    def step(value: int) -> Any:
        return inner.call(value, deadline=0.02) if value == 1 else value

    outer: Pipeline[Any, Any] = Pipeline([Scatter(1, on_error="drop"), step, Gather()])

    assert outer.call([0, 1, 2], deadline=60) == [0, 2]


def test_a_deadline_ends_with_its_call() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(2), Batch(2), same, UnBatch(), Gather()])
    pipeline.call([1, 2, 3], deadline=0.5)
    spend(0.6)

    assert pipeline([1, 2, 3]) == [1, 2, 3]


def test_whoever_waits_for_its_turn_stops_waiting_at_its_deadline(start: Any) -> None:
    turnstile, inside, let_go = Turnstile(), Event(), Event()

    def step(value: int) -> int:
        with turnstile.passage("the step was busy"):
            inside.set()
            assert let_go.wait(timeout=20)
        return value

    pipeline: Pipeline[Any, Any] = Pipeline([step])
    first = start(pipeline, 1)
    assert inside.wait(timeout=10)

    with pytest.raises(DeadlineExceeded, match="while the step was busy"):
        pipeline.call(2, deadline=0.1)

    let_go.set()
    assert first.result(timeout=10) == 1
    assert pipeline.call(3, deadline=20) == 3


def test_a_call_from_inside_its_own_batch_that_comes_too_late_has_no_result(clock: FakeClock) -> None:
    batcher = Batcher("1:Batch", Departure(1, 9.0), clock)
    outcomes: list[Any] = []

    def body(items: list[int]) -> list[int]:
        inner = batcher.ticket(2, list)
        inner.deadline_at = clock.now()
        try:
            outcomes.append(inner.wait())
        except DeadlineExceeded:
            outcomes.append("too late")
        return items

    batcher.ticket(1, body).wait()

    assert outcomes == ["too late"]
