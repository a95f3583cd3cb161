"""The collector that keeps the slowest calls."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from ml_pipes._threads.fakes import FakeClock
from ml_pipes.collectors import SlowCollector
from ml_pipes.core import Pipeline
from ml_pipes.tracing import InvocationTrace, StepSpan

Start = Callable[..., "Future[Any]"]


def call(duration_ms: float, ended_at: float = 100.0) -> InvocationTrace:
    duration_s = duration_ms / 1e3
    spans = [StepSpan("0:a", 0.0, duration_s / 4), StepSpan("1:b", 0.0, duration_s / 2)]
    return InvocationTrace(spans, duration_s, start_time=ended_at - duration_s)


def kept_ms(collector: SlowCollector) -> list[float]:
    return [round(trace.total_duration_s * 1e3, 6) for trace in collector.traces]


def test_the_slowest_are_kept_the_slowest_first(clock: FakeClock) -> None:
    collector = SlowCollector(keep=3, clock=clock)

    for duration_ms in (5, 1, 9, 2, 7, 3):
        collector.on_trace(call(duration_ms))

    assert kept_ms(collector) == [9.0, 7.0, 5.0]


def test_of_equals_the_first_to_come_stays(clock: FakeClock) -> None:
    collector = SlowCollector(keep=2, clock=clock)
    traces = [call(1), call(1), call(1)]

    for trace in traces:
        collector.on_trace(trace)

    assert [trace is traces[i] for i, trace in enumerate(collector.traces)] == [True, True]


def test_a_window_forgets_what_ended_before_it(clock: FakeClock) -> None:
    collector = SlowCollector(keep=3, window_s=10.0, clock=clock)
    collector.on_trace(call(50, ended_at=100.0))
    collector.on_trace(call(20, ended_at=100.5))
    clock.advance(9.0)
    collector.on_trace(call(10, ended_at=109.0))
    before = kept_ms(collector)

    clock.advance(3.0)

    assert before == [50.0, 20.0, 10.0]
    assert kept_ms(collector) == [10.0]


def test_a_slow_call_does_not_hide_others_that_are_the_slowest_once_it_is_forgotten(clock: FakeClock) -> None:
    collector = SlowCollector(keep=1, window_s=10.0, clock=clock)
    collector.on_trace(call(50, ended_at=100.0))
    clock.advance(8.0)
    collector.on_trace(call(20, ended_at=108.0))

    clock.advance(4.0)

    assert kept_ms(collector) == [20.0]


def test_a_window_keeps_no_more_than_eleven_times_as_many(clock: FakeClock) -> None:
    collector = SlowCollector(keep=2, window_s=1.0, clock=clock)

    for number in range(2_000):
        clock.advance(0.01)
        collector.on_trace(call(1, ended_at=100.0 + number * 0.01))

    assert sum(map(len, collector._slots.values())) <= 24


def test_the_summary_has_a_line_per_call(clock: FakeClock, capsys: pytest.CaptureFixture[str]) -> None:
    collector = SlowCollector(clock=clock)
    collector.on_trace(call(40))
    collector.on_trace(InvocationTrace([StepSpan("0:a", 0.0, 0.08, error=True)], 0.08, start_time=99.92))
    collector.on_trace(InvocationTrace([], 0.001, start_time=99.999))
    clock.advance(2.0)

    collector.print_summary()

    assert [line.strip() for line in capsys.readouterr().out.splitlines()] == [
        "80.000 ms, 2.0 s ago: 100% in 0:a, failed",
        "40.000 ms, 2.0 s ago: 50% in 1:b",
        "1.000 ms, 2.0 s ago",
    ]


def test_before_the_first_call_the_summary_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    SlowCollector().print_summary()

    assert capsys.readouterr().out == "no trace yet\n"


def test_a_reset_forgets_all(clock: FakeClock) -> None:
    collector = SlowCollector(clock=clock)
    collector.on_trace(call(1))

    collector.reset()

    assert collector.traces == []


def test_many_threads_may_call_and_read_at_once(start: Start) -> None:
    collector, pipeline = SlowCollector(keep=5), Pipeline[int, int]([abs])
    pipeline.set_tracing(collector)

    def work() -> None:
        for _ in range(200):
            pipeline(1)
            assert len(collector.traces) <= 5

    for working in [start(work) for _ in range(8)]:
        working.result(30)

    durations = [trace.total_duration_s for trace in collector.traces]
    assert len(durations) == 5
    assert durations == sorted(durations, reverse=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"keep": 0}, "keep must be at least 1, got 0"), ({"window_s": 0.0}, "window_s must be above 0")],
)
def test_options_that_mean_nothing_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        SlowCollector(**options)
