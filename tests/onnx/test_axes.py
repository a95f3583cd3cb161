"""Freed sides: a model that takes a batch is proved to, one that does not is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes.errors import ModelFileError
from ml_pipes.onnx import Infer, ModelBatchError, free_axes
from ml_pipes.tensor import TensorPayload


def payload(*shape: int) -> TensorPayload:
    return TensorPayload(np.random.default_rng(1).random(shape, np.float32), "NCHW", "float32")


def test_a_freed_batch_gives_what_its_items_give(fixed: Path) -> None:
    infer = Infer(free_axes(fixed))
    batch = payload(4, 3, 4, 4)

    together = infer(batch).tensors[0].array

    singles = [infer(TensorPayload(row[None], "NCHW", "float32")).tensors[0].array for row in batch.array]
    assert np.array_equal(together, np.concatenate(singles))


def test_sides_are_freed_too(fixed: Path) -> None:
    infer = Infer(fixed, free_axes=(0, 2, 3))

    assert infer(payload(2, 3, 8, 6)).tensors[0].array.shape == (2, 3)


def test_axes_may_be_named_by_input_and_output(fixed: Path) -> None:
    infer = Infer(free_axes(fixed, {"x": (0,), "y": (0,)}))

    assert infer(payload(5, 3, 4, 4)).tensors[0].array.shape == (5, 3)


def test_a_model_that_puts_a_batch_into_one_row_is_refused(merging: Path) -> None:
    with pytest.raises(
        ModelBatchError, match=r"for 3 items output 'y' is \(1, 18, 2\), but one item gives \(1, 6, 2\)"
    ):
        free_axes(merging)


def test_an_infer_refuses_it_when_built(merging: Path) -> None:
    with pytest.raises(ValueError, match="does not take a batch"):
        Infer(merging, free_axes=(0,))


def test_a_model_that_mixes_the_items_of_a_batch_is_refused(mixing: Path) -> None:
    with pytest.raises(ModelBatchError, match=r"mixes the items of a batch: output 'y'.*has a difference of"):
        free_axes(mixing)


def test_whole_numbers_must_be_the_same(make_model) -> None:
    nodes = [
        helper.make_node("ReduceSum", ["x", "axis"], ["sum"], keepdims=1),
        helper.make_node("Add", ["x", "sum"], ["y"]),
    ]
    port = (TensorProto.INT64, (1, 4))
    path = make_model(nodes, {"x": port}, {"y": port}, constants={"axis": [0]})

    with pytest.raises(ModelBatchError, match="has other values from the items one by one"):
        free_axes(path)


def test_a_model_that_cannot_run_with_another_size_is_refused(make_model) -> None:
    node = helper.make_node("Reshape", ["x", "to"], ["y"])
    path = make_model(
        [node],
        {"x": (TensorProto.FLOAT, (1, 4))},
        {"y": (TensorProto.FLOAT, (1, 2, 2))},
        constants={"to": [1, 2, 2]},
    )

    with pytest.raises(ModelBatchError, match=r"does not run with x \(3, 4\); a step inside needs"):
        free_axes(path)


def test_a_model_whose_rows_are_not_its_items_is_refused(make_model) -> None:
    node = helper.make_node("Reshape", ["x", "to"], ["y"])
    path = make_model(
        [node],
        {"x": (TensorProto.FLOAT, (1, 4))},
        {"y": (TensorProto.FLOAT, (2, 2))},
        constants={"to": [-1, 2]},
    )

    with pytest.raises(ModelBatchError, match="one item gives 2 rows of output 'y'"):
        free_axes(path)


def test_without_the_proof_a_wrong_model_is_taken(merging: Path) -> None:
    assert free_axes(merging, verify=False)


def test_an_input_without_a_batch_is_the_same_for_all(make_model) -> None:
    node = helper.make_node("Mul", ["x", "factor"], ["y"])
    port = (TensorProto.FLOAT, (1, 4))
    path = make_model([node], {"x": port, "factor": (TensorProto.FLOAT, ())}, {"y": port})
    infer = Infer(free_axes(path), input_layout="NC")

    outputs = infer({"x": np.ones((2, 4), np.float32), "factor": np.array(3.0, np.float32)})

    assert outputs.tensors[0].array.tolist() == [[3.0] * 4] * 2


@pytest.mark.parametrize("axes", [(), (-1,), {"x": ()}])
def test_axes_that_are_none_are_refused(fixed: Path, axes) -> None:
    with pytest.raises(ValueError, match="axes must be numbers from 0 up, one or more"):
        free_axes(fixed, axes)


def test_a_name_that_is_not_there_is_refused(fixed: Path) -> None:
    with pytest.raises(ValueError, match="has no z; it has x, y"):
        free_axes(fixed, {"z": (0,)})


def test_a_missing_file_is_a_file_not_found_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="there is no model file"):
        free_axes(tmp_path / "gone.onnx")


@pytest.mark.parametrize("content", [b"\xff\xff\xff", b"\n\x00"])
def test_a_file_of_another_kind_is_refused(content: bytes) -> None:
    with pytest.raises(ModelFileError, match="is not an ONNX model"):
        free_axes(content)


def test_without_onnx_it_names_the_extra_to_install(fixed: Path) -> None:
    program = (
        "import sys; sys.modules['onnx'] = None; from ml_pipes.onnx import free_axes; "
        f"free_axes({str(fixed)!r})"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert 'ImportError: free_axes needs onnx; install it with: pip install "ml-pipes[onnx]"' in ended.stderr


def test_numbers_that_are_none_alike_are_alike(make_model) -> None:
    nodes = [helper.make_node("Neg", ["x"], ["minus"]), helper.make_node("Log", ["minus"], ["y"])]
    port = (TensorProto.FLOAT, (1, 4))

    assert free_axes(make_model(nodes, {"x": port}, {"y": port}))
