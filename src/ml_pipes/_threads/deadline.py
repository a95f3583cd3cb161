"""The time by which a call must be done, seen by everything that works for it.

It is a ContextVar: the workers of a region, and pipelines within pipelines, see it
too. Knows times. Knows nothing of pipelines.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from math import inf, isnan

from ml_pipes._threads.clock import now
from ml_pipes.errors import DeadlineExceeded

__all__ = ["check_deadline", "deadline_at", "due_at", "due_within", "exceeded"]

_deadline_at: ContextVar[float] = ContextVar("ml_pipes_deadline_at", default=inf)

deadline_at = _deadline_at.get
"""Seconds of the house's clock; infinite where there is no deadline."""


@contextmanager
def due_at(at: float) -> Iterator[None]:
    """The deadline within the block is ``at``, whatever it was outside."""
    outside = _deadline_at.set(at)
    try:
        yield
    finally:
        _deadline_at.reset(outside)


def due_within(seconds: float) -> AbstractContextManager[None]:
    """The deadline within the block is this many seconds from now, or the one outside if that is earlier.

    Raises:
        TypeError: ``seconds`` is no number.
        ValueError: it is NaN.
    """
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"deadline must be seconds from now, got {seconds!r}")
    try:
        at = now() + seconds
    except OverflowError:  # a whole number beyond all floats
        at = inf if seconds > 0 else -inf
    if isnan(at):
        raise ValueError("deadline must be seconds from now, got nan")
    return due_at(min(at, deadline_at()))


def exceeded(place: str, late_s: float) -> DeadlineExceeded:
    """The error of a call whose deadline went by."""
    return DeadlineExceeded(
        f"the deadline went by {place}, {late_s * 1e3:.1f} ms ago; allow more time, or find with "
        "set_tracing or stats where it goes"
    )


def check_deadline(place: str) -> None:
    """Go on only while there is time.

    Raises:
        DeadlineExceeded: there is none.
    """
    late_s = now() - deadline_at()
    if late_s >= 0.0:
        raise exceeded(place, late_s)
