"""One Infer, many threads."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import Pipeline
from ml_pipes.tensor import TensorPayload


@pytest.fixture
def convolution(room: str, make_model) -> Path:
    """Enough work that calls overlap, of sides that are open; OpenVINO takes no kernel that is computed."""
    if room == "ml_pipes.onnx":
        nodes = [
            helper.make_node("ReduceMean", ["x"], ["kernel"], axes=[0], keepdims=1),
            helper.make_node("Conv", ["x", "kernel"], ["y"], auto_pad="SAME_UPPER"),
        ]
        shape = ("batch", 3, "h", "w")
        return make_model(
            nodes, {"x": (TensorProto.FLOAT, shape)}, {"y": (TensorProto.FLOAT, ("batch", 1, "oh", "ow"))}
        )
    nodes = [
        helper.make_node("AveragePool", ["x"], ["mean"], kernel_shape=[5, 5], auto_pad="SAME_UPPER"),
        helper.make_node("Exp", ["mean"], ["y"]),
    ]
    port = (TensorProto.FLOAT, ("batch", 3, "h", "w"))
    return make_model(nodes, {"x": port}, {"y": port})


@pytest.mark.stress
@pytest.mark.parametrize(("serialize", "sessions"), [(False, 1), (False, 2), (True, 1), (True, 2)])
def test_eight_threads_with_640_inputs_of_mixed_batch_sizes_give_what_one_gives(
    infer_of, convolution: Path, serialize: bool, sessions: int
) -> None:
    rng = np.random.default_rng(0)
    shapes = [(1 + at % 4, 3, 8 + at % 5, 8 + at % 3) for at in range(640)]
    inputs = [TensorPayload(rng.random(shape, np.float32), "NCHW", "float32") for shape in shapes]
    infer = infer_of(convolution, serialize=serialize, sessions=sessions, threads=2)

    serial = [infer(value) for value in inputs]
    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(infer, inputs))

    assert threaded == serial


def test_serialize_lets_one_call_in_at_a_time(infer_of, relu: Path, monkeypatch) -> None:
    infer = infer_of(relu, serialize=True)
    inside, most, run = [], [], infer._session.run

    def watched(feeds):
        inside.append(1)
        most.append(len(inside))
        result = run(feeds)
        inside.pop()
        return result

    monkeypatch.setattr(infer._session, "run", watched)
    value = TensorPayload(np.ones((1, 3, 32, 32), np.float32), "NCHW", "float32")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(infer, [value] * 64))

    assert max(most) == 1


def test_without_it_calls_overlap(infer_of, relu: Path, monkeypatch) -> None:
    infer = infer_of(relu)
    meeting, run = threading.Barrier(4, timeout=10), infer._session.run
    monkeypatch.setattr(infer._session, "run", lambda feeds: (meeting.wait(), run(feeds))[1])
    value = TensorPayload(np.ones((1, 3, 4, 4), np.float32), "NCHW", "float32")

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(infer, [value] * 4))

    assert len(results) == 4


def test_sixteen_threads_that_need_a_new_session_make_one(infer_of, relu: Path, monkeypatch) -> None:
    infer = infer_of(relu)
    made, opened, meeting = [], infer._opened, threading.Barrier(16, timeout=10)
    monkeypatch.setattr(infer, "_opened", lambda *, verify: made.append(opened(verify=verify)) or made[-1])
    monkeypatch.setattr(infer._session, "_made_after", -1)
    value = TensorPayload(np.ones((1, 3, 4, 4), np.float32), "NCHW", "float32")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: (meeting.wait(), infer(value)), range(16)))

    assert len(made) == 1
    assert infer._session is made[0]


def test_a_session_that_could_not_be_made_anew_is_tried_again(infer_of, relu: Path, monkeypatch) -> None:
    infer = infer_of(relu)
    monkeypatch.setattr(infer._session, "_made_after", -1)
    content = relu.read_bytes()
    value = TensorPayload(np.ones((1, 3, 4, 4), np.float32), "NCHW", "float32")
    relu.unlink()

    with pytest.raises(FileNotFoundError):
        infer(value)
    relu.write_bytes(content)

    assert infer(value).tensors[0].array.mean() == 1.0


def test_a_trace_tells_the_wait_for_a_turn_from_the_models_run(infer_of, relu: Path) -> None:
    collector = CaptureCollector()
    pipeline: Pipeline[Any, Any] = Pipeline([infer_of(relu, serialize=True)])
    pipeline.set_tracing(collector)

    pipeline(TensorPayload(np.ones((1, 3, 32, 32), np.float32), "NCHW", "float32"))

    assert collector.last_trace is not None
    wait, run = collector.last_trace.spans
    assert (wait.label, wait.is_inference) == ("0:Infer[wait]", False)
    assert (run.label, run.is_inference) == ("0:Infer", True)
