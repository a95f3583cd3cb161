"""The garbage collector while something is measured: what is there already is set aside.

Knows the garbage collector. Knows nothing of what is measured.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ["may_freeze", "old_set_aside"]

# CPython 3.12 freezes a few hundred by itself; a program that freezes has tens of thousands.
_FROZEN_BY_PYTHON: Final = 1000


def may_freeze() -> bool:
    """Objects may be set aside (:func:`gc.freeze`) and be put back, and it costs little.

    What others froze is to stay frozen; without the GIL, freezing goes through all objects there are.
    """
    is_free = not getattr(sys, "_is_gil_enabled", lambda: True)()
    return gc.isenabled() and gc.get_freeze_count() < _FROZEN_BY_PYTHON and not is_free


@contextmanager
def old_set_aside() -> Iterator[None]:
    """Collections within go through what is made within alone, where objects may be set aside.

    A collection before every block of calls, which treats all alike, would else take a time that grows with
    the program: 0.2 s where a million objects are alive.
    """
    freezes = may_freeze()
    if freezes:
        gc.collect()
        gc.freeze()
    try:
        yield
    finally:
        if freezes:
            gc.unfreeze()
