"""Who waits for whom: the policy auto, with a clock moved by hand."""

from __future__ import annotations

from concurrent.futures import Future
from threading import Semaphore
from typing import Any

import pytest

from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.company import Traveller
from ml_pipes._threads.departure import Departure
from ml_pipes._threads.fakes import FakeClock
from ml_pipes._threads.ticket import Ticket

_LAUNCH_S = 0.008


class HeldModel:
    """Takes 8 ms, however many items it has, once it is let go."""

    def __init__(self, clock: FakeClock) -> None:
        self.batches: list[list[int]] = []
        self._clock = clock
        self._entered = Semaphore(0)
        self._go_on = Semaphore(0)

    def __call__(self, items: list[int]) -> list[int]:
        self.batches.append(sorted(items))
        self._entered.release()
        assert self._go_on.acquire(timeout=20)
        return items

    def until_running(self) -> None:
        assert self._entered.acquire(timeout=20)

    def end(self, run_s: float = _LAUNCH_S) -> None:
        """Let the batch that runs end, ``run_s`` after now."""
        self._clock.advance(run_s)
        self._go_on.release()


class Room:
    """A batcher, its model, and callers 1, 2, 3, ... that call again and again."""

    def __init__(self, clock: FakeClock, start: Any, size: int = 8, timeout_s: float = 5.0) -> None:
        self.clock = clock
        self.model = HeldModel(clock)
        self.batcher = Batcher("1:Batch", Departure(size, timeout_s), clock)
        self._start = start

    def set_out(self, caller: int, origin: str = "a way that nobody came") -> Caller:
        return Caller(self, caller, origin)

    def call(self, caller: int) -> Future[Any]:
        """The caller sets out, is there at once, and waits."""
        return self.set_out(caller, "a short way").arrive()

    def stats(self) -> dict[str, int]:
        return self.batcher.stats("Batch").reasons


class Caller:
    """One call on its way; also how it goes on after its batch: nowhere."""

    def __init__(self, room: Room, number: int, origin: str) -> None:
        self._room = room
        self._number = number
        self._is_through = False
        self.traveller = Traveller(number)
        self.traveller.go(room.batcher, origin)

    def arrive(self) -> Future[Any]:
        ticket: Ticket = self._room.batcher.ticket(self._number, self._room.model)
        ticket.way = self
        future: Future[Any] = self._room._start(ticket.wait)
        return future

    def passed(self, here: object = None) -> int | None:
        if self._is_through:
            return None
        self._is_through = True
        self.traveller.go(None)
        return self._number


@pytest.fixture
def room(clock: FakeClock, start: Any) -> Room:
    return Room(clock, start)


def learn_the_cost(room: Room, caller: int = 99) -> None:
    """Two runs of a caller that never returns: the launch is known then."""
    for number in (caller, caller + 1):
        call = room.call(number)
        room.model.until_running()
        room.model.end()
        call.result(timeout=5)
    room.clock.advance(60.0)
    room.model.batches.clear()


def test_a_caller_that_is_alone_does_not_wait(room: Room) -> None:
    call = room.call(1)

    room.model.until_running()

    room.model.end()
    assert call.result(timeout=5) == 1
    assert room.stats() == {"alone": 1}


def test_a_caller_waits_for_one_on_its_way_and_both_leave_when_it_comes(room: Room) -> None:
    other = room.set_out(2)
    call = room.call(1)
    room.clock.until_sleeping(1)

    late = other.arrive()
    room.model.until_running()
    room.model.end()

    assert [call.result(timeout=5), late.result(timeout=5)] == [1, 2]
    assert room.model.batches == [[1, 2]]
    assert room.stats() == {"company": 1}


def test_a_caller_that_announces_itself_and_dies_delays_nobody(room: Room) -> None:
    doomed = room.set_out(2)
    call = room.call(1)
    room.clock.until_sleeping(1)

    doomed.traveller.end()

    room.model.until_running()
    room.model.end()
    assert call.result(timeout=5) == 1
    assert room.stats() == {"no-show": 1}


def test_a_caller_that_never_comes_delays_nobody_beyond_the_timeout(room: Room) -> None:
    room.set_out(2)
    call = room.call(1)
    for _ in range(9):
        room.clock.until_sleeping(1)
        room.clock.advance(0.5)
    room.clock.until_sleeping(1)

    room.clock.advance(0.5)

    room.model.until_running()
    room.model.end()
    assert call.result(timeout=5) == 1
    assert room.stats() == {"timeout": 1}


def test_the_timeout_counts_from_the_oldest_arrival_however_many_come_late(room: Room) -> None:
    for never in (7, 8):
        room.set_out(never)
    calls = [room.call(1)]
    for caller in (2, 3):
        room.clock.until_sleeping(caller - 1)
        room.clock.advance(0.4)
        calls.append(room.call(caller))
    for _ in range(9):
        room.clock.until_sleeping(3)
        room.clock.advance(0.45)

    room.clock.until_sleeping(3)
    room.clock.advance(0.16)

    room.model.until_running()
    room.model.end()
    assert [call.result(timeout=5) for call in calls] == [1, 2, 3]
    assert room.batcher.stats("Batch").wait.max == pytest.approx(5.01)


def test_a_batch_that_left_at_its_timeout_says_so_although_some_company_came(room: Room) -> None:
    room.set_out(7)
    other = room.set_out(2, "another way")
    calls = [room.call(1)]
    room.clock.until_sleeping(1)
    calls.append(other.arrive())
    for _ in range(10):
        room.clock.until_sleeping(2)
        room.clock.advance(0.5)

    room.model.until_running()
    room.model.end()

    assert [call.result(timeout=5) for call in calls] == [1, 2]
    assert room.stats() == {"timeout": 1}


def test_who_is_later_than_those_before_is_not_waited_for(room: Room) -> None:
    first = room.set_out(1, "a way of 0.1 s")
    room.clock.advance(0.1)
    call = first.arrive()
    room.model.until_running()
    room.model.end()
    call.result(timeout=5)
    room.set_out(2, "a way of 0.1 s")
    room.clock.advance(1.0)

    call = room.call(3)

    room.model.until_running()
    room.model.end()
    assert call.result(timeout=5) == 3
    assert room.stats() == {"alone": 2}


def test_two_callers_in_a_loop_are_merged_within_a_few_rounds(room: Room) -> None:
    waiting = {1: room.call(1)}
    room.model.until_running()
    waiting[2] = room.call(2)
    room.clock.until_sleeping(1)
    for _ in range(20):
        if [1, 2] in room.model.batches:
            break
        (running, *_), (next_one, *_) = room.model.batches[-1], set(waiting) - set(room.model.batches[-1])
        room.model.end()
        waiting[running].result(timeout=5)
        _back_after(room, waiting, running, next_one)

    assert [1, 2] in room.model.batches
    room.model.end()
    assert [waiting[caller].result(timeout=5) for caller in (1, 2)] == [1, 2]


def _back_after(room: Room, waiting: dict[int, Any], caller: int, next_one: int) -> None:
    """The next batch either runs already, or its caller waits for the one that was served."""
    is_running = room.model._entered.acquire(timeout=0.5)
    room.clock.advance(0.0005)
    waiting[caller] = room.call(caller)
    if is_running:
        room.clock.until_sleeping(1)
    else:
        room.model.until_running()


def learn_that_both_return(room: Room) -> None:
    """Callers 1 and 2 are served together and are back after half a millisecond, some times."""
    first_on_the_way = room.set_out(98, "the way of 2")
    room.clock.advance(0.0001)
    alone = first_on_the_way.arrive()
    room.model.until_running()
    room.model.end()
    alone.result(timeout=5)
    for _ in range(6):
        other = room.set_out(2, "the way of 2")
        room.clock.advance(0.0001)
        call = room.call(1)
        room.clock.until_sleeping(1)
        calls = [call, other.arrive()]
        room.model.until_running()
        room.model.end()
        for call in calls:
            call.result(timeout=5)
        room.clock.advance(0.0005)


def test_those_who_were_served_together_wait_for_each_other_again(room: Room) -> None:
    learn_the_cost(room)
    learn_that_both_return(room)
    call = room.call(1)
    room.clock.until_sleeping(1)

    other = room.call(2)
    room.model.until_running()
    room.model.end()

    assert [call.result(timeout=5), other.result(timeout=5)] == [1, 2]
    assert room.model.batches[-1] == [1, 2]


def test_a_caller_that_stopped_to_come_delays_the_other_for_half_a_launch_at_most(room: Room) -> None:
    learn_the_cost(room)
    learn_that_both_return(room)
    call = room.call(1)
    room.clock.until_sleeping(1)

    room.clock.advance(_LAUNCH_S / 2)

    room.model.until_running()
    room.model.end()
    assert call.result(timeout=5) == 1
    assert room.model.batches[-1] == [1]


def test_a_caller_that_stopped_to_come_delays_nobody_in_the_next_round(room: Room) -> None:
    learn_the_cost(room)
    learn_that_both_return(room)
    call = room.call(1)
    room.clock.until_sleeping(1)
    room.clock.advance(_LAUNCH_S / 2)
    room.model.until_running()
    room.model.end()
    call.result(timeout=5)

    call = room.call(1)

    room.model.until_running()
    room.model.end()
    assert call.result(timeout=5) == 1
    assert room.model.batches[-2:] == [[1], [1]]


def test_where_batching_saves_nothing_nobody_is_waited_for(room: Room) -> None:
    for number in range(50, 54):
        call = room.call(number)
        room.model.until_running()
        room.model.end(run_s=0.0)
        call.result(timeout=5)
    on_its_way = room.set_out(2)
    room.clock.advance(0.0)

    call = room.call(1)

    room.model.until_running()
    room.model.end()
    assert call.result(timeout=5) == 1
    on_its_way.traveller.end()
    assert room.stats() == {"alone": 5}


def test_company_that_fills_the_batch_lets_it_leave_at_once(clock: FakeClock, start: Any) -> None:
    room = Room(clock, start, size=2)
    others = [room.set_out(2), room.set_out(3)]
    call = room.call(1)
    room.clock.until_sleeping(1)

    second = others[0].arrive()
    room.model.until_running()
    room.model.end()

    assert [call.result(timeout=5), second.result(timeout=5)] == [1, 2]
    others[1].traveller.end()
    assert room.stats() == {"full": 1}


def test_when_the_one_who_watches_leaves_another_watches(room: Room) -> None:
    room.set_out(9)
    doomed = room.batcher.ticket(1, room.model)
    doomed.deadline_at = room.clock.now() + 0.25
    leaving = room._start(doomed.wait)
    room.clock.until_sleeping(1)
    staying = room.call(2)
    room.clock.until_sleeping(2)

    room.clock.advance(0.25)
    assert isinstance(leaving.exception(timeout=5), TimeoutError)
    for _ in range(10):
        room.clock.until_sleeping(1)
        room.clock.advance(0.475)
    room.clock.until_sleeping(1)
    room.clock.advance(0.01)

    room.model.until_running()
    room.model.end()
    assert staying.result(timeout=5) == 2


def test_a_batch_leaves_early_enough_for_a_callers_deadline_to_be_met(room: Room) -> None:
    room.batcher = Batcher("1:Batch", Departure(2, 5.0, "full"), room.clock)
    for _ in range(3):
        pair = room._start(room.batcher.tickets([1, 2], room.model).wait)
        room.model.until_running()
        room.model.end(run_s=1.0)
        pair.result(timeout=5)
    ticket = room.batcher.ticket(1, room.model)
    ticket.deadline_at = room.clock.now() + 2.0
    call = room._start(ticket.wait)
    room.clock.until_sleeping(1)

    room.clock.advance(0.75)
    room.model.until_running()
    room.model.end(run_s=1.0)

    assert call.result(timeout=5) == 1
    assert ticket.ended_at is not None
    assert ticket.ended_at < ticket.deadline_at
