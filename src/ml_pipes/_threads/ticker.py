"""A function called again and again on a thread of its own, until it is told to stop.

Knows threads and time. Knows nothing of what the function does.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from ml_pipes._threads.clock import CLOCK, Clock, Gate

__all__ = ["Ticker"]

# A call that is under way when the ticker is stopped is waited for, but not for ever.
_PATIENCE_S = 5.0


class Ticker:
    """Calls ``work`` every ``every_s`` seconds, counted from the end of the call before.

    What ``work`` raises ends it, and is raised by :meth:`stop`.
    """

    def __init__(self, work: Callable[[], object], every_s: float, name: str, clock: Clock = CLOCK) -> None:
        self._work = work
        self._every_s = every_s
        self._clock = clock
        self._gate = Gate()
        self._going = True
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._live, name=f"ml_pipes-{name}", daemon=True)

    def start(self) -> None:
        """Begin; the first call comes after the first wait."""
        self._thread.start()

    def stop(self) -> None:
        """End, once a call that is under way has returned; twice is fine.

        Raises:
            BaseException: what ``work`` raised.
        """
        self._going = False
        self._gate.open()
        self._thread.join(_PATIENCE_S)
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def _live(self) -> None:
        try:
            while not self._clock.wait(self._gate, self._every_s) and self._going:
                self._work()
        except BaseException as failure:
            self._failure = failure
