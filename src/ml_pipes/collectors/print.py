"""A collector that prints each trace.

Knows traces and text. Knows nothing of how they are recorded.
"""

from __future__ import annotations

from ml_pipes.collectors._lines import trace_lines
from ml_pipes.collectors.capture import CaptureCollector
from ml_pipes.tracing import InvocationTrace

__all__ = ["PrintCollector"]


class PrintCollector(CaptureCollector):
    """Prints each trace when it comes: a line per step with milliseconds and share, then the total."""

    def _collect(self, trace: InvocationTrace) -> None:
        super()._collect(trace)
        self.print_trace(trace)

    def print_trace(self, trace: InvocationTrace | None = None) -> None:
        """Print this trace, or the newest one; the steps of a region stand indented below it."""
        trace = trace if trace is not None else self.last_trace
        if trace is None:
            print("no trace yet")
            return
        # One print, so that traces of several threads do not mix their lines.
        print("\n".join(trace_lines(trace)))
