"""Named threads that help callers through the items they brought.

The calling thread works too, and only ever waits for items that are already
running: so crews nest in any depth without a deadlock. Knows items and a
function. Knows nothing of pipelines or traces.
"""

from __future__ import annotations

import contextvars
import queue
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from ml_pipes._threads.clock import Gate

__all__ = ["Crew", "fan_out"]

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class _Job(Generic[ItemT, ResultT]):
    """One caller's items: taken in order by any thread, results kept in order.

    Since items start in order, every item before a failed one has started too:
    the failure with the lowest index does not depend on timing.
    """

    def __init__(self, items: Iterator[ItemT], call: Callable[[ItemT, int], ResultT]) -> None:
        self._items = items
        self._call = call
        self._context = contextvars.copy_context()
        # One thread draws at a time, so the source has a context of its own to run in.
        self._source_context = self._context.copy()
        self._lock = threading.Lock()
        self._taken = 0
        self._running: set[int] = set()
        self._ended = False
        self._all_done = Gate()
        self._results: dict[int, ResultT] = {}
        self._failures: dict[int, BaseException] = {}

    def step(self) -> bool:
        """Run one item; False when none is left to start."""
        index = -1
        try:
            with self._lock:
                if self._ended:
                    return False
                index = self._taken
                self._running.add(index)
                try:
                    item = self._source_context.run(next, self._items)
                except StopIteration:
                    self._ended = True
                    return False
                self._taken += 1
            # A context of its own: what one item sets does not reach the others.
            self._results[index] = self._context.copy().run(self._call, item, index)
        except BaseException as error:
            self._failures[index] = error
            self._ended = True  # start no more items
            return False
        else:
            return True
        finally:
            self._settle(index)

    def outcome(self) -> list[ResultT]:
        """Wait for the items that run; then the results in order, or the failure.

        An interrupt (what is no ``Exception``) comes before the failure of the lowest index.
        """
        with self._lock:
            self._ended = True
            waiting = bool(self._running)
        if waiting:
            self._all_done.wait()
        results = [self._results[at] for at in range(self._taken) if at in self._results]
        failure = self._failure()
        try:
            with self._lock:
                self._close_source(quietly=failure is not None)
            if failure is not None:
                raise failure
            return results
        finally:
            del failure  # else the error would hold this frame, and this frame the error

    def clear(self) -> None:
        """Drop items, results and errors: helpers that were busy elsewhere may still have the job queued."""
        self._ended = True
        self._items, self._call = iter(()), _nothing
        self._results, self._failures = {}, {}

    def _failure(self) -> BaseException | None:
        interrupts = [at for at, error in self._failures.items() if not isinstance(error, Exception)]
        return self._failures[min(interrupts or self._failures)] if self._failures else None

    def _close_source(self, *, quietly: bool) -> None:
        """Close a source that can be closed; a failure of the items comes before one of the closing."""
        close = getattr(self._items, "close", None)
        if close is None:
            return
        try:
            self._source_context.run(close)
        except Exception:
            if not quietly:
                raise

    def _settle(self, index: int) -> None:
        with self._lock:
            self._running.discard(index)
            if self._ended and not self._running:
                self._all_done.open()


class _Hands:
    """A crew's threads and their queue, apart from the crew, so that it can be garbage while they wait."""

    def __init__(self, name: str) -> None:
        self.calls: queue.SimpleQueue[_Job[Any, Any] | None] = queue.SimpleQueue()
        self._name = name
        self._lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._dismissed = False

    def at_least(self, count: int) -> None:
        """Start threads until there are ``count``, or no more can be had; none after the dismissal."""
        if len(self._threads) >= count:
            return
        with self._lock:
            while len(self._threads) < count and not self._dismissed:
                name = f"ml_pipes-{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=_work, args=(self.calls,), name=name, daemon=True)
                # Counted before it runs: one dismissal too many does no harm, one too few leaves a thread.
                self._threads.append(thread)
                try:
                    thread.start()
                except RuntimeError:  # the caller does the work alone
                    self._threads.remove(thread)
                    return

    def dismiss(self) -> None:
        """Let each thread end after the item that it has in hand."""
        with self._lock:
            self._dismissed = True
            for _ in self._threads:
                self.calls.put(None)


class Crew:
    """Up to ``size`` daemon threads, started when first needed, shared fairly by all callers.

    They end when the crew is closed or garbage: they hold its queue, not the crew.
    """

    def __init__(self, name: str, size: int) -> None:
        self._size = size
        self._hands = _Hands(name)
        self._end = weakref.finalize(self, self._hands.dismiss)
        self._end.atexit = False

    def call(self, job: _Job[Any, Any], helpers: int) -> None:
        """Ask for up to ``helpers`` threads to work on the job; returns at once."""
        wanted = min(helpers, self._size)
        self._hands.at_least(wanted)
        for _ in range(wanted):
            self._hands.calls.put(job)

    def close(self) -> None:
        """Let the threads end after the item that each has in hand; their callers do the rest alone."""
        self._end()


def fan_out(
    items: Iterable[ItemT], call: Callable[[ItemT, int], ResultT], crew: Crew | None, helpers: int
) -> list[ResultT]:
    """Run ``call(item, index)`` for each item, on this thread and up to ``helpers`` of the crew's.

    Items are drawn one by one as threads come free for them. The first failure
    stops those not started; those running are waited for.

    Returns:
        the results, in the order of the items.

    Raises:
        BaseException: what the failing item of the lowest index raised.
    """
    job = _Job(iter(items), call)
    try:
        if crew is not None and helpers > 0:
            crew.call(job, helpers)
        while job.step():
            pass
        return job.outcome()
    finally:
        job.clear()  # also when an interrupt ends the waiting: then no more items start


def _work(calls: queue.SimpleQueue[_Job[Any, Any] | None]) -> None:
    """A helper's life: one item of the next caller's, then to the back of the queue if others wait."""
    while (job := calls.get()) is not None:
        while job.step():
            if not calls.empty():
                calls.put(job)
                break
        del job  # an idle helper must not keep the last caller's items alive


def _nothing(*_: Any) -> Any:
    """What a cleared job calls."""
