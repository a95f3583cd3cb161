"""What a trace tells of a call."""

from __future__ import annotations

import gc
import pickle
import threading
import weakref
from threading import Barrier, Event
from typing import Any

import pytest
from tests.traced import last, traced

from ml_pipes._threads.clock import SystemClock
from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.standard import (
    Batch,
    CollectItems,
    Gather,
    LazyPerItem,
    PerItem,
    Scatter,
    Store,
    StreamItems,
    Take,
    UnBatch,
)
from ml_pipes.tracing import InvocationTrace, TraceCollector, TracingConfig


def test_a_span_per_step_in_order_within_the_total() -> None:
    pipeline, collector = traced([lambda value: value, Store("kept"), str.upper])

    result = pipeline("a")

    trace = last(collector)
    assert result == "A"
    assert [span.label for span in trace.spans] == ["0:<lambda>", "1:Store", "2:upper"]
    assert all(span.duration_s >= 0.0 for span in trace.spans)
    assert sum(span.duration_s for span in trace.spans) <= trace.total_duration_s
    assert [span.operator_type for span in trace.spans][1] is Store
    assert {span.thread for span in trace.spans} == {threading.get_ident()}
    assert trace.spans[0].start_time <= trace.spans[1].start_time <= trace.spans[2].start_time


def test_a_failed_step_is_the_last_and_marked_and_its_error_goes_on() -> None:
    pipeline, collector = traced([lambda value: value, lambda value: 1 // value, lambda value: value])

    with pytest.raises(ZeroDivisionError) as caught:
        pipeline(0)

    assert [(span.label, span.error) for span in last(collector).spans] == [
        ("0:<lambda>", False),
        ("1:<lambda>", True),
    ]
    assert caught.value.__notes__ == ["in step 1:<lambda>"]


def test_half_characters_in_an_errors_text_are_spelt_out_for_those_who_write_it() -> None:
    def fail(_: Any) -> None:
        raise OSError("no file caf\udce9.jpg")

    pipeline, collector = traced([fail])

    with pytest.raises(OSError, match="no file"):
        pipeline(0)

    assert last(collector).spans[0].error_message == r"no file caf\udce9.jpg"


def test_the_step_that_drops_says_so() -> None:
    pipeline, collector = traced([lambda value: SHORT_CIRCUIT, lambda value: value])

    pipeline(1)

    assert [(span.label, span.attributes) for span in last(collector).spans] == [
        ("0:<lambda>", {"dropped": 1})
    ]


@pytest.mark.parametrize(("opener", "closer"), [(PerItem(), CollectItems()), (Scatter(3), Gather())])
def test_a_region_keeps_every_run_and_their_mean(opener: Any, closer: Any) -> None:
    pipeline, collector = traced([opener, lambda value: SHORT_CIRCUIT if value == 1 else value, closer])

    pipeline([0, 1, 2])

    (region,) = last(collector).spans
    assert region.attributes == {"seen": 3, "emitted": 2, "dropped": 1}
    assert [run.item for run in region.runs] == [0, 1, 2]
    assert all([span.label for span in run.spans] == ["1:<lambda>"] for run in region.runs)
    assert region.child_trace is not None
    assert region.child_trace.batch_size == 3
    assert region.child_trace.workers == getattr(opener, "max_concurrency", None)
    assert [span.label for span in region.child_trace.spans] == ["1:<lambda>"]


def test_the_runs_of_a_scatter_are_on_the_threads_that_worked() -> None:
    barrier = Barrier(2)
    pipeline, collector = traced([Scatter(2), lambda value: barrier.wait(timeout=10), Gather()])

    pipeline([1, 2])

    assert len({run.thread for run in last(collector).spans[0].runs}) == 2


def test_participants_of_a_batch_see_their_wait_apart_and_one_and_the_same_run(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, timeout=20, policy="full"), lambda items: items, UnBatch()]
    )
    traces: list[InvocationTrace] = []
    lock = threading.Lock()

    class Keep(TraceCollector):
        def on_trace(self, trace: InvocationTrace) -> None:
            with lock:
                traces.append(trace)

    pipeline.set_tracing(Keep())
    for future in [start(pipeline, item) for item in (1, 2)]:
        future.result(timeout=10)

    first, second = traces
    assert [span.label for span in first.spans] == ["0:Batch[wait]", "0:Batch"]
    assert [span.label for span in second.spans] == ["0:Batch[wait]", "0:Batch"]
    run, same = first.spans[1].runs[0], second.spans[1].runs[0]
    assert run is same
    assert run.batch_size == same.batch_size == 2
    assert (run.start_time, run.thread) == (same.start_time, same.thread)
    assert [span.label for span in run.spans] == ["1:<lambda>"]
    assert first.spans[0].duration_s + first.spans[1].duration_s <= first.total_duration_s


def test_a_collector_that_raises_is_logged_and_the_call_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(TraceCollector):
        def on_trace(self, trace: InvocationTrace) -> None:
            raise OSError("disk full")

    pipeline: Pipeline[Any, Any] = Pipeline([lambda value: value + 1])
    pipeline.set_tracing(Broken())

    assert pipeline(1) == 2
    assert "Broken" in caplog.text
    assert "disk full" in caplog.text


def test_tracing_can_be_switched_off_and_its_collector_seen() -> None:
    pipeline, collector = traced([lambda value: value])

    assert pipeline.trace_collector is collector
    pipeline.set_tracing(None)
    pipeline(1)

    assert pipeline.trace_collector is None
    assert collector.last_trace is None


def test_a_trace_pickles() -> None:
    pipeline, collector = traced([PerItem(), str.upper, CollectItems()])
    pipeline(["a"])

    twin = pickle.loads(pickle.dumps(last(collector)))

    assert twin == last(collector)
    assert twin.total_duration_s == last(collector).total_duration_s
    assert [span.label for span in twin.spans] == ["0:PerItem"]
    assert twin.spans[0].runs[0].item == 0


def test_a_failed_item_was_seen_and_not_emitted() -> None:
    pipeline, collector = traced([PerItem(), lambda value: 1 / value, CollectItems()])

    with pytest.raises(ZeroDivisionError):
        pipeline([1, 2, 0, 4])

    assert last(collector).spans[0].attributes == {"seen": 3, "emitted": 2, "dropped": 0}


def test_what_a_stream_does_after_its_call_is_not_in_the_trace() -> None:
    pipeline, collector = traced([LazyPerItem(), lambda value: value, StreamItems()])

    stream = pipeline(range(1000))
    first = next(stream)
    seen = len(last(collector).spans[0].runs)

    assert first == 0
    assert seen == 0
    assert len(list(stream)) == 999
    assert last(collector).spans[0].attributes == {"seen": 0, "emitted": 0, "dropped": 0}


def test_what_a_stream_does_within_its_call_is_in_the_trace() -> None:
    pipeline, collector = traced([LazyPerItem(), lambda value: value, StreamItems(), Take(2)])

    pipeline(range(1000))

    assert [run.item for run in last(collector).spans[0].runs] == [0, 1]


def test_the_trace_of_a_caller_that_left_its_batch_does_not_touch_the_others(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting, running, let_go = Event(), Event(), Event()
    traces: list[InvocationTrace] = []

    class Keep(TraceCollector):
        def on_trace(self, trace: InvocationTrace) -> None:
            traces.append(trace)

    def interrupted(*_: Any) -> bool:
        waiting.set()
        assert running.wait(timeout=10)
        raise KeyboardInterrupt

    def model(items: list[int]) -> list[int]:
        running.set()
        assert let_go.wait(timeout=10)
        return items

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, timeout=20, policy="full"), model, lambda items: items, UnBatch()]
    )
    pipeline.set_tracing(Keep())
    monkeypatch.setattr(SystemClock, "wait", interrupted)
    leaver = start(pipeline, 1)
    assert waiting.wait(timeout=10)
    stayer = start(pipeline, 2)
    assert isinstance(leaver.exception(timeout=10), KeyboardInterrupt)
    labels, runs = [span.label for span in traces[0].spans], traces[0].spans[-1].runs
    let_go.set()

    assert stayer.result(timeout=10) == 2
    assert (labels, runs) == (["0:Batch[wait]", "0:Batch"], ())
    assert traces[0].spans[-1].runs == ()
    assert [span.label for span in traces[1].spans[1].runs[0].spans] == ["1:model", "2:<lambda>"]


def test_a_delivered_trace_is_freed_without_the_garbage_collector() -> None:
    pipeline, collector = traced([lambda value: value])
    gc.disable()
    try:
        pipeline(1)
        gone = weakref.ref(last(collector))
        pipeline(2)
        freed = gone() is None
    finally:
        gc.enable()

    assert freed


def test_a_failed_step_tells_what_it_raised() -> None:
    pipeline, collector = traced([PerItem(), lambda value: 1 // value, CollectItems()])

    with pytest.raises(ZeroDivisionError):
        pipeline([1, 0])

    (region,) = last(collector).spans
    failed = region.runs[1].spans[0]
    assert (region.error, region.error_type) == (True, "ZeroDivisionError")
    assert (failed.error, failed.error_type) == (True, "ZeroDivisionError")
    assert failed.error_message == "integer division or modulo by zero"
    assert region.runs[0].spans[0].error_type is None


def test_an_error_whose_text_cannot_be_made_is_recorded_all_the_same() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise OSError

    def fail(value: Any) -> Any:
        raise Mute

    pipeline, collector = traced([fail])

    with pytest.raises(Mute):
        pipeline(1)

    assert last(collector).spans[0].error_type == "Mute"
    assert last(collector).spans[0].error_message == "<an error whose text cannot be made>"


def test_shapes_configuration_and_outputs_are_kept_where_asked_for_in_regions_too() -> None:
    everything = TracingConfig(capture_config=True, capture_shapes=True, _capture_outputs=True)
    pipeline, collector = traced(
        [Store("a"), Scatter(2), lambda text: [text], Gather(), lambda lists: [lists]], everything
    )

    pipeline(["x", "yz"])

    store, scatter, count = last(collector).spans
    inner = scatter.runs[1].spans[0]
    assert store.operator_config == {"name": "a", "source": None}
    assert (store.input_shape, store.output_shape) == ("list[2]", "list[2]")
    assert (inner.input_shape, inner.output_shape, inner.output_value) == ("str[2]", "list[1]", ["yz"])
    assert scatter.output_value == [["x"], ["yz"]]
    assert (count.input_shape, count.output_shape, count.output_value) == (
        "list[2]",
        "list[1]",
        [[["x"], ["yz"]]],
    )


def test_nothing_is_kept_of_values_unless_asked_for() -> None:
    pipeline, collector = traced([lambda value: value])

    pipeline("a")

    (span,) = last(collector).spans
    assert (span.input_shape, span.output_shape, span.output_value) == (None, None, None)
    assert span.operator_config == {}


def test_tracing_with_what_is_no_configuration_is_refused() -> None:
    with pytest.raises(TypeError, match="set_tracing takes a TracingConfig or None as config, got 'shapes'"):
        Pipeline([abs]).set_tracing(CaptureCollector(), "shapes")  # type: ignore[arg-type] # meant to fail


def test_a_long_error_is_cut_in_a_trace() -> None:
    def fail(value: Any) -> Any:
        raise ValueError("x" * 10_000)

    pipeline, collector = traced([fail])

    with pytest.raises(ValueError, match="xxx"):
        pipeline(1)

    message = last(collector).spans[0].error_message
    assert message is not None
    assert message.endswith("xxx… (10,000 characters)")
    assert len(message) == 2021
