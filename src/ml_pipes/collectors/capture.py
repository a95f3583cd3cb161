"""A collector that keeps the newest trace.

Knows traces. Knows nothing of how they are recorded or shown.
"""

from __future__ import annotations

from ml_pipes.tracing import InvocationTrace, TraceCollector

__all__ = ["CaptureCollector"]


class CaptureCollector(TraceCollector):
    """Keeps the newest trace in ``last_trace``; None before the first."""

    def __init__(self) -> None:
        self.last_trace: InvocationTrace | None = None

    def on_trace(self, trace: InvocationTrace) -> None:
        """Keep it."""
        self.last_trace = trace
