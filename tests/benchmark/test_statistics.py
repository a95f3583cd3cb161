"""Figures of many durations, and how sure they are."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.benchmark.statistics import (
    percentile_of,
    samples_needed,
    summary,
)

_DURATIONS = st.lists(st.floats(0.0, 1e6), min_size=1, max_size=50)
_FRACTIONS = st.floats(0.0, 1.0)


class TestPercentiles:
    @given(_DURATIONS, _FRACTIONS)
    def test_they_are_those_of_numpy(self, durations: list[float], fraction: float) -> None:
        assert percentile_of(durations, fraction) == np.percentile(durations, fraction * 100, method="linear")

    @given(_DURATIONS, _FRACTIONS, _FRACTIONS)
    def test_they_never_fall_and_lie_between_the_shortest_and_the_longest(
        self, durations: list[float], one: float, other: float
    ) -> None:
        low, high = sorted((one, other))

        assert percentile_of(durations, 0.0) == min(durations)
        assert percentile_of(durations, 1.0) == max(durations)
        assert percentile_of(durations, low) <= percentile_of(durations, high)

    @pytest.mark.parametrize("fraction", [0.0, 0.5, 0.95, 0.99, 1.0])
    def test_of_one_sample_each_is_that_sample(self, fraction: float) -> None:
        assert percentile_of([575.0], fraction) == 575.0

    def test_of_none_it_is_nan(self) -> None:
        assert math.isnan(percentile_of([], 0.5))

    def test_with_nan_among_them_it_is_nan(self) -> None:
        assert math.isnan(percentile_of([1.0, math.nan], 0.5))

    @pytest.mark.parametrize("fraction", [-0.1, 1.1, 99, math.nan])
    def test_a_fraction_beyond_0_to_1_is_refused(self, fraction: float) -> None:
        with pytest.raises(ValueError, match="a fraction, 0 to 1"):
            percentile_of([1.0], fraction)


class TestSummary:
    def test_it_holds_the_usual_figures(self) -> None:
        told = summary([1.0, 2.0, 3.0, 6.0], (0.5, 0.9))

        assert (told.count, told.mean_s, told.min_s, told.max_s) == (4, 3.0, 1.0, 6.0)
        assert told.stddev_s == pytest.approx(2.160247)
        assert told.percentiles_s == pytest.approx({0.5: 2.5, 0.9: 5.1})

    def test_of_one_sample_all_are_that_sample_and_it_does_not_spread(self) -> None:
        told = summary([575.0], (0.5, 0.99))

        assert (told.mean_s, told.min_s, told.max_s, told.stddev_s) == (575.0, 575.0, 575.0, 0.0)
        assert told.percentiles_s == {0.5: 575.0, 0.99: 575.0}

    def test_of_none_there_is_a_count_of_zero_and_nothing_else(self) -> None:
        told = summary([], (0.5,))

        assert told.count == 0
        assert all(
            math.isnan(value)
            for value in (told.mean_s, told.stddev_s, told.min_s, told.max_s, told.percentiles_s[0.5])
        )


class TestSamplesNeeded:
    @pytest.mark.parametrize(
        ("fraction", "count"), [(0.5, 5), (0.9, 29), (0.95, 59), (0.99, 299), (0.999, 2995)]
    )
    def test_it_is_where_the_longest_is_beyond_the_percentile_19_times_of_20(
        self, fraction: float, count: int
    ) -> None:
        assert samples_needed(fraction) == count
        assert fraction**count <= 0.05 < fraction ** (count - 1)

    @pytest.mark.parametrize("fraction", [0.0, 1.0, -1.0, math.nan])
    def test_a_fraction_at_or_beyond_the_ends_is_refused(self, fraction: float) -> None:
        with pytest.raises(ValueError, match="fraction must be above 0 and below 1"):
            samples_needed(fraction)
