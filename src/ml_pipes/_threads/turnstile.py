"""One at a time: the lock of something that several threads must not enter together.

Knows threads. Knows nothing of what is behind it.
"""

from __future__ import annotations

import os
import threading
import weakref
from contextlib import AbstractContextManager
from math import inf

from ml_pipes._threads.clock import now
from ml_pipes._threads.deadline import deadline_at, exceeded
from ml_pipes._threads.guard import Guard, guard

__all__ = ["Turnstile"]

_all: weakref.WeakSet[Turnstile] = weakref.WeakSet()


class Turnstile:
    """``with turnstile.lock:`` lets one thread in; the others wait for it to leave.

    A copy, a pickled one and the one in a forked child are new and free, whoever
    was inside. A thread that is inside must not enter again.

    Attributes:
        lock: the interpreter's own lock. An interrupt (Ctrl-C) cannot come between
            taking it and entering the block, as it could in a method of ours.
    """

    __slots__ = ("__weakref__", "lock")

    def __init__(self) -> None:
        self.lock = guard()
        _all.add(self)

    def passage(self, place: str) -> AbstractContextManager[object]:
        """``with turnstile.passage("..."):`` as with the lock, but not longer than until the call's deadline.

        Args:
            place: what is waited for, for the message.

        Raises:
            DeadlineExceeded: it did not become free in time (when it is entered).
        """
        at = deadline_at()
        return self.lock if at == inf else _Passage(self.lock, at, place)

    def __reduce__(self) -> tuple[type[Turnstile], tuple[()]]:
        return Turnstile, ()


class _Passage:
    """The lock, taken within a time; only then, since an interrupt right after it would leave it taken."""

    __slots__ = ("_at", "_lock", "_place")

    def __init__(self, lock: Guard, at: float, place: str) -> None:
        self._lock = lock
        self._at = at
        self._place = place

    def __enter__(self) -> None:
        left_s = min(max(self._at - now(), 0.0), threading.TIMEOUT_MAX)
        if not self._lock.acquire(timeout=left_s):
            raise exceeded(f"while {self._place}", now() - self._at)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _free_all() -> None:
    # The child of a fork has one thread; whoever was inside is not there to leave.
    for turnstile in list(_all):
        turnstile.lock = guard()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
