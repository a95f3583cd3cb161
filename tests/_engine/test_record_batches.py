"""What a trace tells of the batches that its call was in."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
from tests.traced import last, traced

from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, UnBatch
from ml_pipes.tracing import InvocationTrace, TraceCollector


def test_a_batch_tells_how_many_callers_it_had_and_a_split_list_shows_each_of_its_batches() -> None:
    pipeline, collector = traced([Batch(2, timeout=0.0, many=True), lambda items: items, UnBatch()])

    pipeline([1, 2, 3])

    wait, batch = last(collector).spans
    assert (wait.label, wait.runs) == ("0:Batch[wait]", ())
    assert [(run.batch_size, run.participants) for run in batch.runs] == [(2, 1), (1, 1)]
    assert batch.child_trace is not None
    assert batch.child_trace.batch_size == 1.5


def test_a_batch_that_was_run_again_item_by_item_shows_all_runs() -> None:
    def model(items: list[int]) -> list[int]:
        return [1 // item for item in items]

    pipeline, collector = traced([Batch(2, timeout=0.0, many=True, on_error="isolate"), model, UnBatch()])

    with pytest.raises(ZeroDivisionError):
        pipeline([1, 0])

    runs = last(collector).spans[1].runs
    assert [(run.batch_size, run.spans[-1].error) for run in runs] == [(2, True), (1, False), (1, True)]


def test_of_a_batch_that_was_run_again_each_caller_sees_the_shared_run_and_its_own(start: Any) -> None:
    def model(items: list[int]) -> list[int]:
        return [1 // item for item in items]

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, timeout=20, policy="full", on_error="isolate"), model, UnBatch()]
    )
    traces: list[InvocationTrace] = []

    class Keep(TraceCollector):
        def on_trace(self, trace: InvocationTrace) -> None:
            traces.append(trace)

    pipeline.set_tracing(Keep())
    calls = [start(pipeline, item) for item in (0, 1)]
    assert isinstance(calls[0].exception(timeout=10), ZeroDivisionError)
    assert calls[1].result(timeout=10) == 1

    guilty, innocent = sorted(traces, key=lambda trace: not trace.spans[1].error)
    shared = guilty.spans[1].runs[0]
    assert innocent.spans[1].runs[0] is shared
    assert (shared.batch_size, shared.participants) == (2, 2)
    assert [
        [(run.batch_size, run.participants, run.spans[0].error) for run in trace.spans[1].runs[1:]]
        for trace in (guilty, innocent)
    ] == [[(1, 1, True)], [(1, 1, False)]]


def test_a_trace_of_a_batch_does_not_keep_what_its_callers_brought() -> None:
    class Picture:
        pass

    pipeline, collector = traced([Batch(2, timeout=0.0), lambda items: [0] * len(items), UnBatch()])
    picture = Picture()
    gone = weakref.ref(picture)

    pipeline(picture)
    del picture
    gc.collect()

    assert gone() is None
    assert last(collector).spans[1].runs[0].participants == 1
