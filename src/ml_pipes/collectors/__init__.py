"""Front door of the trace collectors."""

from ml_pipes.collectors.aggregate import AggregateCollector
from ml_pipes.collectors.capture import CaptureCollector
from ml_pipes.collectors.concurrent import ConcurrentCollector
from ml_pipes.collectors.otel_collector import OtelCollector
from ml_pipes.collectors.print import PrintCollector
from ml_pipes.collectors.prometheus import PrometheusCollector
from ml_pipes.collectors.serial import SerialCollector
from ml_pipes.collectors.slow import SlowCollector
from ml_pipes.collectors.throughput import ThroughputCollector
from ml_pipes.collectors.timeline import TimelineCollector

__all__ = [
    "AggregateCollector",
    "CaptureCollector",
    "ConcurrentCollector",
    "OtelCollector",
    "PrintCollector",
    "PrometheusCollector",
    "SerialCollector",
    "SlowCollector",
    "ThroughputCollector",
    "TimelineCollector",
]
