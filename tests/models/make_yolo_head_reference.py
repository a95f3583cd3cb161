"""Writes ``yolo_head_reference.json``: what 320n's own package finds in five photographs, as numbers.

Class numbers, scores and boxes, nothing else; and the candidates that the package gave to its
suppression. It needs an environment of its own, since ``nudenet`` brings another build of OpenCV::

    python -m venv owner
    owner/bin/pip install --no-deps nudenet==3.4.2 ultralytics==8.4.190 scikit-image==0.26.0
    owner/bin/pip install onnxruntime opencv-python-headless
    owner/bin/python tests/models/make_yolo_head_reference.py

Knows the owner's package. Knows nothing of ml-pipes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import cv2
from nudenet import NudeDetector, nudenet

__all__ = ["main"]

COMMAND = "owner/bin/python tests/models/make_yolo_head_reference.py"
PHOTOGRAPHS = {
    "bus.jpg": ("ultralytics", "ultralytics/assets/bus.jpg"),
    "zidane.jpg": ("ultralytics", "ultralytics/assets/zidane.jpg"),
    "astronaut.png": ("scikit-image", "skimage/data/astronaut.png"),
    "camera.png": ("scikit-image", "skimage/data/camera.png"),
    "chelsea.png": ("scikit-image", "skimage/data/chelsea.png"),
}
SIDES = (320, 640)


def main() -> None:
    """Run the owner on every photograph, at two sizes, and write the file beside this one."""
    packages = ("nudenet", "onnxruntime", "numpy", "opencv-python-headless", "scikit-image", "ultralytics")
    result = {
        "command": COMMAND,
        "decoded": "cv2.imread(path, cv2.IMREAD_COLOR)",
        "boxes": "x, y, width, height in pixels of the photograph",
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "photographs": {name: _photograph(*where) for name, where in PHOTOGRAPHS.items()},
    }
    target = Path(__file__).with_name("yolo_head_reference.json")
    target.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _photograph(package: str, inner: str) -> dict[str, Any]:
    path = str(importlib.metadata.distribution(package).locate_file(inner))
    bgr = cv2.imread(path, cv2.IMREAD_COLOR)
    return {
        "package": package,
        "path": inner,
        "shape": list(bgr.shape),
        "sha256_of_bgr": hashlib.sha256(bgr.tobytes()).hexdigest(),
        "found": {str(side): _found(bgr, side) for side in SIDES},
    }


def _found(bgr: Any, side: int) -> dict[str, Any]:
    candidates: list[dict[str, Any]] = []
    suppress = cv2.dnn.NMSBoxes

    def noting(boxes: Any, scores: Any, *thresholds: float) -> Any:
        pairs = zip(boxes, scores, strict=True)
        candidates.extend({"score": _rounded(score), "box": list(map(_rounded, box))} for box, score in pairs)
        return suppress(boxes, scores, *thresholds)

    cv2.dnn.NMSBoxes = noting
    try:
        kept = NudeDetector(inference_resolution=side).detect(bgr)
    finally:
        cv2.dnn.NMSBoxes = suppress
    numbers = {name: number for number, name in enumerate(getattr(nudenet, "__labels"))}
    detections = [
        {"class": numbers[one["class"]], "score": _rounded(one["score"]), "box": one["box"]} for one in kept
    ]
    return {"candidates": candidates, "detections": detections}


def _rounded(value: float) -> float:
    return round(float(value), 6)


if __name__ == "__main__":
    main()
