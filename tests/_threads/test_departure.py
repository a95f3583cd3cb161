"""The rule by which a batch leaves."""

from __future__ import annotations

from ml_pipes._threads.departure import Departure


def test_a_full_batch_leaves_now() -> None:
    assert Departure(size=4, timeout_s=9.0).wait_s(waiting=4, first_at=10.0, now=10.0) == 0.0


def test_a_batch_waits_from_its_first_arrival() -> None:
    rule = Departure(size=4, timeout_s=0.5)

    assert rule.wait_s(waiting=1, first_at=10.0, now=10.125) == 0.375
    assert rule.wait_s(waiting=3, first_at=10.0, now=10.125) == 0.375


def test_a_batch_past_its_time_leaves_now() -> None:
    assert Departure(size=4, timeout_s=0.5).wait_s(waiting=1, first_at=10.0, now=11.0) == 0.0


def test_without_a_timeout_a_single_item_leaves_now() -> None:
    assert Departure(size=4, timeout_s=0.0).wait_s(waiting=1, first_at=10.0, now=10.0) == 0.0
