"""Calls one after another on this thread."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ml_pipes._threads.fakes import FakeClock
from ml_pipes.benchmark.load import ClosedLoop
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.sequential import sequential


def _measured(clock: FakeClock, takes_s: list[float], **asked: Any) -> tuple[Samples, list[int]]:
    """Calls that take these times; an input takes a second to be made."""
    given: list[int] = []

    def make(index: int) -> int:
        clock.advance(1.0)
        return index

    def call(index: int) -> None:
        given.append(index)
        clock.advance(takes_s[index])

    return sequential(call, make, clock=clock, **{"runs": None, **asked}), given


def test_calls_that_count_come_after_the_warmup(clock: FakeClock) -> None:
    samples, given = _measured(clock, [9.0, 9.0, 0.5, 0.25], runs=2, warmup=2)

    assert samples.latency_s.tolist() == [0.5, 0.25]
    assert given == [0, 1, 2, 3]
    assert (samples.warmup, samples.load, samples.interrupted) == (2, ClosedLoop(1), False)


def test_the_time_to_make_an_input_is_in_no_latency(clock: FakeClock) -> None:
    samples, _ = _measured(clock, [0.5, 0.5], runs=2)

    assert samples.latency_s.tolist() == [0.5, 0.5]
    assert samples.duration_s == 2.0


def test_a_measurement_by_time_ends_with_the_call_that_fills_it(clock: FakeClock) -> None:
    samples, _ = _measured(clock, [2.0] * 9, duration_s=5.0)

    assert len(samples) == 2


def test_what_a_call_raises_is_counted_and_in_no_latency() -> None:
    def call(index: int) -> None:
        if index % 2:
            raise ValueError("bad")

    samples = sequential(call, lambda index: index, runs=4)

    assert samples.errors == {"ValueError: bad": 2}
    assert len(samples.latency_s) == 2
    assert samples.error_share == 0.5


def test_an_interrupt_ends_it_and_what_was_measured_stays() -> None:
    def call(index: int) -> None:
        if index == 3:
            raise KeyboardInterrupt

    samples = sequential(call, lambda index: index, runs=100)

    assert samples.interrupted
    assert len(samples) == 3


def test_it_calls_on_the_thread_that_asks() -> None:
    threads: list[int] = []

    sequential(lambda _: threads.append(threading.get_ident()), lambda index: index, runs=2)

    assert threads == [threading.get_ident()] * 2


def test_progress_is_told_now_and_then_and_at_the_end(clock: FakeClock) -> None:
    told: list[tuple[int, int | None]] = []

    _measured(clock, [0.5] * 3, runs=3, progress=lambda done, total, _: told.append((done, total)))

    assert told[-1] == (3, 3)


def test_a_quick_measurement_tells_its_progress_once() -> None:
    told: list[float] = []

    sequential(lambda _: None, lambda index: index, runs=100, progress=lambda *at: told.append(at[2]))

    assert len(told) == pytest.approx(1, abs=1)
