"""The turnstile: one thread inside, and a new one wherever it is taken."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from ml_pipes._threads.turnstile import Turnstile


def test_one_thread_is_inside_at_a_time() -> None:
    turnstile, inside, most = Turnstile(), [], []

    def enter(name: int) -> None:
        with turnstile.lock:
            inside.append(name)
            most.append(len(inside))
            inside.remove(name)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(enter, range(200)))

    assert max(most) == 1


def test_the_one_after_an_error_can_enter() -> None:
    turnstile = Turnstile()

    with pytest.raises(KeyError), turnstile.lock:
        raise KeyError("inside")

    with turnstile.lock:
        pass


@pytest.mark.parametrize("taken", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
def test_a_copy_is_free_while_the_original_is_occupied(taken) -> None:
    turnstile = Turnstile()
    entered = threading.Event()

    with turnstile.lock:
        twin = taken(turnstile)
        with twin.lock:
            entered.set()

    assert entered.is_set()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_finds_it_free() -> None:
    turnstile = Turnstile()

    with turnstile.lock:
        child = os.fork()
        if not child:
            with turnstile.lock:
                os._exit(7)
        _, status = os.waitpid(child, 0)

    assert os.waitstatus_to_exitcode(status) == 7
