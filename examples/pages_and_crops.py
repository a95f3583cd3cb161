"""A ``Scatter`` in a ``Scatter``: pages are worked on at once, and so are the crops of each page.

The crops of all pages meet in one ``Batch``. Nothing is set up for it: the region knows who can still come,
through both. The calling thread of each ``Scatter`` works too, so two of them cannot wait for each other.
"""

from __future__ import annotations

from typing import Any

from photographs import after_model, before_model, check_same, open_model, photographs, report
from tiles import cut, stitched

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Pick, Recall, Scatter, Store, UnBatch
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorRegistry
from ml_pipes.vision import NMS, Decode, ImagePayload, ProjectBoxes

__all__ = ["crops", "main", "one_by_one", "together"]


def crops(page: ImagePayload) -> list[Any]:
    """Crops of 640x640 pixels or less, each with where it lies."""
    return cut(page, side=640)


def together(model: Infer) -> Pipeline[list[bytes], list[TensorRegistry]]:
    """Two pages at once, three crops of each at once, up to eight crops in a run of the model."""
    return Pipeline([
        Scatter(max_concurrency=2), Decode(), crops,
        Scatter(max_concurrency=3), Store("place", source=1), Pick(0), *before_model(),
        Batch(size=8), Collate(), model, Distribute(), UnBatch(),
        *after_model(), Recall("place"), ProjectBoxes(), Gather(),
        stitched, NMS(iou_threshold=0.3), Gather(),
    ])  # fmt: skip


def one_by_one(model: Infer) -> Pipeline[list[bytes], list[TensorRegistry]]:
    """The same on one thread, one crop in a run."""
    return Pipeline([
        PerItem(), Decode(), crops,
        PerItem(), Store("place", source=1), Pick(0), *before_model(),
        model,
        *after_model(), Recall("place"), ProjectBoxes(), CollectItems(),
        stitched, NMS(iou_threshold=0.3), CollectItems(),
    ])  # fmt: skip


def main() -> PipelineStats:
    """Six pages, both ways."""
    model, pages = open_model(), photographs(6)
    serial = one_by_one(model)(pages)
    with together(model) as pipeline:
        faces = pipeline(pages)
        print(f"{len(pages)} pages, faces of each: {[len(found['boxes']) for found in faces]}")
        check_same(serial, faces)
        report(pipeline)
        return pipeline.stats()


if __name__ == "__main__":
    main()
