"""Writes ``sahi_reference.json``: how SAHI slices pictures, and how it merges boxes.

It needs an environment of its own, since ``sahi`` brings another build of OpenCV::

    python -m venv owner
    owner/bin/pip install --no-deps sahi==0.12.8
    owner/bin/pip install numpy pillow tqdm shapely requests opencv-python-headless
    owner/bin/python tests/vision/make_sahi_reference.py

Knows the owner's package. Knows nothing of ml-pipes.
"""

from __future__ import annotations

import importlib.metadata
import json
from pathlib import Path
from typing import Any

import numpy as np
from sahi.postprocess.combine import GreedyNMMPostprocess, batched_greedy_nmm, greedy_nmm
from sahi.postprocess.utils import ObjectPredictionList
from sahi.prediction import ObjectPrediction
from sahi.slicing import get_slice_bboxes

__all__ = ["main"]

COMMAND = "owner/bin/python tests/vision/make_sahi_reference.py"
# Width and height of picture and slice, and the overlap as a part of the slice.
SLICES = [
    (1920, 1080, 640, 640, 0.2),
    (1920, 1080, 1056, 594, 0.1),
    (3840, 2160, 960, 960, 0.5),
    (1000, 1000, 250, 250, 0.0),
    (1024, 768, 512, 256, 0.25),
    (300, 200, 640, 640, 0.2),
    (1500, 200, 640, 640, 0.2),
    (641, 640, 640, 640, 0.2),
    (97, 101, 16, 32, 0.75),
]
METRICS, THRESHOLDS = ("IOU", "IOS"), (0.3, 0.5, 0.75)


def main() -> None:
    """Run the owner on every case and write the file beside this one."""
    rng = np.random.default_rng(20)
    cases = {"random": _random(rng), "clusters": _clusters(rng, 1000), "ties": _clusters(rng, 4)}
    result = {
        "command": COMMAND,
        "versions": {name: importlib.metadata.version(name) for name in ("sahi", "numpy", "shapely")},
        "slices": [_sliced(*given) for given in SLICES],
        "merges": {name: _merged(rows) for name, rows in cases.items()},
    }
    target = Path(__file__).with_name("sahi_reference.json")
    target.write_text(json.dumps(result, separators=(",", ":")) + "\n", encoding="utf-8")


def _sliced(width: int, height: int, slice_width: int, slice_height: int, ratio: float) -> dict[str, Any]:
    found = get_slice_bboxes(height, width, slice_height, slice_width, False, ratio, ratio)
    return {"given": [width, height, slice_width, slice_height, ratio], "slices": found}


def _merged(rows: list[list[float]]) -> dict[str, Any]:
    """The rows (x1, y1, x2, y2, score, class), and what the owner makes of them in each way."""
    ways = [(metric, at, wide) for metric in METRICS for at in THRESHOLDS for wide in (False, True)]
    return {"rows": rows, "results": [_merged_so(rows, *way) for way in ways]}


def _merged_so(
    rows: list[list[float]], metric: str, threshold: float, class_agnostic: bool
) -> dict[str, Any]:
    def predictions() -> list[ObjectPrediction]:
        return [ObjectPrediction(bbox=row[:4], score=row[4], category_id=int(row[5])) for row in rows]

    find = greedy_nmm if class_agnostic else batched_greedy_nmm
    groups = find(ObjectPredictionList(predictions()).tonumpy(), metric, threshold)
    merged = GreedyNMMPostprocess(threshold, metric, class_agnostic)(predictions())
    return {
        "metric": metric.lower(),
        "threshold": threshold,
        "class_agnostic": class_agnostic,
        "kept": [int(row) for row in groups],
        "boxes": [[round(float(side), 4) for side in one.bbox.to_xyxy()] for one in merged],
        "scores": [float(one.score.value) for one in merged],
        "classes": [int(one.category.id) for one in merged],
    }


def _random(rng: np.random.Generator) -> list[list[float]]:
    corners, sides = rng.uniform(0, 300, (60, 2)), rng.uniform(5, 150, (60, 2))
    boxes = np.concatenate([corners, corners + sides], axis=1)
    return _rows(boxes, rng.permutation(60) / 100 + 0.2, rng.integers(0, 3, 60))


def _clusters(rng: np.random.Generator, scores: int) -> list[list[float]]:
    """Things found in several tiles: whole ones that wobble, and parts that a tile's edge cut off."""
    boxes, classes = [], []
    for kind in rng.integers(0, 3, 14):
        corner, side = rng.uniform(50, 900, 2), rng.uniform(30, 200, 2)
        whole = np.concatenate([corner, corner + side])
        for _ in range(rng.integers(1, 4)):
            boxes.append(whole + rng.normal(0, side.mean() / 15, 4))
            classes.append(kind)
        if rng.random() < 0.6:
            part = whole.copy()
            part[2] = corner[0] + side[0] * rng.uniform(0.3, 0.8)
            boxes.append(part)
            classes.append(kind if rng.random() < 0.8 else (kind + 1) % 3)
    # The same box again, and one without area in the middle of another.
    boxes += [boxes[0], np.concatenate([boxes[0][:2] + 5, boxes[0][:2] + 5])]
    classes += [classes[0], classes[0]]
    drawn = (
        rng.permutation(scores)[: len(boxes)] if scores > len(boxes) else rng.integers(0, scores, len(boxes))
    )
    return _rows(np.array(boxes), (drawn + 1) / (scores + 1), np.array(classes))


def _rows(boxes: Any, scores: Any, classes: Any) -> list[list[float]]:
    table = np.column_stack([boxes.round(2), np.asarray(scores).round(4), classes])
    return [[float(value) for value in row] for row in table]


if __name__ == "__main__":
    main()
