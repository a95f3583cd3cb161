"""Locks that an interrupt cannot leave taken.

Ctrl-C, or any exception of a signal's handler, can come between two instructions of
the main thread. In CPython 3.13 and 3.14 that may be where a ``with`` block has
taken its lock and does not give it back: after the call of ``__enter__``, or at the
jump back of a loop in the block. So the lock knows its owner, and when an exception
leaves a call, whatever its thread still holds is given back.

Knows locks and threads. Knows nothing of what they guard.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from types import TracebackType
from typing import Protocol

__all__ = ["Guard", "give_back", "give_back_all", "guard"]


class Guard(Protocol):
    """A lock that its own thread may take again, and that nobody else can give back."""

    def __enter__(self) -> bool: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
        /,
    ) -> None: ...
    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Take it; False when it was not had in time."""

    def release(self) -> None:
        """Give it back; ``RuntimeError`` when it is not this thread's."""


_all: weakref.WeakSet[Guard] = weakref.WeakSet()


def guard() -> Guard:
    """A lock for a ``with`` block, which :func:`give_back_all` finds."""
    lock = threading.RLock()
    _all.add(lock)
    return lock


def give_back(lock: Guard) -> None:
    """Let go of a lock as often as this thread holds it."""
    with contextlib.suppress(RuntimeError):  # what says that it is not ours
        while True:
            lock.release()


def give_back_all() -> None:
    """Let go of every guard that this thread holds; for where it should hold none.

    Only the main thread is interrupted, so for all others there is nothing to do.
    """
    if threading.get_ident() == threading.main_thread().ident:
        for lock in list(_all):
            give_back(lock)
