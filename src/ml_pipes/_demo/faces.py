"""CenterFace as a list of steps: a photograph's path in, its faces out.

Knows the model and what it wants before and after. Knows nothing of where its file is.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract, Infer
from ml_pipes.standard import Pick, Recall, Store
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import (
    NMS,
    Decode,
    DecodeCenterFace,
    DrawBoxes,
    LoadFile,
    Normalize,
    ProjectBoxes,
    ProjectPoints,
    Resize,
    SaveImage,
)

__all__ = ["draw_faces", "find_faces"]


def find_faces(model: Path, threshold: float = 0.5) -> Pipeline[str | Path, TensorRegistry]:
    """A path goes in; ``boxes``, ``scores`` and ``landmarks`` come out, pixels of the photograph."""
    return Pipeline(_steps(model, threshold))


def draw_faces(
    model: Path, output: str | Path, threshold: float = 0.5
) -> Pipeline[str | Path, TensorRegistry]:
    """As :func:`find_faces`, and the photograph with the faces marked is written to ``output``.

    Raises:
        ValueError: ``output`` has an extension that no picture has, or ``threshold`` is not 0 to 1.
    """
    drawing: list[Any] = [
        Recall("photograph", prepend=True),
        DrawBoxes(classes=None),
        SaveImage(str(output), at=0),
        Pick(1),
    ]
    return Pipeline([*_steps(model, threshold), *drawing])


def _steps(model: Path, threshold: float) -> list[Any]:
    return [
        LoadFile(),
        Decode(),
        Store("photograph"),
        Resize(None, mode="resize", multiple_of=32),
        Store("transform", source=1),
        Pick(0),
        Normalize(scale=1.0),
        Infer(str(model), free_axes=(0, 2, 3)),
        Extract("537", "538", "539", "540", as_=("heatmap", "scale", "offset", "landmarks")),
        DecodeCenterFace(threshold=threshold, iou_threshold=None),
        NMS(conf_threshold=0.0, iou_threshold=0.3, max_detections=1000, aligned=("landmarks",)),
        Recall("transform"),
        ProjectBoxes(),
        Recall("transform"),
        ProjectPoints(),
    ]
