"""Fewer points for a figure, without losing what matters in it.

Numbers only. Knows nothing of figures.
"""

from __future__ import annotations

import itertools

import numpy as np
import numpy.typing as npt

__all__ = ["percentile_points", "thinned"]

_Floats = npt.NDArray[np.float64]
_PER_STRETCH = 3


def thinned(values: npt.ArrayLike, most: int) -> npt.NDArray[np.intp]:
    """Which of these values to draw, in order: of each stretch of them the first, the least and the greatest.

    So no peak is lost, the greatest of all least of all, and a figure's outline stays as it is.

    Args:
        values: in the order of the axis that they are drawn along.
        most: how many to draw at most, 3 or more; all where there are no more.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if len(numbers) <= most:
        return np.arange(len(numbers))
    starts = np.linspace(0, len(numbers), max(1, most // _PER_STRETCH) + 1).astype(np.intp)
    kept: set[int] = set()
    for start, end in itertools.pairwise(starts):
        stretch = numbers[start:end]
        kept.update(int(start + at) for at in (0, stretch.argmin(), stretch.argmax()))
    return np.array(sorted(kept), dtype=np.intp)


def percentile_points(values: npt.ArrayLike, most: int = 400) -> tuple[_Floats, _Floats]:
    """``(x, y)``: one value in ``x`` is ``y`` or more.

    Of ``n`` values in ascending order, the ``i``-th from 0 stands at ``n / (n - i)``, which is
    ``1 / (1 - p)`` for the share ``p = i / n`` below it: the first at 1, the greatest at ``n``. So the
    figure ends where the values end, instead of drawing percentiles that they cannot tell. (The axis is
    that of HdrHistogram's plots, https://hdrhistogram.github.io/HdrHistogram/plotFiles.html.)

    Args:
        values: in any order; of none, no points.
        most: points, at most: evenly spaced on the logarithmic axis, and always the two ends.
    """
    ordered = np.sort(np.asarray(values, dtype=np.float64))
    count = len(ordered)
    if not count:
        return np.zeros(0), np.zeros(0)
    at = np.arange(count)
    if count > most:
        at = np.unique(np.round(count - count / np.geomspace(1.0, count, most)).astype(np.intp))
        at = at[at < count]
    return count / (count - at), ordered[at]
