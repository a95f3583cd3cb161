"""Gates, and the two clocks."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, Protocol

from ml_pipes._threads.clock import CLOCK, Gate, thread_id, thread_name
from ml_pipes._threads.fakes import FakeClock


class Start(Protocol):
    def __call__(self, function: Any, /, *arguments: Any) -> Future[Any]: ...


def test_a_gate_opened_twice_lets_one_pass() -> None:
    gate = Gate()

    gate.open()
    gate.open()

    assert gate.wait(0.0)
    assert not gate.wait(0.0)


def test_the_system_clock_gives_up_at_a_closed_gate() -> None:
    assert not CLOCK.wait(Gate(), 0.0)


def test_a_wait_longer_than_the_machine_can_count_is_a_wait() -> None:
    gate = Gate()
    gate.open()

    assert CLOCK.wait(gate, 1e300)


def test_a_fake_clock_lets_a_sleeper_pass_when_it_is_moved_past_its_time(
    clock: FakeClock, start: Start
) -> None:
    slept = start(clock.wait, Gate(), 2.0)
    clock.until_sleeping()

    clock.advance(1.0)
    still_asleep = not slept.done()
    clock.advance(1.0)

    assert still_asleep
    assert slept.result(timeout=5) is False


def test_a_fake_clock_tells_an_opened_gate_from_a_timeout(clock: FakeClock, start: Start) -> None:
    gate = Gate()
    slept = start(clock.wait, gate, 2.0)
    clock.until_sleeping()

    gate.open()

    assert slept.result(timeout=5) is True


def test_a_thread_has_its_name_and_one_that_is_not_there_its_number() -> None:
    assert thread_name(thread_id()) == "MainThread"
    assert thread_name(-7) == "thread -7"
