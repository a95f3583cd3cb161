"""A model that cannot be opened says so when it is built, and says why."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from ml_pipes.errors import ModelFileError, ModelNotFoundError


def test_a_missing_file_is_a_model_error_and_a_file_not_found_error(infer_of, tmp_path: Path) -> None:
    path = tmp_path / "gone.onnx"

    with pytest.raises(ModelFileError, match=r"there is no model file at .*gone.onnx") as caught:
        infer_of(path)

    assert isinstance(caught.value, FileNotFoundError)
    assert isinstance(pickle.loads(pickle.dumps(caught.value)), ModelNotFoundError)


def test_an_empty_file_is_refused(infer_of, tmp_path: Path) -> None:
    path = tmp_path / "empty.onnx"
    path.touch()

    with pytest.raises(ModelFileError, match=r"empty\.onnx is empty"):
        infer_of(path)


def test_empty_bytes_are_refused(infer_of) -> None:
    with pytest.raises(ModelFileError, match="the model is empty"):
        infer_of(b"")


def test_a_folder_is_refused(infer_of, tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match="is a folder, not a model file"):
        infer_of(tmp_path)


def test_a_file_of_another_kind_is_refused(room: str, infer_of, tmp_path: Path) -> None:
    runtime = {"ml_pipes.onnx": "ONNX Runtime", "ml_pipes.openvino": "OpenVINO"}[room]
    path = tmp_path / "photograph.onnx"
    path.write_bytes(b"\xff\xd8\xff\xe0 not a model")

    with pytest.raises(ModelFileError, match=rf"photograph.onnx is not a model that {runtime} .* can run"):
        infer_of(path)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_any_kind_are_a_model(infer_of, relu: Path, kind) -> None:
    content = relu.read_bytes()

    assert infer_of(kind(content)).model_path == content


def test_any_object_with_a_path_is_a_path(infer_of, relu: Path) -> None:
    class Located:
        def __fspath__(self) -> str:
            return str(relu)

    assert infer_of(Located()).model_path == relu  # type: ignore[arg-type] # what importlib.resources may give


def test_what_is_neither_a_path_nor_bytes_is_refused(infer_of) -> None:
    with pytest.raises(TypeError, match="Infer: a model is the path of its file, or its bytes, got None"):
        infer_of(None)  # type: ignore[arg-type] # that is what is tested


def test_a_model_in_memory_names_the_way_to_its_bytes(infer_of, relu: Path) -> None:
    with pytest.raises(TypeError, match=r"got ModelProto; give its SerializeToString\(\)"):
        infer_of(onnx.load(relu))  # type: ignore[arg-type] # that is what is tested


def test_a_model_s_own_words_are_at_hand_and_cannot_be_changed(infer_of, tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "words", [value], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {"names": "{0: 'face'}", "stride": "32"})
    path = tmp_path / "words.onnx"
    onnx.save(model, path)
    infer = infer_of(path, input_layout="NC")

    infer.metadata["names"] = "other"

    assert infer.metadata == {"names": "{0: 'face'}", "stride": "32"}


@pytest.mark.parametrize(
    ("room", "package", "extra"),
    [("ml_pipes.onnx", "onnxruntime", "onnx"), ("ml_pipes.onnx", "numpy", "onnx"),
     ("ml_pipes.openvino", "openvino", "openvino"), ("ml_pipes.openvino", "numpy", "openvino")],
)  # fmt: skip
def test_without_its_packages_the_room_names_the_extra_to_install(room, package: str, extra: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import {room}"
    runtime = {"onnx": "onnxruntime", "openvino": "openvino"}[extra]
    said = f'{room} needs numpy and {runtime}; install them with: pip install "ml-pipes[{extra}]"'

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert said in ended.stderr
