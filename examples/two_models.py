"""Two ``Batch`` regions in one pipeline: a detector on photographs, then a second model on each face.

The second model is the same net on the face's surroundings, enlarged, which gives a closer box. The faces
of all callers meet before it. Who leaves the first region is known to come to the second.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from photographs import after_model, at_once, before_model, check_same, open_model, photographs, report

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Pick, Recall, Scatter, Store, UnBatch
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorRegistry
from ml_pipes.vision import NMS, Decode, ImagePayload, ProjectBoxes, ResizeTransform

__all__ = ["joined", "main", "one_by_one", "surroundings", "together"]


def surroundings(faces: TensorRegistry, picture: ImagePayload) -> list[Any]:
    """For each face the part of the picture around it, twice as wide and high, and where that lies."""
    parts = []
    limits = np.array([picture.width, picture.height] * 2)
    for box in faces["boxes"]:
        grown = box + np.concatenate([box[:2] - box[2:], box[2:] - box[:2]]) / 2
        left, top, right, bottom = np.clip(np.rint(grown), 0, limits).astype(int).tolist()
        part = ImagePayload(np.ascontiguousarray(picture.array[top:bottom, left:right]))
        pad = (-float(left), -float(top))
        parts.append((part, ResizeTransform((1.0, 1.0), pad, picture.spatial_shape, part.spatial_shape)))
    return parts


def joined(parts: list[TensorRegistry]) -> TensorRegistry:
    """The faces of all parts in one registry."""
    names = ("boxes", "scores", "classes")
    return TensorRegistry({name: np.concatenate([part[name] for part in parts]) for name in names})


def together(model: Infer) -> Pipeline[bytes, TensorRegistry]:
    """Callers meet twice: with their photographs, and with the faces in them."""
    return Pipeline([
        Decode(), Store("photograph"), *before_model(320),
        Batch(size=4), Collate(), model, Distribute(), UnBatch(),
        *after_model(), Recall("photograph"), surroundings,
        Scatter(max_concurrency=2), Store("place", source=1), Pick(0), *before_model(128),
        Batch(size=8), Collate(), model, Distribute(), UnBatch(),
        *after_model(), Recall("place"), ProjectBoxes(), Gather(),
        joined, NMS(iou_threshold=0.3),
    ])  # fmt: skip


def one_by_one(model: Infer) -> Pipeline[bytes, TensorRegistry]:
    """The same without company."""
    return Pipeline([
        Decode(), Store("photograph"), *before_model(320), model,
        *after_model(), Recall("photograph"), surroundings,
        PerItem(), Store("place", source=1), Pick(0), *before_model(128), model,
        *after_model(), Recall("place"), ProjectBoxes(), CollectItems(),
        joined, NMS(iou_threshold=0.3),
    ])  # fmt: skip


def main() -> PipelineStats:
    """Eight callers at once."""
    model, files = open_model(), photographs(8)
    serial = [one_by_one(model)(data) for data in files]
    with together(model) as pipeline:
        faces = at_once(pipeline, files)
        print(f"eight callers, faces of each, looked at twice: {[len(found['boxes']) for found in faces]}")
        check_same(serial, faces)
        report(pipeline)
        return pipeline.stats()


if __name__ == "__main__":
    main()
