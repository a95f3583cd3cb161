"""Exact greedy suppression of boxes, in NumPy alone.

Knows corners, scores, classes and a threshold. Knows nothing of registries and of numbers that are none.

The best boxes go first, and the others only if too few of these stay. All classes go side by side
in rounds, one box of each per round, as long as a round takes many boxes away or keeps many. Where
few boxes of a class lie near each other, only those that do are compared; what is left of few or
big classes goes class by class, in blocks of falling score.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from ml_pipes.tensor.select import Indices, ranking
from ml_pipes.tensor.types import Array

__all__ = ["survivors"]


# A table of the pairs of two blocks stays below 128 KiB, which the C library keeps for the next one.
_BLOCK = 120
# So does a table of the corners of this many boxes.
_PART = 4000
_LATER = np.triu(np.ones((_BLOCK, _BLOCK), bool), 1)
# Measured: rounds keep one box per class for the price of a look at all boxes, blocks look at each
# box once but pay for each block. A round that takes this part of the boxes away has paid for itself;
# where the rest fits into one block, which costs little, it must take more.
_FEW_CLASSES = 4
_WORTH_A_ROUND, _WORTH_A_SMALL_ROUND = 1 / 64, 1 / 4
_FIRST = np.ones(1, bool)
# Blocks stop when enough boxes stay, a search settles all: it pays where there are several blocks, and
# not many times as many boxes as are wanted.
_WORTH_A_SEARCH, _NEARLY_ALL = 5 * _BLOCK, 4
# The best boxes, this many for each that is wanted, hold enough that stay in nearly every picture.
# Of one class they may be more: there the blocks stop when enough stay.
_AT_FIRST, _AT_FIRST_OF_ONE_CLASS, _AT_LEAST = 4, 16, 1024
# Of fewer, the ways to sort faster cost more than they save.
_MANY_TO_SORT = 1024
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


def survivors(corners: Array, scores: Array, classes: Array, iou_threshold: float, most: int) -> Indices:
    """Find the boxes that stay when each suppresses what it overlaps in its own class.

    Args:
        corners: ``(4, N)`` float64: x1, y1, x2, y2, finite.
        scores: ``(N,)``, any real dtype, without NaN. Equal scores rank by index, the lower first.
        classes: ``(N,)``.
        iou_threshold: the overlap from which on the lesser box goes.
        most: how many are wanted.

    Returns:
        ``(K,)`` indices, best first: at least the ``most`` best that stay, or all.
    """
    many, areas = scores.size, _areas(corners)
    one_class = many > 0 and bool((classes == classes[0]).all())
    if one_class and many <= _BLOCK:
        return _of_a_block(corners, areas, scores, iou_threshold)
    first = max((_AT_FIRST_OF_ONE_CLASS if one_class else _AT_FIRST) * most, _AT_LEAST)
    if one_class:
        first = min(first, max(many // 4, _AT_LEAST))
    order, known = np.arange(many), 0
    if many > 2 * first:
        bound = np.partition(scores, many - first)[many - first]
        # What a box does to others is settled by better ones alone, so any number of the best will do.
        best = _ranked(scores, np.flatnonzero(scores >= bound))
        kept = best[_survivors(corners.take(best, axis=1), areas[best], classes[best], iou_threshold, most)]
        rest = np.flatnonzero(scores < bound)
        if len(kept) >= most or not rest.size:
            return kept
        if one_class:
            rest, known = _thinned(corners, areas, kept, rest, iou_threshold), len(kept)
        order = np.concatenate([kept, _ranked(scores, rest)])
    else:
        order = _ranked(scores, order)
    stay = _survivors(corners.take(order, axis=1), areas[order], classes[order], iou_threshold, most, known)
    return order[stay]


def _of_a_block(corners: Array, areas: Array, scores: Array, iou_threshold: float) -> Indices:
    """As :func:`survivors`, of a few boxes of one class."""
    # Often all show one thing: then nothing needs to be sorted.
    best = scores.argmax()
    stays = ~_suppress(corners[:, best, None], areas[best], corners, areas, iou_threshold)
    stays[best] = False
    left = np.flatnonzero(stays)
    if left.size > 1:
        left = left[ranking(scores[left])]
        left = left[_blockwise(corners.take(left, axis=1), areas[left], iou_threshold, _BLOCK)]
    return np.concatenate([[best], left])


def _ranked(scores: Array, at: Indices) -> Indices:
    """The indices ``at``, which rise, best score first."""
    scores = scores[at]
    if at.size > _MANY_TO_SORT and scores.dtype.kind == "f":
        worst_last = -scores
        # Sorting is several times as fast where equal ones may change places.
        order = np.argsort(worst_last)
        in_order = worst_last[order]
        if (in_order[1:] != in_order[:-1]).all():
            return at[order]
    return at[ranking(scores)]


def _survivors(
    corners: Array, areas: Array, classes: Array, iou_threshold: float, most: int, known: int = 0
) -> Indices:
    """As :func:`survivors`, of boxes that are sorted, best first.

    Of one class, the first ``known`` may be known to stay.
    """
    # Sorted by class, and within it still best first: each class is one run with its best in front.
    alive = _by_class(classes)
    corners = corners.take(alive, axis=1)
    areas, kinds = areas[alive], classes[alive]
    kept: list[Indices] = []
    worth_it, searched = not known, False
    while alive.size:
        new = np.concatenate([_FIRST, kinds[1:] != kinds[:-1]])
        starts = np.flatnonzero(new)
        few = len(starts) <= _FEW_CLASSES
        in_blocks = few or alive.size > _BLOCK * len(starts)
        if not (worth_it or searched) and (
            not in_blocks or _WORTH_A_SEARCH < alive.size <= _NEARLY_ALL * most
        ):
            searched = True
            found = _pairwise(corners, areas, kinds, iou_threshold)
            if found is not None:
                kept.append(alive[found])
                break
        if in_blocks and not worth_it:
            runs = [slice(*ends) for ends in pairwise([*starts, alive.size])]
            kept += [alive[r][_blockwise(corners[:, r], areas[r], iou_threshold, most, known)] for r in runs]
            break
        kept.append(alive[starts])
        of = starts[np.cumsum(new) - 1] if len(starts) > 1 else starts
        stays = ~_suppress(corners.take(of, axis=1), areas[of], corners, areas, iou_threshold)
        stays[starts] = False
        left = np.flatnonzero(stays)
        part = _WORTH_A_ROUND if left.size > _BLOCK or not few else _WORTH_A_SMALL_ROUND
        worth_it = alive.size - left.size - starts.size > part * alive.size
        alive, corners, areas, kinds = alive[left], corners.take(left, axis=1), areas[left], kinds[left]
    return np.sort(np.concatenate(kept)) if kept else alive


def _by_class(classes: Array) -> Indices:
    """The indices that sort by class, and keep their order within it."""
    many, whole = classes.size > _MANY_TO_SORT, classes.dtype.kind in "iu"
    if many and whole and classes.min() >= 0 and classes.max() < 2**16:
        # NumPy sorts numbers of 16 bits several times as fast.
        classes = classes.astype(np.uint16)
    return np.argsort(classes, kind="stable")


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
    parts = [slice(at, at + _PART) for at in range(0, len(ones), _PART)]
    too_much = [_suppresses(corners, areas, ones[part], others[part], iou_threshold) for part in parts]
    at = np.flatnonzero(np.concatenate(too_much)) if too_much else ones
    ones, others = ones[at], others[at]
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


def _blockwise(corners: Array, areas: Array, iou_threshold: float, most: int, known: int = 0) -> Indices:
    """Boxes of one class, best first, to the indices of those that stay, ``most`` or a few more."""
    kept, left = np.arange(known), np.arange(known, len(areas))
    worth_it, thinned_at = True, 0.0
    while left.size and len(kept) < most:
        block, left = left[:_BLOCK], left[_BLOCK:]
        full = len(block)
        for at in range(0, len(kept), _BLOCK):
            block = block[~_among(corners, areas, kept[at : at + _BLOCK], block, iou_threshold).any(axis=0)]
        among = _among(corners, areas, block, block, iou_threshold) & _LATER[: len(block), : len(block)]
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
    shifts = ((0.0, 0.0), (0.5, 0.5), (0.5, 0.0), (0.0, 0.5))
    grids = []
    for shift in shifts:
        of_cell = np.full(_GRID * _GRID, kept[0])
        of_cell[_cells(corners.take(kept, axis=1), cell, shift)] = kept
        grids.append(of_cell)
    parts = []
    for at in range(0, left.size, _PART):
        part = left[at : at + _PART]
        before = part.size
        for shift, of_cell in zip(shifts, grids, strict=True):
            near = of_cell[_cells(corners.take(part, axis=1), cell, shift)]
            part = part[~_suppresses(corners, areas, near, part, iou_threshold)]
            if part.size > (1 - _WORTH_THINNING) * before:
                break
        parts.append(part)
    return np.concatenate(parts)


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


def _suppresses(
    corners: Array, areas: Array, ones: Indices, others: Indices, threshold: float
) -> npt.NDArray[np.bool_]:
    """Does each of ``ones`` suppress the one of ``others`` in the same place?"""
    one, other = corners.take(ones, axis=1), corners.take(others, axis=1)
    return _suppress(one, areas[ones], other, areas[others], threshold)


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
