"""Counters behind a region's figures.

Knows counts and seconds. Knows nothing of when a batch leaves or of what items are.
"""

from __future__ import annotations

from collections.abc import Iterable

from ml_pipes._threads.guard import guard
from ml_pipes.stats import Histogram, RegionStats

__all__ = ["BatchTally", "ItemTally"]


class BatchTally:
    """What a batching region did. It locks nothing: every method is called under its owner's lock.

    What is there at a moment is its owner's to count: a caller that is interrupted
    in the middle of an update would leave a gauge here wrong for ever.
    """

    __slots__ = (
        "_calls",
        "_dropped",
        "_errors",
        "_reasons",
        "_refused",
        "_rows",
        "_run",
        "_sizes",
        "_wait",
    )

    def __init__(self) -> None:
        self._calls = self._rows = 0
        self._dropped = self._refused = self._errors = 0
        self._sizes: dict[int, int] = {}
        self._reasons: dict[str, int] = {}
        self._wait = Histogram()
        self._run = Histogram()

    def joined(self, rows: int) -> None:
        """A caller came with ``rows`` rows and waits."""
        self._calls += 1
        self._rows += rows

    @property
    def rows_per_call(self) -> float:
        """How many rows a caller brings, on average; 1 before the first."""
        return self._rows / self._calls if self._calls else 1.0

    def left(self, rows: int) -> None:
        """A caller stopped waiting before its rows were in a batch."""
        self._dropped += rows

    def refused(self) -> None:
        """A caller was turned away; it has not joined."""
        self._refused += 1

    def ran(self, reason: str, rows: int, waits_s: Iterable[float], run_s: float, errors: int) -> None:
        """A batch ran and is over.

        Args:
            reason: why it started.
            rows: how many rows it had, all of callers that had joined.
            waits_s: how long each caller had waited, seconds.
            run_s: how long its body ran, seconds.
            errors: how many of its callers got an error.
        """
        self._sizes[rows] = self._sizes.get(rows, 0) + 1
        self._reasons[reason] = self._reasons.get(reason, 0) + 1
        for wait_s in waits_s:
            self._wait.add(wait_s)
        self._errors += errors
        self._run.add(run_s)

    def snapshot(self, label: str, kind: str, *, waiting: int, running: int) -> RegionStats:
        """The figures as they are now; what comes later does not change them.

        Args:
            label: the region's.
            kind: the region's.
            waiting: rows that wait now.
            running: batches that run now.
        """
        return RegionStats(
            label,
            kind,
            calls=self._calls,
            rows=self._rows,
            batches=sum(self._sizes.values()),
            batch_sizes=dict(self._sizes),
            reasons=dict(self._reasons),
            wait=self._wait + Histogram(),
            run=self._run + Histogram(),
            waiting=waiting,
            running=running,
            dropped=self._dropped,
            refused=self._refused,
            errors=self._errors,
        )


class ItemTally:
    """What a region of items did; it has a lock of its own, for its calls are on many threads.

    Each call costs two short updates, however many items it has: :meth:`enter` and :meth:`leave`.

    Args:
        label: the region's.
    """

    __slots__ = ("_calls", "_dropped", "_errors", "_label", "_lock", "_rows", "_run", "_running")

    def __init__(self, label: str) -> None:
        self._label = label
        # A signal's handler, or the end of a stream that the garbage collector finds, can come in the middle
        # of an update on the same thread: it must not wait for itself.
        self._lock = guard()
        self._calls = self._rows = self._running = self._dropped = self._errors = 0
        self._run = Histogram()

    def enter(self) -> None:
        """A call began to work on its items."""
        with self._lock:
            self._calls += 1
            self._running += 1

    def leave(self, seen: int, dropped: int, errors: int, runs_s: Iterable[float] = ()) -> None:
        """A call that had entered is over, whichever way.

        Args:
            seen: how many items began.
            dropped: how many of them were dropped.
            errors: how many of them ended with an error.
            runs_s: how long the body ran for each item, seconds, where that was measured.
        """
        with self._lock:
            self._running -= 1
            self._rows += seen
            self._dropped += dropped
            self._errors += errors
            for run_s in runs_s:
                self._run.add(run_s)

    def stats(self, kind: str) -> RegionStats:
        """The figures as they are now: ``running`` counts calls, ``rows`` items of calls that are over."""
        with self._lock:
            return RegionStats(
                self._label,
                kind,
                calls=self._calls,
                rows=self._rows,
                run=self._run + Histogram(),
                running=self._running,
                dropped=self._dropped,
                errors=self._errors,
            )
