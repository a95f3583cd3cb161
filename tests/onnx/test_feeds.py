"""What comes to Infer and does not fit: each mistake is named, with a way out that works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes.errors import ModelInputError
from ml_pipes.onnx import Infer, free_axes
from ml_pipes.tensor import AsType, TensorPayload


def payload(*shape: int, layout: str = "NCHW") -> TensorPayload:
    return TensorPayload(np.zeros(shape, np.float32), layout, "float32")


def test_a_model_whose_file_declares_no_shape_takes_any(make_model) -> None:
    infer = Infer(unshaped(make_model))

    assert infer(payload(2, 4)).tensors[0].array.shape == (2, 4)


def test_a_model_whose_file_declares_no_shape_has_no_axes_to_free(make_model) -> None:
    with pytest.raises(ValueError, match="no input has axis 0: no shape is declared"):
        free_axes(unshaped(make_model))


TEXTS = {
    "objects": np.array(["a", "bc"], object),
    "unicode": np.array(["a", "bc"]),
    "StringDType": np.array(["a", "bc"], np.dtypes.StringDType()),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_text_goes_in_and_comes_out_whatever_kind_numpy_keeps_it_in(make_model, kind: str) -> None:
    infer = Infer(echo(make_model), input_layout="N", output_layouts=("N",))
    array = TEXTS[kind]

    outputs = [infer(TensorPayload(array, "N", label)) for label in ("str", str(array.dtype))]

    assert [result.tensors[0].array.tolist() for result in outputs] == [["a", "bc"], ["a", "bc"]]
    assert [result.tensors[0].dtype for result in outputs] == ["str", "str"]
    assert infer(outputs[0].tensors[0]) == outputs[0]


def test_objects_that_are_no_text_are_refused(make_model) -> None:
    with pytest.raises(ModelInputError, match="takes text, got an array with NoneType, int in it"):
        Infer(echo(make_model), input_layout="N")({"x": np.array(["a", 1, None], object)})


def test_numbers_for_a_model_of_text_become_text_by_the_step_that_is_named(make_model) -> None:
    infer = Infer(echo(make_model), input_layout="N")
    numbers = TensorPayload(np.array([1, 2]), "N", "int64")

    with pytest.raises(ModelInputError, match=r"dtype is str, text, got .* int64; put AsType\('str'\)"):
        infer(numbers)

    assert infer(AsType("str")(numbers)).tensors[0].array.tolist() == ["1", "2"]


def test_bytes_for_a_model_of_text_must_be_decoded(make_model) -> None:
    with pytest.raises(ModelInputError, match=r"got an array of \|S1; decode its bytes first"):
        Infer(echo(make_model), input_layout="N")({"x": np.array([b"a"])})


def test_a_failure_inside_the_model_names_the_input_and_the_stride(make_model, capfd) -> None:
    node = helper.make_node("Reshape", ["x", "to"], ["y"])
    path = make_model(
        [node],
        {"x": (TensorProto.FLOAT, ("n", 3, "h", "w"))},
        {"y": (TensorProto.FLOAT, ("a", "b"))},
        constants={"to": [32, -1]},
    )

    with pytest.raises(ModelInputError, match=r"tiny.onnx failed on x \(1, 3, 5, 5\): .*") as caught:
        Infer(path)(payload(1, 3, 5, 5))

    assert "sides may have to be multiples of the model's stride" in str(caught.value)
    assert caught.value.__cause__ is not None
    assert capfd.readouterr() == ("", "")


def echo(make_model) -> Path:
    port = (TensorProto.STRING, ("n",))
    return make_model([helper.make_node("Identity", ["x"], ["y"])], {"x": port}, {"y": port})


def unshaped(make_model) -> Path:
    port = (TensorProto.FLOAT, None)
    return make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": port}, {"y": port})
