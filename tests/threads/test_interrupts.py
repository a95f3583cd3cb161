"""Ctrl-C at any moment: the interrupted call ends, all others go on."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import os, signal, sys, threading, time
from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, Gather, Scatter, UnBatch

sys.setswitchinterval(1e-5)  # threads take turns more often than usual, at more places
armed, over, wrong = False, False, []
done = [0, 0, 0]


def interrupt(*_):
    if armed:
        raise KeyboardInterrupt


def send():
    while not over:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.0005)


def check(call_id):
    try:
        if pipeline([call_id, call_id + 1]) != [call_id + 1, call_id + 2]:
            wrong.append(call_id)
    except RuntimeError as error:  # its leader was interrupted before the run
        if "left before it was done" not in str(error):
            wrong.append(repr(error))
    except BaseException as error:  # its leader was interrupted during the run: a copy
        if not isinstance(error, KeyboardInterrupt) or threading.current_thread() is threading.main_thread():
            raise


def work(worker):
    call_id = worker * 1_000_000
    while not over:
        check(call_id)
        call_id += 2
        done[worker - 1] += 1


def model(ids):
    return [i + 1 for i in ids]


pipeline = Pipeline([Scatter(2), Batch(3, timeout=0.0005), model, UnBatch(), Gather()])
signal.signal(signal.SIGINT, interrupt)
workers = [threading.Thread(target=work, args=(n,)) for n in (1, 2, 3)]
for thread in [*workers, threading.Thread(target=send, daemon=True)]:
    thread.start()
interrupts, started = 0, time.monotonic()
while time.monotonic() < started + 4:
    try:
        armed = True
        check(interrupts)
    except KeyboardInterrupt:
        interrupts += 1
    finally:
        armed = False
before = list(done)
time.sleep(1.2)  # longer than anybody waits before looking again
stuck = [n for n, (then, now) in enumerate(zip(before, done)) if then == now]
over = True
for thread in workers:
    thread.join(10)
print(f"interrupts {interrupts}, stuck {stuck}, wrong {wrong[:3]}")
sys.exit(not (interrupts > 20 and not stuck and not wrong and not any(t.is_alive() for t in workers)))
"""


@pytest.mark.stress
@pytest.mark.skipif(sys.platform == "win32", reason="Windows delivers no signals of this kind")
def test_hundreds_of_interrupts_end_their_own_calls_and_nobody_elses() -> None:
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=50, check=False
    )

    assert run.returncode == 0, run.stdout + run.stderr
