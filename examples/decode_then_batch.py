"""One caller has eight files: several threads decode them, and the model runs on many at a time.

Two lists do it. In the first, ``Gather`` ends the threads' part, and the caller runs the model once on all.
In the second, the threads meet in a ``Batch`` inside the ``Scatter``, and share their runs of the model with
every other caller of the pipeline.
"""

from __future__ import annotations

from photographs import (
    after_list,
    after_model,
    before_list,
    before_model,
    check_same,
    open_model,
    photographs,
    report,
    serial_pipeline,
)

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.standard import Batch, Gather, Scatter, UnBatch
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorRegistry
from ml_pipes.vision import Decode

__all__ = ["gathered", "main", "met"]


def gathered(model: Infer) -> Pipeline[list[bytes], list[TensorRegistry]]:
    """One run of the model for the whole list, on the caller's thread."""
    # before_list: Scatter(4), Decode(), Resize(...), Normalize(...), Gather(), and the transforms put aside.
    return Pipeline([*before_list(max_concurrency=4), Collate(), model, Distribute(), *after_list()])


def met(model: Infer) -> Pipeline[list[bytes], list[TensorRegistry]]:
    """Each thread takes one file all the way; before the model they wait for each other."""
    return Pipeline([
        Scatter(max_concurrency=4), Decode(), *before_model(),
        Batch(size=4), Collate(), model, Distribute(), UnBatch(),
        *after_model(), Gather(),
    ])  # fmt: skip


def main() -> PipelineStats:
    """Run both lists on eight photographs and compare them with the serial run."""
    model, files = open_model(), photographs(8)
    serial = [serial_pipeline(model)(data) for data in files]
    print("Scatter, Gather, then one run for all")
    check_same(serial, gathered(model)(files))
    print("the workers of the Scatter meet in a Batch")
    with met(model) as pipeline:
        check_same(serial, pipeline(files))
        report(pipeline)
        return pipeline.stats()


if __name__ == "__main__":
    main()
