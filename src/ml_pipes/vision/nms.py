"""Of boxes that show one thing, the best.

Knows boxes, scores and classes. Knows nothing of models.

Exact greedy suppression in NumPy alone. All classes go side by side in rounds, one
box of each per round, as long as a round takes many boxes away or keeps many; what
is left of few or big classes goes class by class, in blocks of falling score. Where
few boxes of a class lie near each other, only those that do are compared. When
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
# Measured: a pair looked up costs as much as several of a round, but there are far fewer of them.
_PAIRS_PER_BOX, _FEW_PAIRS = 16, 32768
# Of more boxes than this, the first eighth tells whether a search would find too many.
_MANY_TO_SEARCH = 1024
# Below this, areas lose digits, and an overlap says nothing of how near two boxes are.
_SMALLEST_AREA = 1e-280
# A look at the boxes that are left pays when most of a block goes and many blocks are to come.
_WORTH_THINNING, _MANY_LEFT = 1 / 4, 20 * _BLOCK
_GRID = 64
# After so many rounds only chains of boxes, each over the next, are still open.
_ROUNDS_AT_MOST = 16
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
    worth_it, by_pairs = True, False
    while alive.size:
        starts = np.flatnonzero(np.concatenate([[True], kinds[1:] != kinds[:-1]]))
        few_or_big = len(starts) <= _FEW_CLASSES or alive.size > _BLOCK * len(starts)
        if few_or_big and not worth_it:
            runs = [slice(*ends) for ends in pairwise([*starts, alive.size])]
            kept += [alive[r][_blockwise(corners[:, r], areas[r], iou_threshold, most)] for r in runs]
            break
        if not worth_it and not by_pairs:
            by_pairs = True
            found = _pairwise(corners, areas, kinds, iou_threshold)
            if found is not None:
                kept.append(alive[found])
                break
        kept.append(alive[starts])
        of = np.repeat(starts, np.diff(starts, append=alive.size)) if len(starts) > 1 else starts
        stays = ~_suppress(corners[:, of], areas[of], corners, areas, iou_threshold)
        stays[starts] = False
        left = np.flatnonzero(stays)
        worth_it = alive.size - left.size - starts.size > _WORTH_A_ROUND * alive.size
        alive, corners, areas, kinds = alive[left], corners.take(left, axis=1), areas[left], kinds[left]
    return np.sort(np.concatenate(kept)) if kept else alive


def _pairwise(corners: Array, areas: Array, classes: Array, iou_threshold: float) -> Indices | None:
    """Boxes sorted by class, then best first, to the indices that stay; None if too many are near others."""
    threshold, many = min(max(iou_threshold, 0.0), 1.0), len(areas)
    most_pairs = max(_PAIRS_PER_BOX * many, _FEW_PAIRS)
    if many > _MANY_TO_SEARCH:
        part = slice(many // 8)
        if _near(corners[:, part], areas[part], classes[part], threshold, most_pairs // 8) is None:
            return None
    pairs = _near(corners, areas, classes, threshold, most_pairs)
    if pairs is None:
        return None
    ones, others = pairs
    one, other = corners.take(ones, axis=1), corners.take(others, axis=1)
    too_much = _suppress(one, areas[ones], other, areas[others], iou_threshold)
    ones, others = ones[too_much], others[too_much]
    better, worse = np.minimum(ones, others), np.maximum(ones, others)
    return _settled(better, worse, len(areas))


def _settled(better: Indices, worse: Indices, many: int) -> Indices:
    """Pairs of which the better box suppresses the worse, to the indices of the boxes that stay."""
    stays = np.ones(many, bool)
    for _ in range(_ROUNDS_AT_MOST):
        if not better.size:
            break
        unsure = np.zeros(many, bool)
        unsure[worse] = True
        stays[worse[~unsure[better]]] = False
        undecided = unsure[better] & stays[better] & stays[worse]
        better, worse = better[undecided], worse[undecided]
    # A chain settles one box a round, so one by one is faster.
    for at in np.argsort(better, kind="stable"):
        if stays[better[at]]:
            stays[worse[at]] = False
    return np.flatnonzero(stays)


def _near(
    corners: Array, areas: Array, classes: Array, threshold: float, most_pairs: int
) -> tuple[Indices, Indices] | None:
    """All pairs of one class that may overlap by ``threshold``, and others; None if over ``most_pairs``."""
    axis = int(np.ptp(corners[1]) > np.ptp(corners[0]))
    low, high = corners[axis], corners[axis + 2]
    least, most = min(low.min(), high.min()), max(low.max(), high.max())
    if not most > least or np.min(areas, where=areas > 0, initial=1) < _SMALLEST_AREA:
        return None
    # The share of a side that two boxes have in common is never below that of the area. What is
    # rounded away is less than the thousandth part, and less than this part of the largest number.
    slack = 1e-12 * np.abs(corners).max()
    reach = np.minimum(high - 0.999 * threshold * (high - low) + slack, most)
    # Each class lies in a stretch of its own. Rounding keeps the order, so no pair is lost by it.
    shift = np.concatenate([[0], np.cumsum(classes[1:] != classes[:-1])]) * (2 * (most - least))
    keys = shift + (low - least)
    order = np.argsort(keys)
    ends = np.searchsorted(keys[order], (shift + (reach - least))[order], side="right")
    starts = np.arange(1, len(order) + 1)
    counts = np.maximum(ends - starts, 0)
    total = counts.sum()
    if total > most_pairs:
        return None
    others = np.arange(total) + np.repeat(starts - np.cumsum(counts) + counts, counts)
    return np.repeat(order, counts), order[others]


def _blockwise(corners: Array, areas: Array, iou_threshold: float, most: int) -> Indices:
    """Boxes of one class, best first, to the indices of those that stay, ``most`` or a few more."""
    kept = np.empty(0, np.int64)
    left = np.arange(len(areas))
    worth_it, thinned_at = True, 0.0
    while left.size and len(kept) < most:
        block, left = left[:_BLOCK], left[_BLOCK:]
        full = len(block)
        for at in range(0, len(kept), _BLOCK):
            block = block[~_among(corners, areas, kept[at : at + _BLOCK], block, iou_threshold).any(axis=0)]
        among = np.triu(_among(corners, areas, block, block, iou_threshold), 1)
        alive = np.ones(len(block), bool)
        for row in np.flatnonzero(among.any(axis=1)):
            if alive[row]:
                alive &= ~among[row]
        kept = np.concatenate([kept, block[alive]])
        few = alive.sum() < _WORTH_THINNING * full and len(kept) > thinned_at
        if worth_it and few and left.size > _MANY_LEFT and len(kept) < most:
            before, thinned_at = left.size, 1.125 * len(kept)
            left = _thinned(corners, areas, kept, left, iou_threshold)
            worth_it = left.size < (1 - _WORTH_THINNING) * before
    return kept


def _thinned(corners: Array, areas: Array, kept: Indices, left: Indices, iou_threshold: float) -> Indices:
    """What is left without most of what a kept box suppresses: each is compared with one near it."""
    sides = corners[2:, kept] - corners[:2, kept]
    cell = np.median(sides, axis=1)[:, None]
    if not (cell > 0).all():
        return left
    # A cell holds one kept box. Beside the edge of a cell of one grid lies the middle of another's.
    for shift in ((0.0, 0.0), (0.5, 0.5), (0.5, 0.0), (0.0, 0.5)):
        of_cell = np.full(_GRID * _GRID, kept[0])
        of_cell[_cells(corners[:, kept], cell, shift)] = kept
        one = of_cell[_cells(corners.take(left, axis=1), cell, shift)]
        pair = corners.take(one, axis=1), areas[one], corners.take(left, axis=1), areas[left]
        before, left = left.size, left[~_suppress(*pair, iou_threshold)]
        if shift == (0.0, 0.0) and left.size > (1 - _WORTH_THINNING) * before:
            break
    return left


def _cells(corners: Array, cell: Array, shift: tuple[float, float]) -> Indices:
    """For the middle of each box, its cell; cells far from each other may share a number."""
    with np.errstate(over="ignore"):
        at = (corners[:2] / 2 + corners[2:] / 2) / cell + np.array(shift)[:, None]
    column, row = np.floor(np.clip(at, -(2.0**30), 2.0**30)).astype(np.int64) % _GRID
    numbers: Indices = row * _GRID + column
    return numbers


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
