"""A function under a load for a while: when each call started and ended, and what it raised.

Knows loads, a function and where its inputs come from. Knows nothing of pipelines or
of what is made of the figures.
"""

from __future__ import annotations

import copy
import gc
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ml_pipes._threads.callers import Called, Callers, LoopCallers, TimetableCallers
from ml_pipes._threads.clock import CLOCK, Clock
from ml_pipes._threads.crew import Crew, fan_out
from ml_pipes.benchmark.load import ClosedLoop, Load, Offline, OpenLoop, Queries
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.window import Window

__all__ = ["Call", "Inputs", "Progress", "input_at", "measure"]

Call: TypeAlias = Callable[[Any], Any]
Inputs: TypeAlias = Any
"""A callable ``index -> value``; a list or tuple, which is cycled; or one value for all calls."""
Progress: TypeAlias = Callable[[int, int | None, float], object]
"""``progress(done, total, elapsed_s)``: calls in the window that have ended, how many there will be where
that is known, and seconds since the first call."""

_LOOK_EACH_S = 0.1
# Before the first call of a timetable, so that its callers are asleep by then.
_HEAD_START_S = 0.02
# The generator is late when its 99th percentile is above this, or above this share of the mean interval.
_LATE_S = 1e-3
_LATE_SHARE = 0.05
# Kinds of errors told apart.
_ERROR_KINDS = 50


def measure(
    call: Call,
    inputs: Inputs,
    load: Load,
    *,
    runs: int | None = None,
    duration_s: float | None = None,
    warmup: int = 0,
    warmup_s: float = 0.0,
    limit_s: float = 600.0,
    grace_s: float = 30.0,
    progress: Progress | None = None,
    clock: Clock = CLOCK,
) -> Samples:
    """Call a function under a load, and note each call.

    The calls are made on threads of their own, in copies of this thread's context. Callers go on
    from the warm-up into the window and beyond its end, until all calls that count have ended: no
    edge is drained, so all of them see the same load. See :class:`Samples` for what counts.

    Whatever a call raises, ``SystemExit`` too, is that call's error. Ctrl-C ends the measurement,
    and what was measured is given back (``interrupted``); a second one also gives up waiting for
    calls that still run.

    Args:
        call: takes one input; what it returns is dropped.
        inputs: a callable that gives the input for an index, counted over all calls from 0; a list or
            tuple, which is cycled; or one value. Made before the call's time. A list as *value* is
            given as ``[value]``.
        load: how many calls at once, or when they come.
        runs: calls that count, at least; all of them for :class:`Offline`.
        duration_s: seconds that the window lasts, at least. With both, whichever is reached later.
        warmup: calls before the window, at least.
        warmup_s: seconds before the window, at least.
        limit_s: the most that all of it may take, seconds; what was measured until then is given
            back, and marked invalid.
        grace_s: how long calls that count may go on after the window, seconds; those that take longer
            are ``unfinished``, which makes the figures invalid.
        progress: called about ten times a second, and at the end, on this thread.
        clock: tells the time.

    Raises:
        ValueError: neither ``runs`` nor ``duration_s``, or a number that cannot be.
        BaseException: what ``inputs`` or ``progress`` raised.
    """
    _check(load, runs, duration_s, warmup, warmup_s, limit_s, grace_s)
    bounds = _Bounds(runs, duration_s, limit_s, grace_s)
    given = input_at(inputs)
    if isinstance(load, Queries):
        call, given = _queries(call, given, load.samples_per_query)
    if isinstance(load, Offline) and (warmup or warmup_s):
        # What begins with all at once begins from rest: its warm-up is another measurement.
        loop = ClosedLoop(load.max_in_flight)
        before = measure(
            call, given, loop, runs=max(1, warmup), duration_s=warmup_s or None, limit_s=limit_s, clock=clock
        )
        if before.interrupted:
            return _Session(call, given, load, bounds, Window(clock.now()), progress, clock).cut_short()
        warmup, warmup_s = 0, 0.0
    gc.collect()
    start_s = clock.now() + (0.0 if isinstance(load, ClosedLoop | Queries) else _HEAD_START_S)
    window = Window(start_s, warmup=warmup, warmup_s=warmup_s, runs=runs, duration_s=duration_s)
    return _Session(call, given, load, bounds, window, progress, clock).samples()


def input_at(inputs: Inputs) -> Callable[[int], Any]:
    """The function ``index -> value`` that ``inputs`` stands for; see :func:`measure`.

    Raises:
        ValueError: an empty list or tuple.
    """
    if callable(inputs):
        return inputs  # type: ignore[no-any-return] # the caller's
    if isinstance(inputs, list | tuple):
        values: Sequence[Any] = inputs
        if not values:
            raise ValueError("measure: inputs is empty; give at least one value")
        return lambda index: values[index % len(values)]
    return lambda _: inputs


@dataclass(frozen=True)
class _Bounds:
    """What ends a measurement."""

    runs: int | None
    duration_s: float | None
    limit_s: float
    grace_s: float


class _Session:
    """One measurement."""

    def __init__(
        self,
        call: Call,
        inputs: Callable[[int], Any],
        load: Load,
        bounds: _Bounds,
        window: Window,
        progress: Progress | None,
        clock: Clock,
    ) -> None:
        self._load = load
        self._bounds = bounds
        self._window = window
        self._progress = progress
        self._clock = clock
        self._start_s = clock.now()
        self._until_s = self._foreseen()
        self._interrupted = False
        self._invalid: list[str] = []
        self._callers = self._made(call, inputs)

    def samples(self) -> Samples:
        """Measure."""
        try:
            self._callers.run(self._look)
        except KeyboardInterrupt:
            self._interrupted = True
        finally:
            self._end()
        self._tell_progress()
        return self._made_of(self._callers.calls)

    def _end(self) -> None:
        """Wait for the last calls; another interrupt ends that too."""
        try:
            self._window.close(min(self._clock.now(), self._until_s))
            self._callers.stop(self._bounds.grace_s)
        except KeyboardInterrupt:
            self._interrupted = True
            self._callers.stop(0.0)

    def cut_short(self) -> Samples:
        """Nothing was measured, since the warm-up was interrupted."""
        self._interrupted = True
        self._window.close(self._clock.now())
        return self._made_of([])

    def _made(self, call: Call, inputs: Callable[[int], Any]) -> Callers:
        load, window, clock = self._load, self._window, self._clock
        if isinstance(load, OpenLoop):
            spare = 8 + math.ceil(load.rate_per_s * 0.01)
            offsets_s = load.offsets_s()
            start_s = window.start_s
            return TimetableCallers(
                call, inputs, window, offsets_s, start_s, load.max_in_flight, spare, clock
            )
        if isinstance(load, Offline):
            zeros: Iterator[float] = itertools.repeat(0.0, self._bounds.runs or 0)
            most = min(load.max_in_flight, self._bounds.runs or 1)
            return TimetableCallers(call, inputs, window, zeros, window.start_s, most, most, clock)
        count = load.callers if isinstance(load, ClosedLoop) else 1
        return LoopCallers(call, inputs, window, count, clock)

    def _look(self) -> float | None:
        """Tell how far it is; the seconds until the next look, None when it must end."""
        now_s = self._clock.now()
        self._tell_progress()
        window, bounds = self._window, self._bounds
        left_s = self._start_s + bounds.limit_s - now_s
        if left_s <= 0.0:
            self._invalid.append(
                f"it was ended by its limit of {bounds.limit_s:g} s before it had all its calls"
            )
            return None
        until_s = self._until_s if window.until_s is None else window.until_s
        grace_left_s = until_s + bounds.grace_s - now_s
        if grace_left_s <= 0.0:
            return None
        return min(left_s, grace_left_s, _LOOK_EACH_S)

    def _foreseen(self) -> float:
        """When the window will close, where a timetable tells; a target that stands still hides it."""
        if not isinstance(self._load, OpenLoop):
            return math.inf
        ahead = copy.copy(self._window)
        for offset_s in self._load.offsets_s():
            ahead.begin(ahead.start_s + offset_s)
            if ahead.until_s is not None:
                break
        return ahead.until_s if ahead.until_s is not None else math.inf

    def _tell_progress(self) -> None:
        if self._progress is not None:
            done = self._window.counted - self._window.pending
            self._progress(done, self._total(), self._clock.now() - self._start_s)

    def _total(self) -> int | None:
        """How many calls will count, where the load and the bounds tell."""
        bounds = self._bounds
        if isinstance(self._load, OpenLoop) and bounds.duration_s is not None:
            return max(bounds.runs or 0, round(self._load.rate_per_s * bounds.duration_s))
        return bounds.runs if bounds.duration_s is None else None

    def _made_of(self, calls: list[Called]) -> Samples:
        window = self._window
        since_s = window.since_s if window.since_s is not None else self._start_s
        until_s = window.until_s
        if until_s is None:  # all calls at once: until the last one's end
            until_s = max((called.ended_s for called in calls), default=since_s)
        rows = [c for c in calls if since_s <= c.intended_s < until_s or since_s < c.ended_s <= until_s]
        rows.sort(key=lambda called: called.intended_s)
        counted = [called for called in rows if since_s <= called.intended_s < until_s]
        unfinished = self._unfinished(until_s)
        if isinstance(self._load, OpenLoop):
            self._invalid += _late([called.lag_s for called in counted], self._load.rate_per_s)
        if unfinished and not self._interrupted:
            self._invalid.append(
                f"{unfinished} of {len(counted) + unfinished} calls had not ended {self._bounds.grace_s:g} s "
                "after the window; their latencies are missing"
            )
        columns = np.array([called[:4] for called in rows], dtype=np.float64).reshape(len(rows), 4).T
        return Samples(
            intended_s=columns[0],
            started_s=columns[1],
            ended_s=columns[2],
            failed=np.array([called.error is not None for called in rows], dtype=np.bool_),
            lag_s=columns[3],
            since_s=since_s,
            until_s=until_s,
            errors=_counted(called.error for called in counted if called.error is not None),
            unfinished=unfinished,
            warmup=window.warm,
            interrupted=self._interrupted,
            invalid=tuple(self._invalid),
            load=self._load,
        )

    def _unfinished(self, until_s: float) -> int:
        """Calls meant to start in the window that did not end: running, or never started."""
        never_due = sum(due_s >= until_s for due_s in self._callers.unmade_s)
        return self._window.pending - never_due + self._callers.overdue(until_s)


def _queries(
    call: Call, inputs: Callable[[int], Any], samples: int
) -> tuple[Call, Callable[[int], list[Any]]]:
    """One call and one input for ``samples`` of them at once."""
    crew = Crew("query", samples - 1) if samples > 1 else None

    def query(items: list[Any]) -> None:
        fan_out(items, lambda item, *_: call(item), crew, samples - 1, count=samples)

    return query, lambda index: [inputs(index * samples + at) for at in range(samples)]


def _late(lags_s: list[float], rate_per_s: float) -> list[str]:
    """Why the generator spoiled the figures; nothing when it did not."""
    if not lags_s:
        return []
    allowed_s = max(_LATE_S, _LATE_SHARE / rate_per_s)
    late_s = float(np.percentile(lags_s, 99))
    if late_s <= allowed_s:
        return []
    return [
        (
            f"the generator was late by itself: 1 % of the calls started {late_s * 1e3:.2f} ms or more after "
            f"they were due, though a caller was free (allowed: {allowed_s * 1e3:.2f} ms); ask for less, "
            "make inputs beforehand, or leave it a CPU of its own"
        )
    ]


def _counted(errors: Iterator[str]) -> dict[str, int]:
    """How often each came, the most frequent first; rare ones together, where there are too many kinds."""
    counts = Counter(errors).most_common()
    kept = dict(counts[:_ERROR_KINDS])
    if rest := sum(count for _, count in counts[_ERROR_KINDS:]):
        kept["others"] = rest
    return kept


def _check(
    load: Load,
    runs: int | None,
    duration_s: float | None,
    warmup: int,
    warmup_s: float,
    limit_s: float,
    grace_s: float,
) -> None:
    if runs is None and duration_s is None:
        raise ValueError("measure: say how many runs= or how many seconds, duration_s=")
    if isinstance(load, Offline) and (runs is None or duration_s is not None):
        raise ValueError("measure: Offline works off a number of calls; give runs=, and no duration_s=")
    if runs is not None and (isinstance(runs, bool) or not isinstance(runs, int) or runs < 1):
        raise ValueError(f"measure: runs must be a whole number, 1 or more, got {runs!r}")
    if isinstance(warmup, bool) or not isinstance(warmup, int) or warmup < 0:
        raise ValueError(f"measure: warmup must be a number of calls, 0 or more, got {warmup!r}")
    for name, value in [("duration_s", duration_s), ("limit_s", limit_s)]:
        if value is not None and not value > 0.0:
            raise ValueError(f"measure: {name} must be seconds, above 0, got {value!r}")
    for name, value in [("warmup_s", warmup_s), ("grace_s", grace_s)]:
        if not value >= 0.0:
            raise ValueError(f"measure: {name} must be seconds, 0 or more, got {value!r}")
