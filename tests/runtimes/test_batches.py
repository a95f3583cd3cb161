"""A model behind Batch: each caller its row, and a model without a batch is found out."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from onnx import TensorProto, helper

from ml_pipes._runtimes.outputs import Distribute
from ml_pipes._runtimes.step import ModelStep
from ml_pipes.core import Pipeline
from ml_pipes.errors import BatchSizeError, ModelError
from ml_pipes.onnx import free_axes
from ml_pipes.standard import Batch, UnBatch
from ml_pipes.tensor import Collate, TensorPayload


def batched(infer: ModelStep, size: int) -> Pipeline[Any, Any]:
    return Pipeline([Batch(size=size, timeout=5.0, policy="full"), Collate(), infer, Distribute(), UnBatch()])


def image(value: float, side: int = 4) -> TensorPayload:
    return TensorPayload(np.full((1, 3, side, side), value, np.float32), "NCHW", "float32")


def outcomes(pipeline: Pipeline[Any, Any], values: list[TensorPayload]) -> list[Any]:
    """What each of as many callers gets at once: its result, or its error."""
    meeting = threading.Barrier(len(values), timeout=10)

    def call(value: TensorPayload) -> Any:
        meeting.wait()
        try:
            return pipeline(value)
        except (ModelError, BatchSizeError) as error:
            return error

    with ThreadPoolExecutor(len(values)) as pool:
        return list(pool.map(call, values))


def test_each_of_four_callers_gets_its_own_row(infer_of, fixed: Path) -> None:
    pipeline = batched(infer_of(fixed, free_axes=(0,)), 4)

    results = outcomes(pipeline, [image(float(value)) for value in range(4)])

    assert [row.tensors[0].array.tolist() for row in results] == [[[float(value)] * 3] for value in range(4)]


def test_a_model_that_gives_one_row_for_two_fails_for_both_callers(infer_of, make_model) -> None:
    keep = helper.make_node(
        "Constant", [], ["keep"], value=helper.make_tensor("k", TensorProto.BOOL, [1], [True])
    )
    first = helper.make_node("Compress", ["x", "keep"], ["y"], axis=0)
    port = (TensorProto.FLOAT, ("batch", 3, 4, 4))
    infer = infer_of(make_model([keep, first], {"x": port}, {"y": port}))

    errors = outcomes(batched(infer, 2), [image(1.0), image(2.0)])

    assert [type(error) for error in errors] == [ModelError, ModelError]
    assert ["expected 2 rows, got 1" in str(error) for error in errors] == [True, True]


def test_a_model_freed_without_proof_that_merges_its_batch_fails_for_both_callers(
    infer_of, merging: Path
) -> None:
    infer = infer_of(free_axes(merging, verify=False))

    errors = outcomes(batched(infer, 2), [image(1.0, side=2), image(2.0, side=2)])

    assert [isinstance(error, BatchSizeError | ModelError) for error in errors] == [True, True]
