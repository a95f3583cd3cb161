"""When a thread was last let in where calls take turns, so that its wait can be told from its work.

Knows threads and time. Knows nothing of what is waited for.
"""

from __future__ import annotations

import threading
from math import inf

from ml_pipes._threads.clock import now

__all__ = ["last_let_in", "let_in"]


class _Here(threading.local):
    at = -inf


_here = _Here()


def let_in() -> None:
    """This thread's turn has come, now."""
    _here.at = now()


def last_let_in() -> float:
    """When this thread's last turn came, seconds of the house's clock; minus infinity before the first."""
    return _here.at
