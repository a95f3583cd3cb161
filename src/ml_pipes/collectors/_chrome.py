"""Bars as a Chrome trace, which Perfetto (https://ui.perfetto.dev) and ``chrome://tracing`` open.

The format: https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU.
Knows bars. Knows nothing of traces, files or pages.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from ml_pipes.collectors._bars import Bar, Layout, Meeting, running

__all__ = ["chrome_trace"]

_BUSY = "models running"
_FLOW = "batch"
_NUMBERED = ("call", "item")


def chrome_trace(layout: Layout, process: str) -> dict[str, Any]:
    """The trace as what JSON is made of: threads as tracks, batches as arrows, busy models as a counter.

    Times are microseconds from the first call's start. A wait's arrow leads to its
    batch, and the batch's to what the caller did next.

    Args:
        layout: the bars.
        process: what the one process of the trace is called.
    """
    return {
        "traceEvents": list(_Events(layout).all(process)),
        "displayTimeUnit": "ms",
        "otherData": {"made_by": "ml-pipes", "clock": "time.perf_counter"},
    }


class _Events:
    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._pid = os.getpid()
        # Small numbers in the order in which the threads are to stand.
        self._tids = {thread.number: at + 1 for at, thread in enumerate(layout.threads)}
        self._flows = _flows_of(layout.meetings)

    def all(self, process: str) -> Iterator[dict[str, Any]]:
        yield self._about("process_name", 0, {"name": process})
        for thread in self._layout.threads:
            tid = self._tids[thread.number]
            yield self._about("thread_name", tid, {"name": thread.name})
            yield self._about("thread_sort_index", tid, {"sort_index": tid})
        for thread in self._layout.threads:
            for bar in thread.bars:
                yield self._slice(bar)
                yield from self._arrows(bar)
        for time, count in running(self._layout):
            yield self._event("C", _BUSY, time, 0, args={"running": count})

    def _slice(self, bar: Bar) -> dict[str, Any]:
        # Inner bars end some nanoseconds early: of two that end together the inner one must not seem to stick
        # out, in whatever way readers round the sum of start and duration.
        lasts = self._us(bar.end) - self._us(bar.start) - bar.depth / 1e3
        told = {name: _plain(value) for name, value in bar.details.items()}
        told["call"] = bar.call
        if bar.kind == "item":
            told["item"] = bar.name.removeprefix("item ")
        if bar.batch is not None:
            told["batch"] = bar.batch
        categories = ",".join([bar.kind, *["inference"] * bar.inference, *["error"] * bar.error])
        color = {"cname": "terrible"} if bar.error else {}
        return {
            # Without their numbers, so that readers can sum calls and items up by name.
            **self._event(
                "X",
                bar.kind if bar.kind in _NUMBERED else bar.name,
                bar.start,
                self._tids[bar.thread],
                args=told,
            ),
            "dur": round(max(lasts, 0.0), 3),
            "cat": categories,
            **color,
        }

    def _arrows(self, bar: Bar) -> Iterator[dict[str, Any]]:
        """Right behind their bar: what opens them takes an arrow to be at the bar that it read last."""
        for phase, number in self._flows.get(id(bar), ()):
            event = self._event(phase, _FLOW, bar.start, self._tids[bar.thread])
            end = {"bp": "e"} if phase == "f" else {}
            yield {**event, "cat": _FLOW, "id": number, **end}

    def _about(self, what: str, tid: int, args: dict[str, Any]) -> dict[str, Any]:
        about = {"pid": self._pid, "tid": tid, "args": args}
        return {"ph": "M", "cat": "__metadata", "name": what, "ts": 0, **about}

    def _event(self, phase: str, name: str, time: float, tid: int, **more: Any) -> dict[str, Any]:
        about = {"pid": self._pid, "tid": tid}
        return {"ph": phase, "cat": "ml-pipes", "name": name, "ts": self._us(time), **about, **more}

    def _us(self, time: float) -> float:
        # To the nanosecond: bars that end together must do so after rounding, or they would not nest.
        return round((time - self._layout.start) * 1e6, 3)


def _flows_of(meetings: list[Meeting]) -> dict[int, list[tuple[str, int]]]:
    """Per bar, the arrows that begin (``s``) and end (``f``) there, each with its number."""
    flows: dict[int, list[tuple[str, int]]] = {}
    number = 0
    for meeting in meetings:
        for member in meeting.members:
            for source, target in ((member.wait, meeting.run), (meeting.run, member.after)):
                if source is not None and target is not None:
                    flows.setdefault(id(source), []).append(("s", number))
                    flows.setdefault(id(target), []).append(("f", number))
                    number += 1
    return flows


def _plain(value: Any) -> Any:
    if isinstance(value, (int, float, str)):
        return value
    return list(value) if isinstance(value, tuple) else str(value)
