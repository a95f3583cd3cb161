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

from ml_pipes.errors import ModelError, ModelInputError, StepInputError
from ml_pipes.onnx import Infer, free_axes
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


def test_a_model_may_be_given_as_bytes(relu: Path) -> None:
    outputs = Infer(relu.read_bytes())(image(3.0))

    assert outputs.tensors[0].array.max() == 3.0


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


def test_one_payload_for_two_inputs_is_refused(adder: Path) -> None:
    with pytest.raises(ModelInputError, match="takes left, right, but nothing came for right"):
        Infer(adder, input_layout="NC")(pair(1.0, 2.0)[0])


def test_one_payload_feeds_the_input_that_was_named(adder: Path) -> None:
    with pytest.raises(ModelInputError, match="nothing came for left"):
        Infer(adder, input_name="right", input_layout="NC")(pair(1.0, 2.0)[0])


def test_too_many_payloads_are_refused(adder: Path) -> None:
    with pytest.raises(ModelInputError, match=r"takes 2 inputs \(left, right\), got 3"):
        Infer(adder, input_layout="NC")([*pair(1.0, 2.0), pair(1.0, 2.0)[0]])


def test_a_name_that_the_model_does_not_take_is_refused(adder: Path) -> None:
    left, right = pair(1.0, 2.0)

    with pytest.raises(ModelInputError, match="takes left, right, but got more too"):
        Infer(adder, input_layout="NC")({"left": left, "right": right, "more": left})


def test_each_input_may_have_its_own_layout(adder: Path) -> None:
    infer = Infer(adder, input_layout=("NC", "NX"))

    with pytest.raises(ModelInputError, match="input 'right' takes layout NX, got NC"):
        infer(pair(1.0, 2.0))


def test_another_kind_of_value_is_refused(relu: Path) -> None:
    with pytest.raises(
        StepInputError, match=r"wanted a TensorPayload, a TensorRegistry.*, got one str; an image"
    ):
        Infer(relu)("picture.png")  # type: ignore[arg-type] # that is what is tested


def test_a_payload_without_an_array_is_refused(relu: Path) -> None:
    with pytest.raises(ModelInputError, match="takes a NumPy array, got list"):
        Infer(relu)(TensorPayload([1.0], "NCHW", "float32"))  # type: ignore[arg-type] # that is what is tested


def test_another_layout_is_refused(relu: Path) -> None:
    with pytest.raises(ModelInputError, match="takes layout NCHW, got NHWC; let Normalize give that layout"):
        Infer(relu)(image(1.0, layout="NHWC"))


def test_another_label_is_refused(relu: Path) -> None:
    with pytest.raises(ValueError, match="the model dtype is float32, got a payload labelled float64"):
        Infer(relu)(TensorPayload(np.zeros((1, 3, 4, 4), np.float32), "NCHW", "float64"))


def test_a_label_that_lies_is_found_out(relu: Path) -> None:
    with pytest.raises(
        ModelInputError, match="the model dtype is float32, got an array of float64; put AsType"
    ):
        Infer(relu)(TensorPayload(np.zeros((1, 3, 4, 4)), "NCHW", "float32"))


def test_another_number_of_axes_is_refused(relu: Path) -> None:
    with pytest.raises(ModelInputError, match=r"takes 4 axes \(batch, 3, h, w\), got 3: \(3, 4, 4\)"):
        Infer(relu)(TensorPayload(np.zeros((3, 4, 4), np.float32), "NCHW", "float32"))


def test_a_fixed_side_given_another_length_points_to_free_axes(fixed: Path) -> None:
    with pytest.raises(ModelInputError, match=r"declared \(1, 3, 4, 4\).*axis 0 differs.*free_axes=\(0,\)"):
        Infer(fixed)(image(1.0, rows=2))


def test_an_input_name_that_is_not_there_is_refused_when_built(adder: Path) -> None:
    with pytest.raises(ModelInputError, match="has no input 'centre'; it takes left, right"):
        Infer(adder, input_name="centre")


def test_a_dtype_other_than_the_models_is_refused_when_built(relu: Path) -> None:
    with pytest.raises(ValueError, match="dtype='float16' was asked for, but the model dtype is float32"):
        Infer(relu, dtype="float16")


def test_a_layout_with_other_axes_than_the_input_is_refused_when_built(adder: Path) -> None:
    with pytest.raises(ModelInputError, match="input_layout 'NCHW' has 4 axes, but input 'left' takes 2"):
        Infer(adder)


def test_a_layout_is_needed_for_each_input_when_several_are_given(adder: Path) -> None:
    with pytest.raises(ValueError, match="input_layout has 1 entries for the model's 2 inputs: left, right"):
        Infer(adder, input_layout=("NC",))


def test_a_layout_is_needed_for_each_output_when_any_is_given(adder: Path) -> None:
    with pytest.raises(
        ValueError, match="output_layouts has 1 entries for the model's 2 outputs: sum, difference"
    ):
        Infer(adder, input_layout="NC", output_layouts=("NC",))


@pytest.mark.parametrize("threads", [0, 1.5, "a", True])
def test_threads_that_are_no_number_from_1_up_are_refused_when_built(relu: Path, threads) -> None:
    with pytest.raises(ValueError, match=f"threads must be a whole number, 1 or more, got {threads!r}"):
        Infer(relu, threads=threads)


@pytest.mark.parametrize("name", ["input_layout", "output_layouts"])
def test_a_layout_of_another_kind_is_refused_when_built(adder: Path, name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} must be .*, got 12"):
        Infer(adder, **{"input_layout": "NC", name: 12})


def test_one_text_for_all_output_layouts_is_refused_when_built(adder: Path) -> None:
    with pytest.raises(TypeError, match="output_layouts must be a tuple of texts, one per output, got 'AB'"):
        Infer(adder, input_layout="NC", output_layouts="AB")  # type: ignore[arg-type] # that is what is tested


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


def test_a_freed_model_pickles_with_its_infer(fixed: Path) -> None:
    infer = Infer(free_axes(fixed))
    fixed.unlink()

    twin = pickle.loads(pickle.dumps(infer))

    assert twin(image(2.0, rows=3)).tensors[0].array.shape == (3, 3)


def test_warming_up_runs_each_batch_size_once(relu: Path, monkeypatch) -> None:
    infer = Infer(relu)
    seen, run = [], infer._session.run
    monkeypatch.setattr(
        infer._session, "run", lambda feeds: (seen.append(feeds["x"].shape[0]), run(feeds))[1]
    )

    infer.warm_up(image(1.0, rows=2), sizes=(1, 8))

    assert seen == [1, 8]


def test_warming_up_with_a_bare_array_is_refused(relu: Path) -> None:
    with pytest.raises(TypeError, match="warm_up wants a TensorPayload, as calls bring it, got ndarray"):
        Infer(relu).warm_up(image(1.0).array)  # type: ignore[arg-type] # that is what is tested


@pytest.mark.parametrize(("rows", "sizes"), [(1, (0,)), (0, (1,))])
def test_warming_up_with_nothing_is_refused(relu: Path, rows: int, sizes: tuple[int]) -> None:
    with pytest.raises(ValueError, match=r"warm_up wants sizes of 1 or more and an example with an item"):
        Infer(relu).warm_up(image(1.0, rows=rows), sizes)


def test_it_shows_how_it_was_made(fixed: Path) -> None:
    assert repr(Infer(free_axes(fixed))) == "Infer(free_axes('tiny.onnx', (0,)))"


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
    """By os._exit, as children of multiprocessing do: ONNX Runtime hangs at any other end of a fork."""
    program = f"""
import multiprocessing, sys, warnings
import numpy as np
from ml_pipes.onnx import Infer
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
