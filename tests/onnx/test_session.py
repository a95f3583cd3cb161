"""A model that cannot be opened says so when it is built, and says why."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from ml_pipes.errors import ModelError
from ml_pipes.onnx import Infer


def test_an_output_that_is_no_tensor_is_refused(make_model, tmp_path: Path) -> None:
    node = helper.make_node("SequenceConstruct", ["x"], ["y"])
    path = make_model([node], {"x": (TensorProto.FLOAT, (1,))}, {})
    model = onnx.load(path)
    model.graph.output.append(helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, (1,)))
    onnx.save(model, path)

    with pytest.raises(ModelError, match=r"'y' of .* is a seq\(tensor\(float\)\); only tensors"):
        Infer(path, input_layout="N")
