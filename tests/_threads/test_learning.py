"""What is learned from times."""

from __future__ import annotations

import pytest

from ml_pipes._threads.learning import Cost, Duration, Habit

# What a run costs beside its body, once it is longer than this: the wake-up of its callers.
HAND_OVER_S = 0.000_1


def test_equal_times_take_that_long_at_most_in_the_end() -> None:
    duration = Duration()

    for _ in range(100):
        duration.learn(0.5)

    assert duration.most_s == pytest.approx(0.5, rel=0.02)


def test_a_single_time_is_allowed_three_halves_more() -> None:
    duration = Duration()

    duration.learn(0.5)

    assert duration.most_s == 0.5 + 3 * 0.25


def test_the_last_dozens_decide() -> None:
    duration = Duration()
    for _ in range(1000):
        duration.learn(5.0)

    for _ in range(150):
        duration.learn(0.5)

    assert duration.most_s == pytest.approx(0.5, rel=0.1)


def test_times_that_vary_take_longer_than_their_mean() -> None:
    duration = Duration()

    for at in range(100):
        duration.learn(0.25 if at % 2 else 0.75)

    assert 0.75 < duration.most_s < 1.5


def test_nothing_is_known_of_who_never_came_back() -> None:
    assert Habit().gap_s is None


def test_who_comes_back_in_time_has_a_gap() -> None:
    habit = Habit()

    habit.learn(0.5, in_time=True)

    assert habit.gap_s == 0.5 + 3 * 0.25


def test_who_comes_late_more_often_than_not_has_none() -> None:
    habit = Habit()
    habit.learn(0.5, in_time=True)

    for _ in range(3):
        habit.learn(9.0, in_time=False)

    assert habit.gap_s is None


def test_a_late_return_now_and_then_does_not_stretch_the_gap() -> None:
    habit = Habit()
    for _ in range(20):
        habit.learn(0.5, in_time=True)

    habit.learn(900.0, in_time=False)

    assert habit.gap_s is not None
    assert habit.gap_s < 1.0


def test_who_comes_back_in_time_again_is_believed_after_a_dozen_rounds() -> None:
    habit = Habit()
    for _ in range(20):
        habit.learn(9.0, in_time=False)

    for _ in range(12):
        habit.learn(0.5, in_time=True)

    assert habit.gap_s is not None


def test_the_first_run_teaches_nothing() -> None:
    cost = Cost()

    cost.learn(4, 100.0)

    assert cost.launch_s is None
    assert cost.run_s(4) == 0.0


def test_a_line_is_found_from_two_sizes() -> None:
    cost = Cost()

    for rows in (1, 1, 4, 2, 8, 1, 4):
        cost.learn(rows, 0.008 + 0.002 * rows)

    assert cost.launch_s == pytest.approx(0.008 + HAND_OVER_S)
    assert cost.run_s(16) == pytest.approx(0.040 + HAND_OVER_S)


def test_one_size_only_counts_as_launch() -> None:
    cost = Cost()

    for _ in range(4):
        cost.learn(2, 0.010)

    assert cost.launch_s == pytest.approx(0.010 + HAND_OVER_S)


def test_a_linear_cost_has_no_launch_but_the_hand_over() -> None:
    cost = Cost()

    for rows in (1, 1, 4, 2, 8):
        cost.learn(rows, 0.004 * rows)

    assert cost.launch_s == pytest.approx(HAND_OVER_S)


def test_a_run_that_is_quicker_than_a_hand_over_counts_twice_at_most() -> None:
    cost = Cost()

    for _ in range(4):
        cost.learn(1, 0.000_005)

    assert cost.launch_s == pytest.approx(0.000_010)


def test_sizes_that_no_longer_vary_keep_what_was_learned_of_a_row() -> None:
    cost = Cost()
    for rows in (1, 1, 4, 2, 8):
        cost.learn(rows, 0.008 + 0.002 * rows)

    for _ in range(500):
        cost.learn(8, 0.024)

    assert cost.launch_s == pytest.approx(0.008, rel=0.05)


@pytest.mark.parametrize("times", [[0.0, 0.0, 0.0], [0.01, 0.02, 0.001], [0.5, 0.001, 0.3]])
def test_a_cost_is_never_negative(times: list[float]) -> None:
    cost = Cost()
    cost.learn(1, 1.0)

    for rows, run_s in zip((1, 8, 3), times, strict=True):
        cost.learn(rows, run_s)

    assert cost.launch_s is not None
    assert cost.launch_s >= 0.0
    assert cost.run_s(4) >= 0.0
