"""Threads that call a function: in loops, or on a timetable."""

from __future__ import annotations

import contextvars
import gc
import threading
from collections.abc import Callable
from itertools import count
from threading import Barrier, Event
from typing import Any

import pytest

from ml_pipes._threads.callers import Callers, LoopCallers, TimetableCallers, first_words
from ml_pipes._threads.clock import Gate
from ml_pipes._threads.fakes import FakeClock

COLOUR: contextvars.ContextVar[str] = contextvars.ContextVar("colour", default="none")

Start = Callable[..., Any]


class Wanted:
    """A book that counts the first ``count`` calls."""

    def __init__(self, count: int) -> None:
        self.left_to_begin = count
        self.left_to_end = count

    @property
    def done(self) -> bool:
        return self.left_to_end == 0

    def begin(self, at_s: float) -> bool:
        self.left_to_begin -= 1
        return self.left_to_begin >= 0

    def end(self) -> None:
        self.left_to_end -= 1

    def exhausted(self) -> None:
        self.left_to_end -= max(0, self.left_to_begin)


def ran(callers: Callers) -> list[Any]:
    """Run until the book is done and nobody calls; the calls."""
    try:
        callers.run(lambda: 0.05)
    finally:
        still_calling = callers.stop(10.0)
    assert still_calling == 0
    return callers.calls


class TestLoopCallers:
    def test_it_calls_as_often_as_wanted_with_each_input_in_turn(self) -> None:
        seen: list[int] = []

        calls = ran(LoopCallers(seen.append, lambda index: index * 10, Wanted(3), 1))

        assert seen[:3] == [0, 10, 20]
        assert all(call.error is None and call.intended_s == call.started_s <= call.ended_s for call in calls)

    def test_as_many_are_in_a_call_at_a_time_as_there_are_callers(self) -> None:
        together = Barrier(4)

        def call(index: int) -> None:
            if index < 4:
                together.wait(timeout=10)

        calls = ran(LoopCallers(call, lambda index: index, Wanted(4), 4))

        assert {call.error for call in calls} == {None}

    def test_whatever_a_call_raises_is_its_own_error(self) -> None:
        def call(error: BaseException) -> None:
            raise error

        given = [ValueError("odd"), SystemExit(3), GeneratorExit()]
        calls = ran(LoopCallers(call, lambda index: given[index % 3], Wanted(3), 1))

        assert [call.error for call in calls[:3]] == ["ValueError: odd", "SystemExit: 3", "GeneratorExit"]

    def test_what_the_inputs_raise_ends_it(self) -> None:
        def inputs(index: int) -> int:
            if index == 2:
                raise LookupError("no third one")
            return index

        with pytest.raises(LookupError, match="no third one"):
            ran(LoopCallers(lambda _: None, inputs, Wanted(100), 2))

    def test_an_interrupt_within_a_call_ends_it(self) -> None:
        def call(_: object) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            ran(LoopCallers(call, lambda _: None, Wanted(1000), 1))

    def test_what_is_noted_costs_the_garbage_collector_nothing(self) -> None:
        callers = LoopCallers(lambda _: None, lambda _: 0, Wanted(100), 1)
        ran(callers)

        gc.collect()

        assert len(callers._rows) == 100
        assert not any(gc.is_tracked(row) for row in callers._rows)

    def test_callers_are_named_and_see_the_context_of_who_started_them(self) -> None:
        seen: set[tuple[str, str]] = set()
        COLOUR.set("green")

        ran(
            LoopCallers(
                lambda _: seen.add((threading.current_thread().name, COLOUR.get())), lambda _: 0, Wanted(1), 1
            )
        )

        assert seen == {("ml_pipes-caller-0", "green")}

    def test_who_looks_can_end_it(self) -> None:
        callers = LoopCallers(lambda _: None, lambda _: 0, Wanted(10**9), 1)

        callers.run(lambda: None)

        assert callers.stop(10.0) == 0

    def test_a_caller_that_does_not_come_back_is_left_behind(self) -> None:
        entered, go_on = Event(), Event()

        def call(_: object) -> None:
            entered.set()
            go_on.wait(timeout=20)

        callers = LoopCallers(call, lambda _: 0, Wanted(1), 1)
        callers.run(lambda: None if entered.wait(timeout=10) else 0.0)
        still_calling = callers.stop(0.0)
        go_on.set()

        assert still_calling == 1
        assert callers.stop(10.0) == 0


class TestTimetableCallers:
    def test_each_call_starts_at_its_time(self, clock: FakeClock, start: Start) -> None:
        table = (index * 0.5 for index in count())
        callers = TimetableCallers(lambda _: None, lambda i: i, Wanted(3), table, 101.0, 4, 2, clock)

        running = start(ran, callers)
        for step in (1.0, 0.5, 0.5):
            clock.until_sleeping(3)  # the foreman, and two callers that each have a call to come
            clock.advance(step)
        calls = running.result(timeout=10)

        assert [(call.intended_s, call.started_s) for call in calls] == [
            (101.0, 101.0),
            (101.5, 101.5),
            (102.0, 102.0),
        ]

    def test_a_call_that_lasts_holds_up_no_other(self, clock: FakeClock, start: Start) -> None:
        gate = Gate()

        def call(index: int) -> None:
            if index == 0:
                clock.wait(gate, 10.0)

        callers = TimetableCallers(call, lambda i: i, Wanted(2), iter([0.0, 1.0]), 101.0, 4, 1, clock)
        running = start(ran, callers)
        clock.until_sleeping(2)  # the foreman, the first caller
        clock.advance(1.0)
        clock.until_sleeping(3)  # and another, since the first is in its call
        clock.advance(1.0)
        clock.until_sleeping(2)
        gate.open()
        calls = running.result(timeout=10)

        assert sorted((call.started_s, call.lag_s) for call in calls) == [(101.0, 0.0), (102.0, 0.0)]

    def test_a_call_that_is_due_while_all_are_busy_waits_which_is_no_lag(
        self, clock: FakeClock, start: Start
    ) -> None:
        callers = TimetableCallers(
            lambda _: clock.wait(Gate(), 3.0), lambda i: i, Wanted(2), iter([0.0, 1.0]), 101.0, 1, 1, clock
        )

        running = start(ran, callers)
        for step in (1.0, 3.0, 3.0):
            clock.until_sleeping(2)
            clock.advance(step)
        calls = running.result(timeout=10)

        assert [(call.intended_s, call.started_s, call.lag_s) for call in calls] == [
            (101.0, 101.0, 0.0),
            (102.0, 104.0, 0.0),
        ]

    def test_a_call_that_is_late_while_a_caller_is_free_is_the_generators_lag(
        self, clock: FakeClock, start: Start
    ) -> None:
        def slow_to_make(index: int) -> int:
            clock.wait(Gate(), 1.5)
            return index

        callers = TimetableCallers(lambda _: None, slow_to_make, Wanted(1), iter([1.0]), 100.0, 4, 1, clock)
        running = start(ran, callers)
        clock.until_sleeping(2)
        clock.advance(1.5)
        calls = running.result(timeout=10)

        assert [call.lag_s for call in calls] == [0.5]

    def test_calls_that_nobody_took_can_be_counted_afterwards(self, clock: FakeClock, start: Start) -> None:
        callers = TimetableCallers(
            lambda _: clock.wait(Gate(), 50.0),
            lambda i: i,
            Wanted(9),
            (float(s) for s in count()),
            100.0,
            1,
            1,
            clock,
        )
        looks = iter([0.5, 4.5, None])

        running = start(callers.run, lambda: next(looks))
        for step in (0.5, 4.5):
            clock.until_sleeping(2)
            clock.advance(step)
        running.result(timeout=10)
        stopping = start(callers.stop, 100.0)
        clock.until_sleeping(2)
        clock.advance(50.0)

        assert stopping.result(timeout=10) == 0
        assert callers.overdue(105.0) == 4  # at 1, 2, 3 and 4 s

    def test_calls_that_were_taken_and_never_made_are_told(self, clock: FakeClock, start: Start) -> None:
        callers = TimetableCallers(
            lambda _: None, lambda i: i, Wanted(9), iter([5.0, 6.0]), 100.0, 2, 2, clock
        )
        looks = iter([1.0, None])

        running = start(callers.run, lambda: next(looks))
        clock.until_sleeping(3)
        clock.advance(1.0)
        running.result(timeout=10)

        assert callers.stop(10.0) == 0
        assert sorted(callers.unmade_s) == [105.0, 106.0]
        assert callers.calls == []

    def test_there_are_never_more_callers_than_allowed(self) -> None:
        names: set[str] = set()

        ran(
            TimetableCallers(
                lambda _: names.add(threading.current_thread().name),
                lambda i: i,
                Wanted(200),
                iter([0.0] * 200),
                0.0,
                3,
                3,
            )
        )

        assert names <= {"ml_pipes-caller-0", "ml_pipes-caller-1", "ml_pipes-caller-2"}


class TestFirstWords:
    @pytest.mark.parametrize(
        ("error", "words"),
        [
            (ValueError("no face"), "ValueError: no face"),
            (ValueError("two\n  lines"), "ValueError: two lines"),
            (ValueError(), "ValueError"),
            (KeyError("name"), "KeyError: 'name'"),
            (ValueError("word " * 40), "ValueError: " + " ".join(["word"] * 12) + " ..."),
        ],
    )
    def test_an_error_is_told_by_its_kind_and_first_words(self, error: Exception, words: str) -> None:
        assert first_words(error) == words

    def test_an_error_whose_message_cannot_be_made_is_told_by_its_kind(self) -> None:
        class Mute(Exception):
            def __str__(self) -> str:
                raise RuntimeError("not even this")

        assert first_words(Mute()) == "Mute"
