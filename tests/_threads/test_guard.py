"""Locks that an interrupt cannot leave taken."""

from __future__ import annotations

from typing import Any

import pytest

from ml_pipes._threads.batcher import Batcher
from ml_pipes._threads.guard import give_back, give_back_all, guard
from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, UnBatch


def is_free(lock: Any) -> bool:
    """For another thread than the one that asks."""
    if lock.acquire(blocking=False):
        lock.release()
        return True
    return False


def test_what_this_thread_holds_is_given_back_however_often_it_was_taken(start: Any) -> None:
    lock = guard()
    lock.acquire()
    lock.acquire()

    give_back_all()

    assert start(is_free, lock).result(timeout=5)


def test_what_another_thread_holds_stays_taken(start: Any) -> None:
    lock = guard()
    start(lock.acquire).result(timeout=5)

    give_back(lock)
    give_back_all()

    assert not is_free(lock)


def test_another_thread_than_the_main_one_gives_nothing_back(start: Any) -> None:
    lock = guard()

    def take_and_give_back() -> None:
        lock.acquire()
        give_back_all()

    start(take_and_give_back).result(timeout=5)

    assert not is_free(lock)


def test_a_batch_that_an_interrupt_leaves_locked_is_open_for_the_next_caller(
    start: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2), list, UnBatch()])
    assert pipeline(1) == 1

    def interrupted(self: Batcher, *_: Any) -> Any:
        self._lock.acquire()  # what the interpreter does when the interrupt comes where it does not look
        raise KeyboardInterrupt

    monkeypatch.setattr(Batcher, "_goes_alone", interrupted)
    with pytest.raises(KeyboardInterrupt):
        pipeline(2)
    monkeypatch.undo()

    assert start(pipeline, 3).result(timeout=5) == 3
