"""Of boxes that show one thing, the best.

Knows boxes, scores and classes. Knows nothing of models.

Exact greedy suppression in NumPy alone. One class goes in blocks of falling score
and stops as soon as enough are kept; several classes go side by side in rounds,
one box of each per round.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor.select import Indices, ranking
from ml_pipes.tensor.types import Array, TensorRegistry

__all__ = ["NMS", "nms"]


_BLOCK = 128
_ANY_OVERLAP = np.finfo(np.float64).tiny


def nms(
    boxes: Array,
    scores: Array,
    classes: Array,
    conf_threshold: float = 0.25,
    iou_threshold: float = 0.45,
    max_detections: int = 300,
) -> Indices:
    """Find the boxes that stay when each suppresses what it overlaps in its own class.

    Args:
        boxes: ``(N, 4)`` ``xyxy``, any unit and real dtype; computed in float64. N may be 0.
        scores: ``(N,)``. Equal scores rank by index, the lower first.
        classes: ``(N,)``; boxes of different classes do not touch each other.
        conf_threshold: the lowest score that counts; NaN never does.
        iou_threshold: a box goes when it overlaps a better one of its class by this
            much or more. Boxes that do not overlap at all stay, at 0 too.
        max_detections: how many stay at most, over all classes.

    Returns:
        ``(K,)`` int64 indices into the input, best score first. A box that holds NaN,
        is inverted or has no area suppresses none and is suppressed by none; those
        that hold NaN rank last.

    Raises:
        ValueError: the shapes do not belong together.
    """
    _check_shapes(boxes, scores, classes)
    candidates = np.flatnonzero(scores >= conf_threshold)
    order = candidates[ranking(scores[candidates])]
    numberless = np.isnan(boxes[order]).any(axis=1) if boxes.dtype.kind == "f" else np.zeros(len(order), bool)
    without, order = order[numberless], order[~numberless]
    kinds = classes[order]
    corners = np.ascontiguousarray(boxes[order].T, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # boxes without area, or without end
        if kinds.size and (kinds == kinds[0]).all():
            kept = order[_blockwise(corners, iou_threshold, max_detections)]
        else:
            kept = order[_by_rounds(corners, kinds, iou_threshold)]
    return np.concatenate([kept, without])[:max_detections].astype(np.int64, copy=False)


def _blockwise(corners: Array, iou_threshold: float, most: int) -> Indices:
    """Boxes of one class, best first, to the indices of those that stay."""
    areas = _areas(corners)
    kept = np.empty(0, np.int64)
    for start in range(0, len(areas), _BLOCK):
        if len(kept) >= most:
            break
        block = np.arange(start, min(start + _BLOCK, len(areas)))
        block = block[~_suppress(corners, areas, kept[:, None], block, iou_threshold).any(axis=0)]
        among = _suppress(corners, areas, block[:, None], block, iou_threshold)
        alive = np.ones(len(block), bool)
        for at in range(len(block)):
            if alive[at]:
                alive[at + 1 :] &= ~among[at, at + 1 :]
        kept = np.concatenate([kept, block[alive]])
    return kept


def _by_rounds(corners: Array, classes: Array, iou_threshold: float) -> Indices:
    """Boxes of several classes, best first, to the indices of those that stay, best first."""
    # Sorted by class, and within it still best first: each class is one run with its best in front.
    alive = np.argsort(classes, kind="stable")
    areas = _areas(corners)
    kept = [np.empty(0, np.int64)]
    while alive.size:
        kinds = classes[alive]
        first = np.flatnonzero(np.concatenate([[True], kinds[1:] != kinds[:-1]]))
        heads = alive[first]
        kept.append(heads)
        of = np.repeat(heads, np.diff(np.append(first, alive.size)))
        stays = ~_suppress(corners, areas, of, alive, iou_threshold)
        stays[first] = False
        alive = alive[stays]
    return np.sort(np.concatenate(kept))


def _areas(corners: Array) -> Array:
    width, height = np.maximum(corners[2:] - corners[:2], 0)
    area: Array = width * height
    return area


def _suppress(
    corners: Array, areas: Array, ones: Indices, others: Indices, threshold: float
) -> npt.NDArray[np.bool_]:
    """For each pair of indices, broadcast: do the two boxes overlap too much to both stay?"""
    left, top, right, bottom = corners
    inside = np.minimum(right[ones], right[others]) - np.maximum(left[ones], left[others])
    height = np.minimum(bottom[ones], bottom[others]) - np.maximum(top[ones], top[others])
    inside = np.maximum(inside, 0, out=inside)
    inside *= np.maximum(height, 0, out=height)
    union = areas[ones] + areas[others]
    union -= inside
    # Two boxes without area have no union either, and 0/0 is above no threshold.
    inside_share = np.divide(inside, union, out=union)
    too_much: npt.NDArray[np.bool_] = inside_share >= max(threshold, _ANY_OVERLAP)
    return too_much


@Operator
class NMS:
    """Keep the best of boxes that show one thing; see :func:`nms`."""

    def __init__(
        self,
        boxes: str = "boxes",
        scores: str = "scores",
        classes: str = "classes",
        kept_as: str | None = None,
        conf_threshold: float = 0.25,
        iou_threshold: float = 0.45,
        max_detections: int = 300,
        *,
        aligned: Sequence[str] = (),
    ) -> None:
        """Configure the step.

        Args:
            boxes: the tensor ``(N, 4)`` ``xyxy``.
            scores: the tensor ``(N,)``.
            classes: the tensor ``(N,)``.
            kept_as: where to write the kept indices, int64; None does not.
            conf_threshold: the lowest score that counts.
            iou_threshold: the overlap, 0 to 1, from which on the lesser box goes.
            max_detections: how many stay at most, over all classes.
            aligned: more tensors with a row per box, such as ``("landmarks",)``, to keep in step.

        Raises:
            ValueError: an argument is out of its range, or ``classes`` is None.
            TypeError: ``aligned`` is one name instead of a tuple.
        """
        if classes is None:
            raise ValueError(
                "NMS: classes must name a tensor, got None; zeros of (N,) make all boxes one class"
            )
        if not 0 <= iou_threshold <= 1:
            raise ValueError(f"NMS: iou_threshold must be 0 to 1, got {iou_threshold}")
        if np.isnan(conf_threshold):
            raise ValueError("NMS: conf_threshold must be a number, got nan")
        if max_detections < 0:
            raise ValueError(f"NMS: max_detections must be 0 or more, got {max_detections}")
        if isinstance(aligned, str):
            raise TypeError(f"NMS: aligned must be a tuple of names, got {aligned!r}; write ({aligned!r},)")
        self.boxes = boxes
        self.scores = scores
        self.classes = classes
        self.kept_as = kept_as
        self.conf_threshold = conf_threshold
        self.iou_threshold = iou_threshold
        self.max_detections = max_detections
        self.aligned = aligned

    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry in which boxes, scores, classes and what is aligned hold the kept rows.

        Raises:
            ValueError: the shapes do not belong together.
        """
        boxes, scores, classes = (tensors[name] for name in (self.boxes, self.scores, self.classes))
        kept = nms(boxes, scores, classes, self.conf_threshold, self.iou_threshold, self.max_detections)
        rows: dict[str, Array] = {}
        for name in (self.boxes, self.scores, self.classes, *self.aligned):
            if len(tensors[name]) != len(scores):
                raise ValueError(
                    f"NMS: aligned tensor {name!r} of shape {tensors[name].shape} does not have "
                    f"a row for each of the {len(scores)} boxes"
                )
            rows[name] = tensors[name][kept]
        if self.kept_as is not None:
            rows[self.kept_as] = kept
        return tensors.replace(**rows)


def _check_shapes(boxes: Array, scores: Array, classes: Array) -> None:
    many = boxes.shape[:1]
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != many or classes.shape != many:
        raise ValueError(
            "NMS: wanted boxes (N, 4), scores (N,) and classes (N,), "
            f"got {boxes.shape}, {scores.shape} and {classes.shape}"
        )
