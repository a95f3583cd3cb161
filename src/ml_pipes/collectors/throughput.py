"""A collector that tells how many calls end per second.

Knows traces, rates and a clock. Knows nothing of how traces are recorded.
"""

from __future__ import annotations

from math import floor
from typing import Final

from ml_pipes._threads.clock import CLOCK, Clock
from ml_pipes.collectors.aggregate import READ_S, AggregateCollector
from ml_pipes.tracing import InvocationTrace

__all__ = ["ThroughputCollector"]

# The window moves on in so many steps.
_SLOTS: Final = 100


class ThroughputCollector(AggregateCollector):
    """Counts how many calls end per second, prints it now and then, and keeps the means of its base.

    A line is printed with the first call that ends after the interval is over; nothing while no call comes.

    Args:
        target_fps: calls per second that are wanted, to compare with; None for no comparison.
        report_interval_s: seconds between two lines.
        window_s: seconds that ``window_fps`` looks back; it moves on in hundredths.
        clock: whose time it is.

    Raises:
        ValueError: one of the three is not above 0.
    """

    def __init__(
        self,
        target_fps: float | None = None,
        report_interval_s: float = 1.0,
        window_s: float = 1.0,
        *,
        clock: Clock = CLOCK,
    ) -> None:
        given = {"target_fps": target_fps, "report_interval_s": report_interval_s, "window_s": window_s}
        for name, value in given.items():
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {value}")
        super().__init__()
        self._target_fps = target_fps
        self._report_interval_s = report_interval_s
        self._window_s = window_s
        self._clock = clock
        self._begin()

    def _begin(self) -> None:
        self._ended = 0
        self._first_at: float | None = None
        self._last_at = 0.0
        self._slots: dict[int, int] = {}
        self._next_report_at: float | None = None

    @property
    def fps(self) -> float:
        """Calls per second from the first call's start to the last one's end; 0 before the first."""
        self.flush(READ_S)
        with self._state.lock:
            return self._fps()

    @property
    def window_fps(self) -> float:
        """Calls per second that ended in the last ``window_s`` seconds, or since the first call's start."""
        self.flush(READ_S)
        with self._state.lock:
            return self._window_fps()

    def print_summary(self) -> None:
        """Print the mean call, how many calls there were, and how many per second."""
        super().print_summary()
        self.flush(READ_S)
        with self._state.lock:
            print(self._report())

    def _forget(self) -> None:
        super()._forget()
        self._begin()

    def _fps(self) -> float:
        if self._first_at is None or self._last_at <= self._first_at:
            return 0.0
        return self._ended / (self._last_at - self._first_at)

    def _window_fps(self) -> float:
        if self._first_at is None:
            return 0.0
        now = self._clock.now()
        self._forget_slots_before(now)
        elapsed_s = min(self._window_s, now - self._first_at)
        return sum(self._slots.values()) / elapsed_s if elapsed_s > 0 else 0.0

    def _slot(self, at: float) -> int:
        return floor(at / self._window_s * _SLOTS)

    def _forget_slots_before(self, now: float) -> None:
        oldest = self._slot(now) - _SLOTS
        for slot in [slot for slot in self._slots if slot <= oldest]:
            del self._slots[slot]

    def _report(self) -> str:
        line = f"{self._fps():.1f} calls/s, {self._window_fps():.1f} in the last {self._window_s:g} s"
        if self._target_fps is not None:
            line += f"; {self._fps() / self._target_fps:.0%} of the target {self._target_fps:g}"
        return line

    def _collect(self, trace: InvocationTrace) -> None:
        super()._collect(trace)
        with self._state.lock:
            self._count(trace)
            now = self._clock.now()
            if self._next_report_at is None:
                self._next_report_at = now + self._report_interval_s
            if now < self._next_report_at:
                return
            self._next_report_at = now + self._report_interval_s
            line = self._report()
        print(line)

    def _count(self, trace: InvocationTrace) -> None:
        ended_at = trace.start_time + trace.total_duration_s
        self._ended += 1
        self._last_at = max(self._last_at, ended_at)
        if self._first_at is None or trace.start_time < self._first_at:
            self._first_at = trace.start_time
        slot = self._slot(ended_at)
        if slot not in self._slots:
            self._forget_slots_before(ended_at)
        self._slots[slot] = self._slots.get(slot, 0) + 1
