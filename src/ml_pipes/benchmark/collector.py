"""Traces of many calls as the figures of each step.

Knows traces and how to add them up. Knows nothing of who calls, or how often.
"""

from __future__ import annotations

import math
from array import array
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes._threads.turnstile import Turnstile
from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.stat import InvocationStat, RegionStat
from ml_pipes.collectors import ConcurrentCollector
from ml_pipes.tracing import WAIT, InvocationTrace, StepSpan

__all__ = ["BenchmarkCollector"]

_WORDS = 60  # characters of an error's message that tell it from others


class _Times:
    """Things that began and took a while, or had a size: two numbers each."""

    __slots__ = ("_numbers",)

    def __init__(self) -> None:
        self._numbers = array("d")

    def __len__(self) -> int:
        return len(self._numbers) // 2

    def add(self, began_s: float, value: float) -> None:
        self._numbers.extend((began_s, value))

    def pairs(self, since_s: float, until_s: float) -> npt.NDArray[np.float64]:
        """(n, 2): of those that began in ``[since_s, until_s)``, when, and the value."""
        pairs = np.array(self._numbers).reshape(-1, 2)
        return pairs[(since_s <= pairs[:, 0]) & (pairs[:, 0] < until_s)]


class _Node:
    """One step at one place: how long each of its runs took, and the steps of its body.

    Attributes:
        runs: when each began, and how many seconds it took.
        batches: of a ``Batch``, when each began, and how many items it had.
        children: label -> the step of its body.
    """

    __slots__ = ("_seen", "batches", "children", "runs")

    def __init__(self) -> None:
        self.runs = _Times()
        self.batches = _Times()
        self.children: dict[str, _Node] = {}
        self._seen: set[tuple[float, int | None]] = set()

    def child(self, label: str) -> _Node:
        """The step of this label in its body."""
        node = self.children.get(label)
        if node is None:
            node = self.children[label] = _Node()
        return node

    def count_batch(self, run: InvocationTrace) -> bool:
        """Whether this run was not seen yet: one that callers share is in the trace of each of them.

        When and on which thread it began tells it from all others, when the run itself is long gone.
        """
        if run.participants is None:
            return True
        if run.participants > 1:
            began = (run.start_time, run.thread)
            if began in self._seen:
                return False
            self._seen.add(began)
        self.batches.add(run.start_time, run.batch_size or 0)
        return True


class _Window:
    """Figures of what began in a time.

    Args:
        percentiles: which.
        since_s: the time's start, seconds.
        until_s: its end.
    """

    def __init__(self, percentiles: tuple[float, ...], since_s: float, until_s: float) -> None:
        self._percentiles = percentiles
        self._bounds = (since_s, until_s)

    def stat(self, label: str, node: _Node, children: Sequence[InvocationStat] = ()) -> InvocationStat:
        """Of one step."""
        durations_s = node.runs.pairs(*self._bounds)[:, 1]
        return InvocationStat.from_seconds(label, durations_s, self._percentiles, children)

    def stats(self, node: _Node) -> list[InvocationStat]:
        """Of the steps of its body, and of theirs."""
        return [self.stat(label, child, self.stats(child)) for label, child in node.children.items()]

    def regions(self, node: _Node, within: str = "") -> Iterator[RegionStat]:
        """What each ``Batch`` below did."""
        for label, child in node.children.items():
            if len(child.batches):
                sizes, counts = np.unique(child.batches.pairs(*self._bounds)[:, 1], return_counts=True)
                wait = self.stat("wait", node.children.get(label + WAIT, _Node()))
                counted = {round(size): int(n) for size, n in zip(sizes, counts, strict=True)}
                yield RegionStat(within + label, counted, wait)
            yield from self.regions(child, f"{within}{label}/")


class BenchmarkCollector(ConcurrentCollector):
    """Collects traces and gives their figures.

    What a call pays is one append to a list that no lock guards; nothing is dropped before the stop. The
    spans are read when somebody asks, on the thread that asks: that takes some 3 us a span, and 16 bytes
    stay of each. (A thread that reads them meanwhile takes the interpreter from the calls when it likes.)
    Until then they wait, some 2 kB for ten steps; whoever measures for long asks between two calls.

    Failed calls are counted and in no figure. A run that callers of one ``Batch`` share counts once.

    Args:
        config: whose percentiles are reported.
    """

    def __init__(self, config: MeasurementConfig) -> None:
        super().__init__()
        self._config = config
        self._came: deque[InvocationTrace] = deque()
        self._is_stopped = False
        self._reading = Turnstile()
        self._clear()

    def _clear(self) -> None:
        self._root = _Node()
        self._model_runs = _Times()
        self._failures: dict[str, int] = {}

    def on_trace(self, trace: InvocationTrace) -> None:
        if self._is_stopped:
            super().on_trace(trace)  # which drops it, and says so
        else:
            self._came.append(trace)

    @property
    def waiting(self) -> int:
        """How many traces came and were not read."""
        return len(self._came)

    def read(self, most: int | None = None) -> None:
        """Read what came.

        Args:
            most: no more than so many traces; None for all.
        """
        with self._reading.lock:
            left = len(self._came) if most is None else most
            while self._came and left > 0:
                left -= 1
                self._collect(self._came.popleft())

    def flush(self, timeout_s: float = math.inf) -> bool:  # noqa: ARG002 # there is no thread to wait for
        """Read what came.

        Args:
            timeout_s: not used.

        Returns:
            True.
        """
        self.read()
        return True

    def stop(self, timeout_s: float = math.inf) -> bool:
        """Read what came, as :meth:`flush`; later traces are dropped, with a logged warning."""
        self._is_stopped = True
        return super().stop() and self.flush(timeout_s)

    def reset(self) -> None:
        """Forget all."""
        with self._reading.lock:
            self._came.clear()
            self._clear()

    def report(
        self,
        label: str = "",
        metadata: dict[str, Any] | None = None,
        *,
        since_s: float = -math.inf,
        until_s: float = math.inf,
    ) -> BenchmarkResult:
        """The figures of what came since it was made or reset.

        Args:
            label: of the result.
            metadata: of the result.
            since_s: calls, steps and batches that began before are left out; seconds of ``perf_counter``.
            until_s: as those that began then or later.
        """
        self.read()
        window = _Window(self._config.percentiles, since_s, until_s)
        with self._reading.lock:
            return BenchmarkResult(
                label,
                dict(metadata or {}),
                window.stat("total", self._root),
                window.stats(self._root),
                regions=list(window.regions(self._root)),
                failures=dict(self._failures),
            )

    @property
    def latencies_s(self) -> npt.NDArray[np.float64]:
        """Of each successful call, seconds."""
        self.read()
        return self._root.runs.pairs(-math.inf, math.inf)[:, 1]

    @property
    def model_runs_s(self) -> npt.NDArray[np.float64]:
        """(n, 2): when each run of a model began and ended, of failed calls too; ``perf_counter`` seconds."""
        self.read()
        began_and_took = self._model_runs.pairs(-math.inf, math.inf)
        # A run that a failed call shared with others was read twice.
        return np.unique(began_and_took.cumsum(axis=1), axis=0)

    def _collect(self, trace: InvocationTrace) -> None:
        spans = trace.spans
        failed = next((span for span in spans if span.error), None)
        if failed is None:
            self._root.runs.add(trace.start_time, trace.total_duration_s)
            self._read_spans(spans, self._root)
        else:
            name = f"{failed.error_type or 'error'}: {(failed.error_message or failed.label)[:_WORDS]}"
            self._failures[name] = self._failures.get(name, 0) + 1
            # It is in no figure, but its models did keep the machine busy.
            self._read_spans(spans, _Node())

    def _read_spans(self, spans: Iterable[StepSpan], node: _Node) -> None:
        for span in spans:
            child = node.child(span.label)
            if not span.error:
                child.runs.add(span.start_time, span.duration_s)
            # A trace that was not recorded by the engine may hold the mean alone.
            runs = span.runs or (() if span.child_trace is None else (span.child_trace,))
            for run in runs:
                if child.count_batch(run):
                    self._read_spans(run.spans, child)
            if span.is_inference:
                self._model_runs.add(span.start_time, span.duration_s)
