"""The figures of a step are those of its times, and differences are the candidate's less the baseline's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.benchmark.stat import InvocationStat, InvocationStatDiff, RegionStat, pairs


def _stat(label: str, *times_s: float) -> InvocationStat:
    return InvocationStat.from_seconds(label, times_s, (0.5, 0.99))


def test_the_figures_are_milliseconds_of_the_sample() -> None:
    stat = InvocationStat.from_seconds("0:Step", [0.001, 0.002, 0.003, 0.004], (0.5, 0.95))

    assert (stat.count, stat.mean_ms, stat.min_ms, stat.max_ms) == (4, 2.5, 1.0, 4.0)
    assert stat.stddev_ms == pytest.approx(1.2909944)
    assert stat.percentiles == {0.5: 2.5, 0.95: pytest.approx(3.85)}


def test_one_run_has_no_deviation_and_is_every_percentile() -> None:
    stat = InvocationStat.from_seconds("0:Step", [0.575], (0.0, 0.5, 0.99, 1.0))

    assert stat.stddev_ms == 0.0
    assert set(stat.percentiles.values()) == {stat.max_ms}


def test_without_runs_there_is_a_count_of_none_and_no_time() -> None:
    stat = InvocationStat.from_seconds("0:Step", [], (0.5,))

    assert stat.count == 0
    assert math.isnan(stat.mean_ms)
    assert stat.to_dict()["mean_ms"] is None
    assert math.isnan(InvocationStat.from_dict(stat.to_dict()).percentiles[0.5])


@given(st.lists(st.floats(0, 1e6), min_size=1), st.lists(st.floats(0, 1), max_size=8).map(sorted))
def test_percentiles_never_fall_and_stay_between_the_least_and_the_greatest(
    times_s: list[float], wanted: list[float]
) -> None:
    stat = InvocationStat.from_seconds("x", times_s, [0.0, *wanted, 1.0])

    found = [stat.percentiles[p] for p in (0.0, *wanted, 1.0)]
    assert found == sorted(found)
    assert (found[0], found[-1]) == (stat.min_ms, stat.max_ms)


@given(st.lists(st.floats(0, 1e3), min_size=1), st.floats(0, 100))
def test_percentiles_are_those_of_numpy(times_s: list[float], q: float) -> None:
    stat = InvocationStat.from_seconds("x", times_s, [q / 100])

    expected = np.percentile(np.array(times_s) * 1e3, q, method="linear")
    assert stat.percentiles[q / 100] == pytest.approx(float(expected))


def test_a_stat_is_the_same_after_json() -> None:
    stat = InvocationStat.from_seconds("1:Scatter", [0.5, 0.25], (0.5, 0.999), [_stat("0:Infer", 0.125)])

    assert InvocationStat.from_dict(stat.to_dict()) == stat


def test_a_difference_is_the_candidate_less_the_baseline() -> None:
    diff = InvocationStatDiff.between(_stat("x", 0.010), _stat("x", 0.008), "x")

    assert diff.only_in is None
    assert diff.mean_delta_ms == pytest.approx(-2.0)
    assert diff.mean_delta_pct == pytest.approx(-20.0)
    assert diff.percentile_deltas == {0.5: pytest.approx(-2.0), 0.99: pytest.approx(-2.0)}


@pytest.mark.parametrize("side", ["baseline", "candidate"])
def test_what_only_one_side_has_has_no_difference(side: str) -> None:
    stat = _stat("x", 0.010)
    diff = InvocationStatDiff.between(*((stat, None) if side == "baseline" else (None, stat)), "x")

    assert diff == InvocationStatDiff("x", side, None, None, None)


def test_a_step_that_did_not_run_has_no_difference() -> None:
    diff = InvocationStatDiff.between(_stat("x"), _stat("x", 0.010), "x")

    assert diff == InvocationStatDiff("x", None, None, None, None)


def test_a_baseline_of_no_time_has_no_percentage() -> None:
    diff = InvocationStatDiff.between(_stat("x", 0.0), _stat("x", 0.010), "x")

    assert diff.mean_delta_ms == 10.0
    assert diff.mean_delta_pct is None


def test_the_steps_of_regions_have_differences_of_their_own() -> None:
    baseline = InvocationStat.from_seconds("1:Batch", [1.0], (), [_stat("0:Infer", 0.004)])
    candidate = InvocationStat.from_seconds("1:Batch", [1.0], (), [_stat("0:Infer", 0.003)])

    diff = InvocationStatDiff.between(baseline, candidate, "1:Batch")

    assert [(child.label, child.mean_delta_ms) for child in diff.children] == [
        ("0:Infer", pytest.approx(-1.0))
    ]


def test_steps_are_paired_by_label_in_the_order_of_both() -> None:
    baseline = [_stat("0:A"), _stat("1:B"), _stat("2:C")]
    candidate = [_stat("0:A"), _stat("1:X"), _stat("2:C"), _stat("3:D")]

    found = [(label, one is not None, other is not None) for one, other, label in pairs(baseline, candidate)]

    assert found == [
        ("0:A", True, True),
        ("1:X", False, True),
        ("1:B", True, False),
        ("2:C", True, True),
        ("3:D", False, True),
    ]


def test_a_region_has_a_mean_size_and_is_the_same_after_json() -> None:
    region = RegionStat("4:Batch", {1: 1, 4: 2}, _stat("wait", 0.001))

    assert (region.batches, region.mean_batch_size) == (3, 3.0)
    assert RegionStat.from_dict(region.to_dict()) == region
    assert RegionStat("4:Batch", {}, _stat("wait")).mean_batch_size is None
