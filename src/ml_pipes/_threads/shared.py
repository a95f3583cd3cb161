"""A few things for many callers: each call borrows one, and who comes first is served first.

Knows threads and deadlines. Knows nothing of what is lent.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from ml_pipes._threads.clock import Gate, now
from ml_pipes._threads.deadline import deadline_at, exceeded
from ml_pipes._threads.guard import give_back, guard

__all__ = ["Shared"]

# A wake-up may get lost with an interrupt; it then costs this time.
_LOOK_AGAIN_S = 0.5

ThingT = TypeVar("ThingT")
ResultT = TypeVar("ResultT")


class Shared(Generic[ThingT]):
    """A bounded set of things, each lent to one call at a time.

    A call that has borrowed one must not ask for another: it could wait for itself.
    A forked child needs a set of its own, since whoever borrows may not be there.
    """

    def __init__(self, things: Sequence[ThingT]) -> None:
        """Lend ``things``, one or more."""
        self._places = [_Place(thing) for thing in things]
        self._waiting: deque[_Loan] = deque()
        self._lock = guard()

    def use(self, work: Callable[[ThingT], ResultT], what: str) -> ResultT:
        """``work(thing)`` with one of the things, which comes back whatever ``work`` raises.

        Args:
            work: what is done with it.
            what: the reason to wait, for the message.

        Raises:
            DeadlineExceeded: none became free by the call's deadline.
        """
        loan = _Loan()
        try:
            result = work(self._borrowed(loan, what))
            loan.over = True
            self._call_next()
        except BaseException:
            # An interrupt may come anywhere, so this plain store alone frees the thing, or the place in the
            # queue; a wake-up that gets lost is made up for.
            loan.over = True
            give_back(self._lock)
            self._call_next()
            raise
        return result

    def _borrowed(self, loan: _Loan, what: str) -> ThingT:
        place = self._taken(loan)
        while place is None:
            at = deadline_at()
            loan.gate.wait(min(at - now(), _LOOK_AGAIN_S))
            place = self._taken(loan)
            if place is None and now() >= at:
                raise exceeded(f"while {what}", now() - at)
        return place.thing

    def _taken(self, loan: _Loan) -> _Place[ThingT] | None:
        """A free thing's place when it is this call's turn; else None, and the call is in the queue."""
        with self._lock:
            head = self._head()
            if head is None or head is loan:
                for place in self._places:
                    if place.loan.over:
                        place.loan = loan
                        if head is loan:
                            self._waiting.popleft()
                        self._call_if_free()
                        return place
            if not loan.queued:
                loan.queued = True
                self._waiting.append(loan)
            return None

    def _call_next(self) -> None:
        with self._lock:
            self._call_if_free()

    def _call_if_free(self) -> None:
        """Under the lock: wake who is next, when there is something for it."""
        head = self._head()
        if head is not None and any(place.loan.over for place in self._places):
            head.gate.open()

    def _head(self) -> _Loan | None:
        """Under the lock: the first of those who still wait."""
        waiting = self._waiting
        while waiting and waiting[0].over:
            waiting.popleft()
        return waiting[0] if waiting else None


class _Loan:
    """One call's claim: it waits, then holds a thing, and is over."""

    __slots__ = ("gate", "over", "queued")

    def __init__(self, *, over: bool = False) -> None:
        self.gate = Gate()
        self.over = over
        self.queued = False


class _Place(Generic[ThingT]):
    """One thing, and the last call that borrowed it: it is free when that is over."""

    __slots__ = ("loan", "thing")

    def __init__(self, thing: ThingT) -> None:
        self.thing = thing
        self.loan = _Loan(over=True)
