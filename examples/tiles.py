"""One large picture is cut into tiles, the tiles share runs of the model, and their faces are put together.

``Tile`` says where the tiles lie, so ``Stitch`` brings the boxes of all of them back to the picture, and
``NMS`` keeps one of the boxes of a face that is in two tiles. The picture is a sheet of eight photographs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from photographs import check_same, open_model, photographs, report

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Extract, Infer
from ml_pipes.standard import (
    Batch,
    CollectItems,
    Gather,
    PerItem,
    Pick,
    Recall,
    Scatter,
    Store,
    UnBatch,
)
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorRegistry
from ml_pipes.vision import NMS, Decode, DecodeCenterFace, ImagePayload, Normalize, Resize
from ml_pipes.vision.tiling import Stitch, Tile, tile_rects

__all__ = ["main", "one_by_one", "sheet", "together"]

SIDE, OVERLAP = 512, 128


def together(model: Infer) -> Pipeline[ImagePayload, TensorRegistry]:
    """Up to eight tiles share a run of the model."""
    return Pipeline([
        *in_tiles(),
        Scatter(max_concurrency=8),
        Normalize(scale=1.0), Batch(size=8), Collate(), model, Distribute(), UnBatch(), *decode(),
        Gather(),
        *stitched_faces(),
    ])  # fmt: skip


def one_by_one(model: Infer) -> Pipeline[ImagePayload, TensorRegistry]:
    """One run of the model for each tile."""
    return Pipeline([
        *in_tiles(),
        PerItem(), Normalize(scale=1.0), model, *decode(), CollectItems(),
        *stitched_faces(),
    ])  # fmt: skip


def in_tiles() -> list[Any]:
    """The steps from a picture to its tiles, which are of one size and overlap; where they lie is stored."""
    return [Tile((SIDE, SIDE), (OVERLAP, OVERLAP)), Store("rects", source=1), Pick(0)]


def decode() -> list[Any]:
    """The steps from one tile's row of the model's outputs to faces, in pixels of the tile."""
    return [
        Extract("537", "538", "539", "540", as_=("heatmap", "scale", "offset", "landmarks")),
        DecodeCenterFace(threshold=0.5),
    ]


def stitched_faces() -> list[Any]:
    """The steps from the faces of each tile to those of the picture."""
    return [Recall("rects"), Stitch("scores", "classes"), NMS(iou_threshold=0.3)]


def sheet() -> ImagePayload:
    """A picture of 2048x1024 pixels: four photographs beside each other, in two rows."""
    fit = Pipeline([Decode(), Resize((512, 512)), Pick(0)])
    cells = [fit(data).array for data in photographs(8)]
    return ImagePayload(np.vstack([np.hstack(cells[:4]), np.hstack(cells[4:])]))


def main() -> PipelineStats:
    """Find the faces of the sheet tile by tile and in batches, and compare."""
    model, picture = open_model(), sheet()
    rects = tile_rects(picture.size, (SIDE, SIDE), (OVERLAP, OVERLAP))
    with together(model) as pipeline:
        faces = pipeline(picture)
        print(f"{len(rects)} tiles of {SIDE}x{SIDE}, {len(faces['boxes'])} faces")
        check_same([one_by_one(model)(picture)], [faces])
        report(pipeline)
        return pipeline.stats()


if __name__ == "__main__":
    main()
