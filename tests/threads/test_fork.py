"""Processes made of one with threads of ours: forked at any moment, or given a pickled pipeline."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MOST_S = 30

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

START = """
import faulthandler, os, signal, sys, threading, warnings
from threading import Event, Thread
from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import Embed, Pipeline
from ml_pipes.standard import Batch, Gather, LazyPerItem, Scatter, StreamItems, UnBatch

# Newer Pythons warn of a fork with threads: it is meant here.
warnings.simplefilter("ignore", DeprecationWarning)
# A process that hangs ends, and says where it stood.
faulthandler.register(signal.SIGALRM, chain=True)
signal.alarm(25)


def plus_one(values):
    return [value + 1 for value in values]


def daemon(function, *arguments):
    thread = Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


def in_child(check):
    # True where the check holds in a forked child.
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        right = False
        try:
            right = check()
        except BaseException as error:
            print("in the child:", repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(0 if right else 9)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def four_callers():
    results = {}
    threads = [daemon(lambda n=n: results.update({n: pipeline([n, n + 10])})) for n in range(4)]
    for thread in threads:
        thread.join(10)
    return results == {n: [n + 1, n + 11] for n in range(4)}


pipeline = Pipeline([Scatter(3), Batch(2, timeout=0.001), plus_one, UnBatch(), Gather()])
"""


def run(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *(arguments or ("-c", START + program))],
        capture_output=True,
        text=True,
        timeout=MOST_S,
        check=False,
    )


def assert_fine(ended: subprocess.CompletedProcess[str]) -> None:
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


@needs_fork
def test_a_child_calls_what_its_parent_used_and_so_does_the_parent_afterwards() -> None:
    assert_fine(
        run("""
assert four_callers()
assert in_child(four_callers)
assert in_child(lambda: in_child(four_callers))
assert four_callers()
""")
    )


@needs_fork
def test_a_child_calls_while_a_batch_and_items_of_its_parent_run_and_callers_wait() -> None:
    assert_fine(
        run("""
entered, go_on, results = threading.Semaphore(0), Event(), []


def step(value):
    if hold:
        entered.release()
        assert go_on.wait(10)
    return value


def keep(value):
    results.append(pipeline(value))


hold = True
model = [lambda values: (step(values), plus_one(values))[1]]
pipeline = Pipeline([Scatter(3), step, Batch(2, timeout=0.001), *model, UnBatch(), Gather()])
held = [daemon(keep, [n, n + 1]) for n in range(3)]
for _ in range(3):
    assert entered.acquire(timeout=10)


def check():
    global hold
    hold = False
    return four_callers()


assert in_child(check)
go_on.set()
for thread in held:
    thread.join(10)
assert sorted(results) == [[1, 2], [2, 3], [3, 4]]
""")
    )


@needs_fork
def test_a_child_calls_while_callers_of_its_parent_wait_for_company() -> None:
    assert_fine(
        run("""
enter = [lambda value: (entered.release(), value)[1]]
pipeline = Pipeline([*enter, Batch(3, timeout=600.0, policy="full"), plus_one, UnBatch()])
entered, results = threading.Semaphore(0), []
held = [daemon(lambda n=n: results.append(pipeline(n))) for n in range(2)]
for _ in held:
    assert entered.acquire(timeout=10)


def check():
    mine = []
    threads = [daemon(lambda n=n: mine.append(pipeline(n))) for n in (5, 6, 7)]
    for thread in threads:
        thread.join(10)
    return sorted(mine) == [6, 7, 8]


assert in_child(check)
assert pipeline(2) == 3
for thread in held:
    thread.join(10)
assert sorted(results) == [1, 2]
""")
    )


IN_A_BODY = """
pipeline = Pipeline([Batch(1, timeout=0.0), fork, UnBatch()])
assert pipeline(1) == 1
"""

IN_AN_ITEM_OF_A_HELPER = """
both = threading.Barrier(2)


def fork_in_a_helper(value):
    if os.getpid() == parent:
        both.wait(10)
        if threading.current_thread() is not threading.main_thread():
            fork(value)
    return value


pipeline = Pipeline([Scatter(2), fork_in_a_helper, Gather()])
assert pipeline([1, 2]) == [1, 2]
"""

IN_AN_ITEM_OF_A_STREAM = """
pipeline = Pipeline([LazyPerItem(), fork, StreamItems(), list])
assert pipeline([1]) == [1]
"""


@needs_fork
@pytest.mark.parametrize("program", [IN_A_BODY, IN_AN_ITEM_OF_A_HELPER, IN_AN_ITEM_OF_A_STREAM])
def test_a_child_made_in_the_middle_of_a_run_of_the_pipeline_may_call_it(program: str) -> None:
    assert_fine(
        run(f"""
parent, right = os.getpid(), []


def fork(value):
    if os.getpid() == parent:
        right.append(in_child(lambda: pipeline([5, 6]) == [5, 6]))
    return value


{program}
assert right == [True]
""")
    )


@needs_fork
@pytest.mark.stress
def test_forks_at_any_moment_under_load_give_children_that_work() -> None:
    assert_fine(
        run("""
over, wrong, called = Event(), [], threading.Semaphore(0)
collector = CaptureCollector()
pipeline.set_tracing(collector)
outer = Pipeline([Embed(pipeline), LazyPerItem(), abs, StreamItems(), list])


def work(n):
    while not over.is_set():
        # A new one each time: its place is just being made, its threads are just starting.
        fresh = Pipeline([Scatter(2), abs, Gather()])
        if outer([n, n + 1]) != [n + 1, n + 2] or fresh([-1, -2]) != [1, 2]:
            wrong.append(n)
        called.release()


workers = [daemon(work, n) for n in range(4)]
for _ in range(100):
    assert called.acquire(timeout=10)
    assert in_child(lambda: four_callers() and outer([1]) == [2])
over.set()
for thread in workers:
    thread.join(10)
assert not wrong and not any(thread.is_alive() for thread in workers)
""")
    )


POOL = """
import multiprocessing, sys, warnings
from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, Gather, Scatter, UnBatch

warnings.simplefilter("ignore", DeprecationWarning)


def plus_one(values):
    return [value + 1 for value in values]


pipeline = Pipeline([Scatter(3, on_error="return"), Batch(2, timeout=0.001), plus_one, UnBatch(), Gather()])

if __name__ == "__main__":
    assert pipeline([1, 2, 3]) == [2, 3, 4]
    with multiprocessing.get_context(sys.argv[1]).Pool(2) as pool:
        assert pool.map(pipeline, [[n, n + 1] for n in range(20)]) == [[n + 1, n + 2] for n in range(20)]
        assert pool.apply(pipeline, [[5]]) == [6]
    assert pipeline([1, 2, 3]) == [2, 3, 4]
"""


@pytest.mark.stress
@pytest.mark.parametrize("method", ["spawn", pytest.param("fork", marks=needs_fork)])
def test_a_pool_of_processes_takes_a_pickled_pipeline_that_was_used(method: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(POOL, encoding="utf-8")

    ended = run("", str(program), method)

    assert_fine(ended)
