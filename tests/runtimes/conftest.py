"""The tiny models, and the Infer of each runtime in turn."""

from __future__ import annotations

import importlib

import pytest
from tests.tiny_models import adder, fixed, make_model, merging, mixing, relu

from ml_pipes._runtimes.step import ModelStep

__all__ = ["adder", "fixed", "infer_of", "make_model", "merging", "mixing", "relu", "room"]


@pytest.fixture(params=["ml_pipes.onnx", "ml_pipes.openvino"])
def room(request: pytest.FixtureRequest) -> str:
    """The name of a room with an Infer."""
    return str(request.param)


@pytest.fixture
def infer_of(room: str) -> type[ModelStep]:
    """Its Infer: ``infer_of(path)(payload)`` runs the model."""
    return importlib.import_module(room).Infer  # type: ignore[no-any-return] # a class of that kind
