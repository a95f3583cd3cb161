"""A collector that keeps the slowest calls, so that they can be looked at one by one.

Knows traces and a clock. Knows nothing of how traces are recorded.
"""

from __future__ import annotations

import heapq
from itertools import count
from math import floor
from typing import Final

from ml_pipes._threads.clock import CLOCK, Clock
from ml_pipes.collectors.serial import SerialCollector
from ml_pipes.tracing import InvocationTrace, StepSpan

__all__ = ["SlowCollector"]

# The window moves on in so many steps.
_SLOTS: Final = 10


class SlowCollector(SerialCollector):
    """Keeps the traces of the slowest calls, since the start or in a window that slides.

    Args:
        keep: how many.
        window_s: seconds that it looks back, moving on in tenths: calls that ended longer ago are
            forgotten a tenth of it later at the latest; None for since the start.
        clock: whose time it is.

    Raises:
        ValueError: ``keep`` is below 1, or ``window_s`` not above 0.
    """

    def __init__(self, keep: int = 10, window_s: float | None = None, *, clock: Clock = CLOCK) -> None:
        if keep < 1:
            raise ValueError(f"keep must be at least 1, got {keep}")
        if window_s is not None and not window_s > 0:
            raise ValueError(f"window_s must be above 0, or None for since the start, got {window_s}")
        super().__init__()
        self._keep = keep
        self._window_s = window_s
        self._clock = clock
        self._numbers = count()
        # Per tenth of the window its slowest, the fastest of them first; the number decides between equals.
        self._slots: dict[int, list[tuple[float, int, InvocationTrace]]] = {}

    @property
    def traces(self) -> list[InvocationTrace]:
        """The slowest first; of equals, the first to come."""
        with self._one_at_a_time.lock:
            self._forget_old()
            kept = [entry for slot in self._slots.values() for entry in slot]
        return [trace for *_, trace in sorted(kept, key=lambda entry: entry[:2], reverse=True)[: self._keep]]

    def reset(self) -> None:
        """Forget all of them."""
        with self._one_at_a_time.lock:
            self._slots.clear()

    def print_summary(self) -> None:
        """Print a line per call kept: milliseconds, how long ago, and the step that took most of it."""
        now = self._clock.now()
        print("\n".join(_line(trace, now) for trace in self.traces) or "no trace yet")

    def _collect(self, trace: InvocationTrace) -> None:
        slot = self._slots.get(self._slot(trace.start_time + trace.total_duration_s))
        if slot is None:
            self._forget_old()
            slot = self._slots.setdefault(self._slot(trace.start_time + trace.total_duration_s), [])
        if len(slot) < self._keep:
            heapq.heappush(slot, (trace.total_duration_s, -next(self._numbers), trace))
        elif trace.total_duration_s > slot[0][0]:
            heapq.heapreplace(slot, (trace.total_duration_s, -next(self._numbers), trace))

    def _slot(self, at: float) -> int:
        return 0 if self._window_s is None else floor(at / self._window_s * _SLOTS)

    def _forget_old(self) -> None:
        oldest = self._slot(self._clock.now()) - _SLOTS
        for number in [number for number in self._slots if number < oldest]:
            del self._slots[number]


def _line(trace: InvocationTrace, now: float) -> str:
    ago_s = now - trace.start_time - trace.total_duration_s
    line = f"{trace.total_duration_s * 1e3:9.3f} ms, {ago_s:.1f} s ago"
    spans: list[StepSpan] = sorted(trace.spans, key=lambda span: span.duration_s)
    if not spans:
        return line
    share = trace.span_fractions()[spans[-1].label]
    failed = ", failed" if trace.spans[-1].error else ""
    return f"{line}: {share:.0%} in {spans[-1].label}{failed}"
