"""Which calls count: those that begin in a window between the warm-up and the end.

Numbers only. Knows nothing of threads, of clocks, or of what is called.
"""

from __future__ import annotations

__all__ = ["Window"]


class Window:
    """Opens when the warm-up is over, closes when there is enough; the calls go on across both edges.

    The rule: a call *counts* when it was meant to start in the window (``since <= start < until``),
    however long it then takes. It opens with the start of the first call after the warm-up, or at
    the end of the warm-up's seconds, and closes with the start of the first call too many, or at the
    end of its seconds. So nothing is drained, and there is no barrier, at either edge: callers see
    the same load before, in and after the window.

    Args:
        start_s: when the calls start, seconds of a clock.
        warmup: calls before the window, at least.
        warmup_s: seconds before the window, at least.
        runs: calls that are to count, at least; None for no such bound.
        duration_s: seconds that the window lasts, at least; None for no such bound.

    Attributes:
        start_s: when the calls start.
        since_s: when it opened; None before.
        until_s: when it closed, or will close; None while that is not known.
        warm: calls before it.
        counted: calls in it.
        pending: those of them that have not ended.
    """

    def __init__(
        self,
        start_s: float,
        *,
        warmup: int = 0,
        warmup_s: float = 0.0,
        runs: int | None = None,
        duration_s: float | None = None,
    ) -> None:
        self.since_s: float | None = None
        self.until_s: float | None = None
        self.warm = 0
        self.counted = 0
        self.pending = 0
        self._warmup = warmup
        self._warm_until_s = start_s + warmup_s
        self._runs = runs
        self._duration_s = duration_s
        self.start_s = start_s
        self._closed = False

    @property
    def done(self) -> bool:
        """It is closed, and all calls that count have ended."""
        return self._closed and not self.pending

    def begin(self, at_s: float) -> bool:
        """A call is meant to start, not earlier than the one before; does it count?"""
        if self.since_s is None:
            self._open(at_s)
        if self.since_s is None or at_s < self.since_s:
            self.warm += 1
            return False
        if not self._closed and self._is_enough(self.since_s, at_s):
            self._closed = True
            self.until_s = at_s if self.until_s is None else self.until_s
        if self._closed:
            return False
        self.counted += 1
        self.pending += 1
        return True

    def end(self) -> None:
        """A call that counts has ended."""
        self.pending -= 1

    def exhausted(self) -> None:
        """No more calls will start: it lasts until the last one's end."""
        self._closed = True

    def close(self, at_s: float) -> None:
        """Close it early; once it is closed nothing changes."""
        if self._closed:
            return
        self._closed = True
        self.since_s = at_s if self.since_s is None else min(self.since_s, at_s)
        self.until_s = at_s if self.until_s is None else min(self.until_s, at_s)

    def _open(self, at_s: float) -> None:
        if self.warm < self._warmup:
            return
        if self._runs is not None:
            # Counted by calls, it opens with a call.
            self.since_s = at_s if at_s >= self._warm_until_s else None
            return
        first_s = at_s if self._warmup else self.start_s
        self.since_s = max(first_s, self._warm_until_s)
        if self._duration_s is not None:
            self.until_s = self.since_s + self._duration_s

    def _is_enough(self, since_s: float, at_s: float) -> bool:
        return (self._runs is None or self.counted >= self._runs) and (
            self._duration_s is None or at_s >= since_s + self._duration_s
        )
