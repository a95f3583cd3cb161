"""Instance masks: made of prototypes, resized, measured, weighted and filtered.

Knows stacks of masks ``(N, H, W)``, one per instance. Knows nothing of where the picture came from.
A pixel is in a mask where the mask is not 0; NaN is in none, and raises no warning.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_names, checked_output, output_names, replace_one, takes
from ml_pipes.tensor.select import keep_rows
from ml_pipes.tensor.types import Array, TensorRegistry

__all__ = [
    "FilterTensorsByMasksArea",
    "MasksToBoxes",
    "MeanMaskScores",
    "ReconstructMasks",
    "ResizeMasks",
    "WeightMasksByScores",
    "checked_masks",
    "mask_areas",
    "masks_to_boxes",
    "mean_mask_scores",
    "reconstruct_masks",
    "resize_masks",
    "weight_masks",
]

_AXES = 3  # instances, height, width
_HALF = 0.5


def checked_masks(owner: str, name: str, masks: Array, axes: str = "(N, H, W)") -> Array:
    """Give the masks themselves; ValueError, with the way out, unless they have these three axes."""
    if masks.ndim != _AXES:
        ones = [axis for axis in (1, 0, _AXES) if masks.ndim == _AXES + 1 and masks.shape[axis] == 1]
        way_out = f'; Squeeze("{name}", {ones[0]}) takes out the axis that is 1 long' if ones else ""
        raise ValueError(f"{owner}: {name!r} must be {axes}, got {masks.shape}{way_out}")
    return masks


def reconstruct_masks(coefficients: Array, prototypes: Array) -> Array:
    """Add up prototypes, each as much as an instance's coefficients say (YOLACT, Bolya et al. 2019, eq. 1).

    Args:
        coefficients: ``(N, K)``, any real dtype; N may be 0.
        prototypes: ``(K, H, W)``, any real dtype.

    Returns:
        ``(N, H, W)`` logits, no sigmoid applied: 0.5 after one is 0 before. Floats keep the wider
        dtype of the two (float16 is computed in float32); integers give float32 or float64.
        NaN stays within its own row or pixel.

    Raises:
        ValueError: the shapes do not belong together.
    """
    fit = prototypes.ndim == _AXES and coefficients.shape[1:] == prototypes.shape[:1]
    if coefficients.ndim != 2 or not fit:  # N and K
        raise ValueError(
            "ReconstructMasks: wanted coefficients (N, K) and prototypes (K, H, W), "
            f"got {coefficients.shape} and {prototypes.shape}"
        )
    dtype = _floating(np.result_type(coefficients.dtype, prototypes.dtype))
    wide = np.result_type(dtype, np.float32)
    flat = prototypes.reshape(len(prototypes), int(np.prod(prototypes.shape[1:]))).astype(wide, copy=False)
    with np.errstate(invalid="ignore", over="ignore"):
        summed: Array = coefficients.astype(wide, copy=False) @ flat
        return summed.astype(dtype, copy=False).reshape(len(coefficients), *prototypes.shape[1:])


def resize_masks(masks: Array, size_hw: tuple[int, int]) -> Array:
    """Stretch masks to a size, with linear interpolation between the centres of their pixels.

    Args:
        masks: ``(N, h, w)``, any real dtype; N may be 0.
        size_hw: the (height, width) that they get, pixels.

    Returns:
        ``(N, *size_hw)``, new. Floats keep their dtype (float16 is computed in float32); integers
        give float32, or float64 where float32 could not hold them. A bool mask stays
        one: a pixel is in it where its value would be more than half.

    Raises:
        ValueError: the masks have no pixels, or are not ``(N, h, w)``.
    """
    checked_masks("ResizeMasks", "masks", masks)
    if masks.dtype == np.bool_:
        return resize_masks(masks.view(np.uint8), size_hw) > _HALF
    if len(masks) and masks.size == 0:
        raise ValueError(f"ResizeMasks: the masks have no pixels, their shape is {masks.shape}")
    height, width = size_hw
    dtype = _floating(masks.dtype)
    resized = np.empty((len(masks), height, width), np.result_type(dtype, np.float32))
    for mask, target in zip(masks, resized, strict=True):
        small = np.ascontiguousarray(mask, resized.dtype)
        cv2.resize(small, (width, height), dst=target, interpolation=cv2.INTER_LINEAR)
    return resized.astype(dtype, copy=False)


def mask_areas(masks: Array) -> npt.NDArray[np.int64]:
    """Count each mask's pixels: masks ``(N, H, W)``, any real dtype, to ``(N,)`` int64; else ValueError."""
    checked_masks("mask_areas", "masks", masks)
    return np.array([np.count_nonzero(_inside(mask)) for mask in masks], np.int64)


def masks_to_boxes(masks: Array) -> npt.NDArray[np.float32]:
    """Give the smallest box around each mask.

    Args:
        masks: ``(N, H, W)``, any real dtype; N may be 0.

    Returns:
        ``(N, 4)`` float32 ``xyxy``, pixels of the masks; x2 and y2 are one past the last
        pixel, so that a mask of one pixel has a box of area 1. An empty mask gives 0, 0, 0, 0.

    Raises:
        ValueError: the masks are not ``(N, H, W)``.
    """
    checked_masks("MasksToBoxes", "masks", masks)
    boxes = np.zeros((len(masks), 4), np.float32)
    for mask, box in zip(masks, boxes, strict=True):
        inside = _inside(mask)
        rows = np.flatnonzero(inside.any(axis=1))
        if rows.size:
            columns = np.flatnonzero(inside[rows[0] : rows[-1] + 1].any(axis=0))
            box[:] = columns[0], rows[0], columns[-1] + 1, rows[-1] + 1
    return boxes


def mean_mask_scores(scores: Array, masks: Array) -> Array:
    """Give the mean of each instance's scores inside its mask: sum(score * mask) / sum(mask).

    Args:
        scores: ``(N, H, W)``, a score per pixel, any real dtype.
        masks: ``(N, H, W)``; what is not bool weighs its pixels. A pixel outside, where the
            mask is 0 or NaN, does not count, whatever its score.

    Returns:
        ``(N,)``; floats keep the dtype of ``scores`` (computed in float64), all else gives
        float32 or float64. A mask that sums up to 0 gives 0.

    Raises:
        ValueError: the shapes differ, or are not ``(N, H, W)``.
    """
    checked_masks("MeanMaskScores", "masks", masks)
    if scores.shape != masks.shape:
        raise ValueError(
            f"MeanMaskScores: scores and masks must have one shape, got {scores.shape} and {masks.shape}"
        )
    means = np.zeros(len(masks), np.float64)
    with np.errstate(invalid="ignore", over="ignore"):
        for at, (score, mask) in enumerate(zip(scores, masks, strict=True)):
            inside = _inside(mask)
            weights = mask[inside].astype(np.float64)
            total = weights.sum()
            if total != 0:
                means[at] = (score[inside] * weights).sum() / total
        return means.astype(_floating(scores.dtype), copy=False)


def weight_masks(masks: Array, scores: Array) -> Array:
    """Multiply each mask by its instance's score.

    Args:
        masks: ``(N, H, W)``, any real dtype; N may be 0.
        scores: ``(N,)``, any real dtype.

    Returns:
        ``(N, H, W)``, new, of the float dtype that holds both.

    Raises:
        ValueError: there is not one score per mask, or the masks are not ``(N, H, W)``.
    """
    checked_masks("WeightMasksByScores", "masks", masks)
    if scores.shape != masks.shape[:1]:
        raise ValueError(
            f"WeightMasksByScores: wanted masks (N, H, W) and scores (N,), "
            f"got {masks.shape} and {scores.shape}"
        )
    dtype = _floating(np.result_type(masks.dtype, scores.dtype))
    with np.errstate(invalid="ignore", over="ignore"):
        weighted: Array = np.multiply(masks, scores[:, None, None], dtype=dtype)
    return weighted


@Operator
class ReconstructMasks:
    """Make a mask per instance of a model's prototypes; see :func:`reconstruct_masks`."""

    def __init__(self, coefficients: str, prototypes: str, as_: str) -> None:
        """Read ``coefficients`` ``(N, K)`` and ``prototypes`` ``(K, H, W)``, write ``as_``."""
        self.coefficients = coefficients
        self.prototypes = prototypes
        self.as_ = as_
        checked_output("ReconstructMasks", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the masks; ValueError when the shapes do not belong together."""
        prototypes = checked_masks("ReconstructMasks", self.prototypes, tensors[self.prototypes], "(K, H, W)")
        return tensors.replace(**{self.as_: reconstruct_masks(tensors[self.coefficients], prototypes)})


@Operator
class ResizeMasks:
    """Stretch a registry's masks to a size that comes with it; see :func:`resize_masks`."""

    def __init__(self, masks: str = "masks", as_: str | None = None) -> None:
        """Read ``masks`` ``(N, h, w)``, write ``as_`` (``masks`` by default)."""
        self.masks = masks
        self.as_ = checked_output("ResizeMasks", as_)

    @takes(TensorRegistry)
    def __call__(self, registry: TensorRegistry, image_shape: tuple[int, int]) -> TensorRegistry:
        """Give a registry with the masks at ``image_shape``, (height, width) in pixels.

        Raises:
            ValueError: the shape is not two whole numbers of 1 or more, or the masks have no pixels.
        """
        sides = image_shape if isinstance(image_shape, (tuple, list)) else ()
        if len(sides) != 2 or any(not isinstance(side, (int, np.integer)) or side < 1 for side in sides):
            raise ValueError(
                "ResizeMasks: image_shape must be (height, width), whole pixels of 1 or more, "
                f"got {image_shape!r}"
            )
        masks = checked_masks("ResizeMasks", self.masks, registry[self.masks])
        resized = resize_masks(masks, (int(sides[0]), int(sides[1])))
        return registry.replace(**{self.as_ or self.masks: resized})


@Operator
class MasksToBoxes:
    """Find the box around each of a registry's masks; see :func:`masks_to_boxes`."""

    def __init__(self, masks: str = "masks", *, as_: str) -> None:
        """Read ``masks`` ``(N, H, W)``, write ``as_`` ``(N, 4)``."""
        self.masks = masks
        self.as_ = as_
        checked_output("MasksToBoxes", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the boxes; ValueError unless the masks are ``(N, H, W)``."""
        checked_masks("MasksToBoxes", self.masks, tensors[self.masks])
        return replace_one(tensors, self.masks, self.as_, masks_to_boxes)


@Operator
class MeanMaskScores:
    """Give each instance the mean of its scores inside its mask; see :func:`mean_mask_scores`."""

    def __init__(self, mask_scores: str = "mask_scores", masks: str = "masks", *, as_: str) -> None:
        """Read ``mask_scores`` and ``masks``, both ``(N, H, W)``, write ``as_`` ``(N,)``."""
        self.mask_scores = mask_scores
        self.masks = masks
        self.as_ = as_
        checked_output("MeanMaskScores", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the means; ValueError when the shapes differ."""
        masks = checked_masks("MeanMaskScores", self.masks, tensors[self.masks])
        return tensors.replace(**{self.as_: mean_mask_scores(tensors[self.mask_scores], masks)})


@Operator
class WeightMasksByScores:
    """Multiply each of a registry's masks by its score; see :func:`weight_masks`."""

    def __init__(self, masks: str = "masks", scores: str = "scores", *, as_: str) -> None:
        """Read ``masks`` ``(N, H, W)`` and ``scores`` ``(N,)``, write ``as_``."""
        self.masks = masks
        self.scores = scores
        self.as_ = as_
        checked_output("WeightMasksByScores", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the weighted masks; ValueError when there is not one score per mask."""
        masks = checked_masks("WeightMasksByScores", self.masks, tensors[self.masks])
        return tensors.replace(**{self.as_: weight_masks(masks, tensors[self.scores])})


@Operator
class FilterTensorsByMasksArea:
    """Keep the rows whose mask has pixels enough; see :func:`mask_areas`."""

    def __init__(
        self,
        *srcs: str,
        masks: str = "masks",
        min_area: int = 1,
        as_: str | tuple[str, ...] | None = None,
    ) -> None:
        """Configure the step.

        Args:
            srcs: the tensors to filter along, all with as many rows as there are masks.
            masks: the tensor ``(N, H, W)`` that decides; it is filtered too, and is first in ``as_``.
            min_area: the fewest pixels that stay.
            as_: None writes in place; a name, or a tuple: ``masks``', then those of ``srcs``.

        Raises:
            ValueError: ``as_`` does not name one output each, or ``min_area`` is below 0 or NaN.
        """
        if not min_area >= 0:
            raise ValueError(f"FilterTensorsByMasksArea: min_area must be 0 pixels or more, got {min_area}")
        self.srcs = checked_names("FilterTensorsByMasksArea", srcs, first=(masks,))
        self.masks = masks
        self.min_area = min_area
        self.as_ = as_
        self._outputs = output_names("FilterTensorsByMasksArea", self.srcs, as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the kept rows; ValueError unless the masks are ``(N, H, W)``."""
        masks = checked_masks("FilterTensorsByMasksArea", self.masks, tensors[self.masks])
        kept = mask_areas(masks) >= self.min_area
        return keep_rows("FilterTensorsByMasksArea", tensors, self.srcs, self._outputs, kept)


def _inside(mask: Array) -> npt.NDArray[np.bool_]:
    """Where a mask is not 0, and is a number."""
    if mask.dtype == np.bool_:
        return mask
    inside: npt.NDArray[np.bool_] = (mask < 0) | (mask > 0) if mask.dtype.kind == "f" else mask != 0
    return inside


def _floating(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Give the dtype itself when it is a float, else the float that holds it."""
    return dtype if dtype.kind == "f" else np.result_type(dtype, np.float32)
