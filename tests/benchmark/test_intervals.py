"""Times at which something ran: how much of a window they fill, and how many overlap."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import wait
from threading import Barrier
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.benchmark.intervals import (
    as_intervals,
    busy_share,
    clipped,
    gaps,
    inference_intervals,
    mean_concurrency,
    peak_concurrency,
    union,
)
from ml_pipes.core import Operator, Pipeline
from ml_pipes.standard import Batch, Gather, Scatter, UnBatch
from ml_pipes.tracing import InvocationTrace, StepSpan, TraceCollector

# From 1 to 3 with an overlap, from 5 to 6, from 6 on, and one that lies within another.
RUNS = [(1.0, 2.0), (1.5, 3.0), (5.0, 6.0), (6.0, 7.0), (5.25, 5.5)]

_PAIRS = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=12)


def test_a_union_is_sorted_and_its_parts_neither_overlap_nor_touch() -> None:
    assert union(RUNS[::-1]).tolist() == [[1.0, 3.0], [5.0, 7.0]]


def test_the_busy_share_is_the_part_of_a_window_in_which_one_runs_or_more() -> None:
    assert busy_share(RUNS, 0.0, 8.0) == 0.5
    assert busy_share(RUNS, 2.0, 4.0) == 0.5


def test_gaps_are_where_none_runs_at_the_edges_too() -> None:
    assert gaps(RUNS, 0.0, 8.0).tolist() == [[0.0, 1.0], [3.0, 5.0], [7.0, 8.0]]
    assert gaps(RUNS, 1.0, 3.0).tolist() == []


def test_the_mean_concurrency_counts_each_for_its_time_in_the_window() -> None:
    # 1 + 1.5 + 1 + 1 + 0.25 s of 8.
    assert mean_concurrency(RUNS, 0.0, 8.0) == 4.75 / 8.0


def test_the_peak_does_not_count_one_that_starts_when_another_ends() -> None:
    assert peak_concurrency(RUNS, 0.0, 8.0) == 2
    assert peak_concurrency([(0.0, 1.0), (1.0, 2.0)], 0.0, 2.0) == 1


def test_without_intervals_nothing_is_busy_and_all_is_a_gap() -> None:
    assert busy_share([], 0.0, 2.0) == mean_concurrency([], 0.0, 2.0) == 0.0
    assert peak_concurrency([], 0.0, 2.0) == 0
    assert gaps([], 0.0, 2.0).tolist() == [[0.0, 2.0]]
    assert union([]).shape == clipped([], 0.0, 1.0).shape == (0, 2)


def test_a_window_without_length_has_no_share() -> None:
    assert math.isnan(busy_share(RUNS, 1.0, 1.0))
    assert math.isnan(mean_concurrency(RUNS, 1.0, 1.0))
    assert gaps(RUNS, 1.0, 1.0).tolist() == []


def test_intervals_that_are_no_pairs_are_refused() -> None:
    with pytest.raises(ValueError, match=r"must be \(n, 2\), start and end, got \(3,\)"):
        as_intervals([1.0, 2.0, 3.0])


@given(_PAIRS)
def test_all_figures_are_those_counted_second_by_second(pairs: list[tuple[int, int]]) -> None:
    window = range(5, 25)
    running = [sum(start <= second < end for start, end in pairs) for second in window]
    busy = sum(count > 0 for count in running)
    idle = gaps(pairs, 5.0, 25.0)

    assert busy_share(pairs, 5.0, 25.0) == pytest.approx(busy / 20)
    assert mean_concurrency(pairs, 5.0, 25.0) == pytest.approx(sum(running) / 20)
    assert peak_concurrency(pairs, 5.0, 25.0) == max(running)
    assert float((idle[:, 1] - idle[:, 0]).sum()) == 20 - busy


@Operator
class RunsModel:
    """A step that says of itself that it runs a model."""

    is_inference = True

    def __call__(self, items: Any) -> Any:
        return items


class Keeps(TraceCollector):
    """Every trace."""

    def __init__(self) -> None:
        self.traces: list[InvocationTrace] = []

    def on_trace(self, trace: InvocationTrace) -> None:
        self.traces.append(trace)


class TestInferenceIntervals:
    def test_only_steps_that_run_models_count_at_any_depth(self) -> None:
        kept = Keeps()
        pipeline = Pipeline([RunsModel(), Scatter(2), RunsModel(), abs, Gather()])
        pipeline.set_tracing(kept)

        pipeline([-1, 2, -3])

        found = inference_intervals(kept.traces)
        assert found.shape == (4, 2)
        assert (np.diff(found[:, 0]) >= 0.0).all()
        assert (found[:, 1] >= found[:, 0]).all()

    def test_a_batch_counts_once_however_many_callers_share_it(self, start: Callable[..., Any]) -> None:
        kept, together = Keeps(), Barrier(3)

        def call(value: int) -> None:
            together.wait(timeout=10)
            pipeline(value)

        pipeline = Pipeline([Batch(3, timeout=None, policy="full"), RunsModel(), UnBatch()])
        pipeline.set_tracing(kept)
        wait([start(call, value) for value in range(3)], timeout=30)

        assert len(kept.traces) == 3
        assert inference_intervals(kept.traces).shape == (1, 2)

    def test_a_failed_run_counts(self) -> None:
        span = StepSpan("1:Infer", 2.0, 0.5, error=True, operator_type=RunsModel)

        assert inference_intervals([InvocationTrace([span])]).tolist() == [[2.0, 2.5]]

    def test_without_traces_there_are_none(self) -> None:
        assert inference_intervals([]).shape == (0, 2)
