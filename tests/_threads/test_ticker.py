"""A function called again and again in the background."""

from __future__ import annotations

from threading import Event

import pytest

from ml_pipes._threads.fakes import FakeClock
from ml_pipes._threads.ticker import Ticker


def test_it_calls_after_each_wait_until_it_is_stopped(clock: FakeClock) -> None:
    calls: list[float] = []
    ticker = Ticker(lambda: calls.append(clock.now()), 0.5, "watch", clock)

    ticker.start()
    for _ in range(2):
        clock.until_sleeping(1)
        clock.advance(0.5)
    clock.until_sleeping(1)
    ticker.stop()
    clock.advance(5.0)

    assert calls == [100.5, 101.0]


def test_stopped_twice_is_fine(clock: FakeClock) -> None:
    ticker = Ticker(lambda: None, 0.5, "watch", clock)
    ticker.start()

    ticker.stop()
    ticker.stop()


def test_what_the_function_raises_comes_out_of_stop() -> None:
    called = Event()

    def work() -> None:
        called.set()
        raise LookupError("nothing to read")

    ticker = Ticker(work, 0.001, "watch")
    ticker.start()
    assert called.wait(timeout=10)

    with pytest.raises(LookupError, match="nothing to read"):
        ticker.stop()
