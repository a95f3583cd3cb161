"""Times at which something ran, as intervals: how much of a window they fill, and how many overlap.

Intervals are ``(n, 2)`` arrays of start and end, seconds of one clock, in any order, n from 0 up;
those of no length, or that end before they start, count for nothing. All is vectorised.

Knows numbers, and where a trace says that a model ran.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from ml_pipes.tracing import InvocationTrace, walk

__all__ = [
    "Intervals",
    "as_intervals",
    "busy_share",
    "clipped",
    "gaps",
    "inference_intervals",
    "mean_concurrency",
    "peak_concurrency",
    "union",
]

Intervals: TypeAlias = npt.NDArray[np.float64]


def as_intervals(pairs: npt.ArrayLike) -> Intervals:
    """Pairs of start and end as an array.

    Raises:
        ValueError: they are not pairs.
    """
    intervals = np.asarray(pairs, dtype=np.float64)
    if not intervals.size:
        return np.zeros((0, 2))
    if intervals.ndim != 2 or intervals.shape[1] != 2:
        raise ValueError(f"intervals must be (n, 2), start and end, got {intervals.shape}")
    return intervals


def clipped(intervals: npt.ArrayLike, since_s: float, until_s: float) -> Intervals:
    """What of each lies within a window; those that do not are left out."""
    inside = as_intervals(intervals).clip(since_s, until_s)
    return inside[inside[:, 1] > inside[:, 0]]


def union(intervals: npt.ArrayLike) -> Intervals:
    """The times at which at least one runs: sorted intervals that neither overlap nor touch."""
    given = as_intervals(intervals)
    given = given[given[:, 1] > given[:, 0]]
    if not len(given):
        return given
    given = given[np.argsort(given[:, 0], kind="stable")]
    latest_ends = np.maximum.accumulate(given[:, 1])
    # A new one begins where all before have ended.
    begins = np.concatenate([[True], given[1:, 0] > latest_ends[:-1]])
    ends = np.concatenate([begins[1:], [True]])
    return np.stack([given[begins, 0], latest_ends[ends]], axis=1)


def busy_share(intervals: npt.ArrayLike, since_s: float, until_s: float) -> float:
    """The share of a window in which at least one runs, 0 to 1; NaN for a window without length."""
    if until_s <= since_s:
        return float("nan")
    busy = union(clipped(intervals, since_s, until_s))
    return float((busy[:, 1] - busy[:, 0]).sum()) / (until_s - since_s)


def gaps(intervals: npt.ArrayLike, since_s: float, until_s: float) -> Intervals:
    """The times in a window at which none runs, in order; those at its edges too."""
    busy = union(clipped(intervals, since_s, until_s))
    starts = np.concatenate([[since_s], busy[:, 1]])
    ends = np.concatenate([busy[:, 0], [until_s]])
    idle = np.stack([starts, ends], axis=1)
    return cast("Intervals", idle[idle[:, 1] > idle[:, 0]])


def mean_concurrency(intervals: npt.ArrayLike, since_s: float, until_s: float) -> float:
    """How many run at a time, on average over a window, idle times too; NaN for one without length."""
    if until_s <= since_s:
        return float("nan")
    inside = clipped(intervals, since_s, until_s)
    return float((inside[:, 1] - inside[:, 0]).sum()) / (until_s - since_s)


def peak_concurrency(intervals: npt.ArrayLike, since_s: float, until_s: float) -> int:
    """How many run at a time, at most; one that starts when another ends does not overlap it."""
    inside = clipped(intervals, since_s, until_s)
    times = np.concatenate([inside[:, 1], inside[:, 0]])  # ends come first among equals
    changes = np.concatenate([np.full(len(inside), -1), np.full(len(inside), 1)])
    order = np.argsort(times, kind="stable")
    return int(np.cumsum(changes[order]).max(initial=0))


def inference_intervals(traces: Iterable[InvocationTrace]) -> Intervals:
    """When models ran, by the traces: one interval per run, sorted by start.

    A batch that several traces share counts once. A run that waits for its turn on a serialised model is
    running by its trace. Failed runs count: they kept the hardware busy.

    Args:
        traces: of any calls, of the same process.
    """
    runs = {
        (span.start_time, span.start_time + span.duration_s, span.thread, span.label)
        for trace in traces
        for span, _ in walk(trace)
        if span.is_inference
    }
    return as_intervals(sorted(run[:2] for run in runs))
