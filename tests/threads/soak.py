"""Very many calls on real threads, each checked by its id: ``python -m tests.threads.soak --calls 1000000``.

Among them are calls that fail, calls with deadlines, and pipelines that are
closed while others are in them. At the end nothing may be left: no counter, no
thread, no closed pipeline, no memory; and the last calls were as quick as the first.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import random
import sys
import threading
import time
import weakref
from collections import Counter
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from tests.threads.callers import busy, left_after_close, our_threads, stacks
from tests.threads.lines import LINES, Line
from tests.threads.steps import Outcome, outcome_of

from ml_pipes.core import Pipeline

__all__ = ["Report", "soak"]

HANGS_AFTER_S = 30.0
_TENTHS = 10
_MOST_SHOWN = 20
_HAS_DEADLINES = hasattr(Pipeline, "call")
_WITH_DEADLINE = 0.05
_LONGEST_DEADLINE_S = 0.01
_MOST_BYTES_MORE = 16 << 20
_LEAST_OF_FIRST_RATE = 0.8


@dataclass
class Report:
    """What came of it.

    Attributes:
        calls: how many were asked for.
        seconds: how long they took.
        outcomes: how many ended how.
        closed: how many pipelines were closed while they were in use.
        faults: what was wrong, some of it in words.
        fault_count: how much was wrong.
        rates: calls per second of each tenth.
        memory: bytes that the process holds, at the end of each tenth; empty where nobody tells.
        most_threads: most threads of pipelines at once.
        latest_s: most seconds by which a call came back after its deadline.
    """

    calls: int
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    closed: int = 0
    faults: list[str] = field(default_factory=list)
    fault_count: int = 0
    rates: list[float] = field(default_factory=list)
    memory: list[int] = field(default_factory=list)
    most_threads: int = 0
    latest_s: float = 0.0

    def fault(self, text: str) -> None:
        """Count it, and keep its words if they are among the first."""
        self.fault_count += 1
        if len(self.faults) < _MOST_SHOWN:
            self.faults.append(text)

    @property
    def grew_by(self) -> int:
        """Most bytes of the last half over the most of the first."""
        half = len(self.memory) // 2
        return max(self.memory[half:]) - max(self.memory[:half]) if half else 0

    @property
    def kept_pace(self) -> float:
        """Rate of the last tenth over that of the first."""
        return self.rates[-1] / self.rates[0] if self.rates else 0.0

    def __str__(self) -> str:
        lines = [
            f"{self.calls:,} calls in {self.seconds:.1f} s: {self.calls / self.seconds:,.0f}/s",
            f"outcomes: {dict(sorted(self.outcomes.items()))}",
            f"rate by tenths: {', '.join(f'{rate:,.0f}' for rate in self.rates)}",
            f"rate of the last over the first: {self.kept_pace:.2f}",
            f"memory by tenths, MiB: {', '.join(f'{size / 2**20:.1f}' for size in self.memory)}",
            f"most threads of pipelines at once: {self.most_threads}",
            f"latest after a deadline: {self.latest_s * 1000:.0f} ms",
            f"faults: {self.fault_count}",
        ]
        return "\n".join([*lines, *self.faults])


class _Shop:
    """One line's pipeline; it is closed at times, and a new one takes its place."""

    def __init__(self, line: Line) -> None:
        self.line = line
        self.current = line.tree.build()
        self._lock = threading.Lock()
        self.retired: list[weakref.ref[Pipeline[Any, Any]]] = []

    def replace(self) -> None:
        """Open a new one, and close the old one under whoever is in it."""
        with self._lock:
            old, self.current = self.current, self.line.tree.build()
            self.retired += [weakref.ref(pipeline) for pipeline in old]
        for pipeline in reversed(old):
            pipeline.close()

    def is_right(
        self, call_id: int, outcome: Outcome, called: Pipeline[Any, Any], *, had_deadline: bool
    ) -> bool:
        """The outcome is this id's, or a refusal that has a reason."""
        if outcome[0] != "unexpected":
            return outcome == self.line.tree.expect(call_id)
        name = outcome[1].partition(":")[0]
        if name == "PipelineClosed":
            return called is not self.current[-1]
        if name == "DeadlineExceeded":
            return had_deadline
        return name in self.line.refusals


class _Soak:
    """One soak's state, which its threads share."""

    def __init__(self, calls: int, threads: int, seed: int, close_share: float) -> None:
        self.report = Report(calls)
        self.shops = [_Shop(line) for line in LINES]
        self.ids = itertools.count()
        self.began: list[tuple[float, int] | None] = [None] * threads
        self.done = [0] * threads
        self.marks: list[float] = []
        self._seed = seed
        self._close_share = close_share
        self._tenth = max(1, calls // _TENTHS)
        self._lock = threading.Lock()

    def work(self, thread: int) -> None:
        """Make calls until there are enough."""
        dice = random.Random(self._seed * 1000 + thread)  # noqa: S311 - a seed must repeat it
        outcomes: Counter[str] = Counter()
        while (call_id := next(self.ids)) < self.report.calls:
            if call_id % self._tenth == 0:
                self._mark()
            self.began[thread] = (time.monotonic(), call_id)
            outcomes[self._call(call_id, dice)] += 1
            self.done[thread] += 1
        self.began[thread] = None
        with self._lock:
            self.report.outcomes += outcomes

    def _call(self, call_id: int, dice: random.Random) -> str:
        shop = self.shops[dice.randrange(len(self.shops))]
        if shop.line.may_close and dice.random() < self._close_share:
            shop.replace()
        called: Any = shop.current[-1]
        began_at = time.monotonic()
        deadline_s = None
        if _HAS_DEADLINES and dice.random() < _WITH_DEADLINE:
            deadline_s = dice.random() * _LONGEST_DEADLINE_S
            outcome = outcome_of(partial(called.call, call_id, deadline=deadline_s))
        else:
            outcome = outcome_of(partial(called, call_id))
        name = str(outcome[0]) if outcome[0] != "unexpected" else outcome[1].partition(":")[0]
        if name == "DeadlineExceeded" and deadline_s is not None:
            self._check_lateness(call_id, time.monotonic() - began_at - deadline_s)
        if not shop.is_right(call_id, outcome, called, had_deadline=deadline_s is not None):
            expected = shop.line.tree.expect(call_id)
            with self._lock:
                self.report.fault(f"{shop.line.name}: {call_id} gave {outcome}, expected {expected}")
        return name

    def _check_lateness(self, call_id: int, late_s: float) -> None:
        with self._lock:
            self.report.latest_s = max(self.report.latest_s, late_s)
            if late_s < 0.0:
                self.report.fault(f"{call_id} was told {-late_s} s before its deadline that it is over")

    def _mark(self) -> None:
        with self._lock:
            self.marks.append(time.monotonic())
            if (size := _memory()) is not None and len(self.marks) > 1:
                self.report.memory.append(size)

    def hanging(self) -> list[str]:
        """The calls that have been under way for too long."""
        now = time.monotonic()
        under_way = [began for began in self.began if began is not None]
        return [
            f"call {call_id} hangs: {now - at:.0f} s" for at, call_id in under_way if now - at > HANGS_AFTER_S
        ]

    def finish(self, before: set[threading.Thread]) -> None:
        """Look for what is left behind."""
        report = self.report
        with self._lock:
            self.marks.append(time.monotonic())
            if (size := _memory()) is not None:
                report.memory.append(size)
        times = list(itertools.pairwise(self.marks[:_TENTHS] + self.marks[-1:]))
        report.seconds = self.marks[-1] - self.marks[0]
        report.rates = [self._tenth / (until - since) for since, until in times]
        if sum(self.done) != report.calls:
            report.fault(f"{report.calls - sum(self.done)} calls did not end")
        for shop in self.shops:
            for line in (line for pipeline in shop.current for line in busy(pipeline)):
                report.fault(f"{shop.line.name}: {line} when nobody calls")
        pipelines = [pipeline for shop in self.shops for pipeline in shop.current]
        for name in left_after_close(pipelines, before):
            report.fault(f"the thread {name} lives after close()")
        gc.collect()
        for shop in self.shops:
            self.report.closed += len(shop.retired)
            alive = sum(reference() is not None for reference in shop.retired)
            if alive:
                report.fault(
                    f"{shop.line.name}: {alive} of {len(shop.retired)} closed pipelines are still held"
                )


def soak(
    calls: int,
    threads: int = 32,
    seed: int = 0,
    *,
    close_share: float = 0.001,
    progress: TextIO | None = None,
) -> Report:
    """Make the calls, and report.

    Args:
        calls: how many, in all.
        threads: that call at once.
        seed: of what each thread does; which threads meet is not repeated.
        close_share: of the calls, those that first close their pipeline under the others.
        progress: where a line with the rate and the time left is shown.

    Returns:
        what came of it; a hang ends it, as a fault that shows where each thread is.
    """
    before = our_threads()
    state = _Soak(calls, threads, seed, close_share)
    # Daemons: one that hangs must not keep the interpreter from ending.
    workers = [threading.Thread(target=state.work, args=(at,), daemon=True) for at in range(threads)]
    for worker in workers:
        worker.start()
    started = shown = time.monotonic()
    while alive := [worker for worker in workers if worker.is_alive()]:
        alive[0].join(0.2)
        state.report.most_threads = max(state.report.most_threads, len(our_threads() - before))
        if hanging := state.hanging():
            state.report.fault("\n".join([*hanging, stacks(workers)]))
            break
        if progress is not None and time.monotonic() - shown > 1.0:
            shown = time.monotonic()
            _show(progress, sum(state.done), calls, shown - started)
    state.finish(before)
    return state.report


def _show(progress: TextIO, done: int, calls: int, seconds: float) -> None:
    rate = done / seconds
    left_s = (calls - done) / rate if rate else 0.0
    progress.write(f"\r{done:,}/{calls:,} calls, {rate:,.0f}/s, {left_s:,.0f} s left   ")
    progress.flush()


def _memory() -> int | None:
    """Bytes that the process holds in memory, where the system tells (Linux)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * 4096


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.threads.soak", description=__doc__)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    report = soak(arguments.calls, arguments.threads, arguments.seed, progress=sys.stderr)
    sys.stderr.write("\n")
    sys.stdout.write(f"{report}\n")
    is_flat = report.grew_by <= _MOST_BYTES_MORE
    is_steady = report.kept_pace >= _LEAST_OF_FIRST_RATE
    sys.stdout.write(f"memory flat: {is_flat}; pace kept: {is_steady}\n")
    return 0 if is_flat and is_steady and report.fault_count == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
