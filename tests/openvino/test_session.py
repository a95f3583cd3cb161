"""A model that cannot be opened says so when it is built, and says why."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes.errors import ModelError, ModelFileError
from ml_pipes.openvino import Infer, ModelNotFoundError, ModelProviderError
from ml_pipes.openvino.silent import ov
from ml_pipes.tensor import TensorPayload


def test_a_missing_file_is_a_model_error_and_a_file_not_found_error(tmp_path: Path) -> None:
    path = tmp_path / "gone.onnx"

    with pytest.raises(ModelFileError, match=r"there is no model file at .*gone.onnx") as caught:
        Infer(path)

    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), ModelNotFoundError)


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.onnx"
    path.touch()

    with pytest.raises(ModelFileError, match=r"empty\.onnx is empty"):
        Infer(path)


def test_empty_bytes_are_refused() -> None:
    with pytest.raises(ModelFileError, match="the model is empty"):
        Infer(b"")


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is a folder, not a model file"):
        Infer(tmp_path)


def test_a_file_of_another_kind_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "photograph.onnx"
    path.write_bytes(b"\xff\xd8\xff\xe0 not a model")

    with pytest.raises(ModelFileError, match=r"photograph.onnx is not a model that OpenVINO .* can run"):
        Infer(path)


@pytest.mark.parametrize("package", ["openvino", "numpy"])
def test_without_its_packages_the_room_names_the_extra_to_install(package: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import ml_pipes.openvino"
    said = 'ml_pipes.openvino needs numpy and openvino; install them with: pip install "ml-pipes[openvino]"'

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert said in ended.stderr


def test_a_device_that_is_not_there_lists_those_there_are(relu: Path) -> None:
    with pytest.raises(
        ModelProviderError, match=r"no device 'TPU' for OpenVINO .*; available: .*CPU.*; check its spelling"
    ):
        Infer(relu, device="TPU")


def test_text_is_left_to_the_other_runtime(make_model) -> None:
    port = (TensorProto.STRING, ("n",))
    path = make_model([helper.make_node("Identity", ["x"], ["y"])], {"x": port}, {"y": port})

    with pytest.raises(ModelError, match=r"'x' of .*tiny.onnx holds string; .*; run it with ml_pipes.onnx"):
        Infer(path, input_layout="N")


def test_openvinos_own_format_is_read(relu: Path, tmp_path: Path) -> None:
    ov.save_model(ov.Core().read_model(relu), tmp_path / "own.xml")
    value = TensorPayload(np.full((2, 3, 4, 4), 5.0, np.float32), "NCHW", "float32")

    outputs = Infer(tmp_path / "own.xml")(value)

    assert outputs.names == ("y",)
    assert outputs.tensors[0] == TensorPayload(value.array, "UNKNOWN", "float32")


def test_importing_the_room_sends_nothing(tmp_path: Path) -> None:
    """OpenVINO reports its own import where its telemetry package is found."""
    (tmp_path / "openvino_telemetry").mkdir()
    (tmp_path / "openvino_telemetry" / "__init__.py").write_text("print('found')\n", encoding="utf-8")
    program = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import ml_pipes.openvino, openvino"

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout == ""


def test_a_model_s_own_words_are_at_hand_and_cannot_be_changed(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "words", [value], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {"names": "{0: 'face'}", "stride": "32"})
    path = tmp_path / "words.onnx"
    path.write_bytes(model.SerializeToString())
    infer = Infer(path, input_layout="NC")

    infer.metadata["names"] = "other"

    assert infer.metadata == {"names": "{0: 'face'}", "stride": "32"}
