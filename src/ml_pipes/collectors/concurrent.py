"""Base of the collectors that take their time: on a thread of their own, which no call waits for.

Knows traces and a courier. Knows nothing of what is done with a trace.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Final, Self

from ml_pipes._threads.courier import Courier
from ml_pipes.tracing import InvocationTrace, TraceCollector

__all__ = ["ConcurrentCollector"]

_HOUSE_LIMIT: Final = 65_536


class ConcurrentCollector(TraceCollector):
    """Gives each trace to ``_collect`` on one thread of its own; a call never waits for it.

    Where traces come faster than ``_collect`` takes them, what does not fit is dropped and counted:
    telemetry may lose data, never time. The thread is made with the first trace, and ends after
    :meth:`stop`, or with the collector. A forked child has none of its parent's traces, and a thread of
    its own. When the interpreter ends, what is there is collected within a second, or lost; a process
    that ends without that (``os._exit``, as those of ``multiprocessing`` do) calls :meth:`flush` before.

    Args:
        maxsize: how many traces may wait; 0 means 65,536.

    Raises:
        ValueError: ``maxsize`` is negative.
    """

    def __init__(self, maxsize: int = 0) -> None:
        if maxsize < 0:
            raise ValueError(f"maxsize must be at least 0, got {maxsize}; 0 means {_HOUSE_LIMIT:,}")
        self._courier = self._hire(maxsize or _HOUSE_LIMIT)

    def _hire(self, limit: int) -> Courier:
        """What carries the traces to ``_collect``."""
        return Courier(self._collect, limit=limit, label=type(self).__name__)

    @property
    def dropped(self) -> int:
        """How many traces were not collected: too many waited, or it was stopped."""
        return self._courier.dropped

    def on_trace(self, trace: InvocationTrace) -> None:
        self._courier.post(trace)

    def flush(self, timeout_s: float = 10.0) -> bool:
        """Wait until all traces that came before are collected.

        Args:
            timeout_s: seconds to wait at the most.

        Returns:
            whether they are; False at once from within ``_collect``.
        """
        return self._courier.flush(timeout_s)

    def stop(self, timeout_s: float = 10.0) -> bool:
        """Collect what is there and end the thread; later traces are dropped, with a logged warning.

        Args:
            timeout_s: seconds to wait at the most; traces left over then are dropped.

        Returns:
            whether all were collected; a second stop changes nothing.
        """
        return self._courier.stop(timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @abstractmethod
    def _collect(self, trace: InvocationTrace) -> None:
        """Take one finished trace; what it raises is logged, and the next one comes."""
