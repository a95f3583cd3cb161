"""Tables for a terminal: where the time went, and which faces were found.

Knows traces and named arrays. Knows nothing of how they were made.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from ml_pipes.tensor import TensorRegistry
from ml_pipes.tracing import InvocationTrace

__all__ = ["faces", "times"]


def times(traces: Sequence[InvocationTrace]) -> None:
    """Print each step's median time, milliseconds, and its share of the whole."""
    table = Table(box=SIMPLE_HEAD)
    table.add_column("step")
    table.add_column("ms", justify="right")
    table.add_column("%", justify="right")
    total = statistics.median(trace.total_duration_s for trace in traces)
    for at, span in enumerate(traces[0].spans):
        median = statistics.median(trace.spans[at].duration_s for trace in traces)
        table.add_row(span.label, f"{median * 1e3:.2f}", f"{median / total * 100:.0f}")
    table.add_section()
    table.add_row("total", f"{total * 1e3:.2f}", "100")
    console = Console(highlight=False)
    console.print(f"\nwhere the time went, median of {len(traces)} run{'' if len(traces) == 1 else 's'}:")
    console.print(table)


def faces(found: TensorRegistry) -> None:
    """Print the faces, best first: score, box and landmarks in pixels of the photograph."""
    count = len(found["scores"])
    console = Console(highlight=False)
    console.print(f"{count or 'no'} face{'' if count == 1 else 's'} found{', in pixels:' if count else ''}")
    if not count:
        return
    table = Table(box=SIMPLE_HEAD)
    for heading in ("score", "box", "eyes", "nose", "mouth"):
        table.add_column(heading, justify="right")
    for score, box, landmarks in zip(found["scores"], found["boxes"], found["landmarks"], strict=True):
        points = [f"{x:.0f},{y:.0f}" for x, y in (*box.reshape(2, 2), *landmarks)]
        corners, eyes, nose, mouth = points[:2], points[2:4], points[4], points[5:]
        table.add_row(f"{score:.3f}", " ".join(corners), " ".join(eyes), nose, " ".join(mouth))
    console.print(table)
