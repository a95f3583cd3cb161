"""Infer: what it takes, what it refuses, what it gives."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np

from ml_pipes.onnx import Infer, free_axes
from ml_pipes.tensor import TensorPayload


def image(value: float, *, rows: int = 1, layout: str = "NCHW") -> TensorPayload:
    return TensorPayload(np.full((rows, 3, 4, 4), value, np.float32), layout, "float32")


def pair(left: float, right: float) -> list[TensorPayload]:
    return [TensorPayload(np.full((1, 2), side, np.float32), "NC", "float32") for side in (left, right)]


def test_a_freed_model_pickles_with_its_infer(fixed: Path) -> None:
    infer = Infer(free_axes(fixed))
    fixed.unlink()

    twin = pickle.loads(pickle.dumps(infer))

    assert twin(image(2.0, rows=3)).tensors[0].array.shape == (3, 3)


def test_it_shows_how_it_was_made(fixed: Path) -> None:
    assert repr(Infer(free_axes(fixed))) == "Infer(free_axes('tiny.onnx', (0,)))"
