"""A courier in an interpreter that ends, and in one that is forked."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

START = """
import os, sys, threading, warnings
from threading import Event
from ml_pipes._threads.courier import Courier

warnings.simplefilter("ignore", DeprecationWarning)
entered, never = threading.Semaphore(0), Event()


def hang(thing):
    entered.release()
    never.wait(600)


def write(thing):
    os.write(1, f"{thing} ".encode())

"""


def run(program: str) -> subprocess.CompletedProcess[str]:
    # A second for what is pending, and what an interpreter takes to start on a busy machine.
    return subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, timeout=15, check=False
    )


def test_at_the_interpreters_end_a_hung_handler_is_left_and_a_healthy_one_gets_what_is_pending() -> None:
    ended = run("""
hung, healthy = Courier(hang, limit=10, label="hung"), Courier(write, limit=100, label="healthy")
hung.post(1)
assert entered.acquire(timeout=10)
for number in range(20):
    healthy.post(number)
""")

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout == "".join(f"{number} " for number in range(20))


def test_the_end_waits_for_a_hung_handler_about_a_second() -> None:
    ended = run("""
import atexit, time
atexit.register(lambda: print(time.monotonic() - began < 5.0))  # called after the couriers' own exit
hung = Courier(hang, limit=10, label="hung")
hung.post(1)
assert entered.acquire(timeout=10)
began = time.monotonic()
""")

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "True\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_handles_nothing_of_its_parents_and_works_itself() -> None:
    ended = run("""
came, go_on = [], Event()


def handle(thing):
    if os.getpid() == parent:
        entered.release()
        go_on.wait(10)
    came.append(thing)


parent = os.getpid()
courier = Courier(handle, limit=10, label="forked")
for number in range(6):
    courier.post(number)
assert entered.acquire(timeout=10)

child = os.fork()
if child == 0:
    right = courier.flush(5) and courier.pending == 0 and courier.dropped == 0
    courier.post("mine")
    right = courier.flush(5) and right and came == ["mine"]
    os._exit(0 if right else 9)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
go_on.set()
assert courier.flush(5)
assert came == [0, 1, 2, 3, 4, 5]
""")

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_child_forked_by_the_handler_itself_handles_nothing_of_its_parents() -> None:
    ended = run("""
came, child = [], None


def handle(thing):
    global child
    if thing == 0:
        started.wait(10)
        child = os.fork()
        if child == 0:
            threading.Thread(target=check_in_child).start()
            return
    came.append(thing)


def check_in_child():
    courier.post("mine")
    os._exit(0 if courier.flush(5) and came == ["mine"] else 9)


started = Event()
courier = Courier(handle, limit=10, label="forked")
for number in range(5):
    courier.post(number)
started.set()
assert courier.flush(5)
assert came == [0, 1, 2, 3, 4]
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
""")

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
