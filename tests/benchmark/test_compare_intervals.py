"""Ratios of blocks of calls: what they are, and that their intervals hold as often as they say."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from ml_pipes.benchmark.ratios import Block, fraction_of, paired_ratio, unpaired_ratio, value_of
from ml_pipes.benchmark.resampling import accepted, shuffles, sign_flips

Ratios = Callable[..., object]


def _block(*latency_s: float) -> Block:
    return Block(np.array(latency_s), len(latency_s), sum(latency_s))


def _noisy_pairs(
    random: np.random.Generator, rounds: int, calls: int, slower: float = 1.0
) -> tuple[list[Block], list[Block]]:
    """A step of 5 ms on a machine with levels of its own per block, a drift, slow phases and long stalls."""
    slots = 2 * rounds
    level = np.exp(0.03 * random.standard_normal(slots) + np.linspace(0.0, 0.3, slots))
    level *= np.where(np.cumsum(random.random(slots) < 0.1) % 2, 1.6, 1.0)
    times = 5e-3 * level[:, None] * np.exp(0.03 * random.standard_normal((slots, calls)))
    stalls = random.random((slots, calls)) < np.where(random.random(slots) < 0.2, 0.1, 0.01)[:, None]
    times += 5e-3 * stalls * random.pareto(1.2, (slots, calls))
    first = random.integers(0, 2, rounds)
    pairs = times.reshape(rounds, 2, calls)
    a, b = pairs[np.arange(rounds), first], pairs[np.arange(rounds), 1 - first] * slower
    return [_block(*row) for row in a], [_block(*row) for row in b]


class TestSignFlips:
    def test_of_few_pairs_every_way_of_giving_out_labels_is_there_once_and_the_true_one_first(self) -> None:
        flips = sign_flips(3, seed=0)

        assert flips[0].tolist() == [1.0, 1.0, 1.0]
        assert len({tuple(row) for row in flips.tolist()}) == 8

    def test_of_many_pairs_they_are_drawn_and_the_same_seed_draws_the_same(self) -> None:
        one, same, other = sign_flips(40, seed=1), sign_flips(40, seed=1), sign_flips(40, seed=2)

        assert one[0].tolist() == [1.0] * 40
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)


class TestShuffles:
    def test_each_row_is_a_difference_of_means_and_the_first_that_of_the_true_labels(self) -> None:
        rows = shuffles(2, 4, seed=0)

        assert rows[0].tolist() == [0.5, 0.5, -0.25, -0.25, -0.25, -0.25]
        assert np.allclose(rows.sum(axis=1), 0.0)
        assert (np.sort(rows, axis=1) == np.sort(rows[0])).all()


class TestAccepted:
    def test_the_ends_are_where_the_test_begins_to_refuse(self) -> None:
        flips = sign_flips(8, seed=0)
        values = np.array([0.97, 0.98, 0.99, 1.0, 1.01, 1.02, 1.03, 1.04])

        low, high = accepted(lambda ratio: values - ratio, 1.005, 0.95, flips)

        def p(ratio: float) -> float:
            sums = np.abs(flips @ (values - ratio))
            return float(np.mean(sums >= sums[0] - 1e-12))

        assert p(low) <= 0.05 < p(low + 2e-4)
        assert p(high) <= 0.05 < p(high - 2e-4)

    def test_five_pairs_bound_nothing_at_95_percent(self) -> None:
        low, high = accepted(lambda ratio: np.full(5, 1.0 - ratio), 1.0, 0.95, sign_flips(5, seed=0))

        assert (low, high) == (0.0, math.inf)


class TestStatistics:
    @pytest.mark.parametrize(("name", "fraction"), [("p50", 0.5), ("p99.9", 0.999), ("p1", 0.01)])
    def test_a_percentile_is_read_from_its_name(self, name: str, fraction: float) -> None:
        assert fraction_of(name) == pytest.approx(fraction, rel=1e-12)

    @pytest.mark.parametrize("name", ["median", "p", "p0", "p100", "pp50", "p-1", "pnan", "99", ""])
    def test_another_name_is_refused_with_those_that_there_are(self, name: str) -> None:
        with pytest.raises(ValueError, match=r'"mean", "throughput" or a percentile'):
            fraction_of(name)

    def test_values_are_of_all_calls(self) -> None:
        blocks = [_block(1.0, 2.0), _block(3.0, 4.0, 5.0)]

        assert value_of(blocks, "p50") == 3.0
        assert value_of(blocks, "mean") == 3.0
        assert value_of(blocks, "throughput") == pytest.approx(5 / 15)

    def test_of_nothing_they_are_nan(self) -> None:
        assert math.isnan(value_of([], "p50"))
        assert math.isnan(value_of([], "mean"))
        assert math.isnan(value_of([], "throughput"))


class TestPairedRatio:
    @pytest.mark.parametrize(
        ("statistic", "ratio"), [("p50", 1.1), ("p90", 1.1), ("mean", 1.1), ("throughput", 1 / 1.1)]
    )
    def test_without_noise_it_is_the_true_ratio_and_its_interval_has_hardly_a_width(
        self, statistic: str, ratio: float
    ) -> None:
        a = [_block(*[1.0 + 0.1 * at] * 4) for at in range(10)]
        b = [_block(*[1.1 * (1.0 + 0.1 * at)] * 4) for at in range(10)]

        found = paired_ratio(a, b, statistic)

        assert found.value == pytest.approx(ratio)
        assert found.low < ratio < found.high
        assert found.half_width < 0.001
        assert found.blocks == 10

    def test_what_slows_a_whole_round_does_not_hide_a_small_difference(self) -> None:
        levels = [1.0, 8.0, 1.0, 1.0, 3.0, 1.0, 1.0, 5.0, 1.0, 2.0]
        a = [_block(*(level * np.linspace(0.99, 1.01, 9))) for level in levels]
        b = [_block(*(level * 1.03 * np.linspace(0.99, 1.01, 9))) for level in levels]

        found = paired_ratio(a, b, "p50")

        assert found.value == pytest.approx(1.03)
        assert found.low > 1.0

    def test_calls_that_are_long_now_and_then_are_found_by_a_percentile_that_no_block_could_tell(
        self,
    ) -> None:
        random = np.random.default_rng(3)
        a = [_block(*random.normal(1.0, 0.01, 20)) for _ in range(60)]
        b = [
            _block(*np.where(random.random(20) < 0.05, 2.0, random.normal(1.0, 0.01, 20))) for _ in range(60)
        ]

        found = paired_ratio(a, b, "p99")

        assert found.low > 1.5

    def test_pairs_without_a_success_are_left_out(self) -> None:
        a = [_block(1.0), _block(), _block(1.0)]
        b = [_block(2.0), _block(2.0), _block()]

        found = paired_ratio(a, b, "mean")

        assert (found.value, found.blocks) == (pytest.approx(2.0), 1)
        assert math.isinf(found.half_width)

    def test_without_any_pair_or_any_time_there_is_no_ratio(self) -> None:
        nothing = paired_ratio([_block()], [_block(1.0)], "p50")
        no_time = paired_ratio([_block(0.0)], [_block(1.0)], "p50")

        assert not nothing.is_known
        assert not no_time.is_known

    def test_blocks_without_partner_are_refused(self) -> None:
        with pytest.raises(ValueError, match="in pairs, got 1 and 2"):
            paired_ratio([_block(1.0)], [_block(1.0)] * 2, "p50")

    @pytest.mark.parametrize("confidence", [0.0, 1.0, 95.0, math.nan])
    def test_a_confidence_that_cannot_be_is_refused(self, confidence: float) -> None:
        with pytest.raises(ValueError, match="above 0 and below 1"):
            paired_ratio([_block(1.0)], [_block(1.0)], "p50", confidence=confidence)

    def test_the_same_seed_gives_the_same_interval(self) -> None:
        a, b = _noisy_pairs(np.random.default_rng(5), 20, 10)

        assert paired_ratio(a, b, "mean", seed=7) == paired_ratio(a, b, "mean", seed=7)


class TestUnpairedRatio:
    def test_of_blocks_of_one_measurement_each_it_is_the_ratio_of_all_calls(self) -> None:
        random = np.random.default_rng(1)
        a = [_block(*random.normal(1.0, 0.02, 20)) for _ in range(20)]
        b = [_block(*random.normal(1.1, 0.02, 20)) for _ in range(20)]

        found = unpaired_ratio(a, b, "mean")

        assert found.value == pytest.approx(value_of(b, "mean") / value_of(a, "mean"))
        assert found.low < 1.1 < found.high
        assert found.low > 1.05

    def test_without_any_block_there_is_none(self) -> None:
        assert not unpaired_ratio([], [_block(1.0)], "p50").is_known


@pytest.mark.parametrize(
    ("statistic", "rounds", "calls"),
    [("p50", 12, 10), ("mean", 12, 10), ("p99", 24, 40), ("throughput", 12, 10)],
)
class TestCalibration:
    """At 95 %, 20 of 400 comparisons are wrong; that 33 or more are has odds below 1 : 200."""

    def test_a_thing_compared_with_itself_on_a_bad_machine_is_seldom_found_to_differ(
        self, statistic: str, rounds: int, calls: int
    ) -> None:
        random = np.random.default_rng(20)

        found = sum(
            not (ratio.low <= 1.0 <= ratio.high)
            for ratio in (
                paired_ratio(*_noisy_pairs(random, rounds, calls), statistic, seed=seed)
                for seed in range(400)
            )
        )

        assert found < 33

    def test_the_true_ratio_is_in_the_interval_as_often_when_there_is_one(
        self, statistic: str, rounds: int, calls: int
    ) -> None:
        random = np.random.default_rng(21)
        true = 1 / 1.2 if statistic == "throughput" else 1.2

        missed = sum(
            not (ratio.low <= true <= ratio.high)
            for ratio in (
                paired_ratio(*_noisy_pairs(random, rounds, calls, slower=1.2), statistic, seed=seed)
                for seed in range(400)
            )
        )

        assert missed < 33


def test_the_true_ratio_is_in_the_interval_as_often_when_the_candidate_is_spread_more_widely() -> None:
    """The mean of exp(s z) is exp(s^2 / 2), whatever the level of the round."""
    random = np.random.default_rng(23)
    true = math.exp((0.12**2 - 0.03**2) / 2.0)

    def pairs() -> tuple[list[Block], list[Block]]:
        level = np.exp(0.2 * random.standard_normal((12, 1)) + 0.03 * random.standard_normal((2, 12, 1)))
        times = level * np.exp(np.array([0.03, 0.12])[:, None, None] * random.standard_normal((2, 12, 10)))
        return [_block(*row) for row in times[0]], [_block(*row) for row in times[1]]

    intervals = [paired_ratio(*pairs(), "mean", seed=seed) for seed in range(400)]

    assert sum(not (each.low <= true <= each.high) for each in intervals) < 33


def test_five_percent_of_five_milliseconds_are_found_in_forty_rounds_on_a_bad_machine() -> None:
    """80 blocks of 40 calls of some 7 ms each: 23 s."""
    random = np.random.default_rng(22)

    found = sum(
        paired_ratio(*_noisy_pairs(random, 40, 40, slower=1.05), "p50", seed=seed).low > 1.0
        for seed in range(40)
    )

    assert found >= 36
