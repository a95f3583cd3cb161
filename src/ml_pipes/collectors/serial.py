"""Base of the collectors that do little with a trace: at once, one trace at a time.

Knows traces and a lock. Knows nothing of what is done with a trace.
"""

from __future__ import annotations

from abc import abstractmethod

from ml_pipes._threads.guard import give_back
from ml_pipes._threads.turnstile import Turnstile
from ml_pipes.tracing import InvocationTrace, TraceCollector

__all__ = ["SerialCollector"]


class SerialCollector(TraceCollector):
    """Gives each trace to ``_collect`` on the thread of its run, under a lock: one at a time.

    What ``_collect`` takes is added to the call, and to those that come meanwhile. For more than a
    few microseconds, see :class:`~ml_pipes.collectors.ConcurrentCollector`.
    """

    def __init__(self) -> None:
        self._one_at_a_time = Turnstile()

    def on_trace(self, trace: InvocationTrace) -> None:
        try:
            with self._one_at_a_time.lock:
                self._collect(trace)
        except Exception:
            raise
        except BaseException:
            give_back(self._one_at_a_time.lock)  # an interrupt came; others are not to wait for it
            raise

    @abstractmethod
    def _collect(self, trace: InvocationTrace) -> None:
        """Take one finished trace."""
