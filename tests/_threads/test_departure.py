"""The rules by which a batch leaves."""

from __future__ import annotations

from typing import Any

import pytest

from ml_pipes._threads.departure import Departure, Room

FULL = Departure(size=4, timeout_s=0.5, policy="full")
GREEDY = Departure(size=4, timeout_s=0.5, policy="greedy")
AUTO = Departure(size=4, timeout_s=0.5, policy="auto")


def room(rows: int, **known: Any) -> Room:
    return Room(**{"rows": rows, "first_at": 10.0, "now": 10.0, "free_since": 10.0, **known})


@pytest.mark.parametrize("rule", [FULL, GREEDY, AUTO])
def test_a_full_batch_leaves_now(rule: Departure) -> None:
    assert rule.look(room(4, coming=[11.0])) == (0.0, "full")


def test_full_waits_from_the_first_arrival() -> None:
    assert FULL.look(room(1, now=10.125)).wait_s == 0.375
    assert FULL.look(room(3, now=10.125)).wait_s == 0.375


def test_full_leaves_at_its_timeout() -> None:
    assert FULL.look(room(1, now=11.0)) == (0.0, "timeout")


def test_full_leaves_in_time_for_a_deadline() -> None:
    assert FULL.look(room(1, leave_by=10.25)).wait_s == 0.25
    assert FULL.look(room(1, now=10.25, leave_by=10.25)) == (0.0, "deadline")


def test_greedy_never_waits() -> None:
    assert GREEDY.look(room(1, coming=[10.001], returning=[10.001])) == (0.0, "alone")
    assert GREEDY.look(room(3)) == (0.0, "free")


def test_auto_does_not_wait_where_nobody_is_known_to_come() -> None:
    assert AUTO.look(room(1, launch_s=1.0)) == (0.0, "alone")
    assert AUTO.look(room(2, launch_s=1.0)) == (0.0, "free")


def test_auto_waits_for_company_whose_saved_launch_is_worth_it() -> None:
    # Two share a launch of 8 ms, which saves each 4 on average; the one that waits loses 2 and a wake-up.
    assert AUTO.look(room(1, coming=[10.002], launch_s=0.008)).wait_s == pytest.approx(0.002)
    assert AUTO.look(room(1, returning=[10.002], launch_s=0.008)).wait_s == pytest.approx(0.002)


def test_auto_does_not_wait_for_company_that_saves_less_than_it_costs() -> None:
    assert AUTO.look(room(1, coming=[10.009], launch_s=0.008)) == (0.0, "alone")
    assert AUTO.look(room(1, coming=[10.002], launch_s=0.0)) == (0.0, "alone")


def test_auto_waits_for_as_many_as_pay() -> None:
    assert AUTO.look(room(1, coming=[10.002, 10.05], launch_s=0.008)).wait_s == pytest.approx(0.002)


def test_auto_does_not_wait_for_more_than_there_is_room_for() -> None:
    assert AUTO.look(room(3, coming=[10.001, 10.004], launch_s=1.0)).wait_s == pytest.approx(0.001)
    assert AUTO.look(room(2, coming=[10.001, 10.004], launch_s=1.0, rows_per_caller=2.0)).wait_s == (
        pytest.approx(0.001)
    )


def test_what_was_waited_already_counts_against_waiting_on() -> None:
    assert AUTO.look(room(1, now=10.004, coming=[10.006], launch_s=0.008)).wait_s == pytest.approx(0.002)
    assert AUTO.look(room(1, now=10.007, coming=[10.009], launch_s=0.008, held_rows=1)) == (0.0, "no-show")


def test_auto_waits_for_company_on_its_way_before_anything_is_known_of_the_cost() -> None:
    assert AUTO.look(room(1, coming=[10.25])).wait_s == 0.25


def test_auto_waits_for_those_on_an_unknown_way_until_the_timeout_at_most() -> None:
    assert AUTO.look(room(1, coming=[float("inf")])).wait_s == 0.5
    assert AUTO.look(room(1, now=10.5, coming=[float("inf")], held_rows=1)) == (0.0, "timeout")


def test_only_those_who_come_back_are_waited_for_past_the_timeout() -> None:
    late = {"now": 10.75, "free_since": 10.75, "launch_s": 0.008}

    assert AUTO.look(room(1, returning=[10.751], **late)).wait_s == pytest.approx(0.001)
    assert AUTO.look(room(1, coming=[10.751], **late)) == (0.0, "alone")


def test_auto_leaves_in_time_for_a_deadline() -> None:
    assert AUTO.look(room(1, coming=[10.25], leave_by=10.125)).wait_s == 0.125
    assert AUTO.look(room(1, now=10.125, coming=[10.25], leave_by=10.125)) == (0.0, "deadline")


def test_why_a_wait_for_company_ended() -> None:
    assert AUTO.look(room(3, held_rows=1)) == (0.0, "company")
    assert AUTO.look(room(2, held_rows=2)) == (0.0, "no-show")


def test_several_free_runners_share_those_who_are_there() -> None:
    assert AUTO.look(room(2, most=2, coming=[10.001], launch_s=1.0)) == (0.0, "share")
    assert AUTO.look(room(1, most=2, coming=[10.001], launch_s=1.0)).wait_s == pytest.approx(0.001)


def test_who_comes_back_later_than_half_a_launch_is_waited_for_within_the_timeout_only() -> None:
    late = {"now": 10.75, "free_since": 10.75, "launch_s": 0.008}

    assert AUTO.look(room(1, returning=[10.755], **late)) == (0.0, "alone")
    assert AUTO.look(room(1, returning=[10.005], launch_s=0.008)).wait_s == pytest.approx(0.005)
