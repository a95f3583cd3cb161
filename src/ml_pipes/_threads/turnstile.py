"""One at a time: the lock of something that several threads must not enter together.

Knows threads. Knows nothing of what is behind it.
"""

from __future__ import annotations

import os
import threading
import weakref

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
        self.lock = threading.Lock()
        _all.add(self)

    def __reduce__(self) -> tuple[type[Turnstile], tuple[()]]:
        return Turnstile, ()


def _free_all() -> None:
    # The child of a fork has one thread; whoever was inside is not there to leave.
    for turnstile in list(_all):
        turnstile.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
