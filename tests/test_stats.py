"""Histograms, the figures of regions, and the table they are printed as."""

from __future__ import annotations

import json
import pickle
from math import ceil, inf, isclose, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.stats import Histogram, PipelineStats, RegionStats

# Half of a bucket's width, as DDSketch's point within a bucket gives it, and the rounding of a logarithm.
_RELATIVE_ERROR = 0.0217

_times = st.just(0.0) | st.floats(1e-9, 1e9)
_many_times = st.lists(_times, min_size=1, max_size=60)
_percents = st.floats(0, 100) | st.sampled_from([0, 1, 50, 95, 99, 99.9, 100])
# Multiples of a power of two add up exactly in any order.
_exact_times = st.lists(st.integers(0, 2**20).map(lambda n: n / 2**10), max_size=40)


@given(_many_times, _percents)
def test_a_percentile_is_within_the_stated_error_of_the_nearest_rank(times: list[float], q: float) -> None:
    exact = sorted(times)[max(ceil(q * len(times) / 100), 1) - 1]

    found = Histogram(times).percentile(q)

    assert found is not None
    assert isclose(found, exact, rel_tol=_RELATIVE_ERROR)


@given(_many_times, _percents)
def test_a_percentile_is_neither_below_the_least_nor_above_the_greatest(times: list[float], q: float) -> None:
    found = Histogram(times).percentile(q)

    assert found is not None
    assert min(times) <= found <= max(times)


@given(_many_times, _percents, _percents)
def test_percentiles_do_not_fall_as_q_grows(times: list[float], q: float, other: float) -> None:
    histogram = Histogram(times)

    lower, upper = histogram.percentile(min(q, other)), histogram.percentile(max(q, other))

    assert lower is not None
    assert upper is not None
    assert lower <= upper


@given(_many_times)
def test_the_ends_are_the_least_and_the_greatest_themselves(times: list[float]) -> None:
    histogram = Histogram(times)

    assert (histogram.percentile(0), histogram.percentile(100)) == (min(times), max(times))


@given(_times, _percents)
def test_of_one_time_every_percentile_is_that_time(time_s: float, q: float) -> None:
    assert Histogram([time_s]).percentile(q) == time_s


def test_times_that_the_buckets_do_not_reach_stay_between_least_and_greatest() -> None:
    histogram = Histogram([1e-300, 2e-300, 3e-300, 1e100, 2e100, 3e100])

    assert histogram.percentile(0) == 1e-300
    assert histogram.percentile(50) == pytest.approx(2.0**-30, rel=0.05)
    assert histogram.percentile(100) == 3e100


def test_there_are_962_buckets_at_most() -> None:
    histogram = Histogram(2.0 ** (step / 40) for step in range(-40 * 40, 40 * 40))

    histogram.add(0.0)

    shown = histogram.to_dict()
    assert len(shown["buckets"]) + 1 == 962
    assert shown["zeros"] == 1


@pytest.mark.parametrize(
    ("time_s", "bucket"), [(1.0, "0"), (1.04, "1"), (1.05, "2"), (2.0, "16"), (0.5, "-16")]
)
def test_a_bucket_holds_its_upper_bound(time_s: float, bucket: str) -> None:
    assert Histogram([time_s]).to_dict()["buckets"] == {bucket: 1}


def test_zero_is_counted_by_itself() -> None:
    histogram = Histogram([0.0, 0.0, 0.0, 1e-9, 1.0])

    assert histogram.percentile(50) == 0.0
    assert histogram.percentile(80) == pytest.approx(1e-9, rel=_RELATIVE_ERROR)


def test_count_sum_mean_least_and_greatest_are_those_of_the_times() -> None:
    histogram = Histogram([0.25, 0.5, 1.5])

    assert (histogram.count, histogram.sum, histogram.mean) == (3, 2.25, 0.75)
    assert (histogram.min, histogram.max) == (0.25, 1.5)


def test_an_empty_histogram_has_no_percentile_and_no_mean() -> None:
    empty = Histogram()

    assert (empty.percentile(0), empty.percentile(50), empty.percentile(100)) == (None, None, None)
    assert (empty.count, empty.sum, empty.mean, empty.min, empty.max) == (0, 0.0, None, None, None)


@pytest.mark.parametrize("time_s", [-1e-9, -1.0, inf, -inf, nan])
def test_a_time_that_is_negative_or_not_finite_is_refused_and_not_counted(time_s: float) -> None:
    histogram = Histogram([1.0])

    with pytest.raises(ValueError, match=r"a time must be 0 s or more and finite, not"):
        histogram.add(time_s)

    assert histogram == Histogram([1.0])


@pytest.mark.parametrize("q", [-0.1, 100.1, nan])
def test_a_percentile_outside_0_to_100_is_refused(q: float) -> None:
    with pytest.raises(ValueError, match="q must be 0 to 100, not"):
        Histogram([1.0]).percentile(q)


@given(_exact_times, _exact_times)
def test_merged_histograms_equal_one_of_all_times(some: list[float], others: list[float]) -> None:
    assert Histogram(some) + Histogram(others) == Histogram([*some, *others])


def test_merging_changes_neither_part() -> None:
    some, others = Histogram([1.0]), Histogram([2.0])

    merged = some + others
    merged.add(3.0)

    assert (some, others) == (Histogram([1.0]), Histogram([2.0]))


def test_a_histogram_equals_only_histograms_of_the_same_times() -> None:
    assert Histogram([1.0]) != Histogram([2.0])
    assert Histogram([0.0]) != Histogram()
    assert Histogram() != {}


def test_a_histogram_is_merged_with_histograms_only() -> None:
    with pytest.raises(TypeError):
        Histogram() + 1  # type: ignore[operator] # what is tested


def test_a_histogram_shows_its_spread_in_milliseconds() -> None:
    assert (
        repr(Histogram([0.0004, 0.0125, 2.0])) == "Histogram(3: min 0.400, p50 12.3, p99 2,000, max 2,000 ms)"
    )
    assert repr(Histogram()) == "Histogram(empty)"


@given(st.lists(_times, max_size=30))
def test_a_histogram_survives_strict_json_and_pickling(times: list[float]) -> None:
    histogram = Histogram(times)

    text = json.dumps(histogram.to_dict(), allow_nan=False)

    assert Histogram.from_dict(json.loads(text)) == histogram
    assert pickle.loads(pickle.dumps(histogram)) == histogram


def test_the_mean_batch_size_is_rows_per_batch() -> None:
    assert _batch().mean_batch_size == (1 * 12 + 4 * 3 + 8 * 120) / 135
    assert RegionStats("0:Batch", "Batch").mean_batch_size is None


def test_figures_of_one_region_in_two_processes_add_up() -> None:
    other = RegionStats(
        "3:Batch",
        "Batch",
        calls=2,
        rows=4,
        batches=1,
        batch_sizes={4: 1},
        reasons={"closed": 1},
        wait=Histogram([0.5, 0.5]),
        run=Histogram([2.0]),
        waiting=1,
        running=1,
        dropped=1,
        refused=1,
        errors=1,
    )

    merged = _batch() + other

    assert merged == RegionStats(
        "3:Batch",
        "Batch",
        calls=1002,
        rows=993,
        batches=136,
        batch_sizes={1: 12, 4: 4, 8: 120},
        reasons={"timeout": 3, "full": 120, "alone": 12, "closed": 1},
        wait=Histogram([0.002, 0.004, 0.5, 0.5]),
        run=Histogram([0.0125, 2.0]),
        waiting=4,
        running=2,
        dropped=3,
        refused=5,
        errors=2,
    )


@pytest.mark.parametrize(("label", "kind"), [("4:Batch", "Batch"), ("3:Batch", "Scatter")])
def test_figures_of_different_regions_do_not_add_up(label: str, kind: str) -> None:
    with pytest.raises(ValueError, match=f"3:Batch: figures of a Batch .* not of {label}, a {kind}"):
        _batch() + RegionStats(label, kind)


def test_figures_are_added_to_figures_only() -> None:
    with pytest.raises(TypeError):
        _batch() + 1  # type: ignore[operator] # what is tested
    with pytest.raises(TypeError):
        PipelineStats() + _batch()  # type: ignore[operator] # what is tested


def test_a_pipeline_s_figures_are_a_mapping_in_order() -> None:
    stats = PipelineStats([_scatter(), _batch()])

    assert list(stats) == ["7:Scatter", "3:Batch"]
    assert stats["3:Batch"] == _batch()
    assert len(stats) == 2
    assert "1:PerItem" not in stats


def test_a_label_that_comes_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="3:Batch: a pipeline has one region of this label"):
        PipelineStats([_batch(), _batch()])


def test_pipelines_add_up_label_by_label_with_the_labels_of_either() -> None:
    merged = PipelineStats([_batch()]) + PipelineStats([_scatter(), _batch()])

    assert list(merged) == ["3:Batch", "7:Scatter"]
    assert merged["3:Batch"] == _batch() + _batch()
    assert merged["7:Scatter"] == _scatter()


@pytest.mark.parametrize("named", [[], ["batch"], ["batch", "scatter"]])
def test_a_pipeline_s_figures_survive_strict_json_and_pickling(named: list[str]) -> None:
    made = {"batch": _batch(), "scatter": _scatter()}
    stats = PipelineStats(made[name] for name in named)

    shown = stats.to_dict()
    read: dict[str, Any] = json.loads(json.dumps(shown, allow_nan=False))

    assert read == shown
    assert PipelineStats.from_dict(read) == stats
    assert list(PipelineStats.from_dict(read)) == list(stats)
    assert pickle.loads(pickle.dumps(stats)) == stats


def test_the_table_has_a_line_per_region_and_says_how_large_batches_were_and_why_they_started() -> None:
    printed = str(PipelineStats([_batch(), _scatter()]))

    assert printed.splitlines() == [
        "                                  mean  wait ms  wait ms  run ms  run ms",
        (
            "region     calls   rows  batches  size      p50      p99     p50     p99"
            "  waiting  running  dropped  refused  errors"
        ),
        (
            "3:Batch    1,000    989      135   7.3     2.00     4.00    12.5    12.5"
            "        3        1        2        4       1"
        ),
        (
            "7:Scatter    120  2,400        -     -        -        -       -       -"
            "        0        0        3        0       0"
        ),
        "",
        "3:Batch    sizes    1: 12 ▊  4: 3 ▎  8: 120 ████████",
        "           started  full 120, alone 12, timeout 3",
    ]


def test_the_table_has_no_column_that_is_empty_for_all() -> None:
    printed = str(PipelineStats([_scatter()]))

    assert printed.splitlines() == [
        "region     calls   rows  dropped",
        "7:Scatter    120  2,400        3",
    ]


def test_a_pipeline_that_was_not_called_shows_its_regions_and_no_calls() -> None:
    printed = str(PipelineStats([RegionStats("0:Batch", "Batch")]))

    assert printed.splitlines() == ["region   calls", "0:Batch      0"]


def test_many_batch_sizes_are_shown_by_powers_of_two() -> None:
    region = RegionStats("0:Batch", "Batch", batch_sizes=dict.fromkeys([1, 2, 3, 4, 5, 8, 9, 16, 17], 10))

    printed = str(PipelineStats([region]))

    assert printed.splitlines()[-1] == (
        "0:Batch  sizes    1: 10 ████  2: 10 ████  3-4: 20 ████████  5-8: 20 ████████  9-16: 20 ████████"
        "  17-32: 10 ████"
    )


def test_the_repr_is_the_table_too() -> None:
    stats = PipelineStats([_batch(), _scatter()])

    assert repr(stats) == str(stats)


def test_no_region_is_said_in_words() -> None:
    assert (
        str(PipelineStats()) == "no region: nothing in this pipeline is batched, scattered or done per item"
    )


def _batch() -> RegionStats:
    return RegionStats(
        "3:Batch",
        "Batch",
        calls=1000,
        rows=989,
        batches=135,
        batch_sizes={8: 120, 1: 12, 4: 3},
        reasons={"timeout": 3, "full": 120, "alone": 12},
        wait=Histogram([0.002, 0.004]),
        run=Histogram([0.0125]),
        waiting=3,
        running=1,
        dropped=2,
        refused=4,
        errors=1,
    )


def _scatter() -> RegionStats:
    return RegionStats("7:Scatter", "Scatter", calls=120, rows=2400, dropped=3)
