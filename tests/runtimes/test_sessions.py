"""Several sessions of one model: as one model in all but speed."""

from __future__ import annotations

import gc
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from ml_pipes.tensor import TensorPayload


@pytest.fixture(autouse=True)
def _no_other_models() -> None:
    gc.collect()


def image(value: float, *, rows: int = 1) -> TensorPayload:
    return TensorPayload(np.full((rows, 3, 4, 4), value, np.float32), "NCHW", "float32")


def test_the_threads_of_all_sessions_are_counted_once(infer_of, relu: Path, monkeypatch) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", "4")

    first, second = infer_of(relu, sessions=2, threads=3), infer_of(relu)

    assert (first._session.threads, second._session.threads) == (3, 2)


def test_each_session_has_a_thread_when_none_are_left(infer_of, relu: Path, monkeypatch) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", "2")

    first, second = infer_of(relu), infer_of(relu, sessions=3)

    assert (first._session.threads, second._session.threads) == (2, 3)


def test_a_pickle_and_its_text_keep_their_number(infer_of, fixed: Path) -> None:
    infer = infer_of(fixed, sessions=2, threads=4, free_axes=(0,))

    twin = pickle.loads(pickle.dumps(infer))

    assert "threads=4, sessions=2" in repr(twin)
    assert (twin.sessions, twin._session.threads) == (2, 4)
    assert twin(image(2.0, rows=3)) == infer(image(2.0, rows=3))
    assert twin.metadata == infer.metadata


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_has_its_own(infer_of, relu: Path) -> None:
    infer = infer_of(relu, sessions=2, threads=2)
    infer(image(1.0))

    child = os.fork()
    if not child:
        right = [infer(image(float(value))).tensors[0].array.mean() == value for value in (4, 5)]
        os._exit(0 if all(right) else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.stress
@pytest.mark.parametrize("serialize", [False, True])
def test_32_threads_with_6400_calls_get_their_own_results(infer_of, relu: Path, start, serialize) -> None:
    infer = infer_of(relu, sessions=3, threads=3, serialize=serialize)

    def wrong(caller: int) -> int:
        ids = range(caller * 200, caller * 200 + 200)
        return sum(infer(image(float(at))).tensors[0].array.mean() != at for at in ids)

    futures = [start(wrong, caller) for caller in range(32)]

    assert sum(future.result(50) for future in futures) == 0
