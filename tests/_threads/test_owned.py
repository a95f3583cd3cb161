"""Things made on first use, once."""

from __future__ import annotations

import multiprocessing
import os
from threading import Barrier
from typing import Any

import pytest

from ml_pipes._threads.owned import Owned


def test_sixteen_threads_at_once_make_it_once(start: Any) -> None:
    owned, made, barrier = Owned(), [], Barrier(16)

    def get() -> object:
        barrier.wait(timeout=10)
        return owned.get(lambda: made.append(1) or object())

    got = {start(get) for _ in range(16)}
    things = {id(future.result(timeout=10)) for future in got}

    assert made == [1]
    assert len(things) == 1


def test_a_failing_make_is_tried_again_by_the_next() -> None:
    owned = Owned()

    with pytest.raises(OSError, match="disk"):
        owned.get(_fail)

    assert owned.get(lambda: "made") == "made"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings(
    "ignore:This process .* is multi-threaded:DeprecationWarning"
)  # that is the case tested
def test_the_child_of_a_fork_makes_its_own_even_when_a_thread_was_just_making_one(start: Any) -> None:
    owned, inside, leave = Owned(), Barrier(2), Barrier(2)

    def slow() -> str:
        inside.wait(timeout=10)
        leave.wait(timeout=10)
        return "parent's"

    making = start(owned.get, slow)
    inside.wait(timeout=10)
    child = multiprocessing.get_context("fork").Process(target=_expect_own, args=(owned,))
    child.start()
    child.join(timeout=10)
    leave.wait(timeout=10)

    assert child.exitcode == 0
    assert making.result(timeout=10) == "parent's"


def _expect_own(owned: Owned) -> None:
    assert owned.get(lambda: "child's") == "child's"


def _fail() -> Any:
    raise OSError("disk")
