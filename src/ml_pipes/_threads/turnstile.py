"""One at a time: the lock of something that several threads must not enter together.

Knows threads. Knows nothing of what is behind it.
"""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType

__all__ = ["Turnstile"]

_all: weakref.WeakSet[Turnstile] = weakref.WeakSet()


class Turnstile:
    """``with turnstile:`` lets one thread in; the others wait for it to leave.

    A copy, a pickled one and the one in a forked child are new and free, whoever
    was inside. A thread that is inside must not enter again.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # A fork made by the thread inside gave the child a free one: there is nothing to release then.
        if self._lock.locked():
            self._lock.release()

    def __reduce__(self) -> tuple[type[Turnstile], tuple[()]]:
        return Turnstile, ()


def _free_all() -> None:
    # The child of a fork has one thread; whoever was inside is not there to leave.
    for turnstile in list(_all):
        turnstile._lock = threading.Lock()  # noqa: SLF001 # this module made it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
