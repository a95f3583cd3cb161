"""An inbox that a thread of its own empties: who posts never waits.

What does not fit is dropped and counted. Knows things and a function that takes
one. Knows nothing of what they are.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable
from math import inf
from typing import Any, Final, TypeAlias

from ml_pipes._threads.clock import Gate, now
from ml_pipes._threads.guard import give_back, guard

__all__ = ["Courier"]

# After its last thing a thread looks again this much later, instead of being called for each: a call is dear.
_NAP_S: Final = 0.02
# Who comes back from a model or a file waits up to 5 ms for the interpreter's lock while the thread works.
# So it lets others in after so much work. (A sleep of 0 takes the lock again before anybody wakes.)
_WORK_S: Final = 0.0005
_PAUSE_S: Final = 0.00002
# Who makes the thread waits until it runs, and then for that lock: so the thread begins with a sleep.
_HEAD_START_S: Final = 0.001
# No more than one line of a kind per courier in this time.
_LOG_EACH_S: Final = 1.0
# A wake-up that gets lost with an interrupt only costs time.
_LOOK_AGAIN_S: Final = 0.1
# What all couriers together may still take when the interpreter ends.
_EXIT_S: Final = 1.0

_log = logging.getLogger("ml_pipes")
_all: weakref.WeakSet[_Inbox] = weakref.WeakSet()

Settle: TypeAlias = Callable[[bool], float | None]


class _Waiter:
    """Somebody who waits until so many things are handled."""

    __slots__ = ("done", "gate", "target")

    def __init__(self, target: int) -> None:
        self.target = target
        self.done = False
        self.gate = Gate()

    def tell(self) -> None:
        """They are."""
        self.done = True
        self.gate.open()


class _Inbox:
    """What a courier and its thread share, apart from the courier, so that it can be garbage while idle.

    Attributes:
        handle: takes one thing; None while there is nothing to do, so that the thread holds nobody.
        settle: what is to be done when all is handled; None then, too.
        asleep: the thread waits to be called, or there is none.
        over: nothing more is taken in.
        sent: how many things were taken in.
        handled: how many of them were given to ``handle``.
        abandoned: how many of them were thrown away.
        rejected: how many were not taken in.
        told: how many of these the log knows.
        failed: how many times ``handle`` raised.
    """

    def __init__(self, limit: int, label: str) -> None:
        self.limit = limit
        self.label = label
        self.over = False
        self.renew()
        _all.add(self)

    def renew(self) -> None:
        """Empty and with no thread: as it is made, and as a forked child finds it."""
        self.lock = guard()
        self.gate = Gate()
        self.things: deque[Any] = deque()
        self.handle: Callable[[Any], None] | None = None
        self.settle: Settle | None = None
        self.thread: threading.Thread | None = None
        self.waiters: list[_Waiter] = []
        self.asleep = True
        self.sent = self.handled = self.abandoned = self.rejected = self.told = self.failed = 0
        self.logged_at: dict[str, float] = {}
        self.paused_at = 0.0

    def end(self) -> None:
        """Let the thread end after what is there; wherever garbage is collected, so without the lock."""
        self.over = True
        self.gate.open()

    def rouse(self, handle: Callable[[Any], None], settle: Settle | None) -> None:
        """Have the thread look, and have one, if one can be had; the lock is held."""
        self.handle, self.settle = handle, settle
        if self.thread is not None and self.thread.is_alive():
            self.gate.open()
        elif not self._start():
            return  # the next post tries again
        self.asleep = False

    def _start(self) -> bool:
        # Whoever registers last is called first: before the exits of what ``handle`` needs.
        atexit.unregister(_deliver_all)
        atexit.register(_deliver_all)
        name = f"ml_pipes-{self.label}"
        self.thread = threading.Thread(target=_work, args=(self,), name=name, daemon=True)
        try:
            self.thread.start()
        except RuntimeError:
            self.thread = None
        return self.thread is not None

    def await_handled(self, timeout_s: float) -> bool:
        """Wait until what was sent by now is handled or thrown away; False when that takes too long."""
        with self.lock:
            waiter = _Waiter(self.sent)
            if self.handled + self.abandoned >= waiter.target and self.settle is None:
                return True
            self.waiters.append(waiter)
            self.gate.open()
        ends_at = now() + timeout_s
        try:
            while not waiter.done:
                left_s = ends_at - now()
                if left_s <= 0.0:
                    return False
                waiter.gate.wait(min(left_s, _LOOK_AGAIN_S))
            return True
        finally:
            with self.lock:
                self.waiters.remove(waiter)

    def abandon(self) -> None:
        """Throw away what nobody has taken; the lock is held."""
        while self.things:
            with contextlib.suppress(IndexError):  # the thread took it just now
                self.things.popleft()
                self.abandoned += 1

    def reached(self) -> list[_Waiter]:
        """Those who wait for nothing more."""
        done = self.handled + self.abandoned
        return [waiter for waiter in list(self.waiters) if done >= waiter.target]

    def breathe(self) -> None:
        """Let others in, if the thread has worked for a while."""
        if now() - self.paused_at >= _WORK_S:
            time.sleep(_PAUSE_S)
            self.paused_at = now()

    def warn(self, kind: str, message: str, *values: object, error: bool = False) -> None:
        """Log it, but not more often than once in a while."""
        if now() - self.logged_at.get(kind, -inf) >= _LOG_EACH_S:
            self.logged_at[kind] = now()
            self.told = self.rejected
            _log.log(
                logging.ERROR if error else logging.WARNING, message, self.label, *values, exc_info=error
            )


class Courier:
    """Takes things in and gives them to ``handle`` on a daemon thread, one after another.

    The thread is made when the first thing is posted, again should it ever be lost,
    and ends when the courier is stopped, or is garbage and all is delivered. A forked
    child has an empty inbox, counts from 0, and makes a thread of its own. When the
    interpreter ends, what is still there is delivered within a second, or lost.

    Args:
        handle: takes one thing. What it raises is logged, at most one line a second, and the next one comes.
        limit: how many things may wait; what comes beyond is dropped.
        label: whose thread it is: it is named ``ml_pipes-<label>``.
        settle: called on the thread when all that came is handled, with True when somebody waits for that
            (a flush, the stop, the interpreter's end). It returns in how many seconds to be called again at
            the latest; None when there is nothing more to do before the next thing comes.

    Raises:
        ValueError: the limit is below 1.
    """

    def __init__(
        self, handle: Callable[[Any], None], *, limit: int, label: str, settle: Settle | None = None
    ) -> None:
        if limit < 1:
            raise ValueError(f"the limit of {label} must be at least 1, got {limit}")
        self._handle = handle
        self._settle = settle
        self._inbox = _Inbox(limit, label)
        self._rouse_at = max(1, limit // 2)
        # The exit waits for what was posted, and not for this: see _deliver_all.
        weakref.finalize(self, self._inbox.end).atexit = False

    @property
    def dropped(self) -> int:
        """How many things never come to ``handle``: there was no room, or it was stopped."""
        return self._inbox.rejected + self._inbox.abandoned

    @property
    def failed(self) -> int:
        """How many times ``handle`` raised."""
        return self._inbox.failed

    @property
    def pending(self) -> int:
        """How many things were taken in and are not handled yet."""
        return max(0, self._inbox.sent - self._inbox.handled - self._inbox.abandoned)

    def post(self, thing: Any) -> bool:
        """Take it in; never waits for ``handle``.

        Returns:
            whether it was: False when ``limit`` things wait, or after the stop. It is counted then.
        """
        inbox = self._inbox
        try:
            with inbox.lock:
                waiting = len(inbox.things)
                if waiting < inbox.limit and not inbox.over:
                    inbox.things.append(thing)
                    inbox.sent += 1
                    if inbox.asleep:
                        inbox.rouse(self._handle, self._settle)
                    elif waiting + 1 == self._rouse_at:
                        inbox.gate.open()  # the nap is too long for what comes
                    return True
                inbox.rejected += 1
        except BaseException:
            give_back(inbox.lock)  # an interrupt came; others are not to wait for it
            raise
        if inbox.over:
            inbox.warn("stopped", "%s was stopped: what comes now is dropped, %d so far", inbox.rejected)
        return False

    def breathe(self) -> None:
        """For a ``handle`` that takes long, now and then: let the other threads of the program in."""
        self._inbox.breathe()

    def flush(self, timeout_s: float) -> bool:
        """Wait until what was posted before is handled.

        Args:
            timeout_s: seconds to wait at the most.

        Returns:
            whether all of it was; False at once on the courier's own thread.
        """
        inbox = self._inbox
        abandoned = inbox.abandoned
        try:
            with inbox.lock:
                if inbox.thread is threading.current_thread():
                    return False
                if inbox.things and inbox.asleep:
                    inbox.rouse(self._handle, self._settle)
            return inbox.await_handled(timeout_s) and inbox.abandoned == abandoned
        except BaseException:
            give_back(inbox.lock)
            raise

    def stop(self, timeout_s: float) -> bool:
        """Take nothing more in, deliver what is there, and let the thread end; twice is fine.

        Args:
            timeout_s: seconds to wait at the most; what is not taken up by then is dropped and counted.

        Returns:
            whether all was delivered.
        """
        inbox = self._inbox
        inbox.over = True
        delivered = self.flush(timeout_s)
        with inbox.lock:
            inbox.abandon()
        for waiter in inbox.reached():
            waiter.tell()
        inbox.gate.open()
        return delivered


def _work(inbox: _Inbox) -> None:
    """A courier's thread: deliver, nap, and sleep once nothing came during a nap."""
    me = threading.current_thread()
    try:
        time.sleep(_HEAD_START_S)
        # A child forked on this thread has forgotten it.
        while inbox.thread is me:
            _deliver(inbox)
            again_s = _settle(inbox, bool(inbox.over or inbox.waiters))
            _tell_waiters(inbox)
            if not inbox.over and inbox.gate.wait(_NAP_S if again_s is None else min(again_s, _NAP_S)):
                continue
            with inbox.lock:
                if inbox.things:
                    continue
                if inbox.over:
                    return
                inbox.asleep = True
                if again_s is None:
                    inbox.handle = inbox.settle = None
            inbox.gate.wait(again_s)
    finally:
        # Also when it is lost to something raised into it: the next post, or a flush, makes another.
        with inbox.lock:
            if inbox.thread is me:
                inbox.thread = inbox.handle = inbox.settle = None
                inbox.asleep = True
                inbox.handled = inbox.sent - inbox.abandoned - len(inbox.things)
        for waiter in inbox.reached():
            waiter.tell()


def _deliver(inbox: _Inbox) -> None:
    handle, things = inbox.handle, inbox.things
    while handle is not None and things:
        try:
            thing = things.popleft()
        except IndexError:  # thrown away just now
            return
        try:
            handle(thing)
        except BaseException:  # whatever it is, the next thing is not to suffer for it
            inbox.failed += 1
            inbox.warn("failed", "%s failed, %d times so far; it goes on", inbox.failed, error=True)
        del thing
        if things is not inbox.things:  # a child forked by ``handle``
            return
        inbox.handled += 1
        inbox.breathe()
        if inbox.rejected > inbox.told:
            inbox.warn("slow", "%s is too slow: %d dropped so far", inbox.rejected)
        if inbox.waiters:
            _tell_waiters(inbox)


def _tell_waiters(inbox: _Inbox) -> None:
    reached = inbox.reached()
    if reached:
        _settle(inbox, True)
    for waiter in reached:
        waiter.tell()


def _settle(inbox: _Inbox, awaited: bool) -> float | None:
    settle = inbox.settle
    try:
        return None if settle is None else settle(awaited)
    except BaseException:  # as above
        inbox.failed += 1
        inbox.warn("failed", "%s failed, %d times so far; it goes on", inbox.failed, error=True)
        return None


def _deliver_all() -> None:
    """The interpreter ends: what is posted has a second for all together."""
    ends_at = now() + _EXIT_S
    for inbox in list(_all):
        inbox.gate.open()
    for inbox in list(_all):
        inbox.await_handled(ends_at - now())


def _forget_all() -> None:
    # The child of a fork has one thread: what its parent posted is its parent's to deliver.
    for inbox in list(_all):
        inbox.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
