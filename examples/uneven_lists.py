"""Three threads bring three, five and nine pictures at once, and the model runs on eight at a time.

With ``many=True`` a list may be split over several batches and share them with others' lists; each caller
gets its own list back, in its own order.
"""

from __future__ import annotations

from photographs import (
    after_list,
    at_once,
    before_list,
    check_same,
    open_model,
    photographs,
    report,
    serial_pipeline,
)

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.standard import Batch, UnBatch
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorRegistry

__all__ = ["main", "make_pipeline"]


def make_pipeline(model: Infer) -> Pipeline[list[bytes], list[TensorRegistry]]:
    """Lists of any length go in; the model sees eight pictures at a time, and fewer at the end."""
    return Pipeline([
        *before_list(),
        Batch(size=8, many=True), Collate(), model, Distribute(), UnBatch(),
        *after_list(),
    ])  # fmt: skip


def main() -> PipelineStats:
    """Compare what each thread gets with the serial run."""
    model, files = open_model(), photographs(17)
    serial = [serial_pipeline(model)(data) for data in files]
    with make_pipeline(model) as pipeline:
        lists = at_once(pipeline, [files[:3], files[3:8], files[8:]])
        print(f"three threads brought {[len(faces) for faces in lists]}")
        check_same(serial, [faces for found in lists for faces in found])
        report(pipeline)
        return pipeline.stats()


if __name__ == "__main__":
    main()
