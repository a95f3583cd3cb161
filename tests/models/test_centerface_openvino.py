"""CenterFace by OpenVINO: what ONNX Runtime finds, alone, in batches and from many threads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ml_pipes import onnx
from ml_pipes._demo.assets import ASTRONAUT, find_asset
from ml_pipes._demo.faces import find_faces
from ml_pipes.core import Pipeline
from ml_pipes.openvino import Distribute, Infer
from ml_pipes.tensor import Collate, TensorPayload

pytestmark = pytest.mark.models

AXES = (0, 2, 3)


@pytest.fixture(scope="module")
def infer(centerface: Path) -> Infer:
    return Infer(centerface, free_axes=AXES, threads=2)


def inputs(count: int) -> list[TensorPayload]:
    """Noise of mixed batch sizes and sides."""
    rng = np.random.default_rng(0)
    shapes = [(1 + at % 4, 3, 32 * (1 + at % 3), 32 * (1 + at % 2)) for at in range(count)]
    return [TensorPayload(rng.random(shape, np.float32) * 255, "NCHW", "float32") for shape in shapes]


def test_it_finds_the_faces_that_onnx_runtime_finds(centerface: Path, infer: Infer) -> None:
    """Boxes and landmarks to 0.01 of a pixel."""
    theirs = find_faces(centerface)
    ours = Pipeline([infer if isinstance(step, onnx.Infer) else step for step in theirs.operators])
    photograph = find_asset(ASTRONAUT)

    expected, found = theirs(photograph), ours(photograph)

    assert len(expected["boxes"]) > 0
    np.testing.assert_allclose(found["boxes"], expected["boxes"], atol=0.01)
    np.testing.assert_allclose(found["landmarks"], expected["landmarks"], atol=0.01)
    np.testing.assert_allclose(found["scores"], expected["scores"], atol=1e-4)


def test_its_outputs_have_the_names_and_order_of_onnx_runtimes(centerface: Path, infer: Infer) -> None:
    value = inputs(1)[0]

    expected, found = onnx.Infer(centerface, free_axes=AXES)(value), infer(value)

    assert found.names == expected.names
    assert [t.dtype for t in found.tensors] == [t.dtype for t in expected.tensors]
    for one, other in zip(found.tensors, expected.tensors, strict=True):
        np.testing.assert_allclose(one.array, other.array, rtol=1e-4, atol=1e-4)


def test_a_batch_differs_from_its_items_by_rounding_alone(infer: Infer) -> None:
    rng = np.random.default_rng(3)
    arrays = [rng.random((1, 3, 96, 64), np.float32) * 255 for _ in range(5)]
    items = [TensorPayload(array, "NCHW", "float32") for array in arrays]

    rows = Distribute()(infer(Collate()(items)))

    for row, item in zip(rows, items, strict=True):
        for batched, alone in zip(row.tensors, infer(item).tensors, strict=True):
            np.testing.assert_allclose(batched.array, alone.array, rtol=1e-5, atol=1e-5)


@pytest.mark.stress
@pytest.mark.parametrize("sessions", [1, 2])
def test_eight_threads_are_bit_equal_to_one(centerface: Path, sessions: int) -> None:
    infer = Infer(centerface, free_axes=AXES, threads=2, sessions=sessions)
    values = inputs(160)
    serial = [infer(value) for value in values]

    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(infer, values))

    assert threaded == serial
