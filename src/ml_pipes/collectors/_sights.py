"""What is known of runs, by their identity, for as long as they live.

All participants of a batch hold its one run, so a collector sees it several times. Knows runs.
Knows nothing of what is kept.
"""

from __future__ import annotations

import weakref
from typing import Generic, TypeVar

from ml_pipes.tracing import InvocationTrace

__all__ = ["PerRun"]

KeptT = TypeVar("KeptT")


class PerRun(Generic[KeptT]):
    """A table whose keys are runs themselves, not what they are equal to; a run that is gone is not in it."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[weakref.ref[InvocationTrace], KeptT]] = {}

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, run: InvocationTrace) -> KeptT | None:
        """What is kept of the run; None where nothing is."""
        entry = self._kept.get(id(run))
        return entry[1] if entry is not None and entry[0]() is run else None

    def put(self, run: InvocationTrace, kept: KeptT) -> None:
        """Keep something of the run."""
        key, table = id(run), self._kept
        table[key] = weakref.ref(run, lambda _: table.pop(key, None)), kept
