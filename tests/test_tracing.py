"""Traces as data, and their means."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml_pipes.tensor import TensorPayload
from ml_pipes.tracing import (
    InvocationTrace,
    StepSpan,
    TracingConfig,
    capture_value,
    freeze_trace,
    mean_trace,
    merge_traces,
    operator_config,
    shape_of,
    walk,
)


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

    trace = InvocationTrace.later(spans, (1.0, None, None, 0.0, None, None, None))
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


def test_older_names_do_what_is_left_to_do_with_things_that_cannot_change() -> None:
    trace = InvocationTrace([StepSpan("0:a", 0.0, 1.0)], 1.0)
    value = [1]

    assert freeze_trace(trace) is trace
    assert capture_value(value) is value
    assert merge_traces([trace, InvocationTrace([], 3.0)]) == mean_trace([trace, InvocationTrace([], 3.0)])


def test_a_trace_shows_its_steps_and_total() -> None:
    assert repr(InvocationTrace([StepSpan("0:a", 0.0, 0.001)], 0.001)) == "InvocationTrace([0:a], 1.000 ms)"


def test_each_run_counts_once_in_the_mean_of_regions_within_regions() -> None:
    def run(seconds: float) -> InvocationTrace:
        return InvocationTrace([StepSpan("2:slow", 0.0, seconds)], seconds)

    def outer(*runs: InvocationTrace) -> InvocationTrace:
        child = mean_trace(runs, len(runs), 4)
        return InvocationTrace([StepSpan("1:Scatter", 0.0, 1.0, child_trace=child, runs=runs)], 1.0)

    inner = mean_trace([outer(run(10.0)), outer(*[run(1.0) for _ in range(9)])]).spans[0].child_trace

    assert inner is not None
    assert [span.duration_s for span in inner.spans] == [1.9]
    assert (inner.batch_size, inner.workers) == (5.0, 4)


def test_traces_with_the_same_spans_are_equal() -> None:
    one, same = (InvocationTrace([StepSpan("0:a", 0.0, 1.0)], 1.0) for _ in range(2))

    assert one == same
    assert one != InvocationTrace([StepSpan("0:a", 0.0, 2.0)], 1.0)
    assert one != "a trace"


def test_a_run_that_two_items_share_counts_once_in_the_mean() -> None:
    shared = InvocationTrace([StepSpan("2:b", 0.0, 4.0)], 4.0, batch_size=2)
    alone = InvocationTrace([StepSpan("2:b", 0.0, 1.0)], 1.0, batch_size=1)
    items = [
        InvocationTrace([StepSpan("1:Batch", 0.0, 4.0, child_trace=run, runs=(run,))], 4.0)
        for run in (shared, shared, alone)
    ]

    mean = mean_trace(items)

    assert mean.spans[0].runs == (shared, alone)
    assert mean.spans[0].child_trace is not None
    assert mean.spans[0].child_trace.spans[0].duration_s == 2.5


def test_a_walk_sees_each_span_with_its_run_and_a_shared_run_once() -> None:
    shared = InvocationTrace([StepSpan("2:b", 0.0, 1.0)], 1.0)
    items = tuple(
        InvocationTrace([StepSpan("1:Batch", 0.0, 1.0, runs=(shared,))], 1.0, item=item) for item in (0, 1)
    )
    trace = InvocationTrace([StepSpan("0:Scatter", 0.0, 2.0, runs=items), StepSpan("4:c", 2.0, 1.0)], 3.0)

    seen = [(span.label, run) for span, run in walk(trace)]

    assert [label for label, _ in seen] == ["0:Scatter", "1:Batch", "2:b", "1:Batch", "4:c"]
    assert [run for _, run in seen] == [trace, items[0], shared, items[1], trace]


def test_spans_and_traces_tell_when_they_ended() -> None:
    trace = InvocationTrace([StepSpan("0:a", 1.0, 0.5)], 0.75, start_time=1.0)

    assert (trace.spans[0].end_time, trace.end_time) == (1.5, 1.75)


class _Broken:
    def __len__(self) -> int:
        raise OSError


class _Released:
    """Such as an array in a file that was closed."""

    @property
    def shape(self) -> tuple[int, ...]:
        raise RuntimeError


class _HoldsReleased:
    @property
    def array(self) -> Any:
        raise ValueError


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (np.zeros((2, 3)), (2, 3)),
        (np.float32(1.0), ()),
        (TensorPayload(np.zeros((1, 4), np.float32), "NC", "float32"), (1, 4)),
        ([1, 2], "list[2]"),
        (b"abc", "bytes[3]"),
        (7, "int"),
        ((np.zeros((2, 3)), "ab"), "(ndarray[2, 3], str[2])"),
        ((1, 2, 3, 4, 5), "tuple[5]"),
        (_Broken(), "_Broken"),
        (_Released(), "_Released"),
        (_HoldsReleased(), "_HoldsReleased"),
        ((_Released(), 7), "(_Released, int)"),
    ],
)
def test_a_value_in_short_is_its_shape_or_its_kind_and_length(value: Any, shape: Any) -> None:
    assert shape_of(value) == shape


def test_an_operators_configuration_has_all_arguments() -> None:
    from ml_pipes.standard import Scatter

    assert operator_config(Scatter(3))["max_concurrency"] == 3
    assert operator_config(abs) == {}


def test_a_configuration_that_asks_for_nothing_is_false() -> None:
    assert not TracingConfig()
    assert TracingConfig(capture_shapes=True)
    assert TracingConfig(_capture_outputs=True).keeps_values
