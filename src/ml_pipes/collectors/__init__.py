"""Front door of the trace collectors."""

from ml_pipes.collectors.capture import CaptureCollector
from ml_pipes.collectors.print import PrintCollector

__all__ = ["CaptureCollector", "PrintCollector"]
