"""CenterFace's four maps to faces.

Knows what that one network means by its numbers. Knows nothing of how it is run.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.tensor.select import ranking
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision.nms import nms

__all__ = ["DecodeCenterFace", "Faces", "decode_centerface"]


_STRIDE = 4
_LANDMARKS = 5
_LARGEST = 40.0


class Faces(NamedTuple):
    """Faces of one picture, best score first, in pixels of the net's input.

    Attributes:
        boxes: ``(N, 4)`` float32 ``xyxy``.
        scores: ``(N,)`` float32, 0 to 1.
        classes: ``(N,)`` int64, all 0: there is one class.
        landmarks: ``(N, 5, 2)`` float32 x, y: eyes, nose, corners of the mouth.
    """

    boxes: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float32]
    classes: npt.NDArray[np.int64]
    landmarks: npt.NDArray[np.float32]


def decode_centerface(
    heatmap: Array,
    scale: Array,
    offset: Array,
    landmarks: Array,
    threshold: float = 0.5,
    iou_threshold: float | None = 0.3,
) -> Faces:
    """Turn CenterFace's output maps into faces.

    A cell (y, x) of the maps, 4 pixels of the input to a side, is a face when its
    heat is above the threshold. The face is ``exp(scale) * 4`` high and wide around
    ``(cell + offset + 0.5) * 4``; its top-left corner is cut at the picture first,
    and the other corner and the landmarks are counted from there (Xu et al.,
    "CenterFace: Joint Face Detection and Alignment Using Face as Point", 2019, and
    the decoding published with it).

    Args:
        heatmap: ``(1, 1, h, w)`` or ``(h, w)``, 0 to 1.
        scale: ``(1, 2, h, w)`` or ``(2, h, w)``: logarithms, height before width.
        offset: as ``scale``: y before x, in cells.
        landmarks: ``(1, 10, h, w)`` or ``(10, h, w)``: five pairs y, x, in parts of the face's size.
        threshold: the heat, 0 to 1, that a face is above.
        iou_threshold: faces that overlap a better one by this much or more go; None keeps them all.

    Returns:
        The faces; empty arrays of the same dtypes when there are none.

    Raises:
        ValueError: the maps do not belong together, or hold more than one picture.
    """
    heat, log_sizes, shifts, pairs = _maps_of_one(heatmap, scale, offset, landmarks)
    cells = np.argwhere(heat > threshold)
    rows, columns = cells.T
    # No face is larger than this; it still fits float32, so nothing overflows.
    sizes = np.exp(np.minimum(log_sizes[:, rows, columns].T.astype(np.float64), _LARGEST)) * _STRIDE
    centres = (cells + shifts[:, rows, columns].T.astype(np.float64) + 0.5) * _STRIDE
    picture = np.array(heat.shape) * _STRIDE
    corners = np.clip(centres - sizes / 2, 0, picture)
    ends = np.minimum(corners + sizes, picture)
    points = pairs[:, rows, columns].T.reshape(-1, _LANDMARKS, 2) * sizes[:, None] + corners[:, None]
    boxes = np.concatenate([corners[:, ::-1], ends[:, ::-1]], axis=1).astype(np.float32)
    scores = heat[rows, columns].astype(np.float32)
    classes = np.zeros(len(cells), np.int64)
    if iou_threshold is None:
        kept = ranking(scores)
    else:
        kept = nms(boxes, scores, classes, -np.inf, iou_threshold, len(cells))
    with np.errstate(over="ignore"):
        marks = points[kept, :, ::-1].astype(np.float32)
    return Faces(boxes[kept], scores[kept], classes[kept], marks)


@Operator
class DecodeCenterFace:
    """Turn CenterFace's output maps, by name in a registry, into faces; see :func:`decode_centerface`.

    Feed the net raw RGB, 0 to 255, stretched to multiples of 32
    (``Resize(None, "resize", multiple_of=32)``, ``Normalize(scale=1.0)``);
    ``ProjectBoxes`` and ``ProjectPoints`` bring the faces back to the photograph.
    """

    def __init__(
        self,
        threshold: float = 0.5,
        iou_threshold: float | None = 0.3,
        *,
        heatmap: str = "heatmap",
        scale: str = "scale",
        offset: str = "offset",
        landmarks: str = "landmarks",
    ) -> None:
        """Configure the step.

        Args:
            threshold: the heat that a face is above, 0 to 1.
            iou_threshold: the overlap, 0 to 1, from which on the lesser face goes; None keeps all.
            heatmap: the tensor ``(1, 1, h, w)`` (the net's output 537).
            scale: the tensor ``(1, 2, h, w)`` (538).
            offset: the tensor ``(1, 2, h, w)`` (539).
            landmarks: the tensor ``(1, 10, h, w)`` (540); the faces' landmarks take its name.

        Raises:
            ValueError: a threshold is out of its range.
        """
        if not 0 <= threshold <= 1:
            raise ValueError(f"DecodeCenterFace: threshold must be 0 to 1, got {threshold}")
        if iou_threshold is not None and not 0 <= iou_threshold <= 1:
            raise ValueError(f"DecodeCenterFace: iou_threshold must be 0 to 1 or None, got {iou_threshold}")
        self.threshold = threshold
        self.iou_threshold = iou_threshold
        self.heatmap = heatmap
        self.scale = scale
        self.offset = offset
        self.landmarks = landmarks

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with ``boxes``, ``scores``, ``classes`` and landmarks of the faces.

        Raises:
            ValueError: the maps do not belong together, or hold more than one picture.
        """
        faces = decode_centerface(
            tensors[self.heatmap],
            tensors[self.scale],
            tensors[self.offset],
            tensors[self.landmarks],
            self.threshold,
            self.iou_threshold,
        )
        points = {self.landmarks: faces.landmarks}
        return tensors.replace(boxes=faces.boxes, scores=faces.scores, classes=faces.classes, **points)


def _maps_of_one(heatmap: Array, scale: Array, offset: Array, landmarks: Array) -> list[Array]:
    """Give the maps without their batch axis, the heat as (h, w); ValueError when they do not fit."""
    given = (heatmap, scale, offset, landmarks)
    cells = heatmap.shape[-2:]
    heat = heatmap.reshape(cells) if heatmap.size == np.prod(cells) else None
    found = [part[0] if part.ndim == 4 and len(part) == 1 else part for part in given[1:]]
    wanted = [(channels, *cells) for channels in (2, 2, 2 * _LANDMARKS)]
    if heat is None or [part.shape for part in found] != wanted:
        raise ValueError(
            "DecodeCenterFace: wanted the maps of one picture, heatmap (1, 1, h, w), scale and offset "
            f"(1, 2, h, w) and landmarks (1, 10, h, w), got {', '.join(str(part.shape) for part in given)}; "
            "a batch goes through Distribute() and UnBatch() first"
        )
    return [heat, *found]
