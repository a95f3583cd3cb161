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


@pytest.mark.parametrize("scale", [1e-5, 1e-30, 1e5])
def test_items_that_mix_are_found_out_however_small_or_large_the_outputs_are(make_model, scale) -> None:
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0], keepdims=1),
        helper.make_node("Sub", ["x", "mean"], ["apart"]),
        helper.make_node("Constant", [], ["scale"], value_float=scale),
        helper.make_node("Mul", ["apart", "scale"], ["y"]),
    ]
    port = (TensorProto.FLOAT, (1, 4))

    with pytest.raises(ModelBatchError, match="mixes the items of a batch"):
        free_axes(make_model(nodes, {"x": port}, {"y": port}))


@pytest.mark.parametrize(("kind", "compare", "limit"), [
    ("pixels", "Greater", 200.0), ("negative numbers", "Less", -0.5),
])  # fmt: skip
def test_items_that_mix_for_some_numbers_only_are_found_out(make_model, kind, compare, limit) -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["most"], axes=[0], keepdims=1),
        helper.make_node("Constant", [], ["limit"], value_float=limit),
        helper.make_node(compare, ["x", "limit"], ["beyond"]),
        helper.make_node("Where", ["beyond", "most", "x"], ["y"]),
    ]
    port = (TensorProto.FLOAT, (1, 16))

    with pytest.raises(ModelBatchError, match=r"mixes the items of a batch.* or beside others"):
        free_axes(make_model(nodes, {"x": port}, {"y": port}))


def test_pixels_as_whole_numbers_are_tried_in_full(make_model) -> None:
    nodes = [
        helper.make_node("Cast", ["x"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMax", ["number"], ["most"], axes=[0], keepdims=1),
        helper.make_node("Constant", [], ["limit"], value_float=200.0),
        helper.make_node("Greater", ["most", "limit"], ["beyond"]),
        helper.make_node("Where", ["beyond", "most", "number"], ["y"]),
    ]
    path = make_model(nodes, {"x": (TensorProto.UINT8, (1, 16))}, {"y": (TensorProto.FLOAT, (1, 16))})

    with pytest.raises(ModelBatchError, match="mixes the items of a batch"):
        free_axes(path)


def test_numbers_that_a_model_cannot_take_prove_nothing_against_it(make_model) -> None:
    table = helper.make_node("Constant", [], ["table"], value_floats=[5.0, 6.0])
    nodes = [
        table,
        helper.make_node("Cast", ["x"], ["at"], to=TensorProto.INT64),
        helper.make_node("Gather", ["table", "at"], ["y"]),
    ]
    port = (TensorProto.FLOAT, (1, 4))

    assert free_axes(make_model(nodes, {"x": port}, {"y": port}))


def test_halves_may_round_as_halves_do(make_model) -> None:
    nodes = [
        helper.make_node(
            "Constant", [], ["k"], value=helper.make_tensor("k", TensorProto.FLOAT16, [4, 4], [0.3] * 16)
        ),
        helper.make_node("MatMul", ["x", "k"], ["y"]),
    ]
    port = (TensorProto.FLOAT16, (1, 4))

    assert free_axes(make_model(nodes, {"x": port}, {"y": port}))


def test_text_is_verified_too(make_model) -> None:
    port = (TensorProto.STRING, (1, 4))

    assert free_axes(make_model([helper.make_node("Identity", ["x"], ["y"])], {"x": port}, {"y": port}))


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


@pytest.mark.parametrize("axes", [(), (-1,), {"x": ()}, {}, 0, "0", (True,), (1.0,), {"x": 0}])
def test_axes_that_are_none_are_refused(fixed: Path, axes) -> None:
    with pytest.raises(ValueError, match="axes must be numbers from 0 up, one or more"):
        free_axes(fixed, axes)


def test_an_axis_that_no_input_has_is_refused(fixed: Path) -> None:
    with pytest.raises(ValueError, match=r"tiny.onnx: no input has axis 7: there are 4 axes, 0 to 3"):
        free_axes(fixed, (0, 7))


def test_an_axis_that_the_named_output_has_not_is_refused(fixed: Path) -> None:
    with pytest.raises(ValueError, match=r"tiny.onnx: 'y' has not axis 2: there are 2 axes, 0 to 1"):
        free_axes(fixed, {"x": (0,), "y": (2,)})


def test_an_input_of_unknown_shape_cannot_be_verified(make_model) -> None:
    node = helper.make_node("Add", ["x", "more"], ["y"])
    port = (TensorProto.FLOAT, (1, 4))
    path = make_model([node], {"x": port, "more": (TensorProto.FLOAT, None)}, {"y": port})

    with pytest.raises(ValueError, match="declares no shape for more, so it cannot be verified"):
        free_axes(path)


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_model_may_be_given_as_bytes_of_any_kind(fixed: Path, kind) -> None:
    assert Infer(free_axes(kind(fixed.read_bytes())))(payload(2, 3, 4, 4)).tensors[0].array.shape == (2, 3)


@pytest.mark.parametrize(("source", "came"), [(None, "None"), (7, "int")])
def test_what_is_no_model_is_a_type_error(source, came: str) -> None:
    with pytest.raises(
        TypeError, match=f"free_axes: a model is the path of its file, or its bytes, got {came}$"
    ):
        free_axes(source)


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
