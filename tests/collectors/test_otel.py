"""The collector that exports calls as OpenTelemetry spans: trees, times, parents, errors."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from threading import Barrier, Event
from typing import Any

import pytest
from opentelemetry import context
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import StatusCode

from ml_pipes.collectors import OtelCollector
from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.standard import CollectItems, Gather, PerItem, Scatter
from ml_pipes.tracing import TracingConfig

Start = Callable[..., "Future[Any]"]


class Exported:
    """A provider of the test's own, and what came out of it."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.collector = OtelCollector(tracer_provider=self.provider)

    def traced(self, steps: list[Any]) -> Pipeline[Any, Any]:
        pipeline = Pipeline[Any, Any](steps)
        pipeline.set_tracing(self.collector)
        return pipeline

    def spans(self) -> list[ReadableSpan]:
        assert self.collector.flush()
        return sorted(self.exporter.get_finished_spans(), key=lambda span: span.start_time or 0)

    def named(self, name: str) -> list[ReadableSpan]:
        return [span for span in self.spans() if span.name == name]


@pytest.fixture
def exported() -> Exported:
    return Exported()


def parent(span: ReadableSpan) -> int | None:
    return None if span.parent is None else span.parent.span_id


def span_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.span_id


def trace_id(span: ReadableSpan) -> int:
    assert span.context is not None
    return span.context.trace_id


def test_a_call_is_one_tree_of_its_steps_with_real_times(exported: Exported) -> None:
    pipeline = exported.traced([abs, repr])
    before = time.time_ns()

    result = pipeline(-1)

    after = time.time_ns()
    root, first, second = exported.spans()
    assert result == "1"
    assert [root.name, first.name, second.name] == ["pipeline", "0:abs", "1:repr"]
    assert [parent(root), parent(first), parent(second)] == [None, span_id(root), span_id(root)]
    assert len({trace_id(span) for span in (root, first, second)}) == 1
    times = [root.start_time, first.start_time, first.end_time, second.start_time, second.end_time]
    assert times == sorted(times, key=lambda at: at or 0)
    assert root.end_time == second.end_time
    slack_ns = 50_000_000  # the machine's clock may be set meanwhile
    assert before - slack_ns <= (root.start_time or 0) <= (root.end_time or 0) <= after + slack_ns
    assert {span.instrumentation_scope.name for span in (root, first) if span.instrumentation_scope} == {
        "ml-pipes"
    }


def test_the_root_is_a_child_of_the_span_that_is_current_at_the_call(exported: Exported) -> None:
    pipeline = exported.traced([abs])
    tracer = exported.provider.get_tracer("the program")

    with tracer.start_as_current_span("request"):
        pipeline(-1)

    (request,), (root,) = exported.named("request"), exported.named("pipeline")
    assert parent(root) == span_id(request)
    assert trace_id(root) == trace_id(request)


def test_the_items_of_a_scatter_are_children_of_its_span_in_the_same_trace(
    exported: Exported, start: Start
) -> None:
    together = Barrier(4)

    def meet(item: int) -> int:
        together.wait(10)
        return item

    pipeline = exported.traced([Scatter(4), meet, Gather()])

    pipeline([0, 1, 2, 3])

    (scatter,), steps = exported.named("0:Scatter"), exported.named("1:meet")
    items = [exported.named(f"0:Scatter[{item}]")[0] for item in range(4)]
    assert [parent(item) for item in items] == [span_id(scatter)] * 4
    assert {parent(step) for step in steps} == {span_id(item) for item in items}
    assert {trace_id(span) for span in exported.spans()} == {trace_id(scatter)}
    assert [(item.attributes or {})["ml_pipes.item"] for item in items] == [0, 1, 2, 3]
    assert len({(step.attributes or {})["thread.id"] for step in steps}) == 4


def test_nothing_of_two_requests_at_once_is_crossed(exported: Exported, start: Start) -> None:
    together = Barrier(2)

    def meet(item: str) -> str:
        together.wait(10)
        return item

    pipeline = exported.traced([Scatter(4), meet, Gather()])
    tracer = exported.provider.get_tracer("the program")

    def request(name: str) -> list[str]:
        with tracer.start_as_current_span(name):
            return pipeline([name, name])

    requests = [start(request, name) for name in ("a", "b")]

    assert [asked.result(10) for asked in requests] == [["a", "a"], ["b", "b"]]
    by_id = {span_id(span): span for span in exported.spans()}
    for span in by_id.values():
        above = by_id.get(parent(span) or 0)
        assert above is None or trace_id(above) == trace_id(span)
    (a,), (b,) = exported.named("a"), exported.named("b")
    assert trace_id(a) != trace_id(b)
    trees = [trace_id(span) for span in exported.spans()]
    assert (trees.count(trace_id(a)), trees.count(trace_id(b))) == (7, 7)


def test_a_step_that_raised_says_what_and_its_run_too(exported: Exported) -> None:
    def fail(value: int) -> int:
        raise ValueError("no faces here")

    pipeline = exported.traced([abs, fail])

    with pytest.raises(ValueError, match="no faces here"):
        pipeline(-1)

    root, fine, failed = exported.spans()
    assert [span.status.status_code for span in (root, fine, failed)] == [
        StatusCode.ERROR,
        StatusCode.UNSET,
        StatusCode.ERROR,
    ]
    for span in (root, failed):
        assert span.status.description == "no faces here"
        assert span.attributes is not None
        assert span.attributes["exception.type"] == "ValueError"
        assert span.attributes["exception.message"] == "no faces here"


def test_attributes_tell_of_counts_operators_arguments_and_shapes(exported: Exported) -> None:
    steps = [Scatter(2), lambda item: item or SHORT_CIRCUIT, Gather()]
    pipeline = Pipeline[Any, Any](steps)
    pipeline.set_tracing(exported.collector, TracingConfig(capture_config=True, capture_shapes=True))

    pipeline([0, 1])

    (scatter,) = exported.named("0:Scatter")
    about = dict(scatter.attributes or {})
    assert about["ml_pipes.operator"] == "Scatter"
    assert (about["ml_pipes.seen"], about["ml_pipes.dropped"]) == (2, 1)
    assert about["ml_pipes.config.max_concurrency"] == 2
    assert about["ml_pipes.input_shape"] == "list[2]"


def test_regions_in_regions_are_trees_in_trees(exported: Exported) -> None:
    pipeline = exported.traced([PerItem(), PerItem(), abs, CollectItems(), CollectItems()])

    pipeline([[-1, -2], [-3]])

    by_id = {span_id(span): span for span in exported.spans()}

    def path(span: ReadableSpan) -> list[str]:
        above = by_id.get(parent(span) or 0)
        return [span.name, *([] if above is None else path(above))]

    assert [path(span) for span in exported.named("2:abs")] == [
        ["2:abs", f"1:PerItem[{inner}]", "1:PerItem", f"0:PerItem[{outer}]", "0:PerItem", "pipeline"]
        for outer, inner in ((0, 0), (0, 1), (1, 0))
    ]


def test_what_is_not_sampled_is_not_exported(start: Start) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    pipeline = Pipeline[int, int]([abs])
    pipeline.set_tracing(collector := OtelCollector(tracer_provider=provider))

    pipeline(-1)

    assert collector.flush()
    assert exporter.get_finished_spans() == ()


def test_without_a_set_up_nothing_happens() -> None:
    pipeline = Pipeline[int, int]([abs])
    pipeline.set_tracing(collector := OtelCollector())

    result = pipeline(-1)

    assert result == 1
    assert collector.flush()
    assert collector._courier.failed == 0


class Held(SpanExporter):
    """Takes no span before it is told to."""

    def __init__(self) -> None:
        self.entered = Event()
        self.go_on = Event()
        self.names: list[str] = []

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.entered.set()
        assert self.go_on.wait(10)
        self.names += [span.name for span in spans]
        return SpanExportResult.SUCCESS


def test_no_call_waits_for_a_slow_exporter(exported: Exported) -> None:
    held = Held()
    exported.provider.add_span_processor(SimpleSpanProcessor(held))
    pipeline = exported.traced([abs])
    pipeline(-1)
    assert held.entered.wait(10)

    results = [pipeline(-number) for number in range(100)]
    flushed = exported.collector.flush(0.01)

    assert results == list(range(100))
    assert flushed is False
    held.go_on.set()
    assert exported.collector.flush()
    assert held.names.count("pipeline") == 101


def test_an_exporter_that_raises_does_not_reach_the_calls(
    exported: Exported, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(SpanExporter):
        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            raise OSError("the collector is down")

    exported.provider.add_span_processor(SimpleSpanProcessor(Failing()))
    pipeline = exported.traced([abs])

    results = [pipeline(-1), pipeline(-2)]

    assert results == [1, 2]
    assert len(exported.named("pipeline")) == 2


def test_the_callers_context_is_left_as_it_was(exported: Exported) -> None:
    pipeline = exported.traced([abs])
    before = context.get_current()

    pipeline(-1)

    assert context.get_current() is before


def test_without_the_package_the_error_names_the_extra_and_nothing_is_started(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)

    with pytest.raises(ImportError, match=r'opentelemetry-api; install it with: pip install "ml-pipes\[otel'):
        OtelCollector()


START = """
import os, sys, threading, warnings
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
from opentelemetry.sdk.trace.export import ConsoleSpanExporter
from ml_pipes.collectors import OtelCollector
from ml_pipes.core import Pipeline

warnings.simplefilter("ignore", DeprecationWarning)
writes = ConsoleSpanExporter(formatter=lambda span: span.name + chr(10))
provider = TracerProvider()
"""
HOLDING = """
from opentelemetry.sdk.trace import SpanProcessor

held, go_on = threading.Event(), threading.Event()


class Holding(SpanProcessor):
    # Holds the parent's thread, and writes whose each span is.
    def on_start(self, span, parent_context=None):
        if os.getpid() == parent:
            held.set()
            go_on.wait(10)

    def on_end(self, span):
        os.write(1, f"{os.getpid() == parent} {span.name}\\n".encode())


"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, timeout=30, check=False
    )


def test_what_is_pending_at_the_interpreters_end_is_exported_before_the_exporter_is_shut_down() -> None:
    ended = run("""
provider.add_span_processor(BatchSpanProcessor(writes))
trace.set_tracer_provider(provider)
pipeline = Pipeline([abs])
pipeline.set_tracing(OtelCollector())
for number in range(20):
    pipeline(number)
""")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.split().count("pipeline") == 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_exports_nothing_of_its_parents_and_its_own() -> None:
    ended = run(
        HOLDING
        + """
parent = os.getpid()
provider.add_span_processor(Holding())
pipeline, collector = Pipeline([abs]), OtelCollector(tracer_provider=provider, root_name="parents")
pipeline.set_tracing(collector)
for number in range(6):
    pipeline(number)
assert held.wait(10)

child = os.fork()
if child == 0:
    collector._root_name = "childs"
    right = collector.flush(5)
    pipeline(1)
    os._exit(0 if right and collector.flush(5) else 9)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
go_on.set()
assert collector.flush(5)
"""
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    lines = ended.stdout.splitlines()
    assert [line for line in lines if line.startswith("False")] == ["False 0:abs", "False childs"]
    assert lines.count("True parents") == 6
