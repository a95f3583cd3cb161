"""Ctrl-C: while native modules are imported, and whether it came.

Knows signals. Knows nothing of any command.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any

__all__ = ["INTERRUPTED", "Interrupt", "ending_at_once", "noting_interrupts"]

# What shells call a command that Ctrl-C ended: 128 and the signal's number.
INTERRUPTED = 130


@contextmanager
def ending_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process without unwinding; only for work that leaves nothing half done.

    An exception inside the start of a native module becomes another error there, or a crash.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or not _handled_by(_end):
        yield
        return
    try:
        yield
    finally:
        _handled_by(signal.default_int_handler)


def _handled_by(handler: Callable[[int, FrameType | None], Any]) -> bool:
    try:
        signal.signal(signal.SIGINT, handler)
    except ValueError:
        return False  # not in the main thread, which alone is interrupted
    return True


def _end(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)


@dataclass
class Interrupt:
    """Whether Ctrl-C came."""

    came: bool = False


@contextmanager
def noting_interrupts() -> Iterator[Interrupt]:
    """Let Ctrl-C raise KeyboardInterrupt as ever, and tell later that it came, whoever caught that."""
    interrupt = Interrupt()

    def note(number: int, frame: FrameType | None) -> None:
        interrupt.came = True
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or not _handled_by(note):
        yield interrupt
        return
    try:
        yield interrupt
    finally:
        _handled_by(signal.default_int_handler)
