"""A collector that prints each trace.

Knows traces and text. Knows nothing of how they are recorded.
"""

from __future__ import annotations

from collections.abc import Iterator

from ml_pipes.collectors.capture import CaptureCollector
from ml_pipes.tracing import InvocationTrace

__all__ = ["PrintCollector"]


class PrintCollector(CaptureCollector):
    """Prints each trace when it comes: a line per step with milliseconds and share, then the total."""

    def on_trace(self, trace: InvocationTrace) -> None:
        """Keep and print it."""
        super().on_trace(trace)
        self.print_trace(trace)

    def print_trace(self, trace: InvocationTrace | None = None) -> None:
        """Print this trace, or the newest one; the steps of a region stand indented below it."""
        trace = trace if trace is not None else self.last_trace
        if trace is None:
            print("no trace yet")
            return
        # One print, so that traces of several threads do not mix their lines.
        print(
            "\n".join(
                [*_lines(trace, trace.total_duration_s, 0), _line("total", trace.total_duration_s, None)]
            )
        )


def _lines(trace: InvocationTrace, total_s: float, depth: int) -> Iterator[str]:
    for span in trace.spans:
        share = span.duration_s / total_s if total_s else 0.0
        yield _line("  " * depth + span.label + (" (error)" if span.error else ""), span.duration_s, share)
        if span.child_trace is not None:
            yield from _lines(span.child_trace, total_s, depth + 1)


def _line(name: str, duration_s: float, share: float | None) -> str:
    percent = "" if share is None else f" {share:6.1%}"
    return f"{name:<40} {duration_s * 1e3:9.3f} ms{percent}"
