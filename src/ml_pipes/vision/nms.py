"""Of boxes that show one thing, the best.

Knows boxes, scores and classes. Knows nothing of models.

Exact greedy suppression in NumPy alone. All classes go side by side in rounds, one
box of each per round, as long as a round takes many boxes away or keeps many; what
is left of few or big classes goes class by class, in blocks of falling score. When
few are wanted, the best boxes go first and the others only if they are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ml_pipes.errors import MissingNameError
from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_output, takes
from ml_pipes.tensor.select import Indices, ranking
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision.boxes import finite_corners

__all__ = ["NMS", "nms"]


# A table of the pairs of two blocks stays below 128 KiB, which the C library keeps for the next one.
_BLOCK = 120
# Measured: rounds keep one box per class for the price of a look at all boxes, blocks look at each
# box once but pay for each block. A round that takes this part of the boxes away has paid for itself.
_FEW_CLASSES = 4
_WORTH_A_ROUND = 1 / 64
# The best boxes, this many for each that is wanted, hold enough that stay in nearly every picture.
_AT_FIRST, _AT_LEAST = 4, 1024
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
    best, without = boxes[order], order[:0]
    if np.isnan(best).any():
        numberless = np.isnan(best).any(axis=1)
        without, order, best = order[numberless], order[~numberless], best[~numberless]
    corners = np.ascontiguousarray(finite_corners(best).T)
    kept = order[_best(corners, classes[order], iou_threshold, max_detections)]
    return np.concatenate([kept, without])[:max_detections].astype(np.int64, copy=False)


def _best(corners: Array, classes: Array, iou_threshold: float, most: int) -> Indices:
    """Boxes ``(4, N)``, best first, to the indices of at least the ``most`` best that stay, best first."""
    first = max(_AT_FIRST * most, _AT_LEAST)
    # One class goes in blocks, which stop by themselves.
    if 2 * first < classes.size and (classes != classes[0]).any():
        # What a box does to others is settled by better ones alone, so any number of the best will do.
        kept = _survivors(corners[:, :first], classes[:first], iou_threshold, most)
        if len(kept) >= most:
            return kept
    return _survivors(corners, classes, iou_threshold, most)


def _survivors(corners: Array, classes: Array, iou_threshold: float, most: int) -> Indices:
    """As :func:`_best`, of all these boxes."""
    # Sorted by class, and within it still best first: each class is one run with its best in front.
    alive = np.argsort(classes, kind="stable")
    corners = corners[:, alive]
    areas, kinds = _areas(corners), classes[alive]
    kept = []
    worth_it = True
    while alive.size:
        starts = np.flatnonzero(np.concatenate([[True], kinds[1:] != kinds[:-1]]))
        few_or_big = len(starts) <= _FEW_CLASSES or alive.size > _BLOCK * len(starts)
        if few_or_big and not worth_it:
            runs = [slice(*ends) for ends in pairwise([*starts, alive.size])]
            kept += [alive[r][_blockwise(corners[:, r], areas[r], iou_threshold, most)] for r in runs]
            break
        kept.append(alive[starts])
        of = np.repeat(starts, np.diff(starts, append=alive.size)) if len(starts) > 1 else starts
        stays = ~_suppress(corners[:, of], areas[of], corners, areas, iou_threshold)
        stays[starts] = False
        left = np.flatnonzero(stays)
        worth_it = alive.size - left.size - starts.size > _WORTH_A_ROUND * alive.size
        alive, corners, areas, kinds = alive[left], corners.take(left, axis=1), areas[left], kinds[left]
    return np.sort(np.concatenate(kept)) if kept else alive


def _blockwise(corners: Array, areas: Array, iou_threshold: float, most: int) -> Indices:
    """Boxes of one class, best first, to the indices of those that stay, ``most`` or a few more."""
    kept = np.empty(0, np.int64)
    for start in range(0, len(areas), _BLOCK):
        if len(kept) >= most:
            break
        block = np.arange(start, min(start + _BLOCK, len(areas)))
        for at in range(0, len(kept), _BLOCK):
            block = block[~_among(corners, areas, kept[at : at + _BLOCK], block, iou_threshold).any(axis=0)]
        among = np.triu(_among(corners, areas, block, block, iou_threshold), 1)
        alive = np.ones(len(block), bool)
        for row in np.flatnonzero(among.any(axis=1)):
            if alive[row]:
                alive &= ~among[row]
        kept = np.concatenate([kept, block[alive]])
    return kept


def _areas(corners: Array) -> Array:
    width, height = np.maximum(corners[2:] - corners[:2], 0)
    area: Array = width * height
    return area


def _among(
    corners: Array, areas: Array, ones: Indices, others: Indices, threshold: float
) -> npt.NDArray[np.bool_]:
    """A row for each of ``ones``: does it suppress each of ``others``?"""
    one, other = corners[:, ones, None], corners[:, None, others]
    return _suppress(one, areas[ones, None], other, areas[None, others], threshold)


def _suppress(
    ones: Array, ones_areas: Array, others: Array, others_areas: Array, threshold: float
) -> npt.NDArray[np.bool_]:
    """For each pair of boxes ``(4, ...)``, broadcast: do they overlap too much to both stay?"""
    inside = np.minimum(ones[2], others[2])
    inside -= np.maximum(ones[0], others[0])
    height = np.minimum(ones[3], others[3])
    height -= np.maximum(ones[1], others[1])
    # A negative height gives a share below 0, so it is enough to keep both from being negative.
    np.maximum(inside, 0, out=inside)
    inside *= height
    union = np.add(ones_areas, others_areas, out=height)
    union -= inside
    # Two boxes without area have no union either, and 0/0 is above no threshold.
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.divide(inside, union, out=union)
    too_much: npt.NDArray[np.bool_] = share >= max(threshold, _ANY_OVERLAP)
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
        class_agnostic: bool = False,
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
            class_agnostic: a box suppresses those of other classes too; the classes only go along.

        Raises:
            ValueError: an argument is out of its range, or ``classes`` is None.
            TypeError: ``aligned`` is one name instead of a tuple.
        """
        if classes is None:
            raise ValueError(
                "NMS: classes must name a tensor, got None; zeros of (N,) make all boxes one class: "
                f"{_zeros_step(scores, 'classes')} before it writes them"
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
        self.kept_as = checked_output("NMS", kept_as)
        if kept_as in {boxes, scores, classes, *aligned}:
            raise ValueError(f"NMS: kept_as={kept_as!r} would take the place of a tensor of the boxes")
        self.conf_threshold = conf_threshold
        self.iou_threshold = iou_threshold
        self.max_detections = max_detections
        self.aligned = aligned
        self.class_agnostic = class_agnostic

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry in which boxes, scores, classes and what is aligned hold the kept rows.

        Raises:
            ValueError: the shapes do not belong together.
        """
        boxes, scores = tensors[self.boxes], tensors[self.scores]
        try:
            classes = tensors[self.classes]
        except MissingNameError as missing:
            way_out = f"{_zeros_step(self.scores, self.classes)} before it makes all boxes one class"
            raise MissingNameError(f"NMS: {missing}; {way_out}") from None
        kinds = np.zeros_like(classes) if self.class_agnostic else classes
        kept = nms(boxes, scores, kinds, self.conf_threshold, self.iou_threshold, self.max_detections)
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


def _zeros_step(scores: str, classes: str) -> str:
    return f'MapTensor("{scores}", np.zeros_like, as_="{classes}")'


def _check_shapes(boxes: Array, scores: Array, classes: Array) -> None:
    many = boxes.shape[:1]
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != many or classes.shape != many:
        raise ValueError(
            "NMS: wanted boxes (N, 4), scores (N,) and classes (N,), "
            f"got {boxes.shape}, {scores.shape} and {classes.shape}"
        )
