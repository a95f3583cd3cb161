"""What this room has beside the other: precision, requests, devices and their properties."""

from __future__ import annotations

import gc
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ml_pipes import onnx, openvino
from ml_pipes.errors import ModelProviderError
from ml_pipes.openvino import Infer
from ml_pipes.openvino.device import check_refusal
from ml_pipes.openvino.silent import ov
from ml_pipes.tensor import TensorPayload


@pytest.fixture(autouse=True)
def _no_other_models() -> None:
    gc.collect()


def image(value: float = 1.0) -> TensorPayload:
    return TensorPayload(np.full((1, 3, 4, 4), value, np.float32), "NCHW", "float32")


def test_floats_are_computed_in_32_bits_and_it_says_so(relu: Path) -> None:
    infer = Infer(relu)

    assert infer.precision == "f32"
    assert repr(infer).endswith(", precision='f32')")
    assert infer.describe().all_args["precision"] == "f32"


def test_left_to_the_device_it_says_what_is_in_force(relu: Path) -> None:
    infer = Infer(relu, precision=None)

    assert infer.precision in ("f32", "bf16", "f16")
    assert infer.describe().all_args["precision"] == infer.precision
    assert pickle.loads(pickle.dumps(infer)).precision == infer.precision


@pytest.mark.parametrize("precision", ["fp32", "float32", 32, ""])
def test_another_precision_is_refused_when_built(relu: Path, precision) -> None:
    with pytest.raises(ValueError, match="precision must be one of f32, f16, bf16, or None for the device's"):
        Infer(relu, precision=precision)


def test_models_of_both_rooms_share_the_cpus(relu: Path, monkeypatch) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", "4")

    first, second = onnx.Infer(relu, threads=3), Infer(relu)
    third = Infer(relu, sessions=2)

    assert [first._session.threads, second._session.threads, third._session.threads] == [3, 2, 2]


def test_both_rooms_offer_the_same_steps() -> None:
    assert (openvino.Extract, openvino.Distribute, openvino.RuntimeOutputs) == (
        onnx.Extract,
        onnx.Distribute,
        onnx.RuntimeOutputs,
    )


def test_as_many_requests_are_made_as_calls_meet(relu: Path) -> None:
    infer = Infer(relu)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(infer, [image()] * 64))

    assert 1 <= len(infer._session._requests) <= 4


@pytest.mark.parametrize("sessions", [1, 3])
def test_warming_up_runs_as_many_requests_as_there_are_sessions(relu: Path, sessions: int) -> None:
    infer = Infer(relu, sessions=sessions, threads=3)

    infer.warm_up(image(), sizes=(1, 8))

    shapes = [tuple(request.get_output_tensor(0).shape) for request in infer._session._requests]
    assert shapes == [(8, 3, 4, 4)] * sessions


@pytest.mark.parametrize("device", ["CPU", "AUTO", "AUTO:CPU"])
def test_it_says_on_which_devices_it_computes(relu: Path, device: str) -> None:
    infer = Infer(relu, device=device)

    infer(image())

    names = {name.strip("()") for name in infer.devices_in_use}
    assert names
    assert names <= {*ov.Core().available_devices} if device == "AUTO" else names == {"CPU"}


def test_several_devices_without_a_chooser_point_to_auto(relu: Path) -> None:
    with pytest.raises(ModelProviderError, match=r"no device 'TPU,CPU'.*available: .*CPU.*: AUTO:TPU,CPU$"):
        Infer(relu, device="TPU,CPU")


def test_a_device_of_a_choice_that_does_not_start_is_no_fault_of_the_model() -> None:
    words = 'Cannot load library "libopenvino_intel_gpu_plugin.so": libOpenCL.so.1: not found'

    with pytest.raises(ModelProviderError, match=r"AUTO:GPU,CPU did not start.*libOpenCL.so.1: not found"):
        check_refusal("AUTO:GPU,CPU", {}, words, RuntimeError(words))


def test_further_properties_are_in_force(relu: Path) -> None:
    given = {"EXECUTION_MODE_HINT": "ACCURACY"}
    infer = Infer(relu, config=given)
    given.clear()

    twin = pickle.loads(pickle.dumps(infer))

    for made in (infer, twin):
        mode = made._session._compiled.get_property("EXECUTION_MODE_HINT")
        assert mode == ov.properties.hint.ExecutionMode.ACCURACY
        assert made.config == {"EXECUTION_MODE_HINT": "ACCURACY"}


@pytest.mark.parametrize(
    ("name", "way_out"),
    [("INFERENCE_NUM_THREADS", "set threads$"), ("NUM_STREAMS", "set sessions$"),
     ("INFERENCE_PRECISION_HINT", "set precision, or precision=None"),
     ("ENABLE_CPU_PINNING", "it is off, since each model")],
)  # fmt: skip
def test_a_property_that_is_set_already_points_to_its_argument(relu: Path, name: str, way_out: str) -> None:
    with pytest.raises(ValueError, match=rf"config has '{name}', which is set already \(to .*\): {way_out}"):
        Infer(relu, config={name: 1})


def test_a_precision_that_was_left_open_may_be_a_property(relu: Path) -> None:
    infer = Infer(relu, precision=None, config={"INFERENCE_PRECISION_HINT": "f32"})

    assert infer.precision == "f32"


@pytest.mark.parametrize("config", [{"NO_SUCH_PROPERTY": 1}, {"PERFORMANCE_HINT": "SPEED"}])
def test_a_property_that_the_device_does_not_take_is_named(relu: Path, config) -> None:
    name, value = next(iter(config.items()))

    with pytest.raises(ModelProviderError, match=f"CPU in OpenVINO .* does not take .*'{name}': {value!r}"):
        Infer(relu, config=config)


@pytest.mark.parametrize("config", [3, "CACHE_DIR", {1: 2}])
def test_a_config_of_another_kind_is_refused(relu: Path, config) -> None:
    with pytest.raises(TypeError, match="config must be a mapping of OpenVINO's property names to values"):
        Infer(relu, config=config)


def test_bytes_freed_by_the_other_room_are_taken_from_a_file_too(fixed: Path, tmp_path: Path) -> None:
    freed = tmp_path / "freed.onnx"
    freed.write_bytes(onnx.free_axes(fixed))

    result = Infer(freed)(TensorPayload(np.ones((5, 3, 4, 4), np.float32), "NCHW", "float32"))

    assert result.tensors[0].array.shape == (5, 3)


@pytest.mark.parametrize("device", [None, 3, ("CPU",)])
def test_a_device_is_a_name(relu: Path, device) -> None:
    with pytest.raises(ModelProviderError, match=r"device must be OpenVINO's name of one; available: .*CPU"):
        Infer(relu, device=device)


def test_a_number_that_the_device_does_not_have_is_no_fault_of_the_model(relu: Path) -> None:
    with pytest.raises(ModelProviderError, match=r"CPU\.7 did not start in OpenVINO .*device id"):
        Infer(relu, device="CPU.7")
