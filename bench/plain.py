"""What people write by hand instead of a step: straightforward NumPy and OpenCV, to be compared with.

Knows arrays. Knows nothing of ml-pipes.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

__all__ = ["decode_head", "letterbox", "normalize", "project_masks", "suppress"]

Array = npt.NDArray[Any]


def letterbox(
    pixels: Array, side: int, pad: int = 114, *, center: bool = True
) -> tuple[Array, float, int, int]:
    """Resize with the proportions kept and pad to a square; with the factor and the padding (left, top)."""
    height, width = pixels.shape[:2]
    scale = min(side / height, side / width)
    new_width, new_height = round(width * scale), round(height * scale)
    resized = cv2.resize(pixels, (new_width, new_height), interpolation=cv2.INTER_LINEAR)
    spare_x, spare_y = side - new_width, side - new_height
    left, top = (spare_x // 2, spare_y // 2) if center else (0, 0)
    padded = cv2.copyMakeBorder(
        resized, top, spare_y - top, left, spare_x - left, cv2.BORDER_CONSTANT, value=(pad, pad, pad)
    )
    return padded, scale, left, top


def normalize(pixels: Array, dtype: str = "float32", *, swap: bool = True) -> Array:
    """(H, W, 3) BGR to (1, 3, H, W), 0 to 1; RGB with ``swap``."""
    ordered = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB) if swap else pixels
    scaled = ordered.astype(np.float32) / 255.0
    return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None]).astype(dtype)


def decode_head(output: Array, threshold: float) -> tuple[Array, Array, Array]:
    """(1, 4 + C, A) to boxes ``xyxy``, scores and classes: all candidates first, then the filter."""
    rows = output[0].T
    table = rows[:, 4:]
    classes, scores = table.argmax(axis=1), table.max(axis=1)
    kept = scores >= threshold
    x, y, w, h = rows[kept, :4].T
    boxes = np.stack([x - w / 2, y - h / 2, x + w / 2, y + h / 2], axis=1)
    return boxes, scores[kept], classes[kept]


def suppress(boxes: Array, scores: Array, classes: Array, threshold: float, most: int) -> Array:
    """Greedy suppression class by class; the kept indices, best score first."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept: list[int] = []
    for kind in np.unique(classes):
        members = np.flatnonzero(classes == kind)
        order = members[np.argsort(-scores[members], kind="stable")]
        of_kind = 0
        while order.size and of_kind < most:
            best, others = order[0], order[1:]
            kept.append(int(best))
            of_kind += 1
            left_top = np.maximum(boxes[best, :2], boxes[others, :2])
            right_bottom = np.minimum(boxes[best, 2:], boxes[others, 2:])
            sides = np.clip(right_bottom - left_top, 0, None)
            inside = sides[:, 0] * sides[:, 1]
            order = others[inside / (areas[best] + areas[others] - inside) < threshold]
    found = np.array(kept, np.int64)
    return found[np.argsort(-scores[found], kind="stable")][:most]


def project_masks(
    coefficients: Array, prototypes: Array, boxes: Array, shape_hw: tuple[int, int], side: int
) -> Array:
    """Prototypes to masks of the photograph, all on full canvases.

    The square of ``side`` is enlarged to, its centred padding cut off, the rest enlarged to the
    photograph, compared with the threshold and cut to each box (pixels of the photograph).
    """
    height, width = shape_hw
    scale = min(side / height, side / width)
    new_height, new_width = round(height * scale), round(width * scale)
    top, left = (side - new_height) // 2, (side - new_width) // 2
    logits = coefficients @ prototypes.reshape(len(prototypes), -1)
    small = (1 / (1 + np.exp(-logits))).reshape(-1, *prototypes.shape[1:])
    masks = np.zeros((len(small), height, width), np.uint8)
    for mask, canvas, box in zip(small, masks, boxes, strict=True):
        square = cv2.resize(mask, (side, side), interpolation=cv2.INTER_LINEAR)
        content = square[top : top + new_height, left : left + new_width]
        whole = cv2.resize(content, (width, height), interpolation=cv2.INTER_LINEAR) > 0.5
        x1, y1, x2, y2 = box.round().astype(int)
        canvas[y1:y2, x1:x2] = whole[y1:y2, x1:x2]
    return masks
