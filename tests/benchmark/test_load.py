"""What is asked of a pipeline while it is measured."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import pytest

from ml_pipes.benchmark.load import ClosedLoop, Load, Offline, OpenLoop, Queries, load_from_dict


@pytest.mark.parametrize(
    "load",
    [ClosedLoop(16), Queries(4), OpenLoop(12.5, "constant", 7, 3), Offline(9)],
    ids=lambda load: load.kind,
)
def test_a_load_comes_back_from_its_dict(load: Load) -> None:
    assert load_from_dict(load.to_dict()) == load


def test_a_load_is_read_without_the_keys_that_a_later_version_may_add() -> None:
    assert load_from_dict({"kind": "closed", "callers": 2, "colour": "red"}) == ClosedLoop(2)


def test_a_kind_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(ValueError, match="one of closed, queries, open, offline, got 'ajar'"):
        load_from_dict({"kind": "ajar"})


@pytest.mark.parametrize("make", [ClosedLoop, Queries, Offline, lambda n: OpenLoop(1.0, max_in_flight=n)])
@pytest.mark.parametrize("number", [0, -1, 1.5, True])
def test_a_number_of_calls_is_whole_and_at_least_one(make: type, number: object) -> None:
    with pytest.raises(ValueError, match="must be a whole number, 1 or more"):
        make(number)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("inf"), float("nan"), "5", None, True])
def test_a_rate_is_a_number_above_zero(rate: Any) -> None:
    with pytest.raises(ValueError, match="rate_per_s must be calls per second, above 0"):
        OpenLoop(rate)


def test_arrivals_are_one_of_two_words() -> None:
    with pytest.raises(ValueError, match='arrivals must be "poisson" or "constant", got \'bursty\''):
        OpenLoop(1.0, "bursty")  # type: ignore[arg-type] # what is tested


def test_constant_arrivals_are_evenly_spaced_from_zero_and_do_not_drift() -> None:
    times = list(islice(OpenLoop(10.0, "constant").offsets_s(), 30))

    assert times[:3] == [0.0, 0.1, 0.2]
    assert times[-1] == 2.9


def test_poisson_arrivals_start_at_zero_and_are_the_same_for_the_same_seed_only() -> None:
    times = list(islice(OpenLoop(10.0, seed=1).offsets_s(), 2000))

    assert times[0] == 0.0
    assert times == list(islice(OpenLoop(10.0, seed=1).offsets_s(), 2000))
    assert times != list(islice(OpenLoop(10.0, seed=2).offsets_s(), 2000))


def test_gaps_between_poisson_arrivals_have_the_mean_and_the_deviation_of_an_exponential() -> None:
    gaps = np.diff(list(islice(OpenLoop(10.0, seed=3).offsets_s(), 20_001)))

    assert gaps.mean() == pytest.approx(0.1, rel=0.03)
    assert gaps.std() == pytest.approx(0.1, rel=0.03)
