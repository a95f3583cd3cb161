"""Which calls count."""

from __future__ import annotations

from ml_pipes.benchmark.window import Window


def test_counted_by_calls_it_opens_with_the_first_after_the_warm_up_and_closes_with_the_first_too_many() -> (
    None
):
    window = Window(0.0, warmup=2, runs=3)

    counts = [window.begin(at) for at in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0)]

    assert counts == [False, False, True, True, True, False, False]
    assert (window.since_s, window.until_s) == (2.0, 5.0)
    assert (window.warm, window.counted) == (2, 3)


def test_counted_by_seconds_it_opens_and_closes_on_time_whenever_calls_start() -> None:
    window = Window(10.0, warmup_s=1.0, duration_s=2.0)

    counts = [window.begin(at) for at in (10.0, 10.9, 11.3, 12.9, 13.0, 13.5)]

    assert counts == [False, False, True, True, False, False]
    assert (window.since_s, window.until_s) == (11.0, 13.0)


def test_without_a_warm_up_seconds_count_from_the_start() -> None:
    window = Window(10.0, duration_s=1.0)

    window.begin(10.25)

    assert (window.since_s, window.until_s) == (10.0, 11.0)


def test_after_a_warm_up_of_calls_seconds_count_from_the_next_call() -> None:
    window = Window(10.0, warmup=1, duration_s=1.0)

    counts = [window.begin(at) for at in (10.0, 10.5)]

    assert counts == [False, True]
    assert (window.since_s, window.until_s) == (10.5, 11.5)


def test_with_calls_and_seconds_it_lasts_until_there_is_enough_of_both() -> None:
    window = Window(0.0, runs=2, duration_s=3.0)

    counts = [window.begin(at) for at in (0.0, 1.0, 2.0, 2.9, 3.5)]

    assert counts == [True, True, True, True, False]
    assert window.until_s == 3.5


def test_it_is_done_when_all_that_count_have_ended() -> None:
    window = Window(0.0, runs=2)
    for at in (0.0, 1.0, 2.0):
        window.begin(at)

    window.end()
    before_the_last = window.done
    window.end()

    assert not before_the_last
    assert window.done


def test_it_is_not_done_while_more_calls_may_count() -> None:
    window = Window(0.0, runs=2)
    window.begin(0.0)
    window.end()

    assert not window.done


def test_when_no_more_calls_come_it_is_done_with_the_last() -> None:
    window = Window(0.0, runs=5)
    window.begin(0.0)
    window.exhausted()

    before = window.done
    window.end()

    assert not before
    assert window.done


def test_closed_early_it_ends_then() -> None:
    window = Window(0.0, warmup_s=1.0, duration_s=5.0)
    window.begin(1.5)

    window.close(2.0)

    assert (window.since_s, window.until_s) == (1.0, 2.0)
    assert not window.begin(2.5)


def test_closed_before_it_opened_it_is_empty() -> None:
    window = Window(0.0, warmup=100, runs=5)
    window.begin(0.5)

    window.close(2.0)

    assert (window.since_s, window.until_s, window.counted) == (2.0, 2.0, 0)


def test_to_close_a_closed_one_changes_nothing() -> None:
    window = Window(0.0, runs=1)
    window.begin(0.0)
    window.begin(1.0)

    window.close(0.5)

    assert window.until_s == 1.0
