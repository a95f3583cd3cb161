"""Boxes that show one thing become one box.

Knows boxes, scores and classes. Knows nothing of models, nor of the tiles that the boxes may come from.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_names, takes
from ml_pipes.tensor.select import Indices
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision.boxes import box_areas, box_ious, finite_corners

__all__ = ["NMM", "Merge", "MergedBoxes", "Overlap", "box_overlaps", "merge_boxes"]

Merge = Literal["mean", "union"]
Overlap = Literal["iou", "ios"]

# So many winners are compared at once with all that is left: few tables, none of them large.
_BLOCK = 128
_ANY_OVERLAP = np.finfo(np.float64).tiny


class MergedBoxes(NamedTuple):
    """What became of boxes when those that show one thing were merged.

    Attributes:
        boxes: ``(K, 4)`` ``xyxy``, in the unit of the boxes that were given.
        kept: ``(K,)`` int64, the row whose score and class each of them has.
    """

    boxes: Array
    kept: Indices


def box_overlaps(ones: Array, others: Array, metric: Overlap = "iou") -> Array:
    """Give the overlap of each box of one list with each of another.

    Args:
        ones: ``(N, 4)`` ``xyxy``, any real dtype.
        others: ``(M, 4)`` ``xyxy``, in the same frame.
        metric: ``iou``, intersection over union, or ``ios``, intersection over the smaller of the
            two areas, which is 1 where one box lies in the other.

    Returns:
        ``(N, M)`` float64, 0 to 1. A box that is inverted, has no area or holds NaN overlaps nothing.

    Raises:
        ValueError: the boxes are not ``(N, 4)``, or ``metric`` is neither of the two.
    """
    _check_choice("box_overlaps: metric", metric, get_args(Overlap))
    if metric == "iou":
        return box_ious(ones, others)
    for boxes in (ones, others):
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise ValueError(f"box_overlaps: boxes must be (N, 4), got {boxes.shape}")
    corners = finite_corners(np.concatenate([ones.astype(np.float64), others.astype(np.float64)]))
    one, other = corners[: len(ones), None], corners[None, len(ones) :]
    sides = np.minimum(one[..., 2:], other[..., 2:]) - np.maximum(one[..., :2], other[..., :2])
    # fmax takes 0 for NaN, so a box without numbers overlaps nothing.
    inside = np.fmax(sides[..., 0], 0) * np.fmax(sides[..., 1], 0)
    smaller = np.minimum(box_areas(one), box_areas(other))
    shares: Array = np.divide(inside, smaller, out=np.zeros_like(inside), where=inside > 0)
    return shares


def merge_boxes(
    boxes: Array,
    scores: Array,
    classes: Array,
    threshold: float = 0.5,
    *,
    merge: Merge = "mean",
    metric: Overlap = "iou",
    class_agnostic: bool = False,
) -> MergedBoxes:
    """Merge the boxes that overlap a better one of their class.

    The best box takes in all that overlap it by the threshold or more, then the best of those that
    are left, and so on. It keeps its score and its class; each box is used once.

    With ``merge="union"`` this is the greedy non-maximum merging of SAHI (Akyon et al., "Slicing Aided
    Hyper Inference and Fine-tuning for Small Object Detection", 2022, and the code published with it):
    a box grows by one taken in after the other, best first, and drops those that no longer
    overlap the grown box by the threshold.

    Args:
        boxes: ``(N, 4)`` ``xyxy``, any unit and real dtype; computed in float64. N may be 0.
        scores: ``(N,)``, 0 or more.
        classes: ``(N,)``; boxes of different classes do not touch each other.
        threshold: the overlap from which on boxes are merged, 0 to 1. Those that do not overlap at
            all stay apart, at 0 too.
        merge: ``mean`` gives the mean of the merged boxes weighted by their scores (the plain mean where
            those sum to 0); ``union`` gives the smallest box around them.
        metric: how overlap is measured; see :func:`box_overlaps`.
        class_agnostic: treat all boxes as one class.

    Returns:
        The boxes, by class, the best first. Equal scores rank by index, the lower first; with ``union``
        by x1, y1, x2, y2 before that. A row that holds NaN merges with none and ranks last in its class.
        ``union`` keeps the boxes' dtype; ``mean`` keeps that of floats and makes integers float32 or wider.

    Raises:
        ValueError: the shapes do not belong together, ``threshold`` is not 0 to 1, or there is no such
            ``merge`` or ``metric``.
    """
    _check_options("merge_boxes: threshold", threshold, "merge_boxes", merge, metric)
    _check_shapes(boxes, scores, classes)
    kinds = np.zeros(len(boxes), np.int64) if class_agnostic else np.unique(classes, return_inverse=True)[1]
    alone = np.isnan(boxes).any(axis=1) | np.isnan(scores)
    keys = (-scores.astype(np.float64), alone, kinds)
    order = np.lexsort((*boxes.T[::-1], *keys) if merge == "union" else keys)
    corners, weights = boxes[order].astype(np.float64), scores[order].astype(np.float64)
    corners[alone[order]] = np.nan
    merged, stays = boxes[order].astype(_dtype_of_merged(boxes, merge)), np.ones(len(order), bool)
    starts = np.flatnonzero(np.diff(kinds[order])) + 1
    for of_class in np.split(np.arange(len(order)), starts):
        for winner, taken in _groups(corners, of_class, threshold, metric):
            stays[taken] = False
            if merge == "union":
                merged[winner] = _grown(merged[winner], merged[taken], threshold, metric)
            else:
                both = np.append(winner, taken)
                merged[winner] = _mean(corners[both], weights[both])
    return MergedBoxes(merged[stays], order[stays].astype(np.int64, copy=False))


@Operator
class NMM:
    """Merge boxes that show one thing into one; see :func:`merge_boxes`."""

    def __init__(
        self,
        *srcs: str,
        boxes: str = "boxes",
        scores: str = "scores",
        classes: str = "classes",
        iou_threshold: float = 0.5,
        merge: Merge = "mean",
        metric: Overlap = "iou",
        class_agnostic: bool = False,
    ) -> None:
        """Configure the step.

        Args:
            srcs: more tensors with a row for each box; the row of the best box of each group stays.
            boxes: the tensor ``(N, 4)`` ``xyxy``.
            scores: the tensor ``(N,)``.
            classes: the tensor ``(N,)``.
            iou_threshold: the overlap, by ``metric``, from which on boxes are merged, 0 to 1.
            merge: ``mean`` weighs by score; ``union`` is the smallest box around all.
            metric: ``iou``, or ``ios``, intersection over the smaller area, which also finds the part of a
                thing that a tile cut off.
            class_agnostic: merge boxes of different classes too.

        Raises:
            ValueError: a threshold that is not 0 to 1, or a ``merge`` or ``metric`` that there is not.
            TypeError: a name is no text.
        """
        _check_options("NMM: iou_threshold", iou_threshold, "NMM", merge, metric)
        self._names = checked_names("NMM", srcs, first=(boxes, scores, classes))
        self.srcs = srcs
        self.boxes = boxes
        self.scores = scores
        self.classes = classes
        self.iou_threshold = iou_threshold
        self.merge: Merge = merge
        self.metric: Overlap = metric
        self.class_agnostic = class_agnostic

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the merged boxes, and the best row of each group of the other tensors.

        Raises:
            ValueError: the shapes do not belong together.
        """
        scores = tensors[self.scores]
        for name in self._names:
            if tensors[name].shape[:1] != scores.shape[:1]:
                raise ValueError(
                    f"NMM: {name!r} of shape {tensors[name].shape} does not have a row for each of the "
                    f"{len(scores)} scores"
                )
        merged = merge_boxes(
            tensors[self.boxes],
            scores,
            tensors[self.classes],
            self.iou_threshold,
            merge=self.merge,
            metric=self.metric,
            class_agnostic=self.class_agnostic,
        )
        rows = {name: tensors[name][merged.kept] for name in self._names}
        return tensors.replace(**{**rows, self.boxes: merged.boxes})


def _groups(
    corners: npt.NDArray[np.float64], rows: Indices, threshold: float, metric: Overlap
) -> Iterator[tuple[int, Indices]]:
    """Each box that takes others in, and those; ``rows`` are of one class, best first."""
    left = np.ones(len(rows), bool)
    for start in range(0, len(rows), _BLOCK):
        later = np.flatnonzero(left[start:]) + start
        block = later[later < start + _BLOCK]
        shares = box_overlaps(corners[rows[block]], corners[rows[later]], metric)
        matches = (shares >= max(threshold, _ANY_OVERLAP)) & (later > block[:, None])
        for at in np.flatnonzero(matches.any(axis=1)):
            if not left[block[at]]:
                continue
            taken = later[matches[at] & left[later]]
            if len(taken):
                left[taken] = False
                yield int(rows[block[at]]), rows[taken]


def _grown(box: Array, others: Array, threshold: float, metric: Overlap) -> Array:
    """The smallest box around a box and those of the others that match it when their turn comes."""
    while len(others):
        matches = box_overlaps(box[None], others, metric)[0] >= max(threshold, _ANY_OVERLAP)
        beyond = np.any((others[:, :2] < box[:2]) | (others[:, 2:] > box[2:]), axis=1)
        growing = np.flatnonzero(matches & beyond)
        if not len(growing):
            break
        # The first that makes the box grow changes what the ones after it are compared with.
        first, others = others[growing[0]], others[growing[0] + 1 :]
        box = np.concatenate([np.minimum(box[:2], first[:2]), np.maximum(box[2:], first[2:])])
    return box


def _mean(corners: npt.NDArray[np.float64], weights: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The weighted mean of boxes, of which the first is the best."""
    with np.errstate(over="ignore"):  # scores beyond the dtype
        total = weights.sum()
    if total == 0 or not np.isfinite(total):
        weights, total = np.ones_like(weights), np.float64(len(weights))
    with np.errstate(invalid="ignore", over="ignore"):  # boxes without end
        # Counted from the best box, so that the mean of equal boxes is that box to the last bit.
        away = corners - corners[0]
        away[~np.isfinite(away)] = 0
        mean: npt.NDArray[np.float64] = corners[0] + (weights / total) @ away
    return mean


def _dtype_of_merged(boxes: Array, merge: Merge) -> np.dtype[Any]:
    if merge == "union" or boxes.dtype.kind == "f":
        return boxes.dtype
    return np.result_type(boxes.dtype, np.float32)


def _check_options(name: str, threshold: float, owner: str, merge: str, metric: str) -> None:
    if not 0 <= threshold <= 1:
        raise ValueError(f"{name} must be 0 to 1, got {threshold}")
    _check_choice(f"{owner}: merge", merge, get_args(Merge))
    _check_choice(f"{owner}: metric", metric, get_args(Overlap))


def _check_choice(name: str, given: str, choices: tuple[str, ...]) -> None:
    if given not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}, got {given!r}")


def _check_shapes(boxes: Array, scores: Array, classes: Array) -> None:
    many = boxes.shape[:1]
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != many or classes.shape != many:
        raise ValueError(
            "NMM: wanted boxes (N, 4), scores (N,) and classes (N,), "
            f"got {boxes.shape}, {scores.shape} and {classes.shape}"
        )
