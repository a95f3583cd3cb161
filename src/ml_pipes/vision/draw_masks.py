"""Masks, drawn in the colours of their classes on a copy of a picture.

Knows pixels and masks. Knows nothing of where they came from.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision._palette import (
    Colour,
    checked_canvas,
    checked_class_names,
    class_colour,
    class_numbers,
    class_tensor,
    draw_label,
    in_order_of,
    ink_on,
    name_of,
)
from ml_pipes.vision.labels import ClassNames
from ml_pipes.vision.types import ImagePayload

__all__ = ["DrawMasks"]


@Operator
class DrawMasks:
    """Draw masks in the colours of their classes on a copy of the picture."""

    def __init__(
        self,
        masks: str = "masks",
        classes: str | None = "classes",
        *,
        class_names: ClassNames | None = None,
        alpha: float = 0.45,
    ) -> None:
        """Configure the step.

        Args:
            masks: the tensor ``(N, H, W)``, as large as the picture; what is above 0 is in the mask.
            classes: the tensor ``(N,)`` of class numbers; None gives each mask a colour by its place.
            class_names: a list of names, or a mapping from class number to name such as a
                ``LabelMap``, to write beside the masks; a number without a name is shown itself.
                None writes nothing.
            alpha: how much of the colour is mixed in, 0 to 1.

        Raises:
            ValueError: ``class_names`` without ``classes``, or ``alpha`` out of its range.
            TypeError: ``class_names`` is neither a list nor a mapping.
        """
        if not 0 <= alpha <= 1:
            raise ValueError(f"DrawMasks: alpha must be 0 to 1, got {alpha}")
        self.masks = masks
        self.classes = classes
        self.class_names = checked_class_names("DrawMasks", class_names, classes)
        self.alpha = alpha

    @takes(ImagePayload, TensorRegistry)
    def __call__(
        self, source_image: ImagePayload, registry: TensorRegistry
    ) -> tuple[ImagePayload, TensorRegistry]:
        """Give the drawn copy and the same registry; a later mask lies over an earlier one.

        Raises:
            ValueError: the picture is not HWC uint8 in BGR or RGB, the masks are not of its size, or
                there is not a class per mask.
        """
        canvas = checked_canvas("DrawMasks", source_image)
        masks = registry[self.masks]
        classes = class_tensor("DrawMasks", registry, self.classes, "colours each mask by its place")
        _check_shapes(masks, classes, source_image.spatial_shape)
        numbers = [None] * len(masks) if classes is None else class_numbers(classes)
        labels: list[tuple[tuple[int, int], str, Colour]] = []
        for at, (mask, number) in enumerate(zip(masks, numbers, strict=True)):
            colour = class_colour(at if number is None else number)
            left_top = _tint(canvas, mask, in_order_of(source_image, colour), self.alpha)
            if left_top is not None and number is not None and self.class_names is not None:
                name = name_of(self.class_names, number)
                labels.append((left_top, str(number) if name is None else name, colour))
        # After all masks, so that none of them lies over a label.
        for left_top, label, colour in labels:
            draw_label(canvas, left_top, label, in_order_of(source_image, colour), ink_on(colour))
        return ImagePayload(canvas, source_image.color_space, source_image.layout), registry


def _tint(canvas: npt.NDArray[Any], mask: Array, colour: Colour, alpha: float) -> tuple[int, int] | None:
    """Mix a colour into the canvas where the mask is; give the mask's left and top, or None without one."""
    inside = mask > 0
    rows = np.flatnonzero(inside.any(axis=1))
    if rows.size == 0:
        return None
    top, bottom = int(rows[0]), int(rows[-1]) + 1
    columns = np.flatnonzero(inside[top:bottom].any(axis=0))
    left, right = int(columns[0]), int(columns[-1]) + 1
    # All that a byte can become, per channel: looking up is faster than computing.
    mixed = np.arange(256)[:, None] * (1 - alpha) + np.array(colour) * alpha
    part = canvas[top:bottom, left:right]
    tinted = cv2.LUT(part, np.rint(mixed).astype(np.uint8)[None])
    np.copyto(part, tinted, where=inside[top:bottom, left:right, None])
    return left, top


def _check_shapes(masks: Array, classes: Array | None, picture_hw: tuple[int, int]) -> None:
    wanted = (len(masks) if masks.ndim else 0, *picture_hw)
    if masks.shape != wanted:
        raise ValueError(
            f"DrawMasks: wanted masks (N, H, W) of the picture's {picture_hw[0]} x {picture_hw[1]} pixels "
            f"(height x width), got {masks.shape}; ProjectMasks() brings them to it"
        )
    if classes is not None and classes.shape != masks.shape[:1]:
        raise ValueError(f"DrawMasks: wanted a class for each of the {len(masks)} masks, got {classes.shape}")
