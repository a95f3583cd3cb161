"""Named threads that help callers through the items they brought.

The calling thread works too, and only ever waits for items that are already
running: so crews nest in any depth without a deadlock. Knows items and a
function. Knows nothing of pipelines or traces.
"""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable, Iterable
from functools import partial
from typing import TypeVar

from ml_pipes._threads.guard import guard
from ml_pipes._threads.job import Approach, Job, Worker, one_by_one
from ml_pipes._threads.tally import ItemTally
from ml_pipes.stats import RegionStats

__all__ = ["Approach", "Crew", "Worker", "fan_out"]

ItemT = TypeVar("ItemT")
ResultT = TypeVar("ResultT")


class _Hands:
    """A crew's threads and their queue, apart from the crew, so that it can be garbage while they wait."""

    def __init__(self, name: str) -> None:
        self.calls: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self.busy: set[int] = set()
        self._name = name
        self._lock = guard()
        self._threads: list[threading.Thread] = []
        self._dismissed = False

    def at_least(self, count: int) -> None:
        """Start threads until there are ``count``, or no more can be had; none after the dismissal."""
        if len(self._threads) >= count:
            return
        with self._lock:
            while len(self._threads) < count and not self._dismissed:
                name = f"ml_pipes-{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=_work, args=(self,), name=name, daemon=True)
                # Counted before it runs: one dismissal too many does no harm, one too few leaves a thread.
                self._threads.append(thread)
                try:
                    thread.start()
                except RuntimeError:  # the caller does the work alone
                    self._threads.remove(thread)
                    return

    @property
    def free(self) -> int:
        """How many threads would come at once if they were called."""
        return len(self._threads) - len(self.busy) - self.calls.qsize()

    def dismiss(self) -> None:
        """Let each thread end after the item that it has in hand."""
        with self._lock:
            self._dismissed = True
            for _ in self._threads:
                self.calls.put(None)


class Crew:
    """Up to ``size`` daemon threads, started when first needed, shared fairly by all callers.

    They end when the crew is closed or garbage: they hold its queue, not the crew.

    Attributes:
        tally: what was worked on, for whoever asks.
    """

    def __init__(self, name: str, size: int) -> None:
        self.tally = ItemTally(name)
        self._size = size
        self._hands = _Hands(name)
        self._end = weakref.finalize(self, self._hands.dismiss)
        self._end.atexit = False

    def free(self, wanted: int) -> int:
        """How many of the ``wanted`` helpers would come at once; threads that are missing are started."""
        self._hands.at_least(min(wanted, self._size))
        return max(0, min(wanted, self._hands.free))

    def call(self, job: Job, helpers: int) -> None:
        """Ask for up to ``helpers`` threads to work on the job; returns at once."""
        wanted = min(helpers, self._size)
        self._hands.at_least(wanted)
        job.call_again = partial(self._hands.calls.put, job)
        for _ in range(wanted):
            self._hands.calls.put(job)

    def stats(self, kind: str) -> RegionStats:
        """What was worked on so far."""
        return self.tally.stats(kind)

    def close(self) -> None:
        """Let the threads end after the item that each has in hand; their callers do the rest alone."""
        self._end()


def fan_out(
    items: Iterable[ItemT],
    call: Callable[[ItemT, int, Worker | None], ResultT],
    crew: Crew | None,
    helpers: int,
    *,
    count: int | None = None,
    approach: Approach | None = None,
) -> list[ResultT]:
    """Run ``call(item, index, worker)`` for each item, on this thread and up to ``helpers`` of the crew's.

    Items are drawn one by one as threads come free for them. The first failure
    stops those not started; those running are waited for.

    Args:
        items: any iterable; its iterator is closed at the end.
        call: the work; ``worker`` is who does it, None on this thread alone.
        crew: the helpers; None for nobody.
        helpers: how many of them to ask for.
        count: how many items there are, where that is known.
        approach: where the work comes to a place at which it is waited for.

    Returns:
        the results, in the order of the items.

    Raises:
        DeadlineExceeded: the call's deadline went by; items that run are left to end by themselves.
        BaseException: what the failing item of the lowest index raised.
    """
    if approach is None and (crew is None or helpers <= 0):
        return one_by_one(iter(items), call)
    job = Job(iter(items), call, count, approach)
    try:
        if crew is not None and helpers > 0:
            if approach is not None:
                job.announce(1 + crew.free(helpers))
            crew.call(job, helpers)
        job.work()
        return job.outcome()
    finally:
        job.clear()  # also when an interrupt ends the waiting: then no more items start


def _work(hands: _Hands) -> None:
    """A helper's life: one item of the next caller's, then to the back of the queue if others wait."""
    me = threading.get_ident()
    while (job := hands.calls.get()) is not None:
        hands.busy.add(me)
        if job.work(lambda: not hands.calls.empty()):
            hands.calls.put(job)
        del job  # an idle helper must not keep the last caller's items alive
        hands.busy.discard(me)
