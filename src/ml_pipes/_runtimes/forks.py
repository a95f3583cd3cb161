"""Which sessions a forked child may not use, nor end.

Knows forks. Knows nothing of any runtime.
"""

from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any

__all__ = ["forks", "protect"]

_live: weakref.WeakSet[Any] = weakref.WeakSet()
_forks = 0


def forks() -> int:
    """How often this process's line was forked: a session belongs to the number it was made at."""
    return _forks


def protect(session: Any) -> None:
    """Keep a runtime's object from being ended in a forked child, whose copy lacks its threads."""
    _live.add(session)


def _after_fork() -> None:
    """Let the child make its own sessions, and never end the parent's, whose workers it could not join.

    The child itself must end by ``os._exit``, as those of multiprocessing do: where ONNX Runtime was
    imported before a fork, with or without a session, it hangs at any other end (seen with 1.32).
    """
    global _forks  # noqa: PLW0603 # a count of the process, as the process id is
    _forks += 1
    for session in list(_live):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))
    _live.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
