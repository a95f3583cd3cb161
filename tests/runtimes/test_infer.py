"""Infer of every runtime: what it takes, what it refuses, what it gives."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes.errors import ModelError, ModelInputError, StepInputError
from ml_pipes.tensor import TensorPayload, TensorRegistry


def image(value: float, *, rows: int = 1, layout: str = "NCHW") -> TensorPayload:
    return TensorPayload(np.full((rows, 3, 4, 4), value, np.float32), layout, "float32")


def pair(left: float, right: float) -> list[TensorPayload]:
    return [TensorPayload(np.full((1, 2), side, np.float32), "NC", "float32") for side in (left, right)]


def test_a_payload_goes_in_and_every_output_comes_out_by_name(infer_of, relu: Path) -> None:
    outputs = infer_of(relu)(image(-2.0))

    assert outputs.names == ("y",)
    assert outputs.tensors[0].dtype == "float32"
    assert outputs.tensors[0].layout == "UNKNOWN"
    assert outputs.tensors[0].array.max() == 0.0


def test_output_layouts_are_as_asked(infer_of, relu: Path) -> None:
    outputs = infer_of(relu, output_layouts=("NCHW",))(image(1.0))

    assert outputs.tensors[0].layout == "NCHW"


def test_a_model_may_be_given_as_bytes(infer_of, relu: Path) -> None:
    outputs = infer_of(relu.read_bytes())(image(3.0))

    assert outputs.tensors[0].array.max() == 3.0


@pytest.mark.parametrize("kind", ["sequence", "dict of payloads", "dict of arrays", "registry"])
def test_several_inputs_come_in_order_or_by_name(infer_of, adder: Path, kind: str) -> None:
    left, right = pair(5.0, 2.0)
    arrays = {"right": right.array, "left": left.array}
    value = {
        "sequence": [left, right],
        "dict of payloads": {"right": right, "left": left},
        "dict of arrays": arrays,
        "registry": TensorRegistry({**arrays, "not for the model": np.zeros(1)}),
    }[kind]

    outputs = infer_of(adder, input_layout="NC")(value)

    assert outputs.names == ("sum", "difference")
    assert [tensor.array[0, 0] for tensor in outputs.tensors] == [7.0, 3.0]


def test_one_payload_for_two_inputs_is_refused(infer_of, adder: Path) -> None:
    with pytest.raises(ModelInputError, match="takes left, right, but nothing came for right"):
        infer_of(adder, input_layout="NC")(pair(1.0, 2.0)[0])


def test_one_payload_feeds_the_input_that_was_named(infer_of, adder: Path) -> None:
    with pytest.raises(ModelInputError, match="nothing came for left"):
        infer_of(adder, input_name="right", input_layout="NC")(pair(1.0, 2.0)[0])


def test_too_many_payloads_are_refused(infer_of, adder: Path) -> None:
    with pytest.raises(ModelInputError, match=r"takes 2 inputs \(left, right\), got 3"):
        infer_of(adder, input_layout="NC")([*pair(1.0, 2.0), pair(1.0, 2.0)[0]])


def test_a_name_that_the_model_does_not_take_is_refused(infer_of, adder: Path) -> None:
    left, right = pair(1.0, 2.0)

    with pytest.raises(ModelInputError, match="takes left, right, but got more too"):
        infer_of(adder, input_layout="NC")({"left": left, "right": right, "more": left})


def test_each_input_may_have_its_own_layout(infer_of, adder: Path) -> None:
    infer = infer_of(adder, input_layout=("NC", "NX"))

    with pytest.raises(ModelInputError, match="input 'right' takes layout NX, got NC"):
        infer(pair(1.0, 2.0))


def test_another_kind_of_value_is_refused(infer_of, relu: Path) -> None:
    with pytest.raises(
        StepInputError, match=r"wanted a TensorPayload, a TensorRegistry.*, got one str; an image"
    ):
        infer_of(relu)("picture.png")  # type: ignore[arg-type] # that is what is tested


def test_a_payload_without_an_array_is_refused(infer_of, relu: Path) -> None:
    with pytest.raises(ModelInputError, match="takes a NumPy array, got list"):
        infer_of(relu)(TensorPayload([1.0], "NCHW", "float32"))  # type: ignore[arg-type] # that is what is tested


def test_another_layout_is_refused(infer_of, relu: Path) -> None:
    with pytest.raises(ModelInputError, match="takes layout NCHW, got NHWC; let Normalize give that layout"):
        infer_of(relu)(image(1.0, layout="NHWC"))


def test_another_label_is_refused(infer_of, relu: Path) -> None:
    with pytest.raises(ValueError, match="the model dtype is float32, got a payload labelled float64"):
        infer_of(relu)(TensorPayload(np.zeros((1, 3, 4, 4), np.float32), "NCHW", "float64"))


def test_a_label_that_lies_is_found_out(infer_of, relu: Path) -> None:
    with pytest.raises(
        ModelInputError, match="the model dtype is float32, got an array of float64; put AsType"
    ):
        infer_of(relu)(TensorPayload(np.zeros((1, 3, 4, 4)), "NCHW", "float32"))


def test_another_number_of_axes_is_refused(infer_of, relu: Path) -> None:
    with pytest.raises(ModelInputError, match=r"takes 4 axes \(batch, 3, h, w\), got 3: \(3, 4, 4\)"):
        infer_of(relu)(TensorPayload(np.zeros((3, 4, 4), np.float32), "NCHW", "float32"))


def test_a_fixed_side_given_another_length_points_to_free_axes(infer_of, fixed: Path) -> None:
    with pytest.raises(ModelInputError, match=r"declared \(1, 3, 4, 4\).*axis 0 differs.*free_axes=\(0,\)"):
        infer_of(fixed)(image(1.0, rows=2))


def test_an_input_name_that_is_not_there_is_refused_when_built(infer_of, adder: Path) -> None:
    with pytest.raises(ModelInputError, match="has no input 'centre'; it takes left, right"):
        infer_of(adder, input_name="centre")


def test_a_dtype_other_than_the_models_is_refused_when_built(infer_of, relu: Path) -> None:
    with pytest.raises(ValueError, match="dtype='float16' was asked for, but the model dtype is float32"):
        infer_of(relu, dtype="float16")


def test_a_layout_with_other_axes_than_the_input_is_refused_when_built(infer_of, adder: Path) -> None:
    with pytest.raises(ModelInputError, match="input_layout 'NCHW' has 4 axes, but input 'left' takes 2"):
        infer_of(adder)


def test_a_layout_is_needed_for_each_input_when_several_are_given(infer_of, adder: Path) -> None:
    with pytest.raises(ValueError, match="input_layout has 1 entries for the model's 2 inputs: left, right"):
        infer_of(adder, input_layout=("NC",))


def test_a_layout_is_needed_for_each_output_when_any_is_given(infer_of, adder: Path) -> None:
    with pytest.raises(
        ValueError, match="output_layouts has 1 entries for the model's 2 outputs: sum, difference"
    ):
        infer_of(adder, input_layout="NC", output_layouts=("NC",))


@pytest.mark.parametrize("name", ["input_layout", "output_layouts"])
def test_a_layout_of_another_kind_is_refused_when_built(infer_of, adder: Path, name: str) -> None:
    with pytest.raises(TypeError, match=f"{name} must be .*, got 12"):
        infer_of(adder, **{"input_layout": "NC", name: 12})


def test_one_text_for_all_output_layouts_is_refused_when_built(infer_of, adder: Path) -> None:
    with pytest.raises(TypeError, match="output_layouts must be a tuple of texts, one per output, got 'AB'"):
        infer_of(adder, input_layout="NC", output_layouts="AB")  # type: ignore[arg-type] # that is what is tested


def test_a_model_that_takes_nothing_is_refused_when_built(infer_of, make_model) -> None:
    node = helper.make_node("Constant", [], ["y"], value_floats=[1.0])
    path = make_model([node], {}, {"y": (TensorProto.FLOAT, (1,))})

    with pytest.raises(ModelError, match="takes no input"):
        infer_of(path)


def test_a_model_that_declares_one_batch_and_gives_another_is_found_out(infer_of, make_model) -> None:
    keep = helper.make_node(
        "Constant", [], ["keep"], value=helper.make_tensor("k", TensorProto.BOOL, [1], [True])
    )
    first = helper.make_node("Compress", ["x", "keep"], ["y"], axis=0)
    port = (TensorProto.FLOAT, ("batch", 3, 4, 4))
    path = make_model([keep, first], {"x": port}, {"y": port})

    with pytest.raises(ModelError, match="output 'y': expected 2 rows, got 1"):
        infer_of(path)(image(1.0, rows=2))


def test_rows_are_those_that_the_file_declares_whatever_the_runtime_infers(infer_of, make_model) -> None:
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=[0], keepdims=1)
    port = (TensorProto.FLOAT, ("N", 4))
    infer = infer_of(make_model([node], {"x": port}, {"y": port}), input_layout="NC")

    with pytest.raises(ModelError, match="output 'y': expected 3 rows, got 1"):
        infer(TensorPayload(np.zeros((3, 4), np.float32), "NC", "float32"))


def test_an_output_may_have_other_rows_where_the_model_does_not_say_otherwise(infer_of, make_model) -> None:
    node = helper.make_node("Reshape", ["x", "to"], ["y"])
    path = make_model(
        [node],
        {"x": (TensorProto.FLOAT, ("batch", 3, 4, 4))},
        {"y": (TensorProto.FLOAT, ("time", None))},
        constants={"to": [6, -1]},
    )

    assert infer_of(path)(image(1.0, rows=2)).tensors[0].array.shape == (6, 16)


def test_fifteen_results_kept_are_fifteen_results(infer_of, relu: Path) -> None:
    infer = infer_of(relu)

    kept = [infer(image(float(value))) for value in range(15)]

    assert [float(outputs.tensors[0].array.mean()) for outputs in kept] == [
        float(value) for value in range(15)
    ]
    assert not any(np.shares_memory(kept[0].tensors[0].array, other.tensors[0].array) for other in kept[1:])


def test_the_output_of_a_model_that_does_nothing_is_not_its_input(infer_of, make_model) -> None:
    port = {"x": (TensorProto.FLOAT, (1, 3, 4, 4))}
    infer = infer_of(make_model([helper.make_node("Identity", ["x"], ["y"])], port, {"y": port["x"]}))
    given = image(1.0)

    result = infer(given).tensors[0].array

    assert not np.shares_memory(result, given.array)


def test_an_array_that_is_not_contiguous_is_read_rightly(infer_of, relu: Path) -> None:
    array = np.arange(48, dtype=np.float32).reshape(1, 4, 4, 3).transpose(0, 3, 1, 2)

    result = infer_of(relu)(TensorPayload(array, "NCHW", "float32")).tensors[0].array

    assert np.array_equal(result, array)


def test_a_batch_of_nothing_gives_nothing(infer_of, relu: Path) -> None:
    assert infer_of(relu)(image(1.0, rows=0)).tensors[0].array.shape == (0, 3, 4, 4)


@pytest.mark.parametrize("serialize", [False, True])
@pytest.mark.parametrize("taken", [copy.copy, copy.deepcopy, lambda infer: pickle.loads(pickle.dumps(infer))])
def test_a_copy_and_a_pickle_have_a_session_of_their_own(
    infer_of, fixed: Path, taken, serialize: bool
) -> None:
    infer = infer_of(fixed, serialize=serialize, free_axes=(0,))

    twin = taken(infer)

    assert twin._session is not infer._session
    assert repr(twin) == repr(infer)
    assert twin(image(2.0, rows=2)) == infer(image(2.0, rows=2))
