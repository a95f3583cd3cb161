"""A body's answer to a list of items: one result per item, or an error that says what came.

Knows sequences and arrays. Knows nothing of callers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.errors import BatchSizeError

__all__ = ["results_of"]


def results_of(label: str, runner: Callable[[list[Any]], Any], items: list[Any], isolate: bool) -> Any:
    """Run the items and return one result each, in order; ``SHORT_CIRCUIT`` when the body ended early.

    Args:
        label: the region's label, for messages.
        runner: takes the list of items.
        items: what it takes.
        isolate: when the run fails, run each item alone; the guilty ones' results are their errors.

    Raises:
        BatchSizeError: another number of results came, or nothing that has rows.
        BaseException: what the runner raises.
    """
    try:
        return _rows(label, runner(items), len(items))
    except Exception:
        if not isolate or len(items) == 1:
            raise
    return [_alone(label, runner, item) for item in items]


def _alone(label: str, runner: Callable[[list[Any]], Any], item: Any) -> Any:
    try:
        results = _rows(label, runner([item]), 1)
        return results if results is SHORT_CIRCUIT else results[0]
    except Exception as error:
        return error


def _rows(label: str, results: Any, count: int) -> Any:
    if results is SHORT_CIRCUIT:
        return results
    if not _has_rows(results):
        raise BatchSizeError(
            f"{label}: the body took {count} items and returned a {type(results).__name__}; "
            "return a list with one result per item, in order (does it end with Distribute()?)"
        )
    if len(results) != count:
        raise BatchSizeError(
            f"{label}: Batch size mismatch: the body took {count} items and returned {len(results)}; "
            "return one result per item, in order (does it end with Distribute()?)"
        )
    # By index: what a table of columns iterates over is not its rows.
    return [results[at] for at in range(count)]


def _has_rows(results: Any) -> bool:
    """Lists, tuples and the like, and arrays of one axis or more; no text, no mapping, no generator."""
    if type(results) is list:  # most are, and an abstract class takes its time to tell
        return True
    if isinstance(results, Sequence):
        return not isinstance(results, str | bytes | bytearray)
    return hasattr(type(results), "__dlpack__") and len(results.shape) > 0
