"""Traces as data, and their means."""

from __future__ import annotations

from ml_pipes.tracing import InvocationTrace, StepSpan, mean_trace


def test_fractions_are_shares_of_the_total() -> None:
    trace = InvocationTrace([StepSpan("0:a", 0.0, 0.25), StepSpan("1:b", 0.25, 0.75)], total_duration_s=1.0)

    assert trace.span_fractions() == {"0:a": 0.25, "1:b": 0.75}


def test_fractions_of_an_empty_total_are_zero() -> None:
    assert InvocationTrace([StepSpan("0:a", 0.0, 0.0)]).span_fractions() == {"0:a": 0.0}


def test_spans_given_as_a_function_are_made_once_and_only_when_read() -> None:
    made: list[int] = []

    def spans() -> list[StepSpan]:
        made.append(1)
        return [StepSpan("0:a", 0.0, 1.0)]

    trace = InvocationTrace.later(spans, (1.0, None, None, 0.0, None, None))
    before = list(made)

    assert [span.label for span in trace.spans] == ["0:a"]
    assert trace.spans is trace.spans
    assert (before, made) == ([], [1])


def test_a_mean_counts_each_step_by_how_often_it_was_seen() -> None:
    whole = InvocationTrace([StepSpan("0:a", 0.0, 1.0), StepSpan("1:b", 1.0, 4.0)], 5.0)
    short = InvocationTrace([StepSpan("0:a", 9.0, 3.0, error=True, attributes={"dropped": 1})], 3.0)

    mean = mean_trace([whole, short])

    assert [(span.label, span.duration_s) for span in mean.spans] == [("0:a", 2.0), ("1:b", 4.0)]
    assert mean.spans[0].error
    assert mean.spans[0].attributes == {"dropped": 1}
    assert mean.total_duration_s == 4.0


def test_a_mean_goes_down_into_regions() -> None:
    def region(seconds: float) -> InvocationTrace:
        child = InvocationTrace([StepSpan("1:b", 0.0, seconds)], seconds)
        return InvocationTrace([StepSpan("0:PerItem", 0.0, seconds, child_trace=child)], seconds)

    mean = mean_trace([region(1.0), region(3.0)])

    assert mean.spans[0].child_trace is not None
    assert mean.spans[0].child_trace.spans[0].duration_s == 2.0


def test_the_mean_of_nothing_is_empty() -> None:
    assert list(mean_trace([]).spans) == []


def test_a_trace_shows_its_steps_and_total() -> None:
    assert repr(InvocationTrace([StepSpan("0:a", 0.0, 0.001)], 0.001)) == "InvocationTrace([0:a], 1.000 ms)"


def test_each_run_counts_once_in_the_mean_of_regions_within_regions() -> None:
    def run(seconds: float) -> InvocationTrace:
        return InvocationTrace([StepSpan("2:slow", 0.0, seconds)], seconds)

    def outer(*runs: InvocationTrace) -> InvocationTrace:
        child = mean_trace(runs, len(runs), 4)
        return InvocationTrace([StepSpan("1:Scatter", 0.0, 1.0, child_trace=child, runs=runs)], 1.0)

    inner = mean_trace([outer(run(10.0)), outer(*[run(1.0)] * 9)]).spans[0].child_trace

    assert inner is not None
    assert [span.duration_s for span in inner.spans] == [1.9]
    assert (inner.batch_size, inner.workers) == (5.0, 4)


def test_traces_with_the_same_spans_are_equal() -> None:
    one, same = (InvocationTrace([StepSpan("0:a", 0.0, 1.0)], 1.0) for _ in range(2))

    assert one == same
    assert one != InvocationTrace([StepSpan("0:a", 0.0, 2.0)], 1.0)
    assert one != "a trace"
