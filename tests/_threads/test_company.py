"""The books of one place: who is on the way to it, and who comes back."""

from __future__ import annotations

from math import inf
from typing import Any

import pytest

from ml_pipes._threads.company import Company, Traveller


class Place:
    """Remembers who is expected."""

    def __init__(self) -> None:
        self.expected: list[Traveller] = []
        self.told: list[str] = []

    def expect(self, traveller: Traveller, origin: Any) -> None:
        traveller.heading = self
        self.expected.append(traveller)
        self.told.append("expect")

    def forget(self, traveller: Traveller) -> None:
        traveller.heading = None
        self.expected.remove(traveller)
        self.told.append("forget")


def test_on_an_unknown_way_nobody_knows_when_it_comes() -> None:
    company = Company()

    company.expect(Traveller(), "call", 10.0, 4.0)

    assert company.coming(10.0) == [inf]


def test_how_long_a_way_takes_is_learned_from_those_who_arrive() -> None:
    company, first = Company(), Traveller()
    company.expect(first, "call", 10.0, 4.0)
    company.arrive(first, 10.5, 4.0)

    company.expect(Traveller(), "call", 11.0, 4.0)

    # The first sample's deviation is half of it, and three of them are allowed for.
    assert company.coming(11.0) == [11.0 + 0.5 + 3 * 0.25]


def test_ways_of_other_origins_are_learned_apart() -> None:
    company, first = Company(), Traveller()
    company.expect(first, "near", 10.0, 4.0)
    company.arrive(first, 10.5, 4.0)

    company.expect(Traveller(), "far", 11.0, 4.0)

    assert company.coming(11.0) == [inf]


def test_who_is_late_is_not_waited_for() -> None:
    company, first = Company(), Traveller()
    company.expect(first, "call", 10.0, 4.0)
    company.arrive(first, 10.5, 4.0)
    company.expect(Traveller(), "call", 11.0, 4.0)

    late = company.coming(12.25)

    assert late == []
    assert len(company) == 1


def test_who_is_forgotten_is_not_expected_and_says_so_once() -> None:
    company, traveller = Company(), Traveller()
    company.expect(traveller, "call", 10.0, 4.0)

    told = [company.forget(traveller), company.forget(traveller)]

    assert told == [True, False]
    assert company.coming(10.0) == []


def test_an_arrival_that_was_not_expected_teaches_nothing() -> None:
    company = Company()

    company.arrive(Traveller(), 10.0, 4.0)

    assert len(company) == 0
    assert company.coming(10.0) == []


def test_a_caller_is_not_known_to_return_before_it_did() -> None:
    company = Company()

    company.left(1, 10.0, 4.0)

    assert company.returning(10.0) == []


def test_a_caller_that_came_back_in_time_is_expected_again() -> None:
    company = Company()
    company.left(1, 10.0, 4.0)
    company.arrive(Traveller(1), 10.5, 4.0)

    company.left(1, 20.0, 4.0)

    assert company.returning(20.0) == [20.0 + 0.5 + 3 * 0.25]


def test_a_return_is_waited_for_no_longer_than_patience_allows() -> None:
    company = Company()
    company.left(1, 10.0, 4.0)
    company.arrive(Traveller(1), 10.5, 4.0)
    company.left(1, 20.0, 1.0)

    assert company.returning(20.0) == [21.0]
    assert company.returning(21.0) == []


def test_a_caller_that_comes_back_too_late_is_not_expected() -> None:
    company = Company()
    company.left(1, 10.0, 4.0)
    company.arrive(Traveller(1), 19.0, 4.0)

    company.left(1, 20.0, 4.0)

    assert company.returning(20.0) == []


def test_a_caller_that_stopped_to_come_is_expected_for_one_gap_only() -> None:
    company = Company()
    company.left(1, 10.0, 4.0)
    company.arrive(Traveller(1), 10.5, 4.0)
    company.left(1, 20.0, 4.0)

    assert company.returning(21.0) == [21.25]
    assert company.returning(21.25) == []


def test_a_caller_who_is_back_is_not_expected_to_return() -> None:
    company = Company()
    company.left(1, 10.0, 4.0)
    company.arrive(Traveller(1), 10.5, 4.0)

    assert company.returning(10.5) == []


def test_a_process_with_ever_new_threads_is_remembered_in_bounded_books() -> None:
    company = Company()

    for caller in range(5000):
        company.left(caller, float(caller), 4.0)
        company.arrive(Traveller(caller), caller + 0.5, 1.0)
        company.left(caller, caller + 0.6, 4.0)

    assert len(company._left) <= 1024
    assert len(company._habits) <= 1024


def test_a_traveller_is_expected_at_one_place_at_a_time() -> None:
    here, there, traveller = Place(), Place(), Traveller()
    traveller.go(here)

    traveller.go(there)

    assert (here.expected, there.expected) == ([], [traveller])


def test_to_go_where_it_is_expected_already_changes_nothing() -> None:
    here, traveller = Place(), Traveller()
    traveller.go(here)

    traveller.go(here)

    assert here.told == ["expect"]


@pytest.mark.parametrize("times", [1, 2])
def test_a_traveller_that_ended_is_expected_nowhere(times: int) -> None:
    here, traveller = Place(), Traveller()
    traveller.go(here)

    for _ in range(times):
        traveller.end()

    assert here.expected == []
    assert traveller.ended
