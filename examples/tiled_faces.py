"""A 4K picture goes through the model in tiles; its faces come back as one list, are drawn and counted.

``Tile`` cuts the picture and says where the tiles lie, ``Stitch`` brings the boxes of all tiles back, and
``NMM`` makes one box of those of one face: the whole face in one tile, and what another tile's edge left.
The picture is made of one photograph in three sizes. The whole fits too, so the tiles are compared with it.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from photographs import open_model, photographs, report

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Extract, Infer
from ml_pipes.standard import Batch, Gather, Pick, Recall, Scatter, Store, UnBatch
from ml_pipes.tensor import Collate, TensorRegistry
from ml_pipes.vision import (
    Decode,
    DecodeCenterFace,
    DrawBoxes,
    ImagePayload,
    Normalize,
    ProjectBoxes,
    Resize,
    SaveImage,
)
from ml_pipes.vision.boxes import box_ious
from ml_pipes.vision.merge import NMM
from ml_pipes.vision.tiling import Stitch, Tile

__all__ = ["in_tiles", "main", "picture_4k", "whole"]

SIDE, OVERLAP = 1280, 320
SIZE_WH = (3840, 2160)
# The photographs of a row are so many pixels to a side; each row is full.
ROWS = (1280, 480, 384)


def in_tiles(model: Infer) -> Pipeline[ImagePayload, TensorRegistry]:
    """Four tiles share a run of the model; a face that several tiles saw is merged."""
    return Pipeline([
        Tile((SIDE, SIDE), (OVERLAP, OVERLAP)), Store("rects", source=1), Pick(0),
        Scatter(max_concurrency=8),
        Normalize(scale=1.0), Batch(size=4), Collate(), model, Distribute(), UnBatch(),
        *decode(),
        Gather(),
        Recall("rects"), Stitch("scores", "classes"),
        NMM(merge="union", metric="ios"),
    ])  # fmt: skip


def whole(model: Infer) -> Pipeline[ImagePayload, TensorRegistry]:
    """The picture in one run, which takes the memory of all its tiles at once."""
    return Pipeline([
        Resize(None, mode="resize", multiple_of=32), Store("transform", source=1), Pick(0),
        Normalize(scale=1.0), model,
        *decode(),
        Recall("transform"), ProjectBoxes(),
    ])  # fmt: skip


def decode() -> list[Any]:
    """The steps from the model's outputs to faces, in pixels of its input."""
    return [
        Extract("537", "538", "539", "540", as_=("heatmap", "scale", "offset", "landmarks")),
        DecodeCenterFace(threshold=0.5),
    ]


def picture_4k() -> ImagePayload:
    """A picture of 3840x2160 pixels: rows of one photograph, large and small, every second mirrored."""
    photograph = Decode()(photographs(1)[0]).array
    canvas = np.full((SIZE_WH[1], SIZE_WH[0], 3), 114, np.uint8)
    top = 0
    for side in ROWS:
        cell = cv2.resize(photograph, (side, side), interpolation=cv2.INTER_LINEAR)
        for at in range(SIZE_WH[0] // side):
            canvas[top : top + side, at * side : (at + 1) * side] = cell[:, ::-1] if at % 2 else cell
        top += side
    return ImagePayload(canvas)


def main(output: str | Path = "tiled_faces.jpg") -> tuple[TensorRegistry, TensorRegistry]:
    """Find the faces in tiles and in the whole, compare them, and write the marked picture."""
    model, picture = open_model(), picture_4k()
    rects = Tile((SIDE, SIDE), (OVERLAP, OVERLAP))(picture)[1]
    with in_tiles(model) as pipeline:
        faces = pipeline(picture)
        print(f"{len(rects)} tiles of {SIDE}x{SIDE}: {len(faces['boxes'])} faces")
        report(pipeline)
    at_once = whole(model)(picture)
    overlaps = box_ious(at_once["boxes"], faces["boxes"]).max(axis=1, initial=0)
    print(
        f"the whole picture: {len(overlaps)} faces, of which {np.count_nonzero(overlaps >= 0.5)} "
        "were found in tiles"
    )
    if len(overlaps):
        print(f"  they overlap by {overlaps.min():.2f} to {overlaps.max():.2f}")
    Pipeline([DrawBoxes(classes=None, thickness=4, font_scale=1.0), SaveImage(output, at=0)])(
        (picture, faces)
    )
    print(f"the marked picture is in {output}")
    return faces, at_once


if __name__ == "__main__":
    main(*sys.argv[1:2])
