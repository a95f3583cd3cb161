"""A collector that keeps the newest trace.

Knows traces. Knows nothing of how they are recorded or shown.
"""

from __future__ import annotations

from ml_pipes.collectors.serial import SerialCollector
from ml_pipes.tracing import InvocationTrace

__all__ = ["CaptureCollector"]


class CaptureCollector(SerialCollector):
    """Keeps the newest trace in ``last_trace``; None before the first."""

    def __init__(self) -> None:
        super().__init__()
        self.last_trace: InvocationTrace | None = None

    def _collect(self, trace: InvocationTrace) -> None:
        self.last_trace = trace
