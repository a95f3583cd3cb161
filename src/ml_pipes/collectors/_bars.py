"""Traces as bars on the threads that they ran on, and the batches that callers met in.

Knows traces. Knows nothing of files, pages or colours.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ml_pipes._threads.clock import thread_name
from ml_pipes.tracing import InvocationTrace, StepSpan

__all__ = ["Bar", "Layout", "Meeting", "Member", "Thread", "lay_out", "running"]


@dataclass
class Bar:
    """A stretch of time on one thread.

    Attributes:
        kind: ``call``; ``item``, the run of a region's body for an item; ``batch``, that of a ``Batch``'s
            body; ``step``; ``wait``, for a batch to start; ``away``, while another thread runs the batch.
        name: what it is, such as ``3:Infer``.
        thread: the thread's number.
        start: seconds.
        end: seconds.
        call: which call it is of, from 0 in the order of their starts; of a batch's run, its leader's.
        details: more to be told of it, name -> value.
        inference: it is the run of a model.
        error: it ended with an error.
        batch: which batch it is, or waits for, or is away in, from 0.
        depth: how many bars of its thread it lies in.
    """

    kind: str
    name: str
    thread: int
    start: float
    end: float
    call: int
    details: dict[str, Any] = field(default_factory=dict)
    inference: bool = False
    error: bool = False
    batch: int | None = None
    depth: int = 0


@dataclass(frozen=True)
class Member:
    """One caller's part in a batch: the bars before, during and after it; the wait may be missing."""

    wait: Bar | None
    away: Bar
    after: Bar


@dataclass
class Meeting:
    """A batch: the bar of its run, and those who were in it."""

    run: Bar
    members: list[Member] = field(default_factory=list)


@dataclass(frozen=True)
class Thread:
    """A thread that something ran on; ``bars`` in the order of their starts, outer ones first."""

    number: int
    name: str
    bars: list[Bar]


@dataclass(frozen=True)
class Layout:
    """What happened, by thread and by batch; times in seconds of one clock."""

    threads: list[Thread]
    meetings: list[Meeting]
    start: float
    end: float


def lay_out(traces: Iterable[InvocationTrace], names: dict[int, str] | None = None) -> Layout:
    """Put the spans of calls onto their threads.

    Args:
        traces: one per call.
        names: of threads that may have ended since, by number.
    """
    calls = sorted(traces, key=lambda trace: trace.start_time)
    scribe = _Scribe()
    for number, trace in enumerate(calls):
        scribe.call(number, trace)
    by_thread: dict[int, list[Bar]] = {}
    for bar in scribe.bars:
        by_thread.setdefault(bar.thread, []).append(bar)
    known = {**scribe.names, **(names or {})}
    threads = [Thread(number, _name(number, known), _nested(bars)) for number, bars in by_thread.items()]
    # Callers first, in the order of their first calls; then workers, by name.
    threads.sort(key=lambda thread: (thread.bars[0].kind != "call", _first(thread), thread.name))
    meetings = sorted(scribe.meetings.values(), key=lambda meeting: meeting.run.start)
    for at, meeting in enumerate(meetings):
        _number(meeting, at)
    bars = scribe.bars
    start, end = min((bar.start for bar in bars), default=0.0), max((bar.end for bar in bars), default=0.0)
    return Layout(threads, meetings, start, end)


def running(layout: Layout) -> list[tuple[float, int]]:
    """How many models ran at once: ``(time, count)`` wherever the count changes; times in seconds."""
    changes: dict[float, int] = {}
    for thread in layout.threads:
        for bar in thread.bars:
            if bar.inference:
                changes[bar.start] = changes.get(bar.start, 0) + 1
                changes[bar.end] = changes.get(bar.end, 0) - 1
    count, steps = 0, []
    for time, change in sorted(changes.items()):
        if change:
            count += change
            steps.append((time, count))
    return steps


class _Scribe:
    """Writes bars down while it walks traces."""

    def __init__(self) -> None:
        self.bars: list[Bar] = []
        self.meetings: dict[int, Meeting] = {}
        self.names: dict[int, str] = {}
        self._kept: list[InvocationTrace] = []  # while they live, no other run has their id

    def call(self, number: int, trace: InvocationTrace) -> None:
        details = {"steps": len(trace.spans)}
        bar = _of_run("call", f"call {number}", trace, number, 0, details)
        self.bars.append(bar)
        self._steps(trace, bar)

    def _steps(self, trace: InvocationTrace, within: Bar) -> None:
        bars = [self._step(span, within) for span in trace.spans]
        for at, (span, bar) in enumerate(zip(trace.spans, bars, strict=True)):
            for run in span.runs:
                if run.participants is None:
                    self._item(span, run, bar)
                else:
                    wait = bars[at - 1] if at and bars[at - 1].kind == "wait" else None
                    after = bars[at + 1] if at + 1 < len(bars) else self._result(bar)
                    self._batch(span, run, Member(wait, bar, after))

    def _step(self, span: StepSpan, within: Bar) -> Bar:
        kind = "wait" if span.is_wait else "step"
        if any(run.participants is not None and run.thread != within.thread for run in span.runs):
            kind = "away"
        bar = Bar(
            kind,
            span.label,
            within.thread,
            span.start_time,
            span.end_time,
            within.call,
            _details(span),
            inference=span.is_inference,
            error=span.error,
        )
        self.bars.append(bar)
        return bar

    def _result(self, before: Bar) -> Bar:
        """Where a caller that has no step left gets its result."""
        bar = Bar("step", "result", before.thread, before.end, before.end, before.call)
        self.bars.append(bar)
        return bar

    def _item(self, span: StepSpan, run: InvocationTrace, within: Bar) -> None:
        name = "item" if run.item is None else f"item {run.item}"
        bar = _of_run("item", name, run, within.call, within.thread, {"of": span.label})
        if bar.thread != within.thread:
            self.names.setdefault(bar.thread, f"{span.label} worker")
        self.bars.append(bar)
        self._steps(run, bar)

    def _batch(self, span: StepSpan, run: InvocationTrace, member: Member) -> None:
        meeting = self.meetings.get(id(run))
        if meeting is None:
            size = int(run.batch_size or 0)
            details = {"of": span.label, "items": size, "callers": run.participants}
            bar = _of_run("batch", f"batch of {size}", run, member.away.call, member.away.thread, details)
            meeting = self.meetings[id(run)] = Meeting(bar)
            self._kept.append(run)
            self.bars.append(bar)
            self._steps(run, bar)
        meeting.members.append(member)


def _of_run(
    kind: str, name: str, run: InvocationTrace, call: int, thread: int, details: dict[str, Any]
) -> Bar:
    error = bool(run.spans) and run.spans[-1].error
    number = thread if run.thread is None else run.thread
    return Bar(kind, name, number, run.start_time, run.end_time, call, details, error=error)


def _details(span: StepSpan) -> dict[str, Any]:
    told = {
        **span.attributes,
        "error": span.error_type and f"{span.error_type}: {span.error_message}",
        "input": span.input_shape,
        "output": span.output_shape,
    }
    return {name: value for name, value in told.items() if value is not None}


def _number(meeting: Meeting, at: int) -> None:
    meeting.run.batch = at
    for member in meeting.members:
        for bar in (member.wait, member.away):
            if bar is not None:
                bar.batch = at


def _nested(bars: list[Bar]) -> list[Bar]:
    """In the order of their starts, outer ones first, each with its depth."""
    # Of two that begin and end together the one that was written first is the outer one.
    bars.sort(key=lambda bar: (bar.start, -bar.end))
    around: list[Bar] = []
    for bar in bars:
        while around and around[-1].end <= bar.start and bar is not around[-1]:
            around.pop()
        bar.depth = len(around)
        around.append(bar)
    return bars


def _first(thread: Thread) -> int:
    return thread.bars[0].call


def _name(number: int, known: dict[int, str]) -> str:
    name = thread_name(number)
    return known.get(number, name) if name.startswith("thread ") else name
