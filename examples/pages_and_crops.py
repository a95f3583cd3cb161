"""A ``Scatter`` in a ``Scatter``: pages are worked on at once, and so are the crops of each page.

The crops of all pages meet in one ``Batch``. Nothing is set up for it: the region knows who can still come,
through both. The calling thread of each ``Scatter`` works too, so two of them cannot wait for each other.
"""

from __future__ import annotations

from typing import Any

from photographs import after_model, before_model, check_same, open_model, photographs, report

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Pick, Recall, Scatter, Store, UnBatch
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorRegistry
from ml_pipes.vision import NMS, Decode
from ml_pipes.vision.tiling import Stitch, Tile

__all__ = ["main", "one_by_one", "together"]


def together(model: Infer) -> Pipeline[list[bytes], list[TensorRegistry]]:
    """Two pages at once, three crops of each at once, up to eight crops in a run of the model."""
    return Pipeline([
        Scatter(max_concurrency=2), Decode(), *crops(),
        Scatter(max_concurrency=3), *before_model(),
        Batch(size=8), Collate(), model, Distribute(), UnBatch(),
        *after_model(), Gather(),
        *stitched_faces(), Gather(),
    ])  # fmt: skip


def one_by_one(model: Infer) -> Pipeline[list[bytes], list[TensorRegistry]]:
    """The same on one thread, one crop in a run."""
    return Pipeline([
        PerItem(), Decode(), *crops(),
        PerItem(), *before_model(), model, *after_model(), CollectItems(),
        *stitched_faces(), CollectItems(),
    ])  # fmt: skip


def crops() -> list[Any]:
    """The steps from a page to crops of 640x640 pixels or less; where they lie is stored."""
    return [Tile((640, 640), (128, 128)), Store("rects", source=1), Pick(0)]


def stitched_faces() -> list[Any]:
    """The steps from the faces of each crop to those of the page."""
    return [Recall("rects"), Stitch("scores", "classes"), NMS(iou_threshold=0.3)]


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
