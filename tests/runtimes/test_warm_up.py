"""Warming up: each size, on each session, before the first call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes._runtimes.outputs import Distribute
from ml_pipes._threads.deadline import due_within
from ml_pipes.core import Pipeline
from ml_pipes.errors import DeadlineExceeded, ModelError, ModelInputError, StepInputError
from ml_pipes.standard import Batch, UnBatch
from ml_pipes.tensor import Collate, TensorPayload, TensorRegistry


def image(value: float, *, rows: int = 1) -> TensorPayload:
    return TensorPayload(np.full((rows, 3, 4, 4), value, np.float32), "NCHW", "float32")


def pair(rows: int = 1) -> list[TensorPayload]:
    return [TensorPayload(np.full((rows, 2), side, np.float32), "NC", "float32") for side in (1.0, 2.0)]


def shapes_seen(infer, monkeypatch) -> list[dict[str, tuple[int, ...]]]:
    """What comes to each of its sessions, a shape by name for each batch."""
    seen: list[dict[str, tuple[int, ...]]] = []
    run = infer._session.run_on_each

    def watched(feeds: dict[str, Any]) -> Any:
        seen.append({name: array.shape for name, array in feeds.items()})
        return run(feeds)

    monkeypatch.setattr(infer._session, "run_on_each", watched)
    return seen


def test_each_batch_size_is_run_once(infer_of, relu: Path, monkeypatch) -> None:
    infer = infer_of(relu)
    seen = shapes_seen(infer, monkeypatch)

    infer.warm_up(image(1.0, rows=2), sizes=(1, 8))

    assert seen == [{"x": (1, 3, 4, 4)}, {"x": (8, 3, 4, 4)}]


@pytest.mark.parametrize("sessions", [1, 3])
def test_each_session_gives_the_outputs_of_the_batch(infer_of, relu: Path, sessions: int) -> None:
    infer = infer_of(relu, sessions=sessions, threads=3)
    feeds = {"x": image(-2.0, rows=2).array}

    outputs = infer._session.run_on_each(feeds)

    assert [[array.tolist() for array in each] for each in outputs] == [
        [(feeds["x"] * 0).tolist()]
    ] * sessions


def test_nothing_of_it_is_counted_in_a_pipeline(infer_of, relu: Path) -> None:
    infer = infer_of(relu, sessions=2, threads=2)
    steps = [Batch(size=8, timeout=5.0, policy="full"), Collate(), infer, Distribute(), UnBatch()]
    pipeline: Pipeline[Any, Any] = Pipeline(steps)
    before = str(pipeline.stats())

    infer.warm_up(image(1.0), sizes=(1, 8))

    assert str(pipeline.stats()) == before


@pytest.mark.parametrize("kind", ["sequence", "dict of payloads", "dict of arrays", "registry"])
def test_several_inputs_come_as_a_call_brings_them_and_grow_together(
    infer_of, adder: Path, monkeypatch, kind: str
) -> None:
    infer = infer_of(adder, input_layout="NC")
    seen, (left, right) = shapes_seen(infer, monkeypatch), pair(rows=3)
    arrays = {"right": right.array, "left": left.array}
    example = {
        "sequence": [left, right],
        "dict of payloads": {"right": right, "left": left},
        "dict of arrays": arrays,
        "registry": TensorRegistry({**arrays, "not for the model": np.zeros(1)}),
    }[kind]

    infer.warm_up(example, (1, 8))

    assert seen == [{"left": (rows, 2), "right": (rows, 2)} for rows in (1, 8)]


@pytest.mark.parametrize("shape", [(), (1, 4), ("k", 4)])
def test_an_input_without_a_batch_stays_as_it_is(infer_of, make_model, monkeypatch, shape) -> None:
    node = helper.make_node("Mul", ["x", "factor"], ["y"])
    port = (TensorProto.FLOAT, ("n", 4))
    infer = infer_of(
        make_model([node], {"x": port, "factor": (TensorProto.FLOAT, shape)}, {"y": port}), input_layout="NC"
    )
    seen = shapes_seen(infer, monkeypatch)
    factor = np.ones([1 if side == "k" else side for side in shape], np.float32)

    infer.warm_up({"x": np.ones((1, 4), np.float32), "factor": factor}, (8,))

    assert seen == [{"x": (8, 4), "factor": factor.shape}]


def test_an_input_whose_first_axis_has_no_name_grows_when_as_many_items_came(
    infer_of, make_model, monkeypatch
) -> None:
    node = helper.make_node("Add", ["x", "more"], ["y"])
    port = (TensorProto.FLOAT, (None, 4))
    infer = infer_of(make_model([node], {"x": port, "more": port}, {"y": port}), input_layout="NC")
    seen, two = shapes_seen(infer, monkeypatch), np.ones((2, 4), np.float32)

    infer.warm_up({"x": two, "more": two}, (8,))
    infer.warm_up({"x": two, "more": two[:1]}, (8,))

    assert seen == [{"x": (8, 4), "more": (8, 4)}, {"x": (8, 4), "more": (1, 4)}]


def test_one_payload_for_two_inputs_is_refused(infer_of, adder: Path) -> None:
    with pytest.raises(ModelInputError, match="takes left, right, but nothing came for right"):
        infer_of(adder, input_layout="NC").warm_up(pair()[0])


def test_a_size_that_the_model_does_not_take_is_refused_with_a_way_out(infer_of, fixed: Path) -> None:
    with pytest.raises(ModelInputError, match=r"axis 0 differs.*free_axes=\(0,\)"):
        infer_of(fixed).warm_up(image(1.0), (8,))


def test_of_an_example_only_the_first_item_counts(infer_of, fixed: Path, monkeypatch) -> None:
    infer = infer_of(fixed)
    seen = shapes_seen(infer, monkeypatch)

    infer.warm_up(image(1.0, rows=5))

    assert seen == [{"x": (1, 3, 4, 4)}]


def test_a_model_that_does_not_take_a_batch_is_found_out(infer_of, make_model) -> None:
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=[0], keepdims=1)
    port = (TensorProto.FLOAT, ("N", 4))
    infer = infer_of(make_model([node], {"x": port}, {"y": port}), input_layout="NC")

    with pytest.raises(ModelError, match="output 'y': expected 3 rows, got 1"):
        infer.warm_up(TensorPayload(np.zeros((1, 4), np.float32), "NC", "float32"), (3,))


def test_a_failure_says_on_which_input_and_the_next_call_works(infer_of, make_model) -> None:
    node = helper.make_node("Add", ["left", "right"], ["y"])
    ports = {"left": (TensorProto.FLOAT, ("n", "c")), "right": (TensorProto.FLOAT, ("m", "d"))}
    path = make_model([node], ports, {"y": (TensorProto.FLOAT, None)})
    infer = infer_of(path, input_layout="NC", sessions=2, threads=2)
    one, other = np.ones((2, 3), np.float32), np.ones((2, 5), np.float32)

    with pytest.raises(ModelInputError, match=r"tiny.onnx failed on left \(2, 3\), right \(2, 5\): "):
        infer.warm_up({"left": one, "right": other}, (2,))

    assert infer({"left": one, "right": one}).tensors[0].array.tolist() == [[2.0] * 3] * 2


def test_it_takes_its_turn_where_calls_do(infer_of, relu: Path, start) -> None:
    infer = infer_of(relu, serialize=True)

    with (
        infer._gate.lock,
        pytest.raises(DeadlineExceeded, match=r"busy with another call \(serialize=True\)"),
    ):
        start(_within, infer).result(10)


def test_a_bare_array_is_refused(infer_of, relu: Path) -> None:
    with pytest.raises(TypeError, match="warm_up wants a TensorPayload, as calls bring it, got ndarray"):
        infer_of(relu).warm_up(image(1.0).array)


def test_what_no_call_takes_is_refused(infer_of, relu: Path) -> None:
    with pytest.raises(StepInputError, match=r"wanted a TensorPayload.*got one str"):
        infer_of(relu).warm_up("picture.png")


@pytest.mark.parametrize(("rows", "sizes"), [(1, (0,)), (0, (1,))])
def test_warming_up_with_nothing_is_refused(infer_of, relu: Path, rows: int, sizes: tuple[int]) -> None:
    with pytest.raises(ValueError, match=r"warm_up wants sizes of 1 or more and an example with an item"):
        infer_of(relu).warm_up(image(1.0, rows=rows), sizes)


def _within(infer: Any) -> None:
    with due_within(0.01):
        infer.warm_up(image(1.0))


@pytest.mark.parametrize("sizes", [3, "12", (1.5,), (True,), (None,)])
def test_sizes_are_whole_numbers(infer_of, relu: Path, sizes) -> None:
    infer = infer_of(relu)

    with pytest.raises(ValueError, match=r"wants sizes in a tuple, each a whole number, got "):
        infer.warm_up(image(1.0), sizes)


def test_sizes_may_be_numpys(infer_of, relu: Path, monkeypatch) -> None:
    infer = infer_of(relu)
    seen = shapes_seen(infer, monkeypatch)

    infer.warm_up(image(1.0), np.array([1, 2]))

    assert seen == [{"x": (1, 3, 4, 4)}, {"x": (2, 3, 4, 4)}]
