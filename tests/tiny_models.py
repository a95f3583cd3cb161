"""Tiny models, made here: each does one thing that a real model may do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

ModelMaker = Callable[..., Path]
Ports = dict[str, tuple[int, Sequence[int | str]]]


@pytest.fixture
def make_model(tmp_path: Path) -> ModelMaker:
    """Write a model of the given nodes; ports are name -> (element type, shape)."""

    def make(
        nodes: list[onnx.NodeProto],
        inputs: Ports,
        outputs: Ports,
        *,
        constants: dict[str, list[int]] | None = None,
        name: str = "tiny.onnx",
    ) -> Path:
        graph = helper.make_graph(
            nodes,
            "tiny",
            [helper.make_tensor_value_info(key, *port) for key, port in inputs.items()],
            [helper.make_tensor_value_info(key, *port) for key, port in outputs.items()],
            [helper.make_tensor(k, TensorProto.INT64, [len(v)], v) for k, v in (constants or {}).items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.save(model, str(tmp_path / name))
        return tmp_path / name

    return make


@pytest.fixture
def relu(make_model: ModelMaker) -> Path:
    """Batches and sides are open: (batch, 3, h, w) -> the same."""
    shape = ("batch", 3, "h", "w")
    node = helper.make_node("Relu", ["x"], ["y"])
    return make_model([node], {"x": (TensorProto.FLOAT, shape)}, {"y": (TensorProto.FLOAT, shape)})


@pytest.fixture
def fixed(make_model: ModelMaker) -> Path:
    """As an exporter leaves it: (1, 3, 4, 4) -> its means, declared (1, 3)."""
    node = helper.make_node("ReduceMean", ["x"], ["y"], axes=[2, 3], keepdims=0)
    return make_model([node], {"x": (TensorProto.FLOAT, (1, 3, 4, 4))}, {"y": (TensorProto.FLOAT, (1, 3))})


@pytest.fixture
def merging(make_model: ModelMaker) -> Path:
    """Its Reshape to a constant puts all items of a batch into one row: (1, 6, 2) whatever comes."""
    node = helper.make_node("Reshape", ["x", "to"], ["y"])
    return make_model(
        [node],
        {"x": (TensorProto.FLOAT, (1, 3, 2, 2))},
        {"y": (TensorProto.FLOAT, (1, 6, 2))},
        constants={"to": [1, -1, 2]},
    )


@pytest.fixture
def mixing(make_model: ModelMaker) -> Path:
    """Right shapes, wrong numbers: the mean over the batch is taken off each item."""
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[0], keepdims=1),
        helper.make_node("Sub", ["x", "mean"], ["y"]),
    ]
    return make_model(nodes, {"x": (TensorProto.FLOAT, (1, 4))}, {"y": (TensorProto.FLOAT, (1, 4))})


@pytest.fixture
def adder(make_model: ModelMaker) -> Path:
    """Two inputs, two outputs: left + right and left - right."""
    nodes = [
        helper.make_node("Add", ["left", "right"], ["sum"]),
        helper.make_node("Sub", ["left", "right"], ["difference"]),
    ]
    port = (TensorProto.FLOAT, ("n", 2))
    return make_model(nodes, {"left": port, "right": port}, {"sum": port, "difference": port})
