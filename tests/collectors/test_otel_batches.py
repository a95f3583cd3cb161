"""OpenTelemetry spans of batches: one per shared run, linked with each caller's."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Event
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from ml_pipes._threads.fakes import FakeClock
from ml_pipes.collectors import OtelCollector
from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, Gather, Scatter, UnBatch
from ml_pipes.tracing import InvocationTrace

Start = Callable[..., "Future[Any]"]


class Exported:
    """A collector whose spans are kept, and a pipeline with a batch of ``size`` traced by it."""

    def __init__(self, clock: FakeClock) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.collector = OtelCollector(tracer_provider=provider, clock=clock)

    def traced(self, size: int, *, many: bool = False, step: Any = list) -> Pipeline[Any, Any]:
        steps = [Batch(size, timeout=10.0, policy="full", many=many), step, UnBatch()]
        pipeline = Pipeline[Any, Any](steps)
        pipeline.set_tracing(self.collector)
        return pipeline

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.exporter.get_finished_spans() if span.name == name]


@pytest.fixture
def exported(clock: FakeClock) -> Iterator[Exported]:
    exported = Exported(clock)
    yield exported
    exported.collector.stop()


def together(pipeline: Pipeline[Any, Any], start: Start, count: int) -> None:
    calls = [start(pipeline, number) for number in range(count)]
    assert sorted(call.result(10) for call in calls) == list(range(count))


def ids(spans: Any) -> set[int]:
    return {span.context.span_id for span in spans}


def linked(span: ReadableSpan) -> list[int]:
    return [link.context.span_id for link in span.links]


def test_the_run_that_three_callers_share_is_one_root_with_a_link_to_each(
    exported: Exported, start: Start
) -> None:
    pipeline = exported.traced(3)

    together(pipeline, start, 3)
    exported.collector.flush()

    (run,), members = exported.named("0:Batch[run]"), exported.named("0:Batch")
    (step,) = exported.named("1:list")
    assert run.parent is None
    assert len(members) == len(run.links) == 3
    assert set(linked(run)) == ids(members)
    assert [linked(member) for member in members] == [list(ids([run]))] * 3
    assert step.parent is not None
    assert step.parent.span_id in ids([run])
    assert (run.attributes or {})["ml_pipes.batch_size"] == 3
    assert (run.attributes or {})["ml_pipes.participants"] == 3
    assert len({member.context.trace_id for member in members if member.context}) == 3


def test_each_caller_shows_its_wait_and_its_run_apart(exported: Exported, start: Start) -> None:
    pipeline = exported.traced(2)

    together(pipeline, start, 2)
    exported.collector.flush()

    waits, members = exported.named("0:Batch[wait]"), exported.named("0:Batch")
    by_trace = {wait.context.trace_id: wait for wait in waits if wait.context}
    assert len(by_trace) == 2
    for member in members:
        assert member.context is not None
        assert by_trace[member.context.trace_id].end_time == pytest.approx(member.start_time, abs=1_000)


def test_the_run_of_one_caller_is_a_child_of_its_batch_span(exported: Exported) -> None:
    pipeline = exported.traced(1)

    pipeline(7)
    exported.collector.flush()

    (run,), (member,), (step,) = (
        exported.named("0:Batch[run]"),
        exported.named("0:Batch"),
        exported.named("1:list"),
    )
    assert run.parent is not None
    assert run.parent.span_id in ids([member])
    assert step.parent is not None
    assert step.parent.span_id in ids([run])
    assert not run.links
    assert not member.links
    assert len({span.context.trace_id for span in (run, member, step) if span.context}) == 1


def test_a_list_split_over_two_batches_has_a_run_for_each(exported: Exported) -> None:
    pipeline = exported.traced(2, many=True)

    result = pipeline([1, 2, 3, 4])
    exported.collector.flush()

    runs, (member,) = exported.named("0:Batch[run]"), exported.named("0:Batch")
    assert result == [1, 2, 3, 4]
    assert len(runs) == 2
    assert {run.parent.span_id for run in runs if run.parent} == ids([member])


def test_items_of_one_call_that_meet_in_a_batch_share_its_span(exported: Exported) -> None:
    steps = [Scatter(3), Batch(3, timeout=10.0, policy="full"), list, UnBatch(), Gather()]
    pipeline = Pipeline[Any, Any](steps)
    pipeline.set_tracing(exported.collector)

    pipeline([1, 2, 3])
    exported.collector.flush()

    (run,), members = exported.named("1:Batch[run]"), exported.named("1:Batch")
    assert set(linked(run)) == ids(members)
    assert len(members) == 3
    assert len(exported.named("2:list")) == 1


def test_the_span_of_a_batch_is_open_until_its_last_caller_was_seen(exported: Exported, start: Start) -> None:
    traces = shared_by_three(exported, start)

    exported.collector._collect(traces[0])
    exported.collector._collect(traces[1])
    before = exported.named("0:Batch[run]")
    exported.collector._collect(traces[2])

    assert before == []
    (run,) = exported.named("0:Batch[run]")
    assert set(linked(run)) == ids(exported.named("0:Batch"))


def test_the_span_of_a_batch_is_ended_in_time_without_a_caller_that_does_not_come(
    exported: Exported, start: Start, clock: FakeClock
) -> None:
    traces = shared_by_three(exported, start)
    exported.collector._collect(traces[0])

    left_s = exported.collector._end_due(False)
    early = exported.named("0:Batch[run]")
    clock.advance(5.0)
    done = exported.collector._end_due(False)
    exported.collector._collect(traces[1])

    assert (left_s, done, early) == (pytest.approx(5.0), None, [])
    (run,), members = exported.named("0:Batch[run]"), exported.named("0:Batch")
    # Who comes later still shows where it was.
    assert linked(run) == list(ids(members[:1]))
    assert [linked(member) for member in members] == [list(ids([run]))] * 2


def test_a_flush_ends_the_spans_that_are_open(exported: Exported, start: Start) -> None:
    traces = shared_by_three(exported, start)
    exported.collector.on_trace(traces[0])

    assert exported.collector.flush()

    assert len(exported.named("0:Batch[run]")) == 1


def test_no_more_than_so_many_spans_are_open(
    exported: Exported, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ml_pipes.collectors.otel_collector._MOST_OPEN", 2)
    traces = [shared_by_three(exported, start) for _ in range(4)]

    for first, *_ in traces:
        exported.collector._collect(first)

    assert len(exported.collector._open) == 2
    assert len(exported.named("0:Batch[run]")) == 2


def test_what_is_remembered_of_batches_goes_with_them(exported: Exported, start: Start) -> None:
    pipeline = exported.traced(2)

    for _ in range(20):
        together(pipeline, start, 2)
    exported.collector.flush()
    gc.collect()

    assert exported.collector._open == {}
    assert len(exported.collector._batches) <= 1


def test_a_batch_that_failed_is_marked_and_so_is_each_of_its_callers(
    exported: Exported, start: Start
) -> None:
    def fail(items: list[int]) -> list[int]:
        raise ValueError("the model is broken")

    pipeline = exported.traced(2, step=fail)

    calls = [start(pipeline, number) for number in range(2)]
    for call in calls:
        with pytest.raises(ValueError, match="the model is broken"):
            call.result(10)
    exported.collector.flush()

    spans = exported.exporter.get_finished_spans()
    failed = [span.name for span in spans if span.status.description == "the model is broken"]
    assert failed.count("0:Batch") == failed.count("pipeline") == 2
    assert failed.count("1:fail") >= 1
    assert {span.name for span in spans} - set(failed) == {"0:Batch[wait]"}


@pytest.mark.stress
def test_batches_of_many_callers_are_each_exported_once_with_all_their_links(
    exported: Exported, start: Start
) -> None:
    steps = [Batch(4, timeout=0.001), list, UnBatch()]
    pipeline = Pipeline[Any, Any](steps)
    pipeline.set_tracing(exported.collector)
    go = Event()

    def work(number: int) -> None:
        assert go.wait(10)
        for _ in range(50):
            assert pipeline(number) == number

    working = [start(work, number) for number in range(8)]
    go.set()
    for worker in working:
        worker.result(30)
    exported.collector.flush()

    runs, members = exported.named("0:Batch[run]"), exported.named("0:Batch")
    shared = [run for run in runs if run.parent is None]
    assert len(members) == 400
    assert sum(int((run.attributes or {})["ml_pipes.batch_size"]) for run in runs) == 400
    assert all(len(run.links) == (run.attributes or {})["ml_pipes.participants"] for run in shared)
    assert sum(len(run.links) for run in shared) + len(runs) - len(shared) == 400


def shared_by_three(exported: Exported, start: Start) -> list[InvocationTrace]:
    """The traces of three calls that shared a batch, not collected yet."""
    traces: list[InvocationTrace] = []

    class Keep(OtelCollector):
        def on_trace(self, trace: InvocationTrace) -> None:
            traces.append(trace)

    pipeline = exported.traced(3)
    pipeline.set_tracing(Keep())
    together(pipeline, start, 3)
    return traces
