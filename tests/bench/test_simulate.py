"""The simulated region: the ideal by hand, rules whose result can be worked out, and what `auto` promises."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest

from bench.simulate import (
    Gaps,
    evenly,
    ideal_closed,
    ideal_open,
    linear_costs,
    percentile,
    poisson_arrivals,
    run_closed,
    run_open,
)
from ml_pipes._threads.departure import Departure

# 5 ms per run and 0.2 ms per row.
COSTS = linear_costs(0.005, 0.0002, 8)
# The figures that were published for this cost are for batches that no number of callers fills.
WIDE = linear_costs(0.005, 0.0002, 64)


GREEDY = Departure(8, 0.005, "greedy")
AUTO = Departure(8, 0.005)
# 4 ms per run and 0.25 ms per row, as on a GPU; nothing per run and 2 ms per row: batching is useless.
GPU = linear_costs(0.004, 0.00025, 8)
LINEAR = linear_costs(0.0, 0.002, 8)
SOON = evenly(0.0, 0.0001)
CALLERS = [1, 2, 4, 8, 12, 16, 32, 64]


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

        greedy = run_closed(GREEDY, callers, COSTS, seconds=4.0, seed=1, gaps=evenly(0.0, 0.0))
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

        ideal, greedy = ideal_open(arrivals, COSTS), run_open(GREEDY, arrivals, COSTS)
        assert greedy.latencies_s == pytest.approx(ideal.latencies_s)
        assert greedy.sizes == ideal.sizes


class TestRulesWithArrivals:
    def test_a_timer_keeps_a_lone_row_waiting_for_all_of_it(self) -> None:
        outcome = run_open(Departure(8, 0.005, "full"), [1.0, 2.0], COSTS)

        assert outcome.latencies_s == pytest.approx([0.0102, 0.0102])
        assert outcome.reasons == {"timeout": 2}

    def test_a_full_batch_does_not_wait_for_the_timer(self) -> None:
        outcome = run_open(Departure(8, 0.05, "full"), [1.0] * 8, COSTS)

        assert outcome.latencies_s == pytest.approx([0.0066] * 8)
        assert outcome.reasons == {"full": 1}

    def test_a_timer_that_runs_out_during_a_run_lets_the_batch_go_when_the_run_ends(self) -> None:
        outcome = run_open(Departure(8, 0.001, "full"), [1.0, 1.002], COSTS)

        # The first leaves at 1.001 and ends at 1.0062; the second is past its time by then.
        assert outcome.latencies_s == pytest.approx([0.0062, 0.0094])

    def test_what_rows_wait_while_the_runner_is_free_is_told_of_each_batch(self) -> None:
        outcome = run_open(Departure(8, 0.005, "full"), [1.0, 1.001, 1.009], COSTS)

        # The first two leave at 1.005; the third comes during their run, until 1.0104, and leaves at 1.014.
        assert [batch.rows for batch in outcome.batches] == [2, 1]
        assert [batch.waited_s for batch in outcome.batches] == pytest.approx([0.005 + 0.004, 0.0036])

    def test_an_arrival_that_finds_no_thread_waits_for_one(self) -> None:
        outcome = run_open(GREEDY, [1.0, 1.001, 1.002], COSTS, threads=2)

        # The first run ends at 1.0052, and its thread makes the third call; two rows take 5.4 ms. Its time
        # counts from when it was due.
        assert outcome.latencies_s == pytest.approx([0.0052, 0.0096, 0.0086])

    @pytest.mark.parametrize("costs", [GPU, LINEAR])
    @pytest.mark.parametrize("threads", [None, 64, 16])
    @pytest.mark.parametrize("load", [0.1, 0.5, 0.8, 0.95])
    def test_auto_is_no_worse_than_greedy(
        self, costs: tuple[float, ...], threads: int | None, load: float
    ) -> None:
        rate_per_s = load * 8 / costs[-1]
        arrivals = poisson_arrivals(rate_per_s, 5000 / rate_per_s, seed=1)

        auto = run_open(AUTO, arrivals, costs, threads=threads)
        greedy = run_open(GREEDY, arrivals, costs, threads=threads)
        for per_cent in (50, 99):
            wanted_s = percentile(greedy.latencies_s, per_cent)
            assert percentile(auto.latencies_s, per_cent) <= 1.02 * wanted_s


class TestRulesWithCallersInALoop:
    def test_the_same_seed_gives_the_same_outcome(self) -> None:
        first = run_closed(AUTO, 3, COSTS, seconds=2.0, seed=5)

        assert run_closed(AUTO, 3, COSTS, seconds=2.0, seed=5) == first

    @pytest.mark.parametrize(("callers", "per_s"), [(1, 93), (2, 185), (8, 672), (32, 1920)])
    def test_a_timer_of_5_ms_reaches_what_was_published_for_it(self, callers: int, per_s: float) -> None:
        outcome = run_closed(Departure(64, 0.005, "full"), callers, WIDE, seconds=10.0, seed=1)

        assert outcome.throughput_per_s == pytest.approx(per_s, rel=0.01)

    @pytest.mark.parametrize(("callers", "per_s"), [(1, 175), (2, 192), (8, 690), (32, 1950)])
    def test_greedy_reaches_what_was_published_for_it(self, callers: int, per_s: float) -> None:
        outcome = run_closed(Departure(64, 0.005, "greedy"), callers, WIDE, seconds=10.0, seed=1)

        assert outcome.throughput_per_s == pytest.approx(per_s, rel=0.01)

    @pytest.mark.parametrize(("callers", "per_s"), [(1, 175), (2, 334), (8, 1096), (32, 2636)])
    def test_auto_reaches_what_was_published_for_it(self, callers: int, per_s: float) -> None:
        outcome = run_closed(Departure(64, 0.005), callers, WIDE, seconds=10.0, seed=1)

        assert outcome.throughput_per_s == pytest.approx(per_s, rel=0.01)

    @pytest.mark.parametrize(("callers", "per_s"), [(1, 200), (8, 242)])
    def test_auto_reaches_what_was_published_where_batching_is_useless(
        self, callers: int, per_s: float
    ) -> None:
        costs = linear_costs(0.0005, 0.004, 64)

        outcome = run_closed(Departure(64, 0.005), callers, costs, seconds=10.0, seed=1)

        assert outcome.throughput_per_s == pytest.approx(per_s, rel=0.01)

    @pytest.mark.parametrize("costs", [GPU, COSTS, LINEAR])
    def test_a_lone_caller_never_waits(self, costs: tuple[float, ...]) -> None:
        outcome = run_closed(AUTO, 1, costs, seconds=2.0, seed=1)

        assert {batch.waited_s for batch in outcome.batches} == {0.0}
        assert set(outcome.reasons) == {"alone"}

    @pytest.mark.parametrize("seed", range(5))
    def test_two_callers_meet_within_20_rounds_and_stay_together(self, seed: int) -> None:
        outcome = run_closed(AUTO, 2, GPU, seconds=2.0, seed=seed)

        rows = [batch.rows for batch in outcome.batches]
        assert 2 in rows[:20]
        assert rows[20:].count(2) >= 0.99 * len(rows[20:])

    @pytest.mark.parametrize("callers", CALLERS)
    def test_auto_is_within_two_per_cent_of_the_ideal_where_gaps_are_short(self, callers: int) -> None:
        ideal = ideal_closed(callers, GPU)

        outcome = run_closed(AUTO, callers, GPU, seconds=2.0, seed=1, gaps=SOON)

        assert outcome.throughput_per_s >= 0.98 * ideal.throughput_per_s

    @pytest.mark.parametrize("gaps", [SOON, evenly(0.00025, 0.00075)])
    @pytest.mark.parametrize("callers", CALLERS)
    def test_auto_loses_nothing_to_greedy_where_cost_is_linear(self, callers: int, gaps: Gaps) -> None:
        greedy = run_closed(GREEDY, callers, LINEAR, seconds=2.0, seed=1, gaps=gaps)

        auto = run_closed(AUTO, callers, LINEAR, seconds=2.0, seed=1, gaps=gaps)

        assert auto.throughput_per_s >= 0.98 * greedy.throughput_per_s

    @pytest.mark.parametrize("gaps", [SOON, evenly(0.00025, 0.00075)])
    def test_when_half_stop_the_others_soon_wait_no_longer_than_if_they_had_been_alone(
        self, gaps: Gaps
    ) -> None:
        def half_stop(draw: random.Random, caller: int, now: float) -> float | None:
            return None if caller >= 4 and now >= 1.0 else gaps(draw, caller, now)

        alone = run_closed(AUTO, 4, GPU, seconds=2.0, seed=1, gaps=gaps).batches[10:]

        outcome = run_closed(AUTO, 8, GPU, seconds=2.0, seed=1, gaps=half_stop)

        later = [batch for batch in outcome.batches if batch.at_s >= 1.0][5:]
        assert {batch.rows for batch in later} == {4}
        assert np.mean([batch.waited_s for batch in later]) == pytest.approx(
            np.mean([batch.waited_s for batch in alone]), rel=0.1
        )

    def test_what_runs_cost_may_change(self) -> None:
        outcome = run_closed(GREEDY, 1, COSTS, seconds=2.0, seed=1, gaps=SOON, changes=(1.0, [0.052] * 8))

        assert percentile(outcome.latencies_s, 0) == pytest.approx(0.0052)
        assert percentile(outcome.latencies_s, 100) == pytest.approx(0.052)
