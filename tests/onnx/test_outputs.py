"""Extract and Distribute: outputs by name, and a batch's rows."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.errors import MissingNameError, ModelError
from ml_pipes.onnx import Distribute, Extract, RuntimeOutputs
from ml_pipes.tensor import TensorPayload


def outputs(**arrays: np.ndarray) -> RuntimeOutputs:
    payloads = tuple(TensorPayload(array, "UNKNOWN", str(array.dtype)) for array in arrays.values())
    return RuntimeOutputs(payloads, tuple(arrays))


def test_named_outputs_become_a_registry() -> None:
    registry = Extract("b", "a")(outputs(a=np.zeros(1), b=np.ones(2), c=np.ones(3)))

    assert list(registry) == ["b", "a"]
    assert registry["b"].shape == (2,)


def test_outputs_are_renamed() -> None:
    registry = Extract("a", "b", as_=("boxes", "scores"))(outputs(a=np.zeros(1), b=np.ones(2)))

    assert list(registry) == ["boxes", "scores"]


def test_one_output_is_renamed_by_a_text() -> None:
    assert list(Extract("a", as_="preds")(outputs(a=np.zeros(1)))) == ["preds"]


def test_a_missing_output_is_named_beside_those_there_are() -> None:
    with pytest.raises(
        MissingNameError, match=r"^Extract: output 'z' not found; the model gives: a, b$"
    ) as caught:
        Extract("z")(outputs(a=np.zeros(1), b=np.zeros(1)))

    assert isinstance(caught.value, KeyError)


def test_no_name_is_refused() -> None:
    with pytest.raises(ValueError, match="give the name of one output or more"):
        Extract()


def test_one_new_name_per_output_is_needed() -> None:
    with pytest.raises(ValueError, match="as_ must have one name per output"):
        Extract("a", "b", as_="preds")


def test_two_tensors_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="two tensors would have one name"):
        Extract("a", "b", as_=("x", "x"))


def test_each_item_gets_its_rows_in_memory_of_its_own() -> None:
    batch = outputs(boxes=np.arange(6.0).reshape(3, 2), scores=np.arange(3.0))

    rows = Distribute()(batch)

    assert [row.names for row in rows] == [("boxes", "scores")] * 3
    assert [row.tensors[0].array.tolist() for row in rows] == [[[0.0, 1.0]], [[2.0, 3.0]], [[4.0, 5.0]]]
    assert not any(np.shares_memory(row.tensors[0].array, batch.tensors[0].array) for row in rows)


def test_a_payload_is_split_too() -> None:
    rows = Distribute()(TensorPayload(np.arange(2.0), "N", "float64"))

    assert [row.array.tolist() for row in rows] == [[0.0], [1.0]]
    assert rows[0].layout == "N"


def test_outputs_with_different_numbers_of_rows_are_refused() -> None:
    with pytest.raises(ModelError, match="one row per item: boxes has 2, scores has 1"):
        Distribute()(outputs(boxes=np.zeros((2, 4)), scores=np.zeros((1, 8))))


def test_a_single_number_cannot_be_split() -> None:
    with pytest.raises(ModelError, match="output count is a single number"):
        Distribute()(outputs(count=np.array(3)))


def test_no_items_give_no_rows() -> None:
    assert Distribute()(outputs(boxes=np.zeros((0, 4)))) == []
