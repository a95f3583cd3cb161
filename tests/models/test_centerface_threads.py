"""One real model, many callers: batches, threads, memory, processes."""

from __future__ import annotations

import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ml_pipes.core import Pipeline
from ml_pipes.errors import ModelInputError
from ml_pipes.onnx import Distribute, Infer, RuntimeOutputs
from ml_pipes.standard import Gather, Scatter
from ml_pipes.tensor import Collate, TensorPayload

pytestmark = pytest.mark.models


@pytest.fixture(scope="module")
def infer(centerface: Path) -> Infer:
    return Infer(centerface, free_axes=(0, 2, 3))


def inputs(count: int, seed: int = 0) -> list[TensorPayload]:
    """Noise of mixed batch sizes and sides."""
    rng = np.random.default_rng(seed)
    shapes = [(1 + at % 4, 3, 32 * (1 + at % 3), 32 * (1 + at % 2)) for at in range(count)]
    return [TensorPayload(rng.random(shape, np.float32) * 255, "NCHW", "float32") for shape in shapes]


@pytest.mark.stress
def test_640_runs_of_eight_threads_are_bit_equal_to_one_thread(infer: Infer) -> None:
    values = inputs(640)
    serial = [infer(value) for value in values]

    with ThreadPoolExecutor(8) as pool:
        threaded = list(pool.map(infer, values))

    assert threaded == serial


def test_on_one_thread_a_batch_is_bit_equal_to_its_items_one_by_one(centerface: Path) -> None:
    infer = Infer(centerface, free_axes=(0, 2, 3), threads=1)
    items = five_items()

    rows = Distribute()(infer(Collate()(items)))

    assert rows == [infer(item) for item in items]


def test_on_two_threads_a_batch_differs_by_rounding_alone(centerface: Path) -> None:
    infer = Infer(centerface, free_axes=(0, 2, 3), threads=2)
    items = five_items()

    rows = Distribute()(infer(Collate()(items)))

    for row, item in zip(rows, items, strict=True):
        for batched, alone in zip(row.tensors, infer(item).tensors, strict=True):
            np.testing.assert_allclose(batched.array, alone.array, rtol=1e-5, atol=1e-5)


def five_items() -> list[TensorPayload]:
    rng = np.random.default_rng(3)
    return [TensorPayload(rng.random((1, 3, 96, 64), np.float32) * 255, "NCHW", "float32") for _ in range(5)]


def test_three_tensors_of_different_widths_through_scatter_give_three_results(infer: Infer) -> None:
    widths = [32, 96, 64]
    tensors = [TensorPayload(np.zeros((1, 3, 32, width), np.float32), "NCHW", "float32") for width in widths]

    results = Pipeline([Scatter(3), infer, Gather()])(tensors)

    assert [result.tensors[0].array.shape for result in results] == [
        (1, 1, 8, 8),
        (1, 1, 8, 24),
        (1, 1, 8, 16),
    ]


def test_fifteen_results_kept_are_fifteen_results(infer: Infer) -> None:
    values = inputs(15)
    kept = [infer(value) for value in values]
    copies = pickle.loads(pickle.dumps(kept))

    for value in inputs(15, seed=1):
        infer(value)

    assert kept == copies
    assert kept == [infer(value) for value in values]


def test_what_is_done_to_an_output_does_not_change_the_next(infer: Infer) -> None:
    value = inputs(1)[0]
    first = infer(value)
    expected = pickle.loads(pickle.dumps(first))

    for tensor in first.tensors:
        tensor.array.fill(-1)

    assert infer(value) == expected


@pytest.mark.stress
@pytest.mark.parametrize(("arena", "noise"), [(True, 1.05), (False, 1.15)])
def test_memory_stops_growing_when_every_shape_was_seen(centerface: Path, arena: bool, noise: float) -> None:
    """Without the arena the C library gives memory back when it likes, so its noise is larger."""
    if not Path("/proc/self/statm").is_file():
        pytest.skip("this system does not say how much memory a process holds")
    program = f"""
import numpy as np
from pathlib import Path
from ml_pipes.onnx import Infer
from ml_pipes.tensor import TensorPayload
infer = Infer({str(centerface)!r}, free_axes=(0, 2, 3), arena={arena})
shapes = [(1, 3, 32 * (1 + at % 10), 32 * (1 + at // 10)) for at in range(100)]
for half in range(2):
    for shape in shapes * 3:
        infer(TensorPayload(np.zeros(shape, np.float32), "NCHW", "float32"))
    print(Path("/proc/self/statm").read_text().split()[1])
"""

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    first, second = map(int, ended.stdout.split())
    assert second < first * noise


def test_as_it_was_exported_it_says_how_to_free_it(centerface: Path) -> None:
    infer = Infer(centerface)

    with pytest.raises(ModelInputError, match=r"declared \(10, 3, 32, 32\), got .*free_axes=\(0, 2, 3\)"):
        infer(TensorPayload(np.zeros((1, 3, 64, 64), np.float32), "NCHW", "float32"))


def test_its_pickle_finds_the_same(infer: Infer) -> None:
    value = inputs(1)[0]

    twin = pickle.loads(pickle.dumps(infer))

    assert isinstance(twin(value), RuntimeOutputs)
    assert twin(value) == infer(value)
