"""What a trace tells of a step in which calls wait for each other."""

from __future__ import annotations

from threading import Event
from typing import Any

import pytest
from tests.traced import last, traced

from ml_pipes._threads.turns import let_in
from ml_pipes._threads.turnstile import Turnstile
from ml_pipes.core import Pipeline
from ml_pipes.errors import DeadlineExceeded
from ml_pipes.tracing import InvocationTrace, TraceCollector


class Gated:
    """A step that lets one call in at a time, and tells when a turn has come."""

    takes_turns = True

    def __init__(self) -> None:
        self.gate = Turnstile()
        self.inside, self.go_on = Event(), Event()

    def __call__(self, value: int) -> int:
        with self.gate.passage("it was busy"):
            let_in()
            self.inside.set()
            assert self.go_on.wait(timeout=10)
        return value


def test_a_step_in_which_calls_take_turns_shows_the_wait_apart(start: Any) -> None:
    step = Gated()
    pipeline: Pipeline[Any, Any] = Pipeline([step, abs])
    traces: list[InvocationTrace] = []

    class Keep(TraceCollector):
        def on_trace(self, trace: InvocationTrace) -> None:
            traces.append(trace)

    pipeline.set_tracing(Keep())
    first = start(pipeline, 1)
    assert step.inside.wait(timeout=10)
    second = start(pipeline, 2)
    step.go_on.set()
    assert (first.result(timeout=10), second.result(timeout=10)) == (1, 2)

    assert [[span.label for span in trace.spans] for trace in traces] == [
        ["0:Gated[wait]", "0:Gated", "1:abs"]
    ] * 2
    runs = sorted((trace.spans[1].start_time, trace.spans[1].end_time) for trace in traces)
    assert runs[0][1] <= runs[1][0]
    for trace in traces:
        assert trace.spans[0].end_time == pytest.approx(trace.spans[1].start_time)
        assert (trace.spans[0].is_wait, trace.spans[1].is_wait) == (True, False)


def test_a_call_whose_turn_never_came_has_only_waited(start: Any) -> None:
    step = Gated()
    step.go_on.set()
    pipeline, collector = traced([step])
    pipeline(1)

    with step.gate.lock:
        late = start(pipeline.call, 2, deadline=0.01).exception(timeout=10)

    (span,) = last(collector).spans
    assert isinstance(late, DeadlineExceeded)
    assert (span.label, span.error_type) == ("0:Gated[wait]", "DeadlineExceeded")


def test_an_error_after_the_turn_has_come_is_the_steps_and_not_the_waits() -> None:
    class Failing(Gated):
        def __call__(self, value: int) -> int:
            return 1 // super().__call__(value)

    step = Failing()
    step.go_on.set()
    pipeline, collector = traced([step])

    with pytest.raises(ZeroDivisionError):
        pipeline(0)

    wait, run = last(collector).spans
    assert (wait.label, wait.error, wait.error_type) == ("0:Failing[wait]", False, None)
    assert (run.label, run.error, run.error_type) == ("0:Failing", True, "ZeroDivisionError")
