"""Traces that wait until a measurement is over, out of the garbage collector's way.

Knows the garbage collector, and what keeps traces. Knows nothing of what is in
them.
"""

from __future__ import annotations

import gc
from types import TracebackType
from typing import Final, Self

from ml_pipes.benchmark.collector import BenchmarkCollector
from ml_pipes.benchmark.heap import may_freeze

__all__ = ["Backlog"]

# Some 100 MB.
_MOST: Final = 50_000
_TWO: Final = 2


class Backlog:
    """Lets a collector's traces wait, during ``with``.

    To read a trace takes as long as to run ten quick steps: callers that read between two calls come back
    later, and share fewer batches. Traces that wait instead are objects that the garbage collector goes
    through, for 0.1 s at a time when there are many. So they are set aside (:func:`gc.freeze`) every few
    calls, after the young garbage was collected and before the collector would do so within a call. What
    becomes garbage in a cycle later than that is collected after the measurement. When very many wait, two
    are read for each that comes.

    Args:
        collector: keeps the traces.
        most: how many may wait.
    """

    def __init__(self, collector: BenchmarkCollector, most: int = _MOST) -> None:
        self._collector = collector
        self._most = most
        self._freezes = False
        self._young = 0

    def __enter__(self) -> Self:
        self._young = gc.get_threshold()[0] // 2
        self._freezes = may_freeze()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        if self._freezes:
            gc.unfreeze()

    def settle(self) -> None:
        """Between two calls: see to the traces that came."""
        waiting = self._collector.waiting
        if waiting > self._most or (waiting and not self._freezes):
            self._collector.read(_TWO)
        elif waiting and gc.get_count()[0] > self._young:
            gc.collect(1)
            gc.freeze()
