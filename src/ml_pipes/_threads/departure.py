"""When a batch leaves: a rule of numbers.

Knows counts and times. Knows nothing of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Departure"]


@dataclass(frozen=True)
class Departure:
    """A batch leaves when it is full, or when its oldest item has waited ``timeout_s`` seconds."""

    size: int
    timeout_s: float

    def wait_s(self, waiting: int, first_at: float, now: float) -> float:
        """Seconds the batch may still wait; 0 means it leaves now."""
        if waiting >= self.size:
            return 0.0
        # From the first arrival, not the last wake-up: late company must not keep the first waiting.
        return max(0.0, first_at + self.timeout_s - now)
