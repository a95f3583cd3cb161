"""The one monotonic clock, and a gate that a thread waits at.

Knows time and threads. Knows nothing of who waits for what.
"""

from __future__ import annotations

import threading
import time
from typing import Final, Protocol

__all__ = ["CLOCK", "Clock", "Gate", "SystemClock", "now", "thread_id", "thread_name"]

now = time.perf_counter
thread_id = threading.get_ident


def thread_name(ident: int | None) -> str:
    """A living thread's name; one that has ended is called by its number."""
    for thread in threading.enumerate():
        if thread.ident == ident:
            return thread.name
    return f"thread {ident}"


class Gate:
    """Closed when made; opening it lets one waiting thread pass and closes it behind it.

    Opening an open gate changes nothing, so a wake-up can be given twice. (A bare
    lock: an Event costs five times as much to make.)
    """

    __slots__ = ("_lock",)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def open(self) -> None:
        """Let one thread pass, the one waiting or the next to come."""
        try:
            self._lock.release()
        except RuntimeError:  # open already
            return

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait until it is open, and pass; False when ``timeout_s`` seconds went by first."""
        if timeout_s is None:
            return self._lock.acquire()
        return self._lock.acquire(timeout=min(max(timeout_s, 0.0), threading.TIMEOUT_MAX))


class Clock(Protocol):
    """What is needed of time; ``fakes.FakeClock`` is moved by hand."""

    def now(self) -> float:
        """Seconds, monotonic."""

    def wait(self, gate: Gate, timeout_s: float | None) -> bool:
        """Wait at the gate; False when ``timeout_s`` seconds went by first."""


class SystemClock:
    """The machine's clock."""

    now = staticmethod(now)
    wait = staticmethod(Gate.wait)


CLOCK: Final[Clock] = SystemClock()
