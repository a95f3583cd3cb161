"""Freed sides: a model that takes a batch is proved to, one that does not is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper

from ml_pipes import onnx
from ml_pipes.errors import ModelBatchError, ModelError
from ml_pipes.tensor import TensorPayload


def payload(*shape: int) -> TensorPayload:
    return TensorPayload(np.random.default_rng(1).random(shape, np.float32), "NCHW", "float32")


def test_a_freed_batch_gives_what_its_items_give(infer_of, fixed: Path) -> None:
    infer = infer_of(fixed, free_axes=(0,))
    batch = payload(4, 3, 4, 4)

    together = infer(batch).tensors[0].array

    singles = [infer(TensorPayload(row[None], "NCHW", "float32")).tensors[0].array for row in batch.array]
    np.testing.assert_allclose(together, np.concatenate(singles), rtol=1e-6)
    np.testing.assert_allclose(together, batch.array.mean(axis=(2, 3)), rtol=1e-6)


@pytest.mark.parametrize("axes", [(0, 2, 3), {"x": (0, 2, 3), "y": (0,)}])
def test_sides_are_freed_too(infer_of, fixed: Path, axes) -> None:
    infer = infer_of(fixed, free_axes=axes)

    assert infer(payload(2, 3, 8, 6)).tensors[0].array.shape == (2, 3)


def test_what_was_not_freed_stays_fixed(infer_of, fixed: Path) -> None:
    with pytest.raises(ModelError, match=r"axis 2, 3 differs.*free_axes=\(0, 2, 3\)"):
        infer_of(fixed, free_axes=(0,))(payload(2, 3, 8, 6))


def test_bytes_that_the_other_room_freed_are_taken(infer_of, fixed: Path) -> None:
    infer = infer_of(onnx.free_axes(fixed))

    assert infer(payload(5, 3, 4, 4)).tensors[0].array.shape == (5, 3)


def test_a_model_that_puts_a_batch_into_one_row_is_refused(infer_of, merging: Path) -> None:
    with pytest.raises(
        ModelBatchError, match=r"for 3 items output 'y' is \(1, 18, 2\), but one item gives \(1, 6, 2\)"
    ):
        infer_of(merging, free_axes=(0,))


def test_a_model_that_mixes_the_items_of_a_batch_is_refused(infer_of, mixing: Path) -> None:
    with pytest.raises(ModelBatchError, match=r"mixes the items of a batch: output 'y'.*has a difference of"):
        infer_of(mixing, input_layout="NC", free_axes=(0,))


def test_a_model_that_cannot_have_another_size_is_refused(infer_of, make_model) -> None:
    node = helper.make_node("Reshape", ["x", "to"], ["y"])
    path = make_model(
        [node],
        {"x": (TensorProto.FLOAT, (1, 4))},
        {"y": (TensorProto.FLOAT, (1, 2, 2))},
        constants={"to": [1, 2, 2]},
    )

    with pytest.raises(ModelBatchError, match=r"tiny\.onnx"):
        infer_of(path, input_layout="NC", free_axes=(0,))


def test_an_input_without_a_batch_is_the_same_for_all(infer_of, make_model) -> None:
    node = helper.make_node("Mul", ["x", "factor"], ["y"])
    port = (TensorProto.FLOAT, (1, 4))
    path = make_model([node], {"x": port, "factor": (TensorProto.FLOAT, ())}, {"y": port})
    infer = infer_of(path, input_layout="NC", free_axes=(0,))

    outputs = infer({"x": np.ones((2, 4), np.float32), "factor": np.array(3.0, np.float32)})

    assert outputs.tensors[0].array.tolist() == [[3.0] * 4] * 2


@pytest.mark.parametrize("axes", [(), (-1,), {"x": ()}, 0])
def test_axes_that_are_none_are_refused(infer_of, fixed: Path, axes) -> None:
    with pytest.raises(ValueError, match="axes must be numbers from 0 up, one or more"):
        infer_of(fixed, free_axes=axes)


def test_a_name_that_is_not_there_is_refused(infer_of, fixed: Path) -> None:
    with pytest.raises(ValueError, match="has no z; it has x, y"):
        infer_of(fixed, free_axes={"z": (0,)})


def test_an_axis_that_no_input_has_is_refused(infer_of, fixed: Path) -> None:
    with pytest.raises(ValueError, match=r"no input has axis 7: there are 4 axes, 0 to 3"):
        infer_of(fixed, free_axes=(0, 7))
