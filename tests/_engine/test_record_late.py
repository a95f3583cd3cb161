"""What still runs when its caller has gone on: none of it comes into a trace, whenever that is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Event
from typing import Any

import pytest

from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import Pipeline
from ml_pipes.errors import DeadlineExceeded
from ml_pipes.standard import Batch, Gather, LazyPerItem, Scatter, StreamItems, UnBatch
from ml_pipes.tracing import InvocationTrace, StepSpan

Start = Callable[..., "Future[Any]"]


def same(value: Any) -> Any:
    return value


def labels(run: InvocationTrace) -> list[str]:
    return [span.label for span in run.spans]


def only_span(collector: CaptureCollector) -> StepSpan:
    assert collector.last_trace is not None
    (span,) = collector.last_trace.spans
    return span


class Helped:
    """On the thread that made it: waits until another is here, too; on another: waits until it may go on."""

    def __init__(self) -> None:
        self.owner = threading.current_thread()
        self.helper: threading.Thread | None = None
        self.came, self.go_on = Event(), Event()

    def __call__(self, item: int) -> int:
        if threading.current_thread() is self.owner:
            assert self.came.wait(20)
        else:
            self.helper = threading.current_thread()
            self.came.set()
            assert self.go_on.wait(20)
        return item

    def end(self, pipeline: Pipeline[Any, Any]) -> None:
        """Let the helper finish its item, and wait for that."""
        self.go_on.set()
        pipeline.close()
        assert self.helper is not None
        self.helper.join(20)


def test_a_trace_that_is_read_late_shows_nothing_that_a_stream_did_after_the_delivery(start: Start) -> None:
    came, go_on, collector = Event(), Event(), CaptureCollector()

    def hold(item: int) -> int:
        if item == 1:
            came.set()
            assert go_on.wait(20)
        return item

    def draw(stream: Iterator[int]) -> Future[Any]:
        drawing = start(list, stream)
        assert came.wait(20)
        return drawing

    pipeline = Pipeline[Any, Any]([LazyPerItem(), hold, same, StreamItems(), draw])
    pipeline.set_tracing(collector)

    drawing = pipeline([0, 1, 2])
    go_on.set()
    drawn = drawing.result(20)

    assert drawn == [0, 1, 2]
    assert collector.last_trace is not None
    stream = collector.last_trace.spans[0]
    assert [labels(run) for run in stream.runs] == [["1:hold", "2:same"], []]
    assert stream.attributes == {"seen": 2, "emitted": 1, "dropped": 0}


def test_an_item_that_goes_on_after_its_caller_left_is_shown_up_to_there() -> None:
    helped, collector = Helped(), CaptureCollector()
    pipeline = Pipeline[Any, Any]([Scatter(2), same, helped, same, Gather()])
    pipeline.set_tracing(collector)

    with pytest.raises(DeadlineExceeded):
        pipeline.call([0, 1], deadline=0.2)
    helped.end(pipeline)

    region = only_span(collector)
    assert sorted(map(labels, region.runs)) == [["1:same"], ["1:same", "2:Helped", "3:same"]]
    assert all(run.end_time <= region.end_time for run in region.runs)
    assert region.attributes == {"seen": 2, "emitted": 1, "dropped": 0}


def test_so_is_an_item_of_a_region_in_a_batch() -> None:
    helped, collector = Helped(), CaptureCollector()
    pipeline = Pipeline[Any, Any]([Batch(2, many=True), Scatter(2), same, helped, same, Gather(), UnBatch()])
    pipeline.set_tracing(collector)

    with pytest.raises(DeadlineExceeded):
        pipeline.call([0, 1], deadline=0.2)
    helped.end(pipeline)

    assert collector.last_trace is not None
    (batch,) = collector.last_trace.spans[-1].runs
    (region,) = batch.spans
    assert sorted(map(labels, region.runs)) == [["2:same"], ["2:same", "3:Helped", "4:same"]]
    assert region.attributes == {"seen": 2, "emitted": 1, "dropped": 0}
