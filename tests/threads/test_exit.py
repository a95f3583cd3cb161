"""The interpreter ends while work is in flight: at once, silently, with the right exit code."""

from __future__ import annotations

import subprocess
import sys

import pytest

# Whatever waits in these programs waits far longer than this: an end in time is no luck.
MOST_S = 15

START = """
import itertools, os, sys, threading
from threading import Barrier, Event, Thread
from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, Gather, LazyPerItem, Scatter, StreamItems, UnBatch

never = Event()


def hold(value):
    entered.release()
    never.wait(600)
    return value


def until(count):
    for _ in range(count):
        assert entered.acquire(timeout=10)


def daemon(function, *arguments):
    thread = Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


entered = threading.Semaphore(0)
"""

IN_A_BATCH = """
pipeline = Pipeline([Batch(2, timeout=600.0, policy="full"), hold, UnBatch()])
for value in range(2):
    daemon(pipeline, value)
until(1)
"""

WAITING_FOR_A_BATCH = """
enter = [lambda value: (entered.release(), value)[1]]
pipeline = Pipeline([*enter, Batch(64, timeout=600.0, policy="full"), list, UnBatch()])
for value in range(8):
    daemon(pipeline, value)
until(8)
"""

WAITING_FOR_A_BATCH_THAT_RUNS = """
pipeline = Pipeline([lambda value: (entered.release(), value)[1], Batch(2, timeout=0.0), hold, UnBatch()])
for value in range(8):
    daemon(pipeline, value)
until(9)
"""

IN_A_SCATTER = """
pipeline = Pipeline([Scatter(4), hold, Gather()])
daemon(pipeline, range(100))
until(4)
"""

IN_A_BATCH_IN_A_SCATTER = """
pipeline = Pipeline([Scatter(4), Batch(4, timeout=600.0, policy="full"), hold, UnBatch(), Gather()])
daemon(pipeline, range(100))
until(1)
"""

WITH_IDLE_HELPERS = """
barrier = Barrier(4)
pipeline = Pipeline([Scatter(4), lambda value: (barrier.wait(10), value)[1], Gather()])
assert pipeline(range(4)) == [0, 1, 2, 3]
"""

A_STREAM_HALF_READ = """
pipeline = Pipeline([LazyPerItem(), abs, StreamItems()])
stream = pipeline(value for value in itertools.count())
assert [next(stream), next(stream)] == [0, 1]
"""

A_STREAM_BEING_READ = """
stream = Pipeline([LazyPerItem(), hold, StreamItems()])(value for value in itertools.count())
daemon(next, stream)
until(1)
"""

# Threads that come and go, call, wait, lead and end at whatever instruction the end finds them.
UNDER_LOAD = """
pipeline = Pipeline(
    [Scatter(3), Batch(4, timeout=0.001), lambda values: [v + 1 for v in values], UnBatch(), Gather()]
)


def call_for_ever(first):
    for n in itertools.count():
        assert pipeline([first, n]) == [first + 1, n + 1]
        entered.release()


for value in range(6):
    daemon(call_for_ever, value)
until(60)
"""

PROGRAMS = {
    "in a batch": IN_A_BATCH,
    "waiting for a batch": WAITING_FOR_A_BATCH,
    "waiting for a batch that runs": WAITING_FOR_A_BATCH_THAT_RUNS,
    "in a scatter": IN_A_SCATTER,
    "in a batch in a scatter": IN_A_BATCH_IN_A_SCATTER,
    "with idle helpers": WITH_IDLE_HELPERS,
    "a stream half read": A_STREAM_HALF_READ,
    "a stream being read": A_STREAM_BEING_READ,
    "under load": UNDER_LOAD,
}

ENDS = {
    "its last line": ("", 0, ""),
    "sys.exit": ("sys.exit(3)", 3, ""),
    "an error": ("raise SystemExit('no more')", 1, "no more\n"),
}


def run(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START + program], capture_output=True, text=True, timeout=MOST_S, check=False
    )


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_interpreter_ends_with_work_in_flight(program: str, end: str) -> None:
    last_line, code, words = ENDS[end]

    ended = run(f"{PROGRAMS[program]}\n{last_line}\n")

    assert (ended.returncode, ended.stdout, ended.stderr) == (code, "", words)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no timer that sends a signal")
def test_ctrl_c_ends_a_program_whose_main_thread_waits_for_company() -> None:
    ended = run(
        """
import signal
pipeline = Pipeline([Batch(2, timeout=600.0, policy="full"), list, UnBatch()])
helper = Pipeline([Scatter(2), hold, Gather()])
daemon(helper, range(2))
until(2)
signal.signal(signal.SIGALRM, signal.default_int_handler)
try:
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    pipeline(1)
except KeyboardInterrupt:
    sys.exit(7)
"""
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (7, "", "")


def test_a_main_thread_that_ends_lets_other_threads_finish_their_calls() -> None:
    ended = run(
        """
go_on = Event()


def wait(value):
    entered.release()
    assert go_on.wait(10)
    return value


def work():
    sys.stdout.write(str(pipeline([1, 2, 3])))


pipeline = Pipeline([Scatter(2), Batch(2, timeout=0.0), wait, UnBatch(), Gather()])
Thread(target=work).start()
until(1)
Thread(target=lambda: (threading.main_thread().join(), go_on.set())).start()
"""
    )

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "[1, 2, 3]", "")


@pytest.mark.stress
def test_twenty_programs_end_under_load_silently() -> None:
    ended = [run(UNDER_LOAD) for _ in range(20)]

    assert {(program.returncode, program.stdout, program.stderr) for program in ended} == {(0, "", "")}
