"""Masks of a resized picture, or of boxes in it, as masks of the original.

Knows grids of pixels and where they lie on each other. Knows nothing of models.

Only the pixels of an instance's box are computed, each from the four mask pixels around its
centre, and compared with the threshold after that: a mask cut while it is small would spill over
its box when it is enlarged. The interpolation is NumPy's: how finely OpenCV divides
a pixel when it warps depends on its version.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision.masks import checked_masks
from ml_pipes.vision.types import ResizeTransform

__all__ = ["ProjectMasks", "ProjectRoIMasks", "project_masks", "project_roi_masks"]

_Positions = npt.NDArray[np.float64]
_Corners = npt.NDArray[np.int64]

_CENTRE = 0.5  # of a pixel, from its corner
# This many values at a time stay in a core's own cache.
_TOGETHER = 1 << 15
# float32 boxes are off by this much at most where they should lie between two pixels.
_ROUNDING_PX = 1e-3


def project_masks(
    masks: Array, boxes: Array, transform: ResizeTransform, mask_threshold: float = 0.5
) -> npt.NDArray[np.uint8]:
    """Bring masks of a resized picture back to the original, each cut to its box.

    Args:
        masks: ``(N, h, w)`` over the whole resized picture with its padding, of any size (often a
            quarter of it) and real dtype: probabilities, logits, 0 and 1. N may be 0.
        boxes: ``(N, 4)`` ``xyxy``, pixels of the original; an instance gets the pixels whose
            centres are in its box, from x1 and y1 on and before x2 and y2. A box may leave
            the picture; one that is inverted or holds NaN gets none.
        transform: how the picture was resized.
        mask_threshold: what a pixel must be above; 0 for logits.

    Returns:
        ``(N, *transform.original_shape)`` uint8, 0 and 1. Linear interpolation, at the
        positions that ``transform`` gives; mask pixels whose centre is in the padding do not
        count. NaN is above nothing.

    Raises:
        ValueError: the shapes do not belong together.
    """
    _check_shapes("ProjectMasks", masks, boxes)
    height, width = transform.original_shape
    projected = np.zeros((len(masks), height, width), np.uint8)
    if not len(masks):
        return projected
    rows, columns = (_positions(transform, axis, masks.shape[1 + axis]) for axis in (0, 1))
    # The first pixel whose centre is not before an edge, which is also the first one after the box.
    corners = _cut(np.ceil(boxes.astype(np.float64) - _CENTRE), transform.original_shape)
    for mask, (left, top, right, bottom), canvas in zip(masks, corners, projected, strict=True):
        region = canvas[top:bottom, left:right].view(np.bool_)
        _mark_above(region, mask, rows[top:bottom], columns[left:right], mask_threshold)
    return projected


def project_roi_masks(
    masks: Array, boxes: Array, transform: ResizeTransform, mask_threshold: float = 0.5
) -> npt.NDArray[np.bool_]:
    """Put masks that fill boxes of a resized picture (as those of Mask R-CNN do) on the original.

    Args:
        masks: ``(N, h, w)``, each over its own box, any real dtype; N may be 0.
        boxes: ``(N, 4)`` ``xyxy``, pixels of the resized picture with its padding. Each is
            projected and widened to whole pixels (floor and ceil); what lies outside the
            picture is cut off. One that is inverted, has no area, has no end or holds NaN gets
            no pixels.
        transform: how the picture was resized.
        mask_threshold: what a pixel must be above.

    Returns:
        ``(N, *transform.original_shape)`` bool. Each mask is stretched over its box with
        linear interpolation. NaN is above nothing.

    Raises:
        ValueError: the shapes do not belong together.
    """
    _check_shapes("ProjectRoIMasks", masks, boxes)
    projected = np.zeros((len(masks), *transform.original_shape), np.bool_)
    whole = _whole_boxes(boxes, transform)
    visible = _cut(whole, transform.original_shape)
    for mask, box, (left, top, right, bottom), canvas in zip(masks, whole, visible, projected, strict=True):
        if left < right and top < bottom:
            rows = _stretched(np.arange(top, bottom), box[1], box[3], mask.shape[0])
            columns = _stretched(np.arange(left, right), box[0], box[2], mask.shape[1])
            _mark_above(canvas[top:bottom, left:right], mask, rows, columns, mask_threshold)
    return projected


@Operator
class ProjectMasks:
    """Bring a registry's masks back to the original picture; see :func:`project_masks`."""

    def __init__(self, masks: str = "masks", boxes: str = "boxes", mask_threshold: float = 0.5) -> None:
        """Read ``masks`` and ``boxes`` (those in pixels of the original), write ``masks``.

        Raises:
            ValueError: ``mask_threshold`` is infinite or NaN.
        """
        self.masks = masks
        self.boxes = boxes
        self.mask_threshold = _checked_threshold("ProjectMasks", mask_threshold)

    @takes(TensorRegistry, ResizeTransform)
    def __call__(self, registry: TensorRegistry, transform: ResizeTransform) -> TensorRegistry:
        """Give a registry with the projected masks; ValueError when the shapes do not belong together."""
        masks = checked_masks("ProjectMasks", self.masks, registry[self.masks])
        projected = project_masks(masks, registry[self.boxes], transform, self.mask_threshold)
        return registry.replace(**{self.masks: projected})


@Operator
class ProjectRoIMasks:
    """Put a registry's masks of boxes on the original picture; see :func:`project_roi_masks`."""

    def __init__(self, masks: str = "masks", boxes: str = "boxes", mask_threshold: float = 0.5) -> None:
        """Read ``masks`` and ``boxes`` (those in pixels of the resized picture), write ``masks``.

        Raises:
            ValueError: ``mask_threshold`` is infinite or NaN.
        """
        self.masks = masks
        self.boxes = boxes
        self.mask_threshold = _checked_threshold("ProjectRoIMasks", mask_threshold)

    @takes(TensorRegistry, ResizeTransform)
    def __call__(self, registry: TensorRegistry, transform: ResizeTransform) -> TensorRegistry:
        """Give a registry with the projected masks; ValueError when the shapes do not belong together."""
        masks = checked_masks("ProjectRoIMasks", self.masks, registry[self.masks])
        projected = project_roi_masks(masks, registry[self.boxes], transform, self.mask_threshold)
        return registry.replace(**{self.masks: projected})


def _positions(transform: ResizeTransform, axis: int, length: int) -> _Positions:
    """For each pixel of the original along an axis, the place of its centre among a mask's pixels."""
    scale, pad = transform.scale[1 - axis], transform.pad[1 - axis]
    content, resized = transform.content_shape[axis], transform.resized_shape[axis]
    centres = (np.arange(transform.original_shape[axis]) + _CENTRE) * scale + pad
    # The mask pixels whose centres are on the picture; the padding's are no part of it.
    first = np.ceil(pad * length / resized - _CENTRE)
    last = np.ceil((pad + content) * length / resized - _CENTRE) - 1
    if first > last:  # the picture is narrower than a mask's pixel
        first = last = np.floor((pad + content / 2) * length / resized)
    inside = np.clip(centres * length / resized - _CENTRE, first, last)
    positions: _Positions = np.clip(inside, 0, length - 1)
    return positions


def _stretched(pixels: Array, start: float, stop: float, length: int) -> _Positions:
    """For each pixel of the original, the place of its centre in a mask that reaches from start to stop."""
    return np.clip((pixels + _CENTRE - start) * (length / (stop - start)) - _CENTRE, 0, length - 1)


def _whole_boxes(boxes: Array, transform: ResizeTransform) -> _Positions:
    """Boxes of the resized picture to boxes of whole pixels of the original, not cut."""
    scale, pad = np.array(transform.scale * 2), np.array(transform.pad * 2)
    projected = (boxes.astype(np.float64) - pad) / scale
    near = np.rint(projected)
    with np.errstate(invalid="ignore", over="ignore"):  # boxes without end
        projected = np.where(np.abs(projected - near) <= _ROUNDING_PX, near, projected)
        sizes = projected[:, 2:] - projected[:, :2]
    whole: _Positions = np.concatenate([np.floor(projected[:, :2]), np.ceil(projected[:, 2:])], axis=1)
    whole[~((sizes > 0) & np.isfinite(sizes)).all(axis=1)] = 0
    return whole


def _cut(boxes: _Positions, shape_hw: tuple[int, int]) -> _Corners:
    """Boxes of whole pixels to their parts inside a picture; no part is (0, 0, 0, 0)."""
    height, width = shape_hw
    numbers = np.where(np.isnan(boxes).any(axis=1, keepdims=True), 0, boxes)
    inside = np.clip(numbers, 0, [width, height, width, height]).astype(np.int64)
    inside[(inside[:, 2:] <= inside[:, :2]).any(axis=1)] = 0
    return inside


def _mark_above(
    region: npt.NDArray[np.bool_], mask: Array, rows: _Positions, columns: _Positions, threshold: float
) -> None:
    """Set each pixel of ``region`` to whether the mask is above the threshold at its row and column."""
    if not region.size:
        return
    top, left = int(rows[0]), int(columns[0])
    values = _finite(mask[top : int(rows[-1]) + 2, left : int(columns[-1]) + 2])
    low, share = _neighbours(columns - left)
    high = np.minimum(low + 1, values.shape[1] - 1)
    lines = values[:, low] * (1 - share).astype(values.dtype) + values[:, high] * share.astype(values.dtype)
    low, share = _neighbours(rows - top)
    steps = np.diff(lines, axis=0, append=lines[-1:])
    shares = share.astype(values.dtype)[:, None]
    many = max(1, _TOGETHER // len(columns))
    for start in range(0, len(rows), many):
        block = slice(start, start + many)
        between = steps[low[block]]
        between *= shares[block]
        between += lines[low[block]]
        np.greater(between, threshold, out=region[block])


def _neighbours(positions: _Positions) -> tuple[npt.NDArray[np.int64], _Positions]:
    """For each position the pixel before it, and how far it is on the way to the next."""
    low = positions.astype(np.int64)
    return low, positions - low


def _finite(values: Array) -> Array:
    """Float32 or wider, in which differences can be computed; NaN as what is above no threshold."""
    wide = values.astype(np.result_type(values.dtype, np.float32), copy=False)
    # Of the largest number a part, so that the difference of two is one too.
    most = np.finfo(wide.dtype).max / 4
    return np.clip(np.where(np.isnan(wide), -most, wide), -most, most)


def _checked_threshold(owner: str, mask_threshold: float) -> float:
    if not np.isfinite(mask_threshold):
        raise ValueError(f"{owner}: mask_threshold must be a finite number, got {mask_threshold}")
    return mask_threshold


def _check_shapes(owner: str, masks: Array, boxes: Array) -> None:
    if masks.ndim != 3 or boxes.shape != (len(masks), 4):
        raise ValueError(
            f"{owner}: wanted masks (N, H, W) and boxes (N, 4), got {masks.shape} and {boxes.shape}"
        )
    if len(masks) and masks.size == 0:
        raise ValueError(f"{owner}: the masks have no pixels, their shape is {masks.shape}")
