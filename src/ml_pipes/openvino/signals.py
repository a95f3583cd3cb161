"""A thread's stack for signals, kept as it is while OpenVINO starts.

Knows how Linux keeps that stack. Knows nothing of models or devices.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["signal_stack_kept"]


class _Stack(ctypes.Structure):
    """Linux's ``stack_t``; see ``man 2 sigaltstack``."""

    _fields_ = (("address", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


@contextmanager
def signal_stack_kept() -> Iterator[None]:
    """Put back what the block changes of this thread's stack for signals.

    OpenVINO's plugin for CPUs gives the thread that starts it such a stack, and takes the
    memory back when the plugin ends. Where two did not end in the reverse order of their
    start, or one on another thread, the stack was gone and the next signal, such as
    Ctrl-C, killed the process (seen with 2026.4).
    """
    if not sys.platform.startswith("linux"):
        yield
        return
    libc, kept = ctypes.CDLL(None), _Stack()
    libc.sigaltstack(None, ctypes.byref(kept))
    try:
        yield
    finally:
        libc.sigaltstack(ctypes.byref(kept), None)
