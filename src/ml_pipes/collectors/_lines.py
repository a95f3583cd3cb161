"""Traces as lines of text: a step, its milliseconds, its share.

Knows traces and text. Knows nothing of who prints them.
"""

from __future__ import annotations

from collections.abc import Iterator

from ml_pipes.tracing import InvocationTrace

__all__ = ["trace_lines"]


def trace_lines(trace: InvocationTrace) -> list[str]:
    """A line per step with milliseconds and share of the total, those of a region indented, and the total."""
    total_s = trace.total_duration_s
    return [*_lines(trace, total_s, 0), _line("total", total_s, None)]


def _lines(trace: InvocationTrace, total_s: float, depth: int) -> Iterator[str]:
    for span in trace.spans:
        share = span.duration_s / total_s if total_s else 0.0
        yield _line("  " * depth + span.label + (" (error)" if span.error else ""), span.duration_s, share)
        if span.child_trace is not None:
            yield from _lines(span.child_trace, total_s, depth + 1)


def _line(name: str, duration_s: float, share: float | None) -> str:
    percent = "" if share is None else f" {share:6.1%}"
    return f"{name:<40} {duration_s * 1e3:9.3f} ms{percent}"
