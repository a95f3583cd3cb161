"""Quadrilaterals: the order of their corners, their way back to the original picture, how they are read.

Knows coordinates. Knows nothing of pixels or models.
A quadrilateral is four corners x, y: top-left, top-right, bottom-right, bottom-left.
"""

from __future__ import annotations

import numpy as np

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_names, takes
from ml_pipes.tensor.select import Indices, keep_rows
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision.boxes import project_points
from ml_pipes.vision.types import ResizeTransform

__all__ = [
    "ProjectQuads",
    "SortQuads",
    "check_quads",
    "order_corners",
    "project_quads",
    "quad_sides",
    "reading_order",
]


def order_corners(quads: Array) -> Array:
    """Put each quadrilateral's corners in order: top-left, top-right, bottom-right, bottom-left.

    Of the two corners with the smaller x the upper one is top-left; of the other two the
    upper one is top-right. Corners with equal coordinates keep their order.

    Args:
        quads: ``(N, 4, 2)`` x, y, any unit, y downwards; N may be 0.

    Returns:
        A new array of the same shape and dtype.

    Raises:
        ValueError: the shape is another.
    """
    check_quads("order_corners", quads)
    by_x = _taken(quads, np.argsort(quads[..., 0], axis=1, kind="stable"))
    left, right = (
        _taken(pair, np.argsort(pair[..., 1], axis=1, kind="stable")) for pair in (by_x[:, :2], by_x[:, 2:])
    )
    return np.stack([left[:, 0], right[:, 0], right[:, 1], left[:, 1]], axis=1)


def quad_sides(quads: Array) -> Array:
    """Give each quadrilateral's side lengths.

    Args:
        quads: ``(N, 4, 2)`` x, y, any real dtype; N may be 0.

    Returns:
        ``(N, 4)`` float64, in the corners' unit: top, right, bottom, left.

    Raises:
        ValueError: the shape is another.
    """
    wide = check_quads("quad_sides", quads).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # corners without end
        steps = np.roll(wide, -1, axis=1) - wide
        lengths: Array = np.hypot(steps[..., 0], steps[..., 1])
    return lengths


def project_quads(quads: Array, transform: ResizeTransform, *, whole: bool = True) -> Array:
    """Bring quadrilaterals of a resized picture back to the original, and cut them at its edges.

    Args:
        quads: ``(N, 4, 2)`` x, y, pixels of the resized picture; N may be 0.
        transform: how the picture was resized.
        whole: round to whole pixels, half to even, and put the corners in order again; the last
            row and column of pixels are the edge then. False leaves fractions, and the edge is the
            picture's size.

    Returns:
        ``(N, 4, 2)``, pixels of the original, new; float64 stays so, all else gives float32
        or what is wide enough. None is dropped.

    Raises:
        ValueError: the shape is another.
    """
    check_quads("ProjectQuads", quads)
    height, width = transform.original_shape
    projected = project_points(quads, transform)
    if not whole:
        return np.clip(projected, 0, np.array([width, height], projected.dtype))
    edges = np.array([width - 1, height - 1], projected.dtype)
    # Rounding may bring two corners to one x, which decides about left and right.
    return np.clip(order_corners(np.rint(projected)), 0, edges)


def reading_order(quads: Array, line_gap: float = 10.0) -> Indices:
    """Give the order in which quadrilaterals are read: line by line, and each line from left to right.

    From top to bottom, a top-left corner that lies ``line_gap`` or more below the one before starts a
    new line. So many boxes, each a little lower than the last, count as one line: text that slopes is read
    in order only where its lines keep this distance.

    Args:
        quads: ``(N, 4, 2)`` x, y; N may be 0.
        line_gap: in the corners' unit.

    Returns:
        ``(N,)`` int64 indices. Corners in the same place keep their order; NaN comes last.

    Raises:
        ValueError: the shape is another.
    """
    corners = check_quads("reading_order", quads)[:, 0].astype(np.float64)
    from_top = np.argsort(corners[:, 1], kind="stable")
    if not len(from_top):
        return from_top.astype(np.int64)
    with np.errstate(invalid="ignore", over="ignore"):  # corners without end
        starts = np.diff(corners[from_top, 1]) >= line_gap
    lines = np.concatenate([[0], np.cumsum(starts)])
    order: Indices = from_top[np.lexsort((corners[from_top, 0], lines))].astype(np.int64)
    return order


@Operator
class ProjectQuads:
    """Bring a registry's quadrilaterals back to the original picture; see :func:`project_quads`.

    Those that are too small there are dropped, and so are their rows of what is aligned.
    """

    def __init__(
        self,
        src: str = "quads",
        aligned: tuple[str, ...] = ("scores",),
        *,
        whole: bool = True,
        min_side: float = 4.0,
    ) -> None:
        """Configure the step.

        Args:
            src: the tensor ``(N, 4, 2)`` to read and write.
            aligned: tensors with a row per quadrilateral.
            whole: round to whole pixels.
            min_side: the shortest top and left side that stays, pixels of the original.

        Raises:
            TypeError: ``aligned`` is one name instead of a tuple.
            ValueError: ``min_side`` is no number of 0 or more.
        """
        _check_aligned("ProjectQuads", aligned)
        if not 0 <= min_side < np.inf:
            raise ValueError(f"ProjectQuads: min_side must be a number of 0 or more, got {min_side}")
        self.src = src
        self.aligned = aligned
        self.whole = whole
        self.min_side = min_side
        self._names = checked_names("ProjectQuads", aligned, first=(src,))

    @takes(TensorRegistry, ResizeTransform)
    def __call__(self, registry: TensorRegistry, transform: ResizeTransform) -> TensorRegistry:
        """Give a registry with the projected quadrilaterals; ValueError unless they are ``(N, 4, 2)``."""
        quads = project_quads(registry[self.src], transform, whole=self.whole)
        sides = quad_sides(quads)
        large = (sides[:, 0] >= self.min_side) & (sides[:, 3] >= self.min_side)
        projected = registry.replace(**{self.src: quads})
        return keep_rows("ProjectQuads", projected, self._names, self._names, large)


@Operator
class SortQuads:
    """Put a registry's quadrilaterals in the order in which they are read; see :func:`reading_order`."""

    def __init__(
        self, src: str = "quads", aligned: tuple[str, ...] = ("scores",), *, line_gap: float = 10.0
    ) -> None:
        """Configure the step.

        Args:
            src: the tensor ``(N, 4, 2)`` to read and write.
            aligned: tensors with a row per quadrilateral.
            line_gap: how much lower a new line starts, in the corners' unit.

        Raises:
            TypeError: ``aligned`` is one name instead of a tuple.
            ValueError: ``line_gap`` is not above 0.
        """
        _check_aligned("SortQuads", aligned)
        if not line_gap > 0:
            raise ValueError(f"SortQuads: line_gap must be above 0, got {line_gap}")
        self.src = src
        self.aligned = aligned
        self.line_gap = line_gap
        self._names = checked_names("SortQuads", aligned, first=(src,))

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the sorted rows; ValueError unless the quadrilaterals are ``(N, 4, 2)``."""
        order = reading_order(tensors[self.src], self.line_gap)
        return keep_rows("SortQuads", tensors, self._names, self._names, order)


def check_quads(owner: str, quads: Array) -> Array:
    """Give the quadrilaterals; ValueError unless they are ``(N, 4, 2)``."""
    if quads.ndim != 3 or quads.shape[1:] != (4, 2):
        raise ValueError(f"{owner}: quadrilaterals must be (N, 4, 2) x, y, got {quads.shape}")
    return quads


def _taken(corners: Array, order: Indices) -> Array:
    return np.take_along_axis(corners, order[..., None], axis=1)


def _check_aligned(owner: str, aligned: object) -> None:
    if isinstance(aligned, str):
        raise TypeError(f"{owner}: aligned must be a tuple of names, got {aligned!r}; write ({aligned!r},)")
