"""One caller's items: taken in order by any thread, results kept in order.

Knows items, a function, and who works. Knows nothing of how threads are kept.
"""

from __future__ import annotations

import contextvars
import threading
from collections import deque
from collections.abc import Callable, Iterator
from math import inf
from typing import Any, Protocol

from ml_pipes._threads.clock import Gate, now
from ml_pipes._threads.company import Traveller
from ml_pipes._threads.deadline import deadline_at, exceeded
from ml_pipes._threads.guard import give_back

__all__ = ["Approach", "Job", "Worker", "one_by_one"]

_END: Any = object()
# How long a helper waits for a source that another thread draws from, before it goes to other callers.
_PATIENCE_S = 0.001


class Approach(Protocol):
    """How the work on items comes to a place where it is waited for."""

    def announce(self, count: int) -> list[Traveller]:
        """As many workers are on their way there."""

    def again(self, traveller: Traveller) -> None:
        """It is on its way there with another item."""


class Worker:
    """One thread at work on a job.

    Attributes:
        traveller: how its work is expected; None where nobody waits for it.
    """

    __slots__ = ("_job", "traveller")

    def __init__(self, job: Job, traveller: Traveller | None) -> None:
        self._job = job
        self.traveller = traveller

    def through(self, _: object) -> None:
        """The work on its item is past the last place where it is waited for."""
        self._job.promise(self)


def one_by_one(items: Iterator[Any], call: Callable[[Any, int, Worker | None], Any]) -> list[Any]:
    """Do a job on this thread alone: what a job does, without what several threads need.

    Raises:
        BaseException: of the source or of the first item that fails; no more items start.
    """
    context = contextvars.copy_context()
    source_context = context.copy()
    results: list[Any] = []
    try:
        while (item := source_context.run(next, items, _END)) is not _END:
            results.append(context.copy().run(call, item, len(results), None))
    except BaseException:
        _close(items, source_context, quietly=True)
        raise
    _close(items, source_context, quietly=False)
    return results


class Job:
    """The items of one call.

    Since items start in order, every item before a failed one has started too:
    the failure with the lowest index does not depend on timing.

    Args:
        items: drawn from by one thread at a time, in a context of its own.
        call: the work on one item.
        count: how many items there are; None when unknown.
        approach: where the work comes to a place at which it is waited for.
    """

    def __init__(
        self,
        items: Iterator[Any],
        call: Callable[[Any, int, Worker | None], Any],
        count: int | None,
        approach: Approach | None,
    ) -> None:
        self._items = items
        self._call = call
        self._count = inf if count is None else count
        self._approach = approach
        self._context = contextvars.copy_context()
        # One thread draws at a time, so the source has a context of its own to run in.
        self._source_context = self._context.copy()
        # Held for moments only: not while the source is drawn from, which may take its time.
        self._lock = threading.RLock()
        self._drawing = False
        # Helpers that did not wait for the source: whoever has drawn from it calls them again.
        self._away = 0
        self.call_again: Callable[[], None] = _nothing
        # Workers that wait to draw. (An interrupt within a Condition's methods could leave its lock taken.)
        self._next_to_draw: deque[Gate] = deque()
        self._taken = 0
        self._running: set[int] = set()
        self._ended: bool = False
        self._all_done = Gate()
        self._results: dict[int, Any] = {}
        self._failures: dict[int, BaseException] = {}
        # Who is expected with an item that is not taken yet; and those of them that no thread has.
        self._promised: set[Traveller] = set()
        self._spare: list[Traveller] = []

    def announce(self, workers: int) -> None:
        """So many workers are about to take an item each, as far as there are items."""
        if self._approach is not None:
            self._spare = self._approach.announce(int(min(workers, self._count)))
            self._promised.update(self._spare)

    def work(self, others_wait: Callable[[], bool] | None = None) -> bool:
        """Work on items until none is left to start; True when left early, for others who wait."""
        worker = Worker(self, None)
        try:
            with self._lock:
                if self._spare:
                    worker.traveller = self._spare.pop()
            while self._step(worker, may_go=others_wait is not None):
                if others_wait is not None and others_wait():
                    return True
            return False
        finally:
            if worker.traveller is not None:
                with self._lock:
                    self._promised.discard(worker.traveller)
                worker.traveller.end()

    def promise(self, worker: Worker) -> None:
        """The worker is going to take another item, if one is left for it."""
        traveller, approach = worker.traveller, self._approach
        if traveller is None or approach is None:
            return
        with self._lock:
            is_needed = not self._ended and self._taken + len(self._promised) < self._count
            if not is_needed or traveller in self._promised:
                return
            self._promised.add(traveller)
        approach.again(traveller)

    def outcome(self) -> list[Any]:
        """Wait for the items that run; then the results in order, or the failure.

        An interrupt (what is no ``Exception``) comes before the failure of the lowest index.
        """
        with self._lock:
            self._end()
            waiting = bool(self._running)
        if waiting:
            self._wait()
        results = [self._results[at] for at in range(self._taken) if at in self._results]
        failure = self._failure()
        try:
            self._close_source(quietly=failure is not None)
            if failure is not None:
                raise failure
            return results
        finally:
            del failure  # else the error would hold this frame, and this frame the error

    def clear(self) -> None:
        """Drop items, results and errors: helpers that were busy elsewhere may still have the job queued."""
        with self._lock:
            self._end()
        give_back(self._lock)  # not one of the guards: there is a job per call
        self._items, self._call = iter(()), _nothing
        self.call_again = _nothing
        self._results, self._failures = {}, {}

    def _step(self, worker: Worker, *, may_go: bool) -> bool:
        """Run one item; False when none is left to start."""
        index = -1
        try:
            drawn = self._draw(worker, may_go=may_go)
            if drawn is None:
                return False
            index, item = drawn
            # A context of its own: what one item sets does not reach the others.
            self._results[index] = self._context.copy().run(self._call, item, index, worker)
        except BaseException as error:
            self._fail(index, error)
            return False
        else:
            return True
        finally:
            self._settle(index)

    def _draw(self, worker: Worker, *, may_go: bool) -> tuple[int, Any] | None:
        """The next item and its index; None when there is none, or no more are to start."""
        source = self._reach_for_the_source(may_go=may_go)
        if source is None:
            return None
        item, error = _END, None
        try:
            item = self._source_context.run(next, source, _END)
        except BaseException as failure:
            error = failure
        index, is_left = self._let_go_of_the_source(source, item, error, worker)
        del error
        if is_left:  # whoever ended the job meanwhile left the source to this thread to close
            _close(source, self._source_context, quietly=True)
        return None if index is None else (index, item)

    def _reach_for_the_source(self, *, may_go: bool) -> Iterator[Any] | None:
        """Wait for the turn to draw; None when no more items are to start."""
        while True:
            with self._lock:
                if self._ended:
                    return None
                if not self._drawing:
                    self._drawing = True
                    return self._items
                gate = Gate()
                self._next_to_draw.append(gate)
            if may_go:
                if gate.wait(_PATIENCE_S):
                    continue
                with self._lock:
                    if gate in self._next_to_draw:  # else its turn has just come
                        self._next_to_draw.remove(gate)
                        self._away += 1
                        return None
                continue
            if not gate.wait(_left_s()):
                raise exceeded("while the next item was waited for", now() - deadline_at())

    def _let_go_of_the_source(
        self, source: Iterator[Any], item: Any, error: BaseException | None, worker: Worker
    ) -> tuple[int | None, bool]:
        """Start the item, unless it is the end, or the job ended meanwhile; its index, and who closes."""
        with self._lock:
            self._drawing = False
            while self._away:
                self._away -= 1
                self.call_again()
            if self._next_to_draw:
                self._next_to_draw.popleft().open()
            if self._ended:
                return None, source is not self._items
            if item is _END:
                if error is not None:  # after the items that it gave
                    self._failures[self._taken] = error
                self._end()
                return None, False
            index = self._taken
            self._taken += 1
            self._running.add(index)
            self._keep_promise(worker)
            return index, False

    def _keep_promise(self, worker: Worker) -> None:
        """The worker has an item; where it came without having been expected, another is not needed."""
        if self._approach is None:
            return
        if worker.traveller is None:
            worker.traveller = self._approach.announce(1)[0]
        elif worker.traveller.heading is None:
            self._approach.again(worker.traveller)
        self._promised.discard(worker.traveller)
        while self._promised and self._taken + len(self._promised) > self._count:
            self._promised.pop().go(None)

    def _fail(self, index: int, error: BaseException) -> None:
        self._failures[index] = error
        with self._lock:
            self._end()  # start no more items

    def _end(self) -> None:
        """No more items start; nobody is expected with one. The lock is held."""
        if self._ended:
            return
        self._ended = True
        promised, self._promised = self._promised, set()
        for traveller in promised:
            traveller.go(None)
        while self._next_to_draw:
            self._next_to_draw.popleft().open()

    def _wait(self) -> None:
        """Wait for the items that run."""
        left_s = _left_s()
        if not self._all_done.wait(left_s):
            raise exceeded("while items were being worked on", now() - deadline_at())

    def _failure(self) -> BaseException | None:
        interrupts = [at for at, error in self._failures.items() if not isinstance(error, Exception)]
        return self._failures[min(interrupts or self._failures)] if self._failures else None

    def _close_source(self, *, quietly: bool) -> None:
        """Close the source, or leave that to the thread that is drawing from it."""
        with self._lock:
            source, self._items = self._items, iter(())
            if self._drawing:
                return
        _close(source, self._source_context, quietly=quietly)

    def _settle(self, index: int) -> None:
        with self._lock:
            self._running.discard(index)
            if self._ended and not self._running:
                self._all_done.open()


def _close(source: Iterator[Any], context: contextvars.Context, *, quietly: bool) -> None:
    """Close what can be closed; a failure of the items comes before one of the closing."""
    close = getattr(source, "close", None)
    if close is None:
        return
    try:
        context.run(close)
    except Exception:
        if not quietly:
            raise


def _left_s() -> float | None:
    """Seconds until the deadline; None where there is none."""
    at = deadline_at()
    return None if at == inf else max(0.0, at - now())


def _nothing(*_: Any) -> Any:
    """What a cleared job calls."""
