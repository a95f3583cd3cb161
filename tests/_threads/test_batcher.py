"""Callers that meet: when a batch leaves, and who gets what."""

from __future__ import annotations

from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest

from ml_pipes._threads.batcher import Batcher, Ticket
from ml_pipes._threads.departure import Departure
from ml_pipes._threads.fakes import FakeClock
from ml_pipes.control import SHORT_CIRCUIT

if TYPE_CHECKING:
    from conftest import Model


def test_a_full_batch_leaves_at_once(clock: FakeClock, start: Any, model: Model) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)
    one = start(batcher.ticket(1, model).wait)
    clock.until_sleeping()

    two = start(batcher.ticket(2, model).wait)

    assert [one.result(timeout=5), two.result(timeout=5)] == [2, 4]
    assert model.batches == [[1, 2]]


def test_a_half_empty_batch_leaves_together_at_its_deadline(
    clock: FakeClock, start: Any, model: Model
) -> None:
    batcher = Batcher("1:Batch", Departure(size=4, timeout_s=0.050, policy="full"), clock)
    one = start(batcher.ticket(1, model).wait)
    clock.until_sleeping(1)
    two = start(batcher.ticket(2, model).wait)
    clock.until_sleeping(2)

    clock.advance(0.050)

    assert [one.result(timeout=5), two.result(timeout=5)] == [2, 4]
    assert model.batches == [[1, 2]]


def test_the_wait_counts_from_the_first_arrival_and_is_never_begun_anew(
    clock: FakeClock, start: Any, model: Model
) -> None:
    batcher = Batcher("1:Batch", Departure(size=8, timeout_s=0.100, policy="full"), clock)
    callers = []
    for item, at in ((1, 0.0), (2, 0.05), (3, 0.04)):
        clock.advance(at)
        callers.append(start(batcher.ticket(item, model).wait))
        clock.until_sleeping(item)

    clock.advance(0.0101)

    assert [caller.result(timeout=5) for caller in callers] == [2, 4, 6]
    assert model.batches == [[1, 2, 3]]


def test_with_timeout_zero_those_who_come_while_the_model_runs_share_the_next_batch(
    clock: FakeClock, start: Any, model: Model
) -> None:
    batcher = Batcher("1:Batch", Departure(size=8, timeout_s=0.0, policy="full"), clock)
    model.go_on.clear()
    callers = [start(batcher.ticket(0, model).wait)]
    assert model.entered.wait(timeout=5)
    for item in (1, 2, 3, 4):
        callers.append(start(batcher.ticket(item, model).wait))
        clock.until_sleeping(item)

    model.go_on.set()

    assert [caller.result(timeout=5) for caller in callers] == [0, 2, 4, 6, 8]
    assert model.batches == [[0], [1, 2, 3, 4]]


def test_a_batch_never_holds_more_than_its_size(clock: FakeClock, start: Any, model: Model) -> None:
    batcher = Batcher("1:Batch", Departure(size=3, timeout_s=0.0, policy="full"), clock)
    model.go_on.clear()
    callers = [start(batcher.ticket(0, model).wait)]
    assert model.entered.wait(timeout=5)
    for item in range(1, 8):
        callers.append(start(batcher.ticket(item, model).wait))
        clock.until_sleeping(item)

    model.go_on.set()

    assert [caller.result(timeout=5) for caller in callers] == [0, 2, 4, 6, 8, 10, 12, 14]
    assert model.batches == [[0], [1, 2, 3], [4, 5, 6], [7]]


def test_a_caller_past_its_time_while_the_model_runs_goes_when_it_comes_free(
    clock: FakeClock, start: Any, model: Model
) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=0.050, policy="full"), clock)
    model.go_on.clear()
    first = [start(batcher.ticket(item, model).wait) for item in (1, 1)]
    assert model.entered.wait(timeout=5)
    clock.until_sleeping(1)
    late = start(batcher.ticket(3, model).wait)
    clock.until_sleeping(2)
    clock.advance(1.0)
    clock.until_sleeping(2)

    model.go_on.set()

    assert late.result(timeout=5) == 6
    assert [caller.result(timeout=5) for caller in first] == [2, 2]


def test_a_short_circuit_goes_to_everybody(clock: FakeClock, start: Any) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=9.0, policy="full"), clock)

    callers = [start(batcher.ticket(item, lambda _: SHORT_CIRCUIT).wait) for item in (1, 2)]

    assert [caller.result(timeout=5) for caller in callers] == [SHORT_CIRCUIT, SHORT_CIRCUIT]


def test_a_call_from_inside_the_own_body_runs_at_once(clock: FakeClock) -> None:
    batcher = Batcher("1:Batch", Departure(size=1, timeout_s=9.0, policy="full"), clock)

    def halve(items: list[int]) -> list[int]:
        return [item if item == 1 else batcher.ticket(item // 2, halve).wait() for item in items]

    assert batcher.ticket(64, halve).wait() == 1


def test_a_ticket_tells_when_it_waited_and_when_its_batch_ran(
    clock: FakeClock, start: Any, model: Model
) -> None:
    batcher = Batcher("1:Batch", Departure(size=2, timeout_s=0.5, policy="full"), clock)
    ticket: Ticket[int] = batcher.ticket(1, model)
    waiting = start(ticket.wait)
    clock.until_sleeping()

    clock.advance(0.5)
    waiting.result(timeout=5)

    assert (ticket.joined_at, ticket.started_at, ticket.ended_at) == (100.0, 100.5, 100.5)
    assert [(run.items, run.participants) for run in ticket.runs] == [(1, 1)]


def test_a_ticket_kept_for_its_times_keeps_neither_item_nor_result(clock: FakeClock, model: Model) -> None:
    ticket = Batcher("1:Batch", Departure(size=1, timeout_s=0.0, policy="full"), clock).ticket(1, model)

    ticket.wait()

    assert (ticket.items, ticket.error) == ([], None)


def test_the_first_to_come_are_the_first_to_go(clock: FakeClock, start: Any, model: Model) -> None:
    batcher = Batcher("1:Batch", Departure(size=1, timeout_s=0.0, policy="full"), clock)
    model.go_on.clear()
    callers = [start(batcher.ticket(0, model).wait)]
    assert model.entered.wait(timeout=5)
    for item in range(1, 11):
        callers.append(start(batcher.ticket(item, model).wait))
        clock.until_sleeping(item)

    model.go_on.set()
    for caller in callers:
        caller.result(timeout=5)

    assert model.batches == [[0], [1], [2], [3], [4], [5], [6], [7], [8], [9], [10]]


@pytest.mark.stress
@pytest.mark.timeout(120)
def test_a_thousand_calls_from_32_threads_each_get_their_own_answer(start: Any) -> None:
    batcher = Batcher("1:Batch", Departure(size=7, timeout_s=0.001, policy="full"))
    barrier = Barrier(32)

    def calls(thread: int) -> list[int]:
        barrier.wait(timeout=10)
        return [batcher.ticket(thread * 1000 + call, list).wait() for call in range(32)]

    threads = [start(calls, thread) for thread in range(32)]

    answers = [thread.result(timeout=60) for thread in threads]
    assert answers == [[thread * 1000 + call for call in range(32)] for thread in range(32)]
