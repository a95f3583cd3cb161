"""Infer: what it takes, what it refuses, what it gives."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes.errors import ModelError, ModelInputError
from ml_pipes.openvino import Infer
from ml_pipes.tensor import TensorPayload, TensorRegistry


def image(value: float, *, rows: int = 1, layout: str = "NCHW") -> TensorPayload:
    return TensorPayload(np.full((rows, 3, 4, 4), value, np.float32), layout, "float32")


def pair(left: float, right: float) -> list[TensorPayload]:
    return [TensorPayload(np.full((1, 2), side, np.float32), "NC", "float32") for side in (left, right)]


def test_a_payload_goes_in_and_every_output_comes_out_by_name(relu: Path) -> None:
    outputs = Infer(relu)(image(-2.0))

    assert outputs.names == ("y",)
    assert outputs.tensors[0].dtype == "float32"
    assert outputs.tensors[0].layout == "UNKNOWN"
    assert outputs.tensors[0].array.max() == 0.0


def test_output_layouts_are_as_asked(relu: Path) -> None:
    outputs = Infer(relu, output_layouts=("NCHW",))(image(1.0))

    assert outputs.tensors[0].layout == "NCHW"


@pytest.mark.parametrize("kind", ["sequence", "dict of payloads", "dict of arrays", "registry"])
def test_several_inputs_come_in_order_or_by_name(adder: Path, kind: str) -> None:
    left, right = pair(5.0, 2.0)
    arrays = {"right": right.array, "left": left.array}
    value = {
        "sequence": [left, right],
        "dict of payloads": {"right": right, "left": left},
        "dict of arrays": arrays,
        "registry": TensorRegistry({**arrays, "not for the model": np.zeros(1)}),
    }[kind]

    outputs = Infer(adder, input_layout="NC")(value)

    assert outputs.names == ("sum", "difference")
    assert [tensor.array[0, 0] for tensor in outputs.tensors] == [7.0, 3.0]


def test_a_label_that_lies_is_found_out(relu: Path) -> None:
    with pytest.raises(
        ModelInputError, match="the model dtype is float32, got an array of float64; put AsType"
    ):
        Infer(relu)(TensorPayload(np.zeros((1, 3, 4, 4)), "NCHW", "float32"))


def test_a_fixed_side_given_another_length_points_to_free_axes(fixed: Path) -> None:
    with pytest.raises(ModelInputError, match=r"declared \(1, 3, 4, 4\).*axis 0 differs.*free_axes=\(0,\)"):
        Infer(fixed)(image(1.0, rows=2))


def test_an_input_name_that_is_not_there_is_refused_when_built(adder: Path) -> None:
    with pytest.raises(ModelInputError, match="has no input 'centre'; it takes left, right"):
        Infer(adder, input_name="centre")


def test_a_layout_with_other_axes_than_the_input_is_refused_when_built(adder: Path) -> None:
    with pytest.raises(ModelInputError, match="input_layout 'NCHW' has 4 axes, but input 'left' takes 2"):
        Infer(adder)


def test_a_model_that_takes_nothing_is_refused_when_built(make_model) -> None:
    node = helper.make_node("Constant", [], ["y"], value_floats=[1.0])
    path = make_model([node], {}, {"y": (TensorProto.FLOAT, (1,))})

    with pytest.raises(ModelError, match="takes no input"):
        Infer(path)


def test_a_model_that_declares_one_batch_and_gives_another_is_found_out(make_model) -> None:
    keep = helper.make_node(
        "Constant", [], ["keep"], value=helper.make_tensor("k", TensorProto.BOOL, [1], [True])
    )
    first = helper.make_node("Compress", ["x", "keep"], ["y"], axis=0)
    port = (TensorProto.FLOAT, ("batch", 3, 4, 4))
    path = make_model([keep, first], {"x": port}, {"y": port})

    with pytest.raises(ModelError, match="output 'y': expected 2 rows, got 1"):
        Infer(path)(image(1.0, rows=2))


def test_rows_are_those_that_the_file_declares_whatever_the_runtime_infers(make_model) -> None:
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=[0], keepdims=1)
    port = (TensorProto.FLOAT, ("N", 4))
    infer = Infer(make_model([node], {"x": port}, {"y": port}), input_layout="NC")

    with pytest.raises(ModelError, match="output 'y': expected 3 rows, got 1"):
        infer(TensorPayload(np.zeros((3, 4), np.float32), "NC", "float32"))


def test_an_output_may_have_other_rows_where_the_model_does_not_say_otherwise(make_model) -> None:
    node = helper.make_node("Reshape", ["x", "to"], ["y"])
    path = make_model(
        [node],
        {"x": (TensorProto.FLOAT, ("batch", 3, 4, 4))},
        {"y": (TensorProto.FLOAT, ("time", None))},
        constants={"to": [6, -1]},
    )

    assert Infer(path)(image(1.0, rows=2)).tensors[0].array.shape == (6, 16)


def test_fifteen_results_kept_are_fifteen_results(relu: Path) -> None:
    infer = Infer(relu)

    kept = [infer(image(float(value))) for value in range(15)]

    assert [float(outputs.tensors[0].array.mean()) for outputs in kept] == [
        float(value) for value in range(15)
    ]
    assert not any(np.shares_memory(kept[0].tensors[0].array, other.tensors[0].array) for other in kept[1:])


def test_the_output_of_a_model_that_does_nothing_is_not_its_input(make_model) -> None:
    port = {"x": (TensorProto.FLOAT, (1, 3, 4, 4))}
    infer = Infer(make_model([helper.make_node("Identity", ["x"], ["y"])], port, {"y": port["x"]}))
    given = image(1.0)

    result = infer(given).tensors[0].array

    assert not np.shares_memory(result, given.array)


def test_an_array_that_is_not_contiguous_is_read_rightly(relu: Path) -> None:
    array = np.arange(48, dtype=np.float32).reshape(1, 4, 4, 3).transpose(0, 3, 1, 2)

    result = Infer(relu)(TensorPayload(array, "NCHW", "float32")).tensors[0].array

    assert np.array_equal(result, array)


def test_a_batch_of_nothing_gives_nothing(relu: Path) -> None:
    assert Infer(relu)(image(1.0, rows=0)).tensors[0].array.shape == (0, 3, 4, 4)


@pytest.mark.parametrize("serialize", [False, True])
@pytest.mark.parametrize("taken", [copy.copy, copy.deepcopy, lambda infer: pickle.loads(pickle.dumps(infer))])
def test_a_copy_and_a_pickle_have_a_session_of_their_own(fixed: Path, taken, serialize: bool) -> None:
    infer = Infer(fixed, serialize=serialize, free_axes=(0,))

    twin = taken(infer)

    assert twin._session is not infer._session
    assert repr(twin) == repr(infer)
    assert twin(image(2.0, rows=2)) == infer(image(2.0, rows=2))


def test_warming_up_runs_each_batch_size_once(relu: Path, monkeypatch) -> None:
    infer = Infer(relu)
    seen, run = [], infer._session.run
    monkeypatch.setattr(
        infer._session, "run", lambda feeds: (seen.append(feeds["x"].shape[0]), run(feeds))[1]
    )

    infer.warm_up(image(1.0, rows=2), sizes=(1, 8))

    assert seen == [1, 8]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_forked_child_makes_a_session_of_its_own_and_ends(relu: Path) -> None:
    infer = Infer(relu, threads=2)
    before = infer._session

    child = os.fork()
    if not child:
        right = infer(image(4.0)).tensors[0].array.mean() == 4.0
        os._exit(0 if right and infer._session is not before else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_may_drop_what_it_was_given_and_ends(relu: Path) -> None:
    """By os._exit, as children of multiprocessing do: as the children of ml_pipes.onnx must."""
    program = f"""
import multiprocessing, sys, warnings
import numpy as np
from ml_pipes.openvino import Infer
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
