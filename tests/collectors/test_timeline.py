"""What ran when on which thread: as bars, as a Chrome trace and as a page."""

from __future__ import annotations

import gzip
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ml_pipes.collectors import TimelineCollector
from ml_pipes.collectors._bars import lay_out, running
from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, Gather, Scatter, UnBatch
from ml_pipes.tracing import InvocationTrace, StepSpan


class Model:
    is_inference = True

    def __call__(self, items: list[int]) -> list[int]:
        return items


def span(label: str, start: float, end: float, **more: Any) -> StepSpan:
    return StepSpan(label, start, end - start, **more)


def two_callers_in_a_batch() -> list[InvocationTrace]:
    """Thread 1 leads from 2 to 5 for itself and thread 2; afterwards each has one more step."""
    shared = InvocationTrace(
        [span("2:Model", 2.0, 5.0, operator_type=Model)], 3.0, 2, start_time=2.0, thread=1, participants=2
    )
    return [
        InvocationTrace(
            [
                span("0:decode", start, start + 1.0),
                span("1:Batch[wait]", start + 1.0, 2.0),
                span("1:Batch", 2.0, 5.0, runs=(shared,)),
                span("4:nms", 5.0, 6.0),
            ],
            6.0 - start,
            start_time=start,
            thread=thread,
        )
        for thread, start in ((1, 0.0), (2, 0.5))
    ]


def traced(calls: int = 6) -> TimelineCollector:
    timeline = TimelineCollector()
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(3), Batch(4, timeout=0.01), Model(), UnBatch(), Gather(), len]
    )
    pipeline.set_tracing(timeline)
    with ThreadPoolExecutor(3, thread_name_prefix="caller") as pool:
        list(pool.map(pipeline, [range(5)] * calls))
    pipeline.close()
    return timeline


def slices(trace: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for event in trace["traceEvents"] if event["ph"] == "X"]


def test_each_thread_has_its_calls_and_the_batch_is_on_the_thread_that_ran_it() -> None:
    layout = lay_out(two_callers_in_a_batch(), {1: "one", 2: "two"})

    one, two = layout.threads
    assert (one.name, two.name) == ("one", "two")
    assert [(bar.depth, bar.kind, bar.name) for bar in one.bars] == [
        (0, "call", "call 0"),
        (1, "step", "0:decode"),
        (1, "wait", "1:Batch[wait]"),
        (1, "step", "1:Batch"),
        (2, "batch", "batch of 2"),
        (3, "step", "2:Model"),
        (1, "step", "4:nms"),
    ]
    assert [(bar.kind, bar.name) for bar in two.bars] == [
        ("call", "call 1"),
        ("step", "0:decode"),
        ("wait", "1:Batch[wait]"),
        ("away", "1:Batch"),
        ("step", "4:nms"),
    ]
    assert (layout.start, layout.end) == (0.0, 6.0)


def test_a_batch_knows_its_members_and_is_numbered() -> None:
    layout = lay_out(two_callers_in_a_batch())

    (meeting,) = layout.meetings
    assert meeting.run.details == {"of": "1:Batch", "items": 2, "callers": 2}
    assert [member.away.call for member in meeting.members] == [0, 1]
    assert [member.after.name for member in meeting.members] == ["4:nms", "4:nms"]
    assert [bar.batch for bar in layout.threads[1].bars] == [None, None, 0, 0, None]


def test_how_many_models_run_is_told_where_it_changes() -> None:
    first = InvocationTrace([span("0:Model", 0.0, 2.0, operator_type=Model)], 2.0, thread=1)
    second = InvocationTrace([span("0:Model", 1.0, 3.0, operator_type=Model)], 2.0, thread=2, start_time=1.0)

    assert running(lay_out([first, second])) == [(0.0, 1), (1.0, 2), (2.0, 1), (3.0, 0)]


def test_two_runs_of_a_model_without_a_gap_are_one_stretch() -> None:
    spans = [span("0:Model", 0.0, 1.0, operator_type=Model), span("1:Model", 1.0, 2.0, operator_type=Model)]

    assert running(lay_out([InvocationTrace(spans, 2.0, thread=1)])) == [(0.0, 1), (2.0, 0)]


def test_nothing_traced_is_an_empty_timeline() -> None:
    timeline = TimelineCollector()

    layout = lay_out([])

    assert (layout.threads, layout.meetings, running(layout)) == ([], [], [])
    assert slices(timeline.to_chrome()) == []
    assert "0 in 0.0 ms" in timeline.to_html()


def test_a_chrome_trace_has_a_track_per_thread_whose_slices_nest() -> None:
    trace = traced().to_chrome()

    named = {event["args"]["name"] for event in trace["traceEvents"] if event["name"] == "thread_name"}
    assert {name.rpartition("_")[0] for name in named if name.startswith("caller")} == {"caller"}
    by_track: dict[int, list[dict[str, Any]]] = {}
    for event in slices(trace):
        by_track.setdefault(event["tid"], []).append(event)
    assert len(by_track) == len(named)
    for events in by_track.values():
        open_until: list[float] = []
        for event in events:
            end = round(event["ts"] + event["dur"], 3)
            while open_until and open_until[-1] <= event["ts"]:
                open_until.pop()
            assert not open_until or end <= open_until[-1]
            open_until.append(end)


def test_arrows_lead_from_each_wait_to_its_batch_and_on_to_the_next_step() -> None:
    timeline = TimelineCollector()
    for trace in two_callers_in_a_batch():
        timeline.on_trace(trace)

    events = timeline.to_chrome()["traceEvents"]

    ends: dict[int, list[str]] = {}
    for at, event in enumerate(events):
        if event["ph"] in "sf":
            before = next(other for other in reversed(events[:at]) if other["ph"] == "X")
            assert (before["ts"], before["tid"]) == (event["ts"], event["tid"])
            ends.setdefault(event["id"], []).append(f"{event['ph']} {before['name']} {before['tid']}")
    assert sorted(sorted(pair, reverse=True) for pair in ends.values()) == [
        ["s 1:Batch[wait] 1", "f batch of 2 1"],
        ["s 1:Batch[wait] 2", "f batch of 2 1"],
        ["s batch of 2 1", "f 4:nms 1"],
        ["s batch of 2 1", "f 4:nms 2"],
    ]


def test_every_arrow_of_real_calls_has_both_ends() -> None:
    timeline = traced()

    events = timeline.to_chrome()["traceEvents"]

    begun = [event["id"] for event in events if event["ph"] == "s"]
    ended = [event["id"] for event in events if event["ph"] == "f"]
    assert sorted(begun) == sorted(ended) == list(range(len(begun)))
    assert len(begun) == 2 * 6 * 5


def test_the_counter_follows_the_models_and_ends_at_none() -> None:
    timeline = TimelineCollector()
    for trace in two_callers_in_a_batch():
        timeline.on_trace(trace)

    counts = [event for event in timeline.to_chrome()["traceEvents"] if event["ph"] == "C"]

    assert [(event["ts"], event["args"]["running"]) for event in counts] == [(2e6, 1), (5e6, 0)]


def test_an_error_is_marked_and_told() -> None:
    timeline = TimelineCollector()
    pipeline: Pipeline[Any, Any] = Pipeline([lambda value: 1 // value])
    pipeline.set_tracing(timeline)

    with pytest.raises(ZeroDivisionError):
        pipeline(0)

    failed = slices(timeline.to_chrome())[-1]
    assert failed["cat"] == "step,error"
    assert failed["args"]["error"] == "ZeroDivisionError: integer division or modulo by zero"
    assert "ZeroDivisionError: integer division or modulo by zero" in timeline.to_html()


def test_the_page_escapes_what_it_is_given() -> None:
    attack = "<img src=x onerror=alert(1)>"
    timeline = TimelineCollector()
    timeline.on_trace(
        InvocationTrace(
            [span(f"0:{attack}", 0.0, 1.0, error=True, error_type=attack, error_message=attack)],
            1.0,
            thread=-1,
        )
    )

    page = timeline.to_html(title=attack)

    assert "<img" not in page
    assert "&lt;img src=x onerror=alert(1)&gt;" in page


def test_the_page_needs_no_other_file_and_tells_the_figures() -> None:
    timeline = TimelineCollector()
    for trace in two_callers_in_a_batch():
        timeline.on_trace(trace)

    page = timeline.to_html("A title")

    assert "<h1>A title</h1>" in page
    assert "http" not in page
    assert "2 in 6,000.0 ms (0.3 per second)" in page
    assert "1: 1 of 2" in page
    assert "50.0% of the time; 0.50 on average" in page


def test_the_first_calls_are_kept_and_later_ones_counted() -> None:
    timeline = TimelineCollector(limit=2)
    for at in range(5):
        timeline.on_trace(InvocationTrace([], 1.0, start_time=float(at), thread=1))

    assert [trace.start_time for trace in timeline.traces] == [0.0, 1.0]
    assert timeline.dropped == 3
    assert "3 later calls are not shown." in timeline.to_html()
    timeline.reset()
    assert (timeline.traces, timeline.dropped) == ((), 0)


def test_threads_that_have_ended_keep_their_names() -> None:
    timeline = TimelineCollector()
    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(2), _meet(threading.Barrier(2)), Gather()])
    pipeline.set_tracing(timeline)
    caller = threading.Thread(target=pipeline, args=([1, 2],), name="the caller")
    caller.start()
    caller.join(timeout=10)
    pipeline.close()
    for thread in threading.enumerate():
        if thread.name.startswith("ml_pipes-0:Scatter"):
            thread.join(timeout=10)

    names = [thread.name for thread in lay_out(timeline.traces, timeline._names).threads]

    assert names == ["the caller", "0:Scatter worker"]


def _meet(barrier: threading.Barrier) -> Any:
    return lambda value: barrier.wait(timeout=10)


@pytest.mark.parametrize("name", ["t.html", "t.json", "t.json.gz", "T.HTML"])
def test_a_timeline_is_saved_as_its_name_says(tmp_path: Path, name: str) -> None:
    timeline = TimelineCollector()
    for trace in two_callers_in_a_batch():
        timeline.on_trace(trace)

    path = timeline.save(tmp_path / name)

    content = path.read_bytes()
    if name.endswith(".gz"):
        content = gzip.decompress(content)
    if "json" in name:
        assert json.loads(content) == timeline.to_chrome()
    else:
        assert content.startswith(b"<!DOCTYPE html>")


@pytest.mark.parametrize("name", ["t.html", "t.json", "t.json.gz"])
def test_half_characters_of_a_message_or_a_title_do_not_hinder_a_file(tmp_path: Path, name: str) -> None:
    timeline = TimelineCollector()
    failed = StepSpan("0:f", 0.0, 1.0, error=True, error_type="OSError", error_message="caf\udce9.jpg")
    timeline.on_trace(InvocationTrace([failed], 1.0))

    content = timeline.save(tmp_path / name, title="of caf\udce9").read_bytes()

    if name.endswith(".gz"):
        content = gzip.decompress(content)
    assert b"caf\\udce9.jpg" in content


def test_a_name_that_says_no_format_is_refused() -> None:
    with pytest.raises(ValueError, match=r"must end in \.html, \.json or \.json\.gz, got 'trace\.txt'"):
        TimelineCollector().save("trace.txt")


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="limit must be 1 or more, got 0"):
        TimelineCollector(limit=0)


def test_a_page_without_jinja2_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "jinja2", None)

    with pytest.raises(ImportError, match=r'pip install "ml-pipes\[benchmark\]"'):
        TimelineCollector().to_html()
