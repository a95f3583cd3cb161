"""One large picture is cut into tiles, the tiles share runs of the model, and their faces are put together.

``ResizeTransform`` says where a tile lies, so ``ProjectBoxes`` brings its boxes back to the picture, and
``NMS`` keeps one of the boxes of a face that is in two tiles. The picture is a sheet of eight photographs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from photographs import after_model, check_same, open_model, photographs, report

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Pick, Scatter, Store, UnBatch
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorRegistry
from ml_pipes.vision import NMS, Decode, ImagePayload, Normalize, Resize, ResizeTransform

__all__ = ["cut", "cut_tiles", "main", "one_by_one", "sheet", "stitched", "together"]

SIDE, OVERLAP = 512, 128


def cut(picture: ImagePayload, side: int = SIDE, overlap: int = OVERLAP) -> list[Any]:
    """Tiles of one size that overlap, each with where it lies; the last of a row ends at the edge."""
    height, width = picture.spatial_shape
    tall, wide = min(side, height), min(side, width)
    tiles = []
    for top in _starts(height, tall, overlap):
        for left in _starts(width, wide, overlap):
            pixels = picture.array[top : top + tall, left : left + wide]
            place = ResizeTransform((1.0, 1.0), (-float(left), -float(top)), (height, width), (tall, wide))
            tiles.append((ImagePayload(np.ascontiguousarray(pixels)), place))
    return tiles


def stitched(parts: list[TensorRegistry]) -> TensorRegistry:
    """The faces of all tiles in one registry, for ``NMS`` to choose from."""
    names = ("boxes", "scores", "classes")
    return TensorRegistry({name: np.concatenate([part[name] for part in parts]) for name in names})


def together(model: Infer) -> Pipeline[ImagePayload, TensorRegistry]:
    """Up to eight tiles share a run of the model."""
    return Pipeline([
        cut_tiles,
        Scatter(max_concurrency=8),
        Store("transform", source=1), Pick(0), Normalize(scale=1.0),
        Batch(size=8), Collate(), model, Distribute(), UnBatch(),
        *after_model(),
        Gather(),
        stitched, NMS(iou_threshold=0.3),
    ])  # fmt: skip


def one_by_one(model: Infer) -> Pipeline[ImagePayload, TensorRegistry]:
    """One run of the model for each tile."""
    tile: list[Any] = [Store("transform", source=1), Pick(0), Normalize(scale=1.0), model]
    return Pipeline(
        [cut_tiles, PerItem(), *tile, *after_model(), CollectItems(), stitched, NMS(iou_threshold=0.3)]
    )


def cut_tiles(picture: ImagePayload) -> list[Any]:
    """``cut`` as a step: a step's parameters with defaults would count."""
    return cut(picture)


def sheet() -> ImagePayload:
    """A picture of 2048x1024 pixels: four photographs beside each other, in two rows."""
    fit = Pipeline([Decode(), Resize((512, 512)), Pick(0)])
    cells = [fit(data).array for data in photographs(8)]
    return ImagePayload(np.vstack([np.hstack(cells[:4]), np.hstack(cells[4:])]))


def main() -> PipelineStats:
    """Find the faces of the sheet tile by tile and in batches, and compare."""
    model, picture = open_model(), sheet()
    with together(model) as pipeline:
        faces = pipeline(picture)
        print(f"{len(cut(picture))} tiles of {SIDE}x{SIDE}, {len(faces['boxes'])} faces")
        check_same([one_by_one(model)(picture)], [faces])
        report(pipeline)
        return pipeline.stats()


def _starts(length: int, side: int, overlap: int) -> list[int]:
    return [*range(0, length - side, side - overlap), length - side]


if __name__ == "__main__":
    main()
