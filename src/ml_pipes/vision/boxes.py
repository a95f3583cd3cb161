"""Boxes and points: their formats, their areas, and the way back to the original picture.

Knows coordinates. Knows nothing of pixels or models.
Boxes are ``xyxy`` in pixels unless said otherwise; NaN stays NaN and raises no warning.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_names, checked_output, output_names, takes
from ml_pipes.tensor.select import keep_rows
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision.types import ResizeTransform

__all__ = [
    "BoxFormat",
    "ConvertBoxFormat",
    "FilterTensorsByScore",
    "ProjectBoxes",
    "ProjectPoints",
    "box_areas",
    "box_ious",
    "convert_boxes",
    "finite_corners",
    "project_boxes",
    "project_points",
]

BoxFormat = Literal["xyxy", "xywh", "cxcywh"]

_COORDINATES = 4
_POINT = 2
# The squares of both can be computed, and next to the second the first is nothing.
_LARGE, _FAR = 1e100, 1e150


def convert_boxes(boxes: Array, from_: BoxFormat, to: BoxFormat = "xyxy") -> Array:
    """Write boxes in another format.

    Args:
        boxes: ``(..., 4)``, any unit; there may be none. ``xyxy`` is two corners, ``xywh``
            the top-left corner and the size, ``cxcywh`` the centre and the size.
        from_: the format they have.
        to: the format they get.

    Returns:
        A new array of the same shape. Floats keep their dtype (float16 is computed in
        float32); integers give float32, or float64 where float32 could not hold them. What is beyond
        the dtype is infinite, and the size of a box without end may be NaN; no warning.

    Raises:
        ValueError: the last axis is not 4 long, or a format is none of ``xyxy``, ``xywh``, ``cxcywh``.
    """
    _check_formats(from_, to)
    wide = _wide(_checked_boxes("ConvertBoxFormat", boxes))
    first, last = wide[..., :2], wide[..., 2:]
    converted = np.empty_like(wide, order="C")
    if from_ == to:
        converted[...] = wide
        return converted.astype(_as_floats(boxes, wide), copy=False)
    with np.errstate(invalid="ignore", over="ignore"):  # boxes without end, or beyond the dtype
        # By way of the top-left corner and the size: of each pair one half is there already.
        corner = first - last / 2 if from_ == "cxcywh" else first
        size = last - first if from_ == "xyxy" else last
        converted[..., :2] = corner + size / 2 if to == "cxcywh" else corner
        converted[..., 2:] = corner + size if to == "xyxy" else size
        return converted.astype(_as_floats(boxes, wide), copy=False)


def box_areas(boxes: Array) -> Array:
    """Give each box's area.

    Args:
        boxes: ``(N, 4)`` ``xyxy``, any real dtype; N may be 0.

    Returns:
        ``(N,)``, float32 or wider, in the square of the boxes' unit. An inverted box has area 0.
    """
    wide = _wide(_checked_boxes("box_areas", boxes))
    with np.errstate(invalid="ignore", over="ignore"):  # boxes without end
        sides = np.maximum(wide[..., 2:] - wide[..., :2], 0)
        area: Array = sides[..., 0] * sides[..., 1]
    return area


def box_ious(ones: Array, others: Array) -> Array:
    """Give the overlap of each box of one list with each of another: intersection over union.

    Args:
        ones: ``(N, 4)`` ``xyxy``, any real dtype.
        others: ``(M, 4)`` ``xyxy``, in the same frame.

    Returns:
        ``(N, M)`` float64, 0 to 1. A box that is inverted, has no area or holds NaN overlaps nothing.
    """
    many = len(_checked_boxes("box_ious", ones))
    _checked_boxes("box_ious", others)
    corners = finite_corners(np.concatenate([ones.astype(np.float64), others.astype(np.float64)]))
    one, other = corners[:many, None], corners[None, many:]
    sides = np.minimum(one[..., 2:], other[..., 2:]) - np.maximum(one[..., :2], other[..., :2])
    # fmax takes 0 for NaN, so a box without numbers overlaps nothing.
    inside = np.fmax(sides[..., 0], 0) * np.fmax(sides[..., 1], 0)
    union = box_areas(one) + box_areas(other) - inside
    ious: Array = np.divide(inside, union, out=np.zeros_like(inside), where=inside > 0)
    return ious


def finite_corners(boxes: Array) -> npt.NDArray[np.float64]:
    """Give boxes whose areas can be computed.

    Args:
        boxes: ``(N, 4)`` ``xyxy``, any unit and real dtype; N may be 0.

    Returns:
        ``(N, 4)`` float64, the same numbers unless one is beyond 1e100: then all are
        made smaller by one power of two, and an infinite end is put far outside.
        How much boxes overlap stays the same. NaN stays NaN.
    """
    corners = boxes.astype(np.float64)
    if corners.size == 0 or (corners.max() <= _LARGE and corners.min() >= -_LARGE):
        return corners
    sizes = np.abs(corners)
    largest = np.max(sizes, where=np.isfinite(sizes), initial=_LARGE)
    smaller = np.ldexp(corners, int(np.log2(_LARGE) - np.log2(largest)))
    return np.clip(smaller, -_FAR, _FAR)


def project_points(points: Array, transform: ResizeTransform) -> Array:
    """Bring points of a resized picture back to the original.

    Args:
        points: ``(..., 2)`` x, y, pixels of the resized picture.
        transform: how the picture was resized.

    Returns:
        A new array of the same shape, pixels of the original; not clipped, since a
        point may rightly lie outside. float64 stays so, all else gives float32, or
        float64 where float32 could not hold it.

    Raises:
        ValueError: the last axis is not 2 long.
    """
    if points.ndim < 1 or points.shape[-1] != _POINT:
        raise ValueError(f"ProjectPoints: points must be (..., 2) x y, got {points.shape}")
    wide = _wide(points)
    pad, scale = (np.asarray(part, wide.dtype) for part in (transform.pad, transform.scale))
    with np.errstate(over="ignore"):  # what is beyond the dtype is infinite
        projected: Array = (wide - pad) / scale
    return projected


def project_boxes(boxes: Array, transform: ResizeTransform) -> Array:
    """Bring boxes of a resized picture back to the original, and cut them at its edges.

    Args:
        boxes: ``(N, 4)`` ``xyxy``, pixels of the resized picture; N may be 0.
        transform: how the picture was resized.

    Returns:
        ``(N, 4)`` ``xyxy``, pixels of the original, new; dtypes as in
        :func:`project_points`. A box wholly outside gets no area; none is dropped,
        so row ``i`` still belongs to score ``i``.

    Raises:
        ValueError: the last axis is not 4 long.
    """
    _checked_boxes("ProjectBoxes", boxes)
    corners = boxes.reshape(*boxes.shape[:-1], 2, 2)
    height, width = transform.original_shape
    projected = project_points(corners, transform)
    return np.clip(projected, 0, np.array([width, height], projected.dtype)).reshape(boxes.shape)


@Operator
class ConvertBoxFormat:
    """Write a registry's boxes in another format; see :func:`convert_boxes`."""

    def __init__(
        self, src: str = "boxes", *, from_: BoxFormat, to: BoxFormat = "xyxy", as_: str | None = None
    ) -> None:
        """Read ``src`` in format ``from_``, write ``as_`` (``src`` by default) in format ``to``.

        Raises:
            ValueError: a format is none of ``xyxy``, ``xywh``, ``cxcywh``.
        """
        _check_formats(from_, to)
        self.src = src
        self.from_: BoxFormat = from_
        self.to: BoxFormat = to
        self.as_ = checked_output("ConvertBoxFormat", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the converted boxes; ValueError unless they are ``(..., 4)``."""
        return tensors.replace(
            **{self.as_ or self.src: convert_boxes(tensors[self.src], self.from_, self.to)}
        )


@Operator
class ProjectBoxes:
    """Bring a registry's boxes back to the original picture; see :func:`project_boxes`."""

    def __init__(self, src: str = "boxes") -> None:
        """Read and write ``src``."""
        self.src = src

    @takes(TensorRegistry, ResizeTransform)
    def __call__(self, registry: TensorRegistry, transform: ResizeTransform) -> TensorRegistry:
        """Give a registry with the projected boxes; ValueError unless they are ``(..., 4)``."""
        return registry.replace(**{self.src: project_boxes(registry[self.src], transform)})


@Operator
class ProjectPoints:
    """Bring a registry's points back to the original picture; see :func:`project_points`."""

    def __init__(self, src: str = "landmarks") -> None:
        """Read and write ``src``, such as landmarks ``(N, K, 2)``."""
        self.src = src

    @takes(TensorRegistry, ResizeTransform)
    def __call__(self, registry: TensorRegistry, transform: ResizeTransform) -> TensorRegistry:
        """Give a registry with the projected points; ValueError unless they are ``(..., 2)``."""
        return registry.replace(**{self.src: project_points(registry[self.src], transform)})


@Operator
class FilterTensorsByScore:
    """Keep the rows whose score is high enough; a NaN score is not."""

    def __init__(
        self, *srcs: str, score: str, min_score: float, as_: str | tuple[str, ...] | None = None
    ) -> None:
        """Configure the step.

        Args:
            srcs: the tensors to filter along, all with as many rows as ``score``.
            score: the tensor ``(N,)`` that decides; it is filtered too, and is first in ``as_``.
            min_score: the lowest score that stays.
            as_: None writes in place; a name, or a tuple: ``score``'s, then those of ``srcs``.

        Raises:
            ValueError: ``as_`` does not name one output each, or ``min_score`` is NaN.
        """
        if np.isnan(min_score):
            raise ValueError("FilterTensorsByScore: min_score must be a number, got nan")
        self.srcs = checked_names("FilterTensorsByScore", srcs, first=(score,))
        self.score = score
        self.min_score = min_score
        self.as_ = as_
        self._outputs = output_names("FilterTensorsByScore", self.srcs, as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the kept rows; ValueError unless ``score`` is ``(N,)``."""
        scores = tensors[self.score]
        if scores.ndim != 1:
            raise ValueError(f"FilterTensorsByScore: {self.score!r} must be (N,), got {scores.shape}")
        kept = scores >= self.min_score
        return keep_rows("FilterTensorsByScore", tensors, self.srcs, self._outputs, kept)


def _check_formats(from_: str, to: str) -> None:
    for name, given in (("from_", from_), ("to", to)):
        if given not in get_args(BoxFormat):
            raise ValueError(
                f"ConvertBoxFormat: {name} must be one of {', '.join(get_args(BoxFormat))}, got {given!r}"
            )


def _checked_boxes(owner: str, boxes: Array) -> Array:
    if boxes.ndim < 1 or boxes.shape[-1] != _COORDINATES:
        raise ValueError(f"{owner}: boxes must be (N, 4), got {boxes.shape}")
    return boxes


def _wide(array: Array) -> Array:
    """Give float32 or wider: small and unsigned types would wrap, float16 would round."""
    return array.astype(np.result_type(array.dtype, np.float32), copy=False)


def _as_floats(boxes: Array, wide: Array) -> np.dtype[Any]:
    return boxes.dtype if boxes.dtype.kind == "f" else wide.dtype
