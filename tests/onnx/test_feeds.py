"""What comes to Infer and does not fit: each mistake is named, with a way out that works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes._runtimes.feeds import run_error
from ml_pipes.errors import ModelError, ModelInputError, StepInputError
from ml_pipes.onnx import Infer, free_axes
from ml_pipes.tensor import AsType, Collate, TensorPayload, TensorRegistry


def payload(*shape: int, layout: str = "NCHW") -> TensorPayload:
    return TensorPayload(np.zeros(shape, np.float32), layout, "float32")


@pytest.fixture
def ten_by_32(make_model) -> Path:
    """As CenterFace's file has it: ten pictures of 32x32."""
    port = (TensorProto.FLOAT, (10, 3, 32, 32))
    return make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": port}, {"y": port})


@pytest.fixture
def channels_last(make_model) -> Path:
    port = (TensorProto.FLOAT, ("n", "h", "w", 3))
    return make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": port}, {"y": port})


def test_the_advice_to_free_axes_leads_out_in_one_step(ten_by_32: Path) -> None:
    with pytest.raises(ModelInputError, match=r"axis 0, 2, 3 differs.*free_axes=\(0, 2, 3\)"):
        Infer(ten_by_32)(payload(4, 3, 64, 64))


def test_the_advice_to_free_axes_keeps_those_that_were_freed(ten_by_32: Path) -> None:
    with pytest.raises(ModelInputError, match=r"axis 2, 3 differs.*free_axes=\(0, 2, 3\)"):
        Infer(ten_by_32, free_axes=(0,))(payload(4, 3, 64, 64))


def test_the_advice_to_free_axes_by_name_keeps_those_that_were_freed(ten_by_32: Path) -> None:
    freed = {"x": (0,), "y": (0,)}

    with pytest.raises(ModelInputError, match=r"free_axes=\{'x': \(0, 2, 3\), 'y': \(0,\)\}"):
        Infer(ten_by_32, free_axes=freed)(payload(4, 3, 64, 64))


def test_a_model_of_another_layout_is_told_by_its_channels(channels_last: Path) -> None:
    advice = (
        r"the model's layout is NHWC: set Infer\(..., input_layout='NHWC'\) "
        r"and Normalize\(..., output_layout='NHWC'\)$"
    )

    with pytest.raises(ModelInputError, match=advice):
        Infer(channels_last)(payload(1, 3, 736, 1280))


def test_an_array_that_lies_about_its_layout_is_told_by_its_channels(ten_by_32: Path) -> None:
    with pytest.raises(ModelInputError, match="the array looks NHWC, though it is called NCHW"):
        Infer(ten_by_32)(payload(10, 32, 32, 3))


def test_other_channels_are_no_axis_to_free(ten_by_32: Path) -> None:
    with pytest.raises(ModelInputError, match=r"axis 1 differs; give it 3 channels$"):
        Infer(ten_by_32)(payload(10, 4, 32, 32))


def test_several_payloads_for_one_input_lack_collate(relu: Path) -> None:
    payloads = [payload(1, 3, 4, 4)] * 4

    with pytest.raises(
        ModelInputError,
        match=r"a list of 4 payloads for a model with one input \(x\); put Collate\(\) before it",
    ):
        Infer(relu)(payloads)

    assert Infer(relu)(Collate()(payloads)).tensors[0].array.shape == (4, 3, 4, 4)


def test_a_payload_beside_something_else_lacks_pick(relu: Path) -> None:
    with pytest.raises(StepInputError, match=r"got a tuple with str; put Pick\(0\) before it"):
        Infer(relu)((payload(1, 3, 4, 4), "transform"))  # type: ignore[arg-type] # that is what is tested


@pytest.mark.parametrize("value", [object(), [object()]])
def test_what_is_no_tensor_is_a_type_error(relu: Path, value) -> None:
    with pytest.raises(
        TypeError, match=r"wanted a TensorPayload.*object; an image becomes one by Normalize\(\)"
    ):
        Infer(relu)(value)


def test_nothing_is_a_type_error(relu: Path) -> None:
    with pytest.raises(TypeError, match="or payloads in order, got None; an image"):
        Infer(relu)(None)  # type: ignore[arg-type] # that is what is tested


def test_a_registry_of_other_names_is_shown_beside_what_the_model_takes(relu: Path) -> None:
    with pytest.raises(
        ModelInputError, match=r"takes x, but nothing came for x \(got a TensorRegistry with a, b\)"
    ):
        Infer(relu)(TensorRegistry({"a": np.zeros(1), "b": np.zeros(1)}))


def test_a_model_whose_file_declares_no_shape_takes_any(make_model) -> None:
    infer = Infer(unshaped(make_model))

    assert infer(payload(2, 4)).tensors[0].array.shape == (2, 4)


def test_a_model_that_takes_a_single_number_refuses_more(make_model) -> None:
    port = (TensorProto.FLOAT, ())
    infer = Infer(
        make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": port}, {"y": port}), input_layout=""
    )

    assert infer(payload(layout="")).tensors[0].array.shape == ()
    with pytest.raises(ModelInputError, match=r"takes 0 axes \(\), got 2"):
        infer(payload(1, 2, layout=""))


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


def test_a_failure_of_the_machine_is_not_the_inputs() -> None:
    error = run_error("a.onnx", {"x": np.zeros((1, 2))}, RuntimeError("Failed to allocate memory"))

    assert type(error) is ModelError
    assert str(error) == "Infer: a.onnx failed on x (1, 2): Failed to allocate memory"


def echo(make_model) -> Path:
    port = (TensorProto.STRING, ("n",))
    return make_model([helper.make_node("Identity", ["x"], ["y"])], {"x": port}, {"y": port})


def unshaped(make_model) -> Path:
    port = (TensorProto.FLOAT, None)
    return make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": port}, {"y": port})
