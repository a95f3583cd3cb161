"""Ctrl-C while native modules are imported.

Knows signals. Knows nothing of any command.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["INTERRUPTED", "ending_at_once"]

# What shells call a command that Ctrl-C ended: 128 and the signal's number.
INTERRUPTED = 130


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process without unwinding; only for work that leaves nothing half done.

    An exception inside the start of a native module becomes another error there, or a crash.
    """
    ours = threading.current_thread() is threading.main_thread()
    if not ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)
