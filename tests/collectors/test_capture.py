"""The collector that keeps the newest trace."""

from __future__ import annotations

from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import Pipeline


def test_it_keeps_the_newest_trace() -> None:
    collector, pipeline = CaptureCollector(), Pipeline[int, int]([abs])
    pipeline.set_tracing(collector)
    before = collector.last_trace

    pipeline(-1)
    first = collector.last_trace
    pipeline(-2)

    assert before is None
    assert first is not None
    assert collector.last_trace is not None
    assert collector.last_trace is not first
