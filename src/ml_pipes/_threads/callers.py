"""Threads that call a function: each in a loop of its own, or together on a timetable.

Knows threads, time, a function and where its inputs come from. Knows nothing of
what is called, or of which calls are counted: a book decides that.
"""

from __future__ import annotations

import contextlib
import contextvars
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from math import inf
from typing import Any, NamedTuple, Protocol

from ml_pipes._threads.clock import CLOCK, Clock, Gate

__all__ = ["Book", "Called", "Callers", "LoopCallers", "TimetableCallers", "first_words"]

_WORDS = 60  # characters of an error's message that tell it from others


class Called(NamedTuple):
    """One call.

    Attributes:
        intended_s: when it was meant to start, seconds of the clock.
        started_s: when it started.
        ended_s: when it returned or raised.
        lag_s: how late it started although a caller was free.
        error: kind and first words of what it raised; None when it returned.
    """

    intended_s: float
    started_s: float
    ended_s: float
    lag_s: float
    error: str | None


class Book(Protocol):
    """Which calls count, and when there are enough; used by one thread at a time."""

    @property
    def done(self) -> bool:
        """Nothing more is wanted."""

    def begin(self, at_s: float) -> bool:
        """The next call is meant to start at this time; does it count?"""

    def end(self) -> None:
        """A call that counts has ended."""

    def exhausted(self) -> None:
        """No more calls will begin."""


class Callers(ABC):
    """Calls until the book is done; every call is noted, whether it counts or not.

    Args:
        function: what is called; whatever it raises is noted as that call's error.
        inputs: the input of the call with this index, from 0; made before the call's time.
        book: decides which calls count and when there are enough.
        clock: tells the time.

    Attributes:
        unmade_s: when the calls were due that counted and never started, since everything ended first.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        inputs: Callable[[int], Any],
        book: Book,
        clock: Clock = CLOCK,
    ) -> None:
        self.unmade_s: list[float] = []
        # Plain tuples of numbers, which the garbage collector forgets: a million of them cost no pause.
        self._rows: list[tuple[float, float, float, float, str | None]] = []
        self._function = function
        self._inputs = inputs
        self._book = book
        self._clock = clock
        self._lock = threading.Lock()
        self._foreman = Gate()
        self._threads: list[threading.Thread] = []
        self._ended: list[
            None
        ] = []  # one each; the foreman takes no lock that an interrupt could leave taken
        self._going = True
        self._failure: BaseException | None = None

    @property
    def calls(self) -> list[Called]:
        """The calls that have ended, in the order in which they did."""
        return [Called(*row) for row in list(self._rows)]

    def run(self, look: Callable[[], float | None]) -> None:
        """Call until the book is done; this thread only looks after the callers.

        Args:
            look: asked now and then; gives the seconds until it wants to be asked again, None to end.

        Raises:
            KeyboardInterrupt: in this thread, or out of a call; :meth:`stop` must follow.
            BaseException: what ``look`` or ``inputs`` raised; :meth:`stop` must follow.
        """
        while self._failure is None and not self._book.done:
            self._staff()
            patience_s = look()
            if patience_s is None:
                return
            self._clock.wait(self._foreman, patience_s)
        if self._failure is not None:
            raise self._failure

    def stop(self, patience_s: float) -> int:
        """Let no more calls start, and wait for those that run.

        Args:
            patience_s: the longest wait, seconds.

        Returns:
            how many callers are still in a call; their threads end with it.
        """
        self._going = False
        self._wake()
        until_s = self._clock.now() + patience_s
        while self._alive() and (left_s := until_s - self._clock.now()) > 0.0:
            self._clock.wait(self._foreman, left_s)
        if not self._alive():
            for thread in self._threads:
                with contextlib.suppress(RuntimeError):  # an interrupt came before it was started
                    thread.join()  # it is at its last instruction
        return self._alive()

    def _alive(self) -> int:
        return sum(thread.ident is not None for thread in self._threads) - len(self._ended)

    @abstractmethod
    def overdue(self, until_s: float) -> int:
        """How many calls were due before this time and nobody took them; after :meth:`stop`."""

    @abstractmethod
    def _staff(self) -> None:
        """Start the threads that are missing."""

    @abstractmethod
    def _wake(self) -> None:
        """Let callers that sleep see that there is nothing more to do."""

    @abstractmethod
    def _work(self) -> None:
        """A caller's life."""

    def _hire(self) -> bool:
        """Start one more thread, in a copy of this one's context; False when there is none to be had."""
        context = contextvars.copy_context()
        name = f"ml_pipes-caller-{len(self._threads)}"
        thread = threading.Thread(target=context.run, args=(self._live,), name=name, daemon=True)
        self._threads.append(thread)
        try:
            thread.start()
        except RuntimeError:
            self._threads.remove(thread)
            return False
        return True

    def _live(self) -> None:
        try:
            self._work()
        except BaseException as failure:  # of the inputs: the calls' own errors are noted
            self._fail(failure)
        finally:
            self._ended.append(None)
            self._foreman.open()

    def _fail(self, failure: BaseException) -> None:
        self._failure = failure
        self._foreman.open()

    def _call(self, item: Any, intended_s: float, started_s: float, lag_s: float, counts: bool) -> None:
        """Call, note it, and tell the book."""
        now = self._clock.now
        error: str | None = None
        try:
            self._function(item)
            ended_s = now()
        except BaseException as raised:
            ended_s = now()
            error = first_words(raised)
            if isinstance(raised, KeyboardInterrupt):
                self._fail(raised)
        self._rows.append((intended_s, started_s, ended_s, lag_s, error))
        if counts:
            with self._lock:
                self._book.end()
                self._end_if_done()

    def _end_if_done(self) -> bool:
        """After a change of the book, under the lock, so that nobody calls once there is enough."""
        if self._book.done:
            self._going = False
            self._foreman.open()
        return not self._going


class LoopCallers(Callers):
    """Each caller calls again as soon as its call has returned (a closed loop).

    Args:
        count: how many callers.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        inputs: Callable[[int], Any],
        book: Book,
        count: int,
        clock: Clock = CLOCK,
    ) -> None:
        super().__init__(function, inputs, book, clock)
        self._count = count
        self._index = 0

    def overdue(self, until_s: float) -> int:  # noqa: ARG002 - a loop is never late
        return 0

    def _staff(self) -> None:
        while len(self._threads) < self._count:
            if not self._hire():
                raise RuntimeError(f"only {len(self._threads)} of {self._count} callers could be started")

    def _wake(self) -> None:
        """None sleeps."""

    def _work(self) -> None:
        now, begin = self._clock.now, self._book.begin
        while self._going:
            with self._lock:
                index = self._index
                self._index += 1
            item = self._inputs(index)
            with self._lock:  # so that calls begin in the order of their times
                started_s = now()
                counts = begin(started_s)
                over = not counts and self._end_if_done()
            if over:
                return
            self._call(item, started_s, started_s, 0.0, counts)


class TimetableCallers(Callers):
    """Each call starts at its time, whatever became of the calls before (an open loop).

    A caller that is free takes the next time of the table, makes the input, sleeps until
    then and calls: one wake-up per call, on the thread that calls. There are always a few
    free callers, until there are ``most``; calls that are due while all are busy wait.

    Args:
        offsets_s: the times, seconds after ``start_s``, not falling.
        start_s: the table's beginning, seconds of the clock.
        most: how many callers at most.
        spare: how many of them should be free at any time.
    """

    def __init__(
        self,
        function: Callable[[Any], Any],
        inputs: Callable[[int], Any],
        book: Book,
        offsets_s: Iterator[float],
        start_s: float,
        most: int,
        spare: int = 8,
        clock: Clock = CLOCK,
    ) -> None:
        super().__init__(function, inputs, book, clock)
        self._offsets_s = offsets_s
        self._start_s = start_s
        self._most = most
        self._spare = spare
        self._index = 0
        self._busy = 0
        self._gates: list[Gate] = []

    def overdue(self, until_s: float) -> int:
        count = 0
        with self._lock:
            while (offset_s := next(self._offsets_s, None)) is not None:
                if self._start_s + offset_s >= until_s:
                    break
                count += 1
        return count

    def _staff(self) -> None:
        while self._too_few() and self._going:
            if not self._hire():
                self._most = max(1, len(self._threads))

    def _too_few(self) -> bool:
        hired = len(self._threads)
        return hired < self._most and hired - self._busy < self._spare

    def _wake(self) -> None:
        for gate in list(self._gates):
            gate.open()

    def _work(self) -> None:
        gate = Gate()
        self._gates.append(gate)
        while (taken := self._take()) is not None:
            index, due_s, free_since_s, counts = taken
            item = self._inputs(index)
            if not self._sleep_until(due_s, gate):
                if counts:
                    self.unmade_s.append(due_s)
                return
            self._enter()
            started_s = self._clock.now()
            self._call(item, due_s, started_s, started_s - max(due_s, free_since_s), counts)
            with self._lock:
                self._busy -= 1

    def _take(self) -> tuple[int, float, float, bool] | None:
        """The next call: its index, its time, since when a caller was free for it, and whether it counts."""
        with self._lock:
            if not self._going:
                return None
            offset_s = next(self._offsets_s, None)
            if offset_s is None:
                self._book.exhausted()
                self._end_if_done()
                return None
            index = self._index
            self._index += 1
            due_s = self._start_s + offset_s
            # With all callers hired, a call that is taken late had to wait for one of them.
            free_since_s = self._clock.now() if len(self._threads) >= self._most else -inf
            counts = self._book.begin(due_s)
            self._end_if_done()
            return index, due_s, free_since_s, counts

    def _sleep_until(self, due_s: float, gate: Gate) -> bool:
        """False when everything ended first."""
        while self._going and (left_s := due_s - self._clock.now()) > 0.0:
            self._clock.wait(gate, left_s)
        return self._going

    def _enter(self) -> None:
        with self._lock:
            self._busy += 1
            too_few = self._too_few()
        if too_few:
            self._foreman.open()


def first_words(error: BaseException) -> str:
    """Kind and first words of an error, ``ValueError: no face in``; the same for errors of one kind."""
    try:
        message = " ".join(str(error).split())
    except Exception:  # a message that cannot be made
        message = ""
    if len(message) > _WORDS:
        message = message[:_WORDS].rsplit(" ", 1)[0] + " ..."
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
