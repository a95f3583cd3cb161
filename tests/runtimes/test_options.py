"""What both rooms' Infer have beside their inputs: sessions, threads, types and memory."""

from __future__ import annotations

import gc
import threading
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes.core import Pipeline
from ml_pipes.errors import DeadlineExceeded, ModelInputError
from ml_pipes.tensor import TensorPayload


@pytest.fixture(autouse=True)
def _no_other_models() -> None:
    gc.collect()


def image(value: float = 1.0) -> TensorPayload:
    return TensorPayload(np.full((1, 3, 4, 4), value, np.float32), "NCHW", "float32")


@pytest.mark.parametrize("name", ["threads", "sessions"])
@pytest.mark.parametrize("value", [0, 1.5, "a", True])
def test_what_is_no_number_from_1_up_is_refused_when_built(infer_of, relu: Path, name: str, value) -> None:
    with pytest.raises(ValueError, match=f"{name} must be a whole number, 1 or more, got {value!r}"):
        infer_of(relu, **{name: value})


def test_more_sessions_than_threads_are_refused(infer_of, relu: Path) -> None:
    with pytest.raises(ValueError, match="sessions=3 with threads=2: each session needs a thread"):
        infer_of(relu, sessions=3, threads=2)


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("FLOAT", "float32"), ("DOUBLE", "float64"), ("FLOAT16", "float16"), ("INT32", "int32"),
     ("INT64", "int64"), ("UINT8", "uint8"), ("BOOL", "bool")],
)  # fmt: skip
def test_numbers_of_any_type_go_in_and_come_out(infer_of, make_model, kind: str, dtype: str) -> None:
    port = (getattr(TensorProto, kind), ("n", 2))
    path = make_model([helper.make_node("Identity", ["x"], ["y"])], {"x": port}, {"y": port})
    infer = infer_of(path, input_layout="NC")
    array = np.array([[0, 1], [1, 0]], dtype)

    result = infer(TensorPayload(array, "NC", dtype)).tensors[0]

    assert result == TensorPayload(array, "UNKNOWN", dtype)


def test_a_state_goes_in_beside_whole_numbers_and_comes_back(infer_of, make_model) -> None:
    nodes = [
        helper.make_node("Cast", ["tokens"], ["numbers"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["numbers", "state"], ["next"]),
    ]
    port = (TensorProto.FLOAT, (1, 2))
    path = make_model(nodes, {"tokens": (TensorProto.INT32, (1, 2)), "state": port}, {"next": port})
    infer = infer_of(path, input_layout="NC")
    tokens, state = np.array([[1, 2]], np.int32), np.zeros((1, 2), np.float32)

    for _ in range(3):
        state = infer({"tokens": tokens, "state": state}).tensors[0].array

    assert state.tolist() == [[3.0, 6.0]]


def test_an_array_that_may_not_be_written_to_is_read(infer_of, relu: Path) -> None:
    array = image(3.0).array
    array.flags.writeable = False

    result = infer_of(relu)(TensorPayload(array, "NCHW", "float32")).tensors[0].array

    assert result.mean() == 3.0
    assert result.flags.writeable


def test_what_is_done_to_an_output_changes_neither_the_input_nor_the_next(infer_of, relu: Path) -> None:
    infer, given = infer_of(relu), image(2.0)

    infer(given).tensors[0].array.fill(-1)

    assert given == image(2.0)
    assert infer(given).tensors[0].array.mean() == 2.0


def test_a_failed_run_says_on_which_input_and_the_next_one_works(infer_of, make_model) -> None:
    node = helper.make_node("Add", ["left", "right"], ["y"])
    ports = {"left": (TensorProto.FLOAT, ("n", "c")), "right": (TensorProto.FLOAT, ("m", "d"))}
    infer = infer_of(make_model([node], ports, {"y": (TensorProto.FLOAT, None)}), input_layout="NC")
    one, other = np.ones((2, 3), np.float32), np.ones((2, 5), np.float32)

    with pytest.raises(ModelInputError, match=r"tiny.onnx failed on left \(2, 3\), right \(2, 5\): "):
        infer({"left": one, "right": other})

    assert infer({"left": one, "right": one}).tensors[0].array.tolist() == [[2.0] * 3] * 2


def test_who_waits_for_a_busy_model_stops_at_its_deadline(infer_of, relu: Path, monkeypatch, start) -> None:
    infer = infer_of(relu, serialize=True)
    inside, leave, run = threading.Event(), threading.Event(), infer._session.run
    monkeypatch.setattr(infer._session, "run", lambda feeds: (inside.set(), leave.wait(10), run(feeds))[-1])
    first = start(infer, image())
    assert inside.wait(10)

    with pytest.raises(DeadlineExceeded, match=r"busy with another call \(serialize=True\)"):
        Pipeline([infer]).call(image(), deadline=0.01)

    leave.set()
    assert first.result(10).names == ("y",)
