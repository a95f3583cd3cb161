"""A function called again and again on the thread that asks: when each call started and ended.

Knows a function, its inputs and a clock. Knows nothing of pipelines, or of other
callers: for those, see ``measure``.
"""

from __future__ import annotations

import gc
from array import array
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from ml_pipes._threads.callers import first_words
from ml_pipes._threads.clock import CLOCK, Clock
from ml_pipes.benchmark.load import ClosedLoop
from ml_pipes.benchmark.measure import Progress
from ml_pipes.benchmark.samples import Samples

__all__ = ["sequential"]

_TELL_EACH_S = 0.1


def sequential(
    call: Callable[[Any], Any],
    inputs: Callable[[int], Any],
    *,
    runs: int | None,
    duration_s: float | None = None,
    warmup: int = 0,
    progress: Progress | None = None,
    clock: Clock = CLOCK,
) -> Samples:
    """Call, one call after another, on this thread: what is bound to a thread works as it does without.

    An ``Exception`` that a call raises is that call's error. Ctrl-C ends it, and what was measured is given
    back (``interrupted``).

    Args:
        call: takes one input.
        inputs: gives the input for an index, counted from 0 over all calls; asked before the call's time.
        runs: calls that count; None to go by ``duration_s``.
        duration_s: seconds from the start of the first call that counts.
        warmup: calls before, which do not.
        progress: told about ten times a second how far it is, between two calls.
        clock: tells the time.
    """
    book = _Book(runs, duration_s, progress, clock)
    gc.collect()
    try:
        for index in range(warmup):
            book.call(call, inputs(index), counts=False)
        index = warmup
        while not book.done():
            book.call(call, inputs(index), counts=True)
            index += 1
    except KeyboardInterrupt:
        book.interrupted = True
    return book.samples(warmup)


class _Book:
    """What was measured so far, in arrays of plain numbers, which cost the garbage collector nothing.

    Attributes:
        interrupted: it was ended by Ctrl-C.
    """

    def __init__(
        self, runs: int | None, duration_s: float | None, progress: Progress | None, clock: Clock
    ) -> None:
        self.interrupted = False
        self._runs = runs
        self._duration_s = duration_s
        self._progress = progress
        self._now = clock.now
        self._began_s = self._told_s = clock.now()
        self._started_s, self._ended_s = array("d"), array("d")
        self._failed = bytearray()
        self._errors: Counter[str] = Counter()

    def call(self, call: Callable[[Any], Any], value: Any, *, counts: bool) -> None:
        """Call, and note it if it counts."""
        now = self._now
        error: str | None = None
        started_s = now()
        try:
            call(value)
            ended_s = now()
        except Exception as raised:  # noqa: BLE001 - whatever a call raises is noted and counted
            ended_s = now()
            error = first_words(raised)
        if not counts:
            return
        self._started_s.append(started_s)
        self._ended_s.append(ended_s)
        self._failed.append(error is not None)
        if error is not None:
            self._errors[error] += 1

    def done(self) -> bool:
        """There is enough; tells how far it is."""
        count, now_s = len(self._failed), self._now()
        if self._duration_s is not None:
            is_enough = bool(count) and now_s - self._started_s[0] >= self._duration_s
        else:
            is_enough = count >= (self._runs or 0)
        if self._progress is not None and (is_enough or now_s - self._told_s >= _TELL_EACH_S):
            self._told_s = now_s
            self._progress(count, None if self._duration_s is not None else self._runs, now_s - self._began_s)
        return is_enough

    def samples(self, warmup: int) -> Samples:
        """What was measured."""
        # An interrupt may have come between two of the appends.
        count = min(len(self._started_s), len(self._ended_s), len(self._failed))
        started_s = np.array(self._started_s[:count])
        return Samples(
            intended_s=started_s,
            started_s=started_s,
            ended_s=np.array(self._ended_s[:count]),
            failed=np.array(list(self._failed[:count]), dtype=np.bool_),
            errors=dict(self._errors.most_common()),
            warmup=warmup,
            interrupted=self.interrupted,
            load=ClosedLoop(1),
        )
