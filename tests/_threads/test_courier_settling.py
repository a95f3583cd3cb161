"""What a courier does once all that came is handled."""

from __future__ import annotations

import logging
from threading import Semaphore

import pytest

from ml_pipes._threads.courier import Courier

PATIENCE_S = 10.0


def test_a_flush_returns_after_what_is_to_be_done_when_all_is_handled() -> None:
    came: list[int] = []
    settled: list[tuple[bool, int]] = []

    def settle(awaited: bool) -> float | None:
        settled.append((awaited, len(came)))
        return None if awaited else 60.0

    courier = Courier(came.append, limit=10, label="settling", settle=settle)
    courier.post(1)
    courier.post(2)

    assert courier.flush(PATIENCE_S)

    assert settled[-1] == (True, 2)


def test_a_flush_settles_too_what_waits_for_its_time_while_nothing_comes() -> None:
    came: list[int] = []
    settled: list[bool] = []

    def settle(awaited: bool) -> float | None:
        settled.append(awaited)
        return None if awaited else 60.0

    courier = Courier(came.append, limit=10, label="settling", settle=settle)
    courier.post(1)
    while not courier._inbox.asleep:
        pass
    before = set(settled)

    assert courier.flush(PATIENCE_S)

    assert before == {False}
    assert settled[-1] is True


def test_what_waits_for_its_time_is_asked_again_without_another_thing() -> None:
    came: list[int] = []
    asked = Semaphore(0)

    def settle(awaited: bool) -> float | None:
        asked.release()
        return 0.001

    courier = Courier(came.append, limit=10, label="settling", settle=settle)
    courier.post(1)

    assert all(asked.acquire(timeout=PATIENCE_S) for _ in range(5))
    courier.stop(PATIENCE_S)


def test_a_stop_settles_before_the_thread_ends() -> None:
    came: list[int] = []
    settled: list[bool] = []
    courier = Courier(came.append, limit=10, label="settling", settle=settled.append)
    courier.post(1)

    assert courier.stop(PATIENCE_S)

    assert True in settled


def test_what_is_raised_while_settling_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    came: list[int] = []

    def settle(awaited: bool) -> float | None:
        raise ValueError("no")

    courier = Courier(came.append, limit=10, label="settling", settle=settle)
    with caplog.at_level(logging.ERROR):
        courier.post(1)
        assert courier.flush(PATIENCE_S)

    assert came == [1]
    assert caplog.records[0].getMessage() == "settling failed, 1 times so far; it goes on"
