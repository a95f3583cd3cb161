"""What the benchmarks of batching share: a model that sleeps, callers in a loop, callers on a timetable.

Knows threads, the wall clock and a function to call. Knows nothing of what is behind the function.
"""

from __future__ import annotations

import gc
import math
import statistics
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, TypeVar

from rich.console import Console
from rich.progress import Progress

__all__ = [
    "Call",
    "Closed",
    "Open",
    "Options",
    "Run",
    "SleepingModel",
    "closed_block",
    "median",
    "open_block",
    "shown",
]

ItemT = TypeVar("ItemT")
Call: TypeAlias = Callable[[Any], Any]

_now = time.perf_counter

# The generator's threads. All that are idle sleep until an arrival of their own, so one more costs memory
# only; an arrival is late when all are busy, which the lag would show. Near saturation, 64 are at times.
_THREADS = 256
# Long enough for all threads to be asleep before the first arrival.
_HEAD_START_S = 0.1


@dataclass(frozen=True)
class Options:
    """What was asked for on the command line.

    Attributes:
        quick: a rough look: fewer configurations, fewer and shorter blocks.
        compare: other policies beside the default one too.
    """

    quick: bool = False
    compare: bool = False


class Run(NamedTuple):
    """One run of a model: when it began and ended, seconds, and its rows.

    (A tuple: it is made between two batches, where each microsecond of ours would count as the library's.)
    """

    began_at: float
    ended_at: float
    rows: int

    @property
    def took_s(self) -> float:
        """How long it took."""
        return self.ended_at - self.began_at


class SleepingModel:
    """Sleeps ``launch_s + row_s * rows`` and gives the rows back; without a cost it returns at once.

    Attributes:
        runs: what it ran, in order.
    """

    def __init__(self, launch_s: float = 0.0, row_s: float = 0.0) -> None:
        self.launch_s = launch_s
        self.row_s = row_s
        self.runs: list[Run] = []

    def __call__(self, rows: list[Any]) -> list[Any]:
        began_at = _now()
        if self.launch_s or self.row_s:
            time.sleep(self.launch_s + self.row_s * len(rows))
        self.runs.append(Run(began_at, _now(), len(rows)))
        return rows


@dataclass(frozen=True)
class Closed:
    """A block of callers in a loop; what was before ``since`` was warm-up.

    Attributes:
        since: seconds.
        until: seconds.
        cpu_s: CPU of the process between the two, seconds.
        calls: of each call that ended between the two, when it began and ended, seconds.
    """

    since: float
    until: float
    cpu_s: float
    calls: list[tuple[float, float]]

    @property
    def latencies_s(self) -> list[float]:
        """Of each call, seconds."""
        return [ended_at - began_at for began_at, ended_at in self.calls]

    def rows_per_s(self, runs: Sequence[Run]) -> float:
        """Rows that a model ran per second, from the end of a run to the end of another.

        So only whole cycles count, however few of them fit into the block; NaN when there is none.
        """
        inside = self.runs(runs)
        if len(inside) < 2:
            return math.nan
        return sum(run.rows for run in inside[1:]) / (inside[-1].ended_at - inside[0].ended_at)

    def runs(self, runs: Sequence[Run]) -> list[Run]:
        """Those of the block."""
        return [run for run in runs if self.since < run.ended_at <= self.until]


@dataclass(frozen=True)
class Open:
    """A block of callers on a timetable, in the order of their arrivals.

    Attributes:
        latencies_s: from the time of the timetable to the result.
        lags_s: from the time of the timetable to the call.
    """

    latencies_s: list[float]
    lags_s: list[float]


def closed_block(
    call: Call, items: Sequence[Any], *, warm_s: float, block_s: float, timed: bool = True
) -> Closed:
    """A thread per item calls in a loop, for ``warm_s`` and then ``block_s`` seconds.

    Args:
        call: takes an item.
        items: one per thread.
        warm_s: not counted.
        block_s: counted.
        timed: note each call's times; without, the loop costs nothing but the call.

    Raises:
        BaseException: what a call raised.
    """
    running = [True]  # until it is empty: to look at a list costs less than to ask an Event
    together = threading.Barrier(len(items) + 1)
    calls: list[tuple[float, float]] = []

    def loop(item: Any) -> None:
        note = calls.append
        together.wait()
        while timed and running:
            began_at = _now()
            call(item)
            note((began_at, _now()))
        while running:
            call(item)

    gc.collect()
    with ThreadPoolExecutor(len(items)) as pool:
        futures = [pool.submit(loop, item) for item in items]
        together.wait()
        wait(futures, timeout=warm_s, return_when="FIRST_EXCEPTION")
        since, cpu_s = _now(), time.process_time()
        wait(futures, timeout=block_s, return_when="FIRST_EXCEPTION")
        until, cpu_s = _now(), time.process_time() - cpu_s
        running.clear()
        for future in futures:
            future.result()
    return Closed(since, until, cpu_s, [span for span in calls if since < span[1] <= until])


def median(values: Iterable[float]) -> float:
    """The median of the values that are numbers, NaN when none is: a disturbed block may tell nothing."""
    return statistics.median([value for value in values if not math.isnan(value)] or [math.nan])


def open_block(call: Call, arrivals: Sequence[float]) -> Open:
    """Call at each time of the timetable, whatever became of the calls before.

    Whichever thread is idle takes the next arrival, sleeps until its time and calls: one wake-up per
    arrival, on the thread that calls, and a slow call holds up no other arrival. A dispatcher would wake
    up twice per arrival; arrivals dealt out beforehand would wait for a thread that is still in its call.

    Args:
        call: takes an item.
        arrivals: seconds from the start of the block, sorted.

    Raises:
        BaseException: what a call raised.
    """
    pending = deque(enumerate(arrivals))
    latencies, lags = [0.0] * len(arrivals), [0.0] * len(arrivals)
    start: list[float] = []
    together = threading.Barrier(_THREADS, action=lambda: start.append(_now() + _HEAD_START_S))

    def work() -> None:
        item = object()
        together.wait()
        while True:
            try:
                at, due = pending.popleft()
            except IndexError:
                return
            due += start[0]
            time.sleep(max(0.0, due - _now()))
            lags[at] = _now() - due
            call(item)
            latencies[at] = _now() - due

    gc.collect()
    with ThreadPoolExecutor(_THREADS) as pool:
        for future in [pool.submit(work) for _ in range(_THREADS)]:
            future.result()
    return Open(latencies, lags)


def shown(steps: Iterable[ItemT], title: str) -> Iterator[ItemT]:
    """The steps, with a bar on the terminal that moves between them only: it takes no time from a step."""
    steps = list(steps)
    console = Console(stderr=True)
    with Progress(
        console=console, auto_refresh=False, transient=True, disable=not sys.stderr.isatty()
    ) as bar:
        task = bar.add_task(title, total=len(steps))
        for step in steps:
            bar.refresh()
            yield step
            bar.advance(task)
