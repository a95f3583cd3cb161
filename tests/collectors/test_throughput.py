"""The collector that tells how many calls end per second."""

from __future__ import annotations

import pytest

from ml_pipes._threads.fakes import FakeClock
from ml_pipes.collectors import ThroughputCollector
from ml_pipes.core import Pipeline
from ml_pipes.tracing import InvocationTrace, StepSpan


def call(ended_at: float) -> InvocationTrace:
    """A call of 10 ms."""
    return InvocationTrace([StepSpan("0:a", 0.0, 0.01)], 0.01, start_time=ended_at - 0.01)


def test_calls_per_second_from_the_first_start_to_the_last_end(clock: FakeClock) -> None:
    collector = ThroughputCollector(clock=clock)

    for ended_at in (100.01, 100.5, 101.0, 102.0):
        collector.on_trace(call(ended_at))

    assert collector.fps == pytest.approx(2.0)
    assert collector.total_calls == 4


def test_the_window_sees_the_last_seconds_alone(clock: FakeClock) -> None:
    collector = ThroughputCollector(window_s=2.0, clock=clock)
    for ended_at in (100.5, 101.0, 103.5, 104.0, 104.5):
        collector.on_trace(call(ended_at))
    collector.flush()
    clock.advance(5.0)

    assert collector.window_fps == pytest.approx(1.5)


def test_a_window_that_is_not_full_yet_counts_from_the_first_call(clock: FakeClock) -> None:
    collector = ThroughputCollector(window_s=10.0, clock=clock)
    for ended_at in (100.01, 100.5, 101.0):
        collector.on_trace(call(ended_at))
    collector.flush()
    clock.advance(1.5)

    assert collector.window_fps == pytest.approx(2.0)


def test_before_the_first_call_both_are_0(clock: FakeClock) -> None:
    collector = ThroughputCollector(clock=clock)

    assert (collector.fps, collector.window_fps) == (0.0, 0.0)


def test_a_line_is_printed_each_interval(clock: FakeClock, capsys: pytest.CaptureFixture[str]) -> None:
    collector = ThroughputCollector(target_fps=4.0, report_interval_s=1.0, window_s=0.5, clock=clock)

    collector.on_trace(call(100.01))
    collector.flush()
    clock.advance(0.9)
    collector.on_trace(call(100.9))
    collector.flush()
    clock.advance(0.1)
    collector.on_trace(call(101.0))
    collector.flush()
    collector.on_trace(call(101.0))
    collector.flush()

    assert capsys.readouterr().out == "3.0 calls/s, 4.0 in the last 0.5 s; 75% of the target 4\n"


def test_the_summary_ends_with_the_rates(clock: FakeClock, capsys: pytest.CaptureFixture[str]) -> None:
    collector = ThroughputCollector(clock=clock)
    collector.on_trace(call(100.01))
    collector.on_trace(call(100.5))
    collector.flush()
    clock.advance(0.5)

    collector.print_summary()

    assert capsys.readouterr().out.splitlines()[-2:] == ["calls: 2", "4.0 calls/s, 4.0 in the last 1 s"]


def test_a_reset_begins_anew(clock: FakeClock) -> None:
    collector = ThroughputCollector(clock=clock)
    collector.on_trace(call(100.0))

    collector.reset()
    collector.on_trace(call(200.01))
    collector.on_trace(call(201.0))

    assert collector.fps == pytest.approx(2.0)
    assert collector.total_calls == 2


def test_it_follows_a_pipeline_on_the_machines_clock() -> None:
    collector, pipeline = ThroughputCollector(), Pipeline[int, int]([abs])
    pipeline.set_tracing(collector)

    for _ in range(10):
        pipeline(1)

    assert collector.fps > 0
    assert collector.window_fps > 0


def test_the_counts_of_the_window_do_not_pile_up(clock: FakeClock) -> None:
    collector = ThroughputCollector(window_s=1.0, clock=clock)

    for number in range(5_000):
        clock.advance(0.01)
        collector._collect(call(100.01 + number * 0.01))

    assert len(collector._slots) <= 101


@pytest.mark.parametrize("name", ["target_fps", "report_interval_s", "window_s"])
def test_a_time_or_rate_of_nothing_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"{name} must be above 0, got 0"):
        ThroughputCollector(**{name: 0})
