"""What comes to Infer and does not fit: each mistake is named, with a way out that works."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes._runtimes.feeds import run_error
from ml_pipes.errors import ModelError, ModelInputError, StepInputError
from ml_pipes.tensor import Collate, TensorPayload, TensorRegistry


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


def test_the_advice_to_free_axes_leads_out_in_one_step(infer_of, ten_by_32: Path) -> None:
    with pytest.raises(ModelInputError, match=r"axis 0, 2, 3 differs.*free_axes=\(0, 2, 3\)"):
        infer_of(ten_by_32)(payload(4, 3, 64, 64))


def test_the_advice_to_free_axes_keeps_those_that_were_freed(infer_of, ten_by_32: Path) -> None:
    with pytest.raises(ModelInputError, match=r"axis 2, 3 differs.*free_axes=\(0, 2, 3\)"):
        infer_of(ten_by_32, free_axes=(0,))(payload(4, 3, 64, 64))


def test_the_advice_to_free_axes_by_name_keeps_those_that_were_freed(infer_of, ten_by_32: Path) -> None:
    freed = {"x": (0,), "y": (0,)}

    with pytest.raises(ModelInputError, match=r"free_axes=\{'x': \(0, 2, 3\), 'y': \(0,\)\}"):
        infer_of(ten_by_32, free_axes=freed)(payload(4, 3, 64, 64))


def test_a_model_of_another_layout_is_told_by_its_channels(infer_of, channels_last: Path) -> None:
    advice = (
        r"the model's layout is NHWC: set Infer\(..., input_layout='NHWC'\) "
        r"and Normalize\(..., output_layout='NHWC'\)$"
    )

    with pytest.raises(ModelInputError, match=advice):
        infer_of(channels_last)(payload(1, 3, 736, 1280))


def test_an_array_that_lies_about_its_layout_is_told_by_its_channels(infer_of, ten_by_32: Path) -> None:
    with pytest.raises(ModelInputError, match="the array looks NHWC, though it is called NCHW"):
        infer_of(ten_by_32)(payload(10, 32, 32, 3))


def test_other_channels_are_no_axis_to_free(infer_of, ten_by_32: Path) -> None:
    with pytest.raises(ModelInputError, match=r"axis 1 differs; give it 3 channels$"):
        infer_of(ten_by_32)(payload(10, 4, 32, 32))


def test_several_payloads_for_one_input_lack_collate(infer_of, relu: Path) -> None:
    payloads = [payload(1, 3, 4, 4)] * 4

    with pytest.raises(
        ModelInputError,
        match=r"a list of 4 payloads for a model with one input \(x\); put Collate\(\) before it",
    ):
        infer_of(relu)(payloads)

    assert infer_of(relu)(Collate()(payloads)).tensors[0].array.shape == (4, 3, 4, 4)


def test_a_payload_beside_something_else_lacks_pick(infer_of, relu: Path) -> None:
    with pytest.raises(StepInputError, match=r"got a tuple with str; put Pick\(0\) before it"):
        infer_of(relu)((payload(1, 3, 4, 4), "transform"))  # type: ignore[arg-type] # that is what is tested


@pytest.mark.parametrize("value", [object(), [object()]])
def test_what_is_no_tensor_is_a_type_error(infer_of, relu: Path, value) -> None:
    with pytest.raises(
        TypeError, match=r"wanted a TensorPayload.*object; an image becomes one by Normalize\(\)"
    ):
        infer_of(relu)(value)


def test_nothing_is_a_type_error(infer_of, relu: Path) -> None:
    with pytest.raises(TypeError, match="or payloads in order, got None; an image"):
        infer_of(relu)(None)  # type: ignore[arg-type] # that is what is tested


def test_a_registry_of_other_names_is_shown_beside_what_the_model_takes(infer_of, relu: Path) -> None:
    with pytest.raises(
        ModelInputError, match=r"takes x, but nothing came for x \(got a TensorRegistry with a, b\)"
    ):
        infer_of(relu)(TensorRegistry({"a": np.zeros(1), "b": np.zeros(1)}))


def test_a_model_that_takes_a_single_number_refuses_more(infer_of, make_model) -> None:
    port = (TensorProto.FLOAT, ())
    infer = infer_of(
        make_model([helper.make_node("Relu", ["x"], ["y"])], {"x": port}, {"y": port}), input_layout=""
    )

    assert infer(payload(layout="")).tensors[0].array.shape == ()
    with pytest.raises(ModelInputError, match=r"takes 0 axes \(\), got 2"):
        infer(payload(1, 2, layout=""))


def test_a_failure_of_the_machine_is_not_the_inputs() -> None:
    error = run_error("a.onnx", {"x": np.zeros((1, 2))}, RuntimeError("Failed to allocate memory"))

    assert type(error) is ModelError
    assert str(error) == "Infer: a.onnx failed on x (1, 2): Failed to allocate memory"
