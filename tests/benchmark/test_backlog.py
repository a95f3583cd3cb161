"""Traces wait out of the garbage collector's way, and what is frozen is thawed."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from ml_pipes.benchmark.backlog import Backlog
from ml_pipes.benchmark.collector import BenchmarkCollector
from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.tracing import InvocationTrace, StepSpan


@pytest.fixture(autouse=True)
def _nothing_frozen() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


def _collector(count: int) -> BenchmarkCollector:
    collector = BenchmarkCollector(MeasurementConfig())
    for _ in range(count):
        collector.on_trace(InvocationTrace([StepSpan("0:A", 0.0, 0.001)], 0.001))
    return collector


def test_traces_that_wait_are_set_aside_until_the_end() -> None:
    collector = _collector(1000)

    with Backlog(collector) as backlog:
        gc.collect()
        young = [[at] for at in range(gc.get_threshold()[0] * 2 // 3)]  # so many that it is time
        backlog.settle()
        during = gc.get_freeze_count()

    assert young
    assert during > 1000
    assert gc.get_freeze_count() == 0
    assert collector.waiting == 1000


def test_when_very_many_wait_two_are_read_for_each_that_comes() -> None:
    collector = _collector(100)

    with Backlog(collector, most=97) as backlog:
        backlog.settle()
        backlog.settle()
        backlog.settle()

    assert collector.waiting == 96
    assert collector.report().operators[0].count == 100


def test_what_others_froze_stays_frozen_and_traces_are_read_instead() -> None:
    collector = _collector(4)
    gc.freeze()
    before = gc.get_freeze_count()

    with Backlog(collector) as backlog:
        backlog.settle()

    assert collector.waiting == 2
    assert 0 < gc.get_freeze_count() <= before


def test_where_the_collector_is_off_traces_are_read_instead() -> None:
    collector = _collector(4)

    gc.disable()
    try:
        with Backlog(collector) as backlog:
            backlog.settle()
    finally:
        gc.enable()

    assert collector.waiting == 2
    assert gc.get_freeze_count() == 0
