"""Two pipelines embed one model pipeline, and callers of both meet in its ``Batch``.

One takes files, the other frames that are decoded already. Both embed the same ``Pipeline`` object: what
waits and runs belongs to that object, so the model is there once and each run may hold pictures of both.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from photographs import (
    after_model,
    before_model,
    check_same,
    open_model,
    photographs,
    report,
    serial_pipeline,
)

from ml_pipes.core import Pipeline, embed
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.standard import Batch, UnBatch
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorPayload, TensorRegistry
from ml_pipes.tensor.runtime import RuntimeOutputs
from ml_pipes.vision import Decode, ImagePayload

__all__ = ["for_files", "for_frames", "main", "shared"]


def shared(model: Infer) -> Pipeline[TensorPayload, RuntimeOutputs]:
    """One tensor goes in, its outputs come out; up to eight callers share a run."""
    return Pipeline([Batch(size=8), Collate(), model, Distribute(), UnBatch()])


def for_files(detector: Pipeline[TensorPayload, RuntimeOutputs]) -> Pipeline[bytes, TensorRegistry]:
    """A file's bytes go in."""
    return Pipeline([Decode(), *before_model(), embed(detector), *after_model()])


def for_frames(detector: Pipeline[TensorPayload, RuntimeOutputs]) -> Pipeline[ImagePayload, TensorRegistry]:
    """A picture goes in."""
    return Pipeline([*before_model(), embed(detector), *after_model()])


def main() -> PipelineStats:
    """Four callers of each pipeline at once."""
    model, files = open_model(), photographs(8)
    serial = [serial_pipeline(model)(data) for data in files]
    frames = [Decode()(data) for data in files[4:]]
    with shared(model) as detector, ThreadPoolExecutor(8) as pool:
        of_files, of_frames = for_files(detector), for_frames(detector)
        called = [pool.submit(of_files, data) for data in files[:4]]
        called += [pool.submit(of_frames, frame) for frame in frames]
        print("four callers with files and four with frames")
        check_same(serial, [call.result() for call in called])
        report(detector)
        print(f"  the same region, as both pipelines show it: {[*of_files.stats()]}, {[*of_frames.stats()]}")
        return detector.stats()


if __name__ == "__main__":
    main()
