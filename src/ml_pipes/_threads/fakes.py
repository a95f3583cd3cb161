"""A clock moved by hand, so that tests of waiting neither sleep nor guess.

Knows the gates that threads wait at. Knows nothing of why.
"""

from __future__ import annotations

import threading

from ml_pipes._threads.clock import Gate

__all__ = ["FakeClock"]

# Real seconds after which a test that would hang fails instead.
_PATIENCE_S = 30.0


class _Sleeper:
    """A thread at a gate, and when its patience ends."""

    def __init__(self, gate: Gate, due: float | None) -> None:
        self.gate = gate
        self.due = due
        self.timed_out = False


class FakeClock:
    """Time stands still until :meth:`advance`."""

    def __init__(self, start: float = 100.0) -> None:
        self._now = start
        self._changed = threading.Condition()
        self._sleepers: list[_Sleeper] = []

    def now(self) -> float:
        """Seconds."""
        return self._now

    def wait(self, gate: Gate, timeout_s: float | None) -> bool:
        """Wait at the gate; False when the clock was advanced past ``timeout_s`` first."""
        with self._changed:
            sleeper = _Sleeper(gate, None if timeout_s is None else self._now + timeout_s)
            self._sleepers.append(sleeper)
            self._changed.notify_all()
        try:
            if not gate.wait(_PATIENCE_S):
                raise AssertionError(f"nobody opened the gate within {_PATIENCE_S} s of real time")
            return not sleeper.timed_out
        finally:
            with self._changed:
                self._sleepers.remove(sleeper)
                self._changed.notify_all()

    def advance(self, seconds: float) -> None:
        """Move time on, and let those pass whose patience ends."""
        with self._changed:
            self._now += seconds
            for sleeper in self._sleepers:
                if sleeper.due is not None and sleeper.due <= self._now:
                    sleeper.timed_out = True
                    sleeper.gate.open()

    def until_sleeping(self, count: int = 1) -> None:
        """Return once ``count`` threads wait and none of them has been let pass."""
        with self._changed:
            ready = self._changed.wait_for(
                lambda: sum(not sleeper.timed_out for sleeper in self._sleepers) >= count, _PATIENCE_S
            )
        assert ready, f"only {len(self._sleepers)} of {count} threads came to wait"
