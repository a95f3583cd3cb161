"""The simulated server: the ideal by hand, and policies whose result can be worked out."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pytest

from bench.simulate import (
    Waiting,
    ideal_closed,
    ideal_open,
    linear_costs,
    percentile,
    poisson_arrivals,
    run_closed,
    run_open,
)

# 5 ms per run and 0.2 ms per row.
COSTS = linear_costs(0.005, 0.0002, 8)
# The figures that were published for this cost are for batches that no number of callers fills.
WIDE = linear_costs(0.005, 0.0002, 64)


class Greedy:
    """Whoever waits when the runner is free."""

    def decide(self, waiting: Waiting) -> tuple[float, str]:
        return 0.0, "free"


@dataclass
class Full:
    """A full batch, or a timeout from the arrival of the oldest."""

    timeout_s: float
    size: int = 8

    def decide(self, waiting: Waiting) -> tuple[float, str]:
        if waiting.rows >= self.size:
            return 0.0, "full"
        left_s = waiting.oldest_at + self.timeout_s - waiting.now
        return (left_s, "company") if left_s > 0.0 else (0.0, "timeout")


@dataclass
class Company:
    """Waits for all who are known to come, and remembers what it was told."""

    seen: list[Waiting] = field(default_factory=list)

    def decide(self, waiting: Waiting) -> tuple[float, str]:
        self.seen.append(waiting)
        if waiting.rows < 8 and waiting.expected_at:
            return waiting.expected_at[-1] - waiting.now, "company"
        return 0.0, "all came"


class TestCosts:
    def test_a_run_costs_its_launch_and_each_row(self) -> None:
        costs = linear_costs(0.004, 0.00025, 8)

        assert costs == pytest.approx([0.00425, 0.0045, 0.00475, 0.005, 0.00525, 0.0055, 0.00575, 0.006])


class TestPercentile:
    @pytest.mark.parametrize("per_cent", [0, 50, 95, 99, 100])
    def test_it_is_that_of_numpy(self, per_cent: int) -> None:
        values = [4.0, 1.0, 9.0, 16.0, 25.0, 2.0, 2.0]

        assert percentile(values, per_cent) == pytest.approx(np.percentile(values, per_cent))

    def test_one_value_is_every_percentile(self) -> None:
        assert percentile([3.0], 99) == 3.0

    def test_no_values_are_refused(self) -> None:
        with pytest.raises(ValueError, match="percentile: there are no values"):
            percentile([], 50)


class TestPoisson:
    def test_the_same_seed_gives_the_same_times(self) -> None:
        assert poisson_arrivals(100.0, 2.0, seed=7) == poisson_arrivals(100.0, 2.0, seed=7)

    def test_another_seed_gives_others(self) -> None:
        assert poisson_arrivals(100.0, 2.0, seed=7) != poisson_arrivals(100.0, 2.0, seed=8)

    def test_times_are_sorted_and_within_the_block(self) -> None:
        times = poisson_arrivals(1000.0, 3.0, seed=1)

        assert list(times) == sorted(times)
        assert 0.0 < times[0] < times[-1] < 3.0

    def test_as_many_come_as_the_rate_says_and_their_gaps_spread_as_much_as_they_last(self) -> None:
        times = poisson_arrivals(1000.0, 50.0, seed=1)

        gaps = np.diff(times)
        assert len(times) == pytest.approx(50_000, rel=0.02)
        assert gaps.std() == pytest.approx(gaps.mean(), rel=0.02)


class TestIdealOfCallersInALoop:
    def test_a_lone_caller_waits_for_its_run_and_for_nothing_else(self) -> None:
        ideal = ideal_closed(1, COSTS)

        assert ideal.throughput_per_s == pytest.approx(1 / 0.0052)
        assert set(np.round(ideal.latencies_s, 9)) == {0.0052}

    def test_callers_that_fit_one_batch_are_served_together(self) -> None:
        ideal = ideal_closed(4, COSTS)

        assert ideal.throughput_per_s == pytest.approx(4 / 0.0058)
        assert set(np.round(ideal.latencies_s, 9)) == {0.0058}
        assert list(ideal.sizes) == [4]

    def test_of_sixty_four_callers_each_waits_for_eight_runs(self) -> None:
        ideal = ideal_closed(64, COSTS)

        assert ideal.throughput_per_s == pytest.approx(8 / 0.0066)
        assert set(np.round(ideal.latencies_s, 9)) == {0.0528}

    def test_of_twelve_callers_half_wait_for_one_run_and_half_for_two(self) -> None:
        ideal = ideal_closed(12, COSTS)

        waits = Counter(np.round(np.asarray(ideal.latencies_s) / 0.0066).astype(int).tolist())
        assert waits == {1: 1600, 2: 1600}
        assert percentile(ideal.latencies_s, 99) == pytest.approx(0.0132)

    @pytest.mark.parametrize("callers", [1, 3, 8, 12, 20, 64])
    def test_it_is_what_greedy_makes_of_callers_that_come_back_at_once(self, callers: int) -> None:
        ideal = ideal_closed(callers, COSTS)

        greedy = run_closed(Greedy(), callers, COSTS, seconds=4.0, seed=1, gap_s=(0.0, 0.0))
        assert greedy.throughput_per_s == pytest.approx(ideal.throughput_per_s, rel=0.01)
        assert percentile(greedy.latencies_s, 99) == pytest.approx(percentile(ideal.latencies_s, 99))
        assert np.mean(greedy.latencies_s) == pytest.approx(np.mean(ideal.latencies_s), rel=0.01)


class TestIdealOfArrivals:
    def test_one_that_finds_the_server_free_waits_for_its_run_only(self) -> None:
        ideal = ideal_open([1.0, 2.0], COSTS)

        assert ideal.latencies_s == pytest.approx([0.0052, 0.0052])

    def test_those_that_come_during_a_run_share_the_next(self) -> None:
        ideal = ideal_open([1.0, 1.001, 1.003], COSTS)

        # The first run ends at 1.0052; the second has two rows and takes 5.4 ms.
        assert ideal.latencies_s == pytest.approx([0.0052, 0.0096, 0.0076])
        assert ideal.sizes == {1: 1, 2: 1}

    def test_more_than_fit_a_batch_are_served_in_the_order_of_their_arrival(self) -> None:
        ideal = ideal_open([1.0] * 10, COSTS)

        # Eight rows take 6.6 ms, the two that are left 5.4 ms more.
        assert ideal.latencies_s == pytest.approx([0.0066] * 8 + [0.012] * 2)

    def test_it_is_what_greedy_makes_of_the_same_arrivals(self) -> None:
        arrivals = poisson_arrivals(900.0, 5.0, seed=3)

        ideal, greedy = ideal_open(arrivals, COSTS), run_open(Greedy(), arrivals, COSTS)
        assert greedy.latencies_s == pytest.approx(ideal.latencies_s)
        assert greedy.sizes == ideal.sizes


class TestPoliciesWithArrivals:
    def test_a_timer_keeps_a_lone_row_waiting_for_all_of_it(self) -> None:
        outcome = run_open(Full(0.005), [1.0, 2.0], COSTS)

        assert outcome.latencies_s == pytest.approx([0.0102, 0.0102])
        assert outcome.reasons == {"timeout": 2}

    def test_a_full_batch_does_not_wait_for_the_timer(self) -> None:
        outcome = run_open(Full(0.05), [1.0] * 8, COSTS)

        assert outcome.latencies_s == pytest.approx([0.0066] * 8)
        assert outcome.reasons == {"full": 1}

    def test_a_timer_that_runs_out_during_a_run_lets_the_batch_go_when_the_run_ends(self) -> None:
        outcome = run_open(Full(0.001), [1.0, 1.002], COSTS)

        # The first leaves at 1.001 and ends at 1.0062; the second is past its time by then.
        assert outcome.latencies_s == pytest.approx([0.0062, 0.0094])

    def test_the_policy_is_told_who_waits_and_since_when(self) -> None:
        policy = Company()

        run_open(policy, [1.0, 1.001, 1.003], COSTS, launch_s=0.005)

        assert policy.seen == [
            Waiting(1, 1.0, 1.0, 0.0, (), 0.005),
            Waiting(2, 1.001, pytest.approx(1.0052), pytest.approx(1.0052), (), 0.005),
        ]


class TestPoliciesWithCallersInALoop:
    def test_the_same_seed_gives_the_same_outcome(self) -> None:
        first = run_closed(Full(0.005), 3, COSTS, seconds=2.0, seed=5)

        assert run_closed(Full(0.005), 3, COSTS, seconds=2.0, seed=5) == first

    @pytest.mark.parametrize(("callers", "per_s"), [(1, 93), (2, 185), (8, 672), (32, 1920)])
    def test_a_timer_of_5_ms_reaches_what_was_published_for_it(self, callers: int, per_s: float) -> None:
        outcome = run_closed(Full(0.005, size=64), callers, WIDE, seconds=20.0, seed=1)

        assert outcome.throughput_per_s == pytest.approx(per_s, rel=0.03)

    @pytest.mark.parametrize(("callers", "per_s"), [(1, 175), (2, 192), (8, 690), (32, 1950)])
    def test_greedy_reaches_what_was_published_for_it(self, callers: int, per_s: float) -> None:
        outcome = run_closed(Greedy(), callers, WIDE, seconds=20.0, seed=1)

        assert outcome.throughput_per_s == pytest.approx(per_s, rel=0.03)

    @pytest.mark.parametrize(("callers", "per_s"), [(2, 334), (8, 1096)])
    def test_waiting_for_those_who_come_back_keeps_them_together(self, callers: int, per_s: float) -> None:
        outcome = run_closed(Company(), callers, COSTS, seconds=20.0, seed=1)

        assert outcome.throughput_per_s == pytest.approx(per_s, rel=0.05)
        assert outcome.sizes[callers] > 0.95 * outcome.sizes.total()

    def test_the_policy_is_told_when_those_just_served_will_be_back_until_they_are(self) -> None:
        policy = Company()

        run_closed(policy, 2, COSTS, seconds=1.0, seed=1, gap_s=(0.001, 0.002))

        together = [waiting for waiting in policy.seen if waiting.rows == 2]
        alone = [waiting for waiting in policy.seen if waiting.rows == 1 and waiting.expected_at]
        assert all(waiting.expected_at == () for waiting in together)
        assert all(waiting.expected_at == (pytest.approx(waiting.free_since + 0.002),) for waiting in alone)
        assert together
        assert alone
