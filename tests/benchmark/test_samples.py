"""Raw calls, and the one rule at the edges of the window."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from ml_pipes.benchmark.load import ClosedLoop, OpenLoop
from ml_pipes.benchmark.samples import Samples


def samples(*rows: tuple[float, float, float, bool], **about: object) -> Samples:
    """Of rows (intended, started, ended, failed)."""
    columns = np.array([row[:3] for row in rows]).reshape(len(rows), 3).T
    return Samples(*columns, failed=np.array([row[3] for row in rows]), **about)  # type: ignore[arg-type] # a test's


# Of a window from 10 to 20: one that ran into it, two inside, one that ran out of it.
EDGES = samples(
    (9.0, 9.0, 11.0, False),
    (11.0, 11.5, 12.0, False),
    (12.0, 12.0, 13.0, True),
    (19.0, 19.0, 24.0, False),
    since_s=10.0,
    until_s=20.0,
    errors={"ValueError: odd": 1},
)


def test_latencies_are_of_calls_that_were_meant_to_start_in_the_window_however_late_they_end() -> None:
    assert EDGES.latency_s.tolist() == [1.0, 5.0]
    assert EDGES.count == 3


def test_throughput_is_of_successes_that_ended_in_the_window() -> None:
    assert EDGES.throughput_per_s == pytest.approx(0.2)


def test_a_latency_counts_from_the_intended_start_and_a_service_time_from_the_real_one() -> None:
    assert EDGES.service_s.tolist() == [0.5, 5.0]


def test_failed_calls_are_apart() -> None:
    assert EDGES.errors == {"ValueError: odd": 1}
    assert EDGES.error_share == pytest.approx(1 / 3)


def test_calls_that_never_ended_count_as_failed() -> None:
    waited_for_in_vain = samples((0.0, 0.0, 1.0, False), unfinished=3)

    assert waited_for_in_vain.error_share == 0.75


def test_calls_in_flight_are_counted_within_the_window_only() -> None:
    # 1 s of the first, 0.5 and 1 s of the next two, 1 s of the last, in 10 s.
    assert EDGES.mean_in_flight == pytest.approx(0.35)


def test_latencies_come_in_the_order_of_starts() -> None:
    ended_in_another_order = samples((2.0, 2.0, 3.0, False), (1.0, 1.0, 5.0, False))

    assert ended_in_another_order.latency_s.tolist() == [4.0, 1.0]


def test_without_a_window_it_is_from_the_first_start_to_the_last_end() -> None:
    two = samples((1.0, 1.0, 2.0, False), (2.0, 2.0, 5.0, False))

    assert two.duration_s == 4.0
    assert two.throughput_per_s == 0.5


def test_no_calls_are_no_crash() -> None:
    none = samples()

    assert len(none) == none.count == 0
    assert none.latency_s.tolist() == []
    assert none.error_share == 0.0
    assert math.isnan(none.throughput_per_s)
    assert Samples.from_dict(none.to_dict()) == none


def test_arrays_of_two_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match=r"one length, got .*'ended_s': 1"):
        Samples(np.zeros(2), np.zeros(2), np.zeros(1), np.zeros(2))


def test_they_come_back_from_json_relative_to_the_window() -> None:
    told = samples(
        (9.0, 9.0, 11.0, False),
        (11.0, 11.5, 12.0, True),
        lag_s=np.array([0.0, 0.25]),
        since_s=10.0,
        until_s=20.0,
        errors={"ValueError: odd": 1},
        unfinished=1,
        warmup=3,
        interrupted=True,
        invalid=("late",),
        load=OpenLoop(5.0),
    )

    back = Samples.from_dict(json.loads(json.dumps(told.to_dict(), allow_nan=False)))

    assert back == told
    assert back.started_s.tolist() == [-1.0, 1.5]
    assert back.failed.tolist() == [False, True]
    assert (back.since_s, back.until_s) == (0.0, 10.0)
    assert (back.load, back.invalid, back.warmup, back.interrupted) == (OpenLoop(5.0), ("late",), 3, True)


def test_samples_with_another_latency_are_not_equal() -> None:
    assert samples((1.0, 1.0, 2.0, False)) != samples((1.0, 1.0, 2.5, False))


def test_they_are_no_equal_of_anything_else_and_tell_what_they_are() -> None:
    assert EDGES != "samples"
    assert repr(EDGES) == "Samples(3 calls in 10.000 s, 0.2/s)"


def test_a_window_without_length_has_no_calls_in_flight() -> None:
    assert math.isnan(samples(since_s=1.0, until_s=1.0).mean_in_flight)


def test_a_closed_loop_says_that_it_cannot_see_what_a_stall_does() -> None:
    closed = samples((1.0, 1.0, 2.0, False), load=ClosedLoop(2))

    assert "cannot see what a stall does" in closed.caveats[0]
    assert samples((1.0, 1.0, 2.0, False), load=OpenLoop(5.0)).caveats == ()
