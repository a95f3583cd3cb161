"""A pipeline whose calls are traced, for tests of what a trace tells."""

from __future__ import annotations

from typing import Any

from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import Pipeline
from ml_pipes.tracing import InvocationTrace, TracingConfig

__all__ = ["last", "traced"]


def traced(
    operators: list[Any], config: TracingConfig | None = None
) -> tuple[Pipeline[Any, Any], CaptureCollector]:
    """The pipeline, and what keeps its newest trace."""
    collector, pipeline = CaptureCollector(), Pipeline[Any, Any](operators)
    pipeline.set_tracing(collector, config)
    return pipeline, collector


def last(collector: CaptureCollector) -> InvocationTrace:
    """Its newest trace."""
    assert collector.last_trace is not None
    return collector.last_trace
