"""A model that cannot be opened says so when it is built, and says why."""

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path

import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from ml_pipes.errors import ModelError, ModelFileError
from ml_pipes.onnx import Infer, ModelNotFoundError, ModelProviderError


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

    with pytest.raises(ModelFileError, match=r"photograph.onnx is not a model that ONNX Runtime .* can run"):
        Infer(path)


@pytest.mark.parametrize("kind", [bytearray, memoryview])
def test_bytes_of_any_kind_are_a_model(relu: Path, kind) -> None:
    content = relu.read_bytes()

    assert Infer(kind(content)).model_path == content


def test_any_object_with_a_path_is_a_path(relu: Path) -> None:
    class Located:
        def __fspath__(self) -> str:
            return str(relu)

    assert Infer(Located()).model_path == relu  # type: ignore[arg-type] # what importlib.resources may give


def test_what_is_neither_a_path_nor_bytes_is_refused() -> None:
    with pytest.raises(TypeError, match="Infer: a model is the path of its file, or its bytes, got None"):
        Infer(None)  # type: ignore[arg-type] # that is what is tested


def test_a_model_in_memory_names_the_way_to_its_bytes(relu: Path) -> None:
    with pytest.raises(TypeError, match=r"got ModelProto; give its SerializeToString\(\)"):
        Infer(onnx.load(relu))  # type: ignore[arg-type] # that is what is tested


def test_an_unknown_provider_lists_those_there_are(relu: Path) -> None:
    with pytest.raises(
        ModelProviderError, match=r"'CPUProvider'.*available: .*CPUExecutionProvider.*spelling"
    ):
        Infer(relu, providers=("CPUProvider",))


@pytest.mark.skipif(
    "CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="this ONNX Runtime has CUDA"
)
def test_a_provider_of_another_package_names_the_package(relu: Path) -> None:
    with pytest.raises(ModelProviderError, match="install it with: pip install onnxruntime-gpu"):
        Infer(relu, providers=(("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"))


@pytest.mark.parametrize("providers", ["CPUExecutionProvider", ()])
def test_providers_are_a_tuple_of_one_or_more(relu: Path, providers) -> None:
    with pytest.raises(ValueError, match="providers must be a tuple of one name or more"):
        Infer(relu, providers=providers)


def test_a_provider_that_silently_fell_back_is_an_error(relu: Path, monkeypatch) -> None:
    monkeypatch.setattr(onnxruntime.InferenceSession, "get_providers", lambda self: ["OtherProvider"])

    with pytest.raises(
        ModelProviderError, match=r"CPUExecutionProvider did not start .* fell back to OtherProvider"
    ):
        Infer(relu)


def test_an_output_that_is_no_tensor_is_refused(make_model, tmp_path: Path) -> None:
    node = helper.make_node("SequenceConstruct", ["x"], ["y"])
    path = make_model([node], {"x": (TensorProto.FLOAT, (1,))}, {})
    model = onnx.load(path)
    model.graph.output.append(helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, (1,)))
    onnx.save(model, path)

    with pytest.raises(ModelError, match=r"'y' of .* is a seq\(tensor\(float\)\); only tensors"):
        Infer(path, input_layout="N")


@pytest.mark.parametrize("package", ["onnxruntime", "numpy"])
def test_without_its_packages_the_room_names_the_extra_to_install(package: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; import ml_pipes.onnx"
    said = 'ml_pipes.onnx needs numpy and onnxruntime; install them with: pip install "ml-pipes[onnx]"'

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert said in ended.stderr


def test_a_model_s_own_words_are_at_hand_and_cannot_be_changed(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 2])
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 2])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "words", [value], [result])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    helper.set_model_props(model, {"names": "{0: 'face'}", "stride": "32"})
    path = tmp_path / "words.onnx"
    onnx.save(model, path)
    infer = Infer(path, input_layout="NC")

    infer.metadata["names"] = "other"

    assert infer.metadata == {"names": "{0: 'face'}", "stride": "32"}
