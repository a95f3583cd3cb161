"""Several ONNX Runtime sessions of one model, each lent to one call at a time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml_pipes.core import Pipeline
from ml_pipes.errors import DeadlineExceeded, ModelError
from ml_pipes.onnx import Infer
from ml_pipes.tensor import TensorPayload


def image(value: float = 1.0, *, rows: int = 1) -> TensorPayload:
    return TensorPayload(np.full((rows, 3, 4, 4), value, np.float32), "NCHW", "float32")


def watch(infer: Infer, before) -> list[tuple[int, int]]:
    """Which session ran how many rows; ``before(session, rows)`` is called at the start of each run."""
    ran: list[tuple[int, int]] = []
    for at, session in enumerate(infer._session._sessions):

        def run(names: Any, feeds: Any, options: Any, at: int = at, real: Any = session.run) -> Any:
            ran.append((at, len(feeds["x"])))
            before(at, len(feeds["x"]))
            return real(names, feeds, options)

        session.run = run
    return ran


def test_one_session_is_shared_by_all_callers_at_once_without_a_turn(relu: Path, start) -> None:
    infer, meeting = Infer(relu), threading.Barrier(4, timeout=10)
    ran = watch(infer, lambda *_: meeting.wait())

    results = [start(infer, image()) for _ in range(4)]

    assert [future.result(10).names for future in results] == [("y",)] * 4
    assert ran == [(0, 1)] * 4
    assert infer._session._shared is None


def test_as_many_calls_as_sessions_are_computed_at_once_each_on_its_own(relu: Path, start) -> None:
    infer, meeting = Infer(relu, sessions=3, threads=3), threading.Barrier(3, timeout=10)
    ran = watch(infer, lambda *_: meeting.wait())

    results = [start(infer, image()) for _ in range(6)]

    assert [future.result(10).names for future in results] == [("y",)] * 6
    assert sorted(ran[:3]) == [(0, 1), (1, 1), (2, 1)]


def test_who_finds_no_session_free_stops_at_its_deadline(relu: Path, start) -> None:
    infer, leave = Infer(relu, sessions=2, threads=2), threading.Event()
    inside = threading.Barrier(3, timeout=10)
    watch(infer, lambda *_: (inside.wait(), leave.wait(10)))
    busy = [start(infer, image()) for _ in range(2)]
    inside.wait()

    with pytest.raises(DeadlineExceeded, match="all sessions of the model were busy with other calls"):
        Pipeline([infer]).call(image(), deadline=0.01)

    leave.set()
    assert [future.result(10).names for future in busy] == [("y",)] * 2


def test_a_session_whose_run_failed_serves_the_next_call(relu: Path) -> None:
    infer, failing = Infer(relu, sessions=2, threads=2), [True] * 4

    def fail(at: int, rows: int) -> None:
        if failing and failing.pop():
            raise RuntimeError("CUDA out of memory")

    ran = watch(infer, fail)

    for _ in range(4):
        with pytest.raises(ModelError, match=r"failed on x \(1, 3, 4, 4\): CUDA out of memory"):
            infer(image())

    assert infer(image(3.0)).tensors[0].array.mean() == 3.0
    assert len(ran) == 5


def test_warming_up_runs_each_size_on_each_session_before_the_first_call(relu: Path) -> None:
    infer = Infer(relu, sessions=3, threads=3)
    ran = watch(infer, lambda *_: None)

    infer.warm_up(image(), sizes=(1, 8))
    warmed = list(ran)
    infer(image())

    assert warmed == [(0, 1), (1, 1), (2, 1), (0, 8), (1, 8), (2, 8)]
    assert len(ran) == 7


@pytest.mark.parametrize("arena", [False, True])
def test_each_session_has_an_equal_part_of_the_threads_and_the_same_options(relu: Path, arena: bool) -> None:
    infer = Infer(relu, sessions=2, threads=5, arena=arena)

    options = [session.get_session_options() for session in infer._session._sessions]

    assert [each.intra_op_num_threads for each in options] == [2, 2]
    assert [each.enable_cpu_mem_arena for each in options] == [arena, arena]
    assert infer._session.threads == 5
