"""A forked child has a session of its own, and can end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ml_pipes.tensor import TensorPayload


def image(value: float) -> TensorPayload:
    return TensorPayload(np.full((1, 3, 4, 4), value, np.float32), "NCHW", "float32")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_makes_a_session_of_its_own_and_ends(infer_of, relu: Path) -> None:
    infer = infer_of(relu, threads=2)
    before = infer._session

    child = os.fork()
    if not child:
        right = infer(image(4.0)).tensors[0].array.mean() == 4.0
        os._exit(0 if right and infer._session is not before else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_may_drop_what_it_was_given_and_ends(room: str, relu: Path) -> None:
    """By os._exit, as children of multiprocessing do: ONNX Runtime hangs at any other end of a fork."""
    program = f"""
import multiprocessing, sys, warnings
import numpy as np
from {room} import Infer
from ml_pipes.tensor import TensorPayload
warnings.simplefilter("ignore")
value = TensorPayload(np.ones((1, 3, 64, 64), np.float32), "NCHW", "float32")
infer, unused = Infer({str(relu)!r}), Infer({str(relu)!r}, threads=3)
infer(value)
def work():
    global unused
    del unused
    infer(value)
    print(infer._session.threads, flush=True)
    sys.exit(5)
child = multiprocessing.get_context("fork").Process(target=work)
child.start()
child.join()
sys.exit(child.exitcode)
"""
    environment = {**os.environ, "ML_PIPES_CPUS": "4"}
    run = [sys.executable, "-c", program]

    ended = subprocess.run(run, capture_output=True, text=True, check=False, timeout=30, env=environment)

    assert (ended.stdout, ended.stderr, ended.returncode) == ("4\n", "", 5)
