"""Something with threads or locks: made on first use, once, and anew in a forked child.

Knows when to make it. Knows nothing of what it is.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, Final, TypeVar

from ml_pipes._threads.guard import guard
from ml_pipes.errors import PipelineClosed

__all__ = ["CLOSED", "Owned"]

CLOSED: Final = "the pipeline was closed; make a new one, or close it after its last call"

OwnedT = TypeVar("OwnedT")

_all: weakref.WeakSet[Owned] = weakref.WeakSet()


class Owned:
    """A place for one thing that lives as long as its holder, or until it is closed."""

    __slots__ = ("__weakref__", "_closed", "_lock", "_made", "_was")

    def __init__(self) -> None:
        self._made: Any = None
        self._was: Any = None
        self._closed = False
        self._lock = guard()
        _all.add(self)

    def get(self, make: Callable[[], OwnedT]) -> OwnedT:
        """What was made first; when nothing was yet, made now, by one thread, the others waiting for it.

        What ``make`` raises goes to the caller, and the next one tries again.

        Raises:
            PipelineClosed: it was closed.
        """
        made = self._made
        if made is None:
            with self._lock:
                if self._closed:
                    raise PipelineClosed(CLOSED)
                if self._made is None:
                    self._made = make()
                made = self._made
        return made  # type: ignore[no-any-return] # what make gives

    def peek(self) -> Any:
        """What was made, also when it was closed since; None when nothing was."""
        return self._made or self._was

    def close(self) -> None:
        """Close what was made, where it can be closed, and let nothing be made any more; twice is fine."""
        with self._lock:
            self._closed = True
            made, self._made = self._made, None
            self._was = made or self._was
        close = getattr(made, "close", None)
        if close is not None:
            close()

    def _forget(self) -> None:
        self._made = None
        self._lock = guard()


def _forget_all() -> None:
    # The child of a fork has one thread: locks may be held, and queues read, by threads that are not there.
    for owned in list(_all):
        owned._forget()  # noqa: SLF001 - its own module


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
