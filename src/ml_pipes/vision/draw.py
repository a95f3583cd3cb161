"""Boxes and their labels, drawn on a copy of a picture.

Knows pixels and boxes. Knows nothing of where they came from.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision._palette import (
    Colour,
    checked_canvas,
    checked_class_names,
    class_numbers,
    class_tensor,
    draw_label,
    in_order_of,
    ink_on,
    name_of,
)
from ml_pipes.vision.labels import ClassNames
from ml_pipes.vision.types import ImagePayload

__all__ = ["DrawBoxes"]

# OpenCV draws no thicker lines.
_THICKEST = 32767


@Operator
class DrawBoxes:
    """Draw boxes with their class and score on a copy of the picture."""

    def __init__(
        self,
        boxes: str = "boxes",
        scores: str = "scores",
        classes: str | None = "classes",
        *,
        class_names: ClassNames | None = None,
        color: Colour = (0, 255, 0),
        thickness: int = 2,
        font_scale: float = 0.5,
    ) -> None:
        """Configure the step.

        Args:
            boxes: the tensor ``(N, 4)`` ``xyxy``, pixels of the picture.
            scores: the tensor ``(N,)``.
            classes: the tensor ``(N,)`` of class numbers; None labels with the score alone.
            class_names: a list of names, or a mapping from class number to name such as a
                ``LabelMap``; a number without a name is shown itself.
            color: blue, green, red, 0 to 255; turned round for an RGB picture.
            thickness: of the lines, pixels.
            font_scale: the size of the letters; 0.5 is about 11 pixels high.

        Raises:
            ValueError: ``class_names`` without ``classes``, or a colour, thickness or size out of its range.
            TypeError: ``class_names`` is neither a list nor a mapping.
        """
        if not _is_colour(color):
            raise ValueError(
                f"DrawBoxes: color must be (blue, green, red), each a whole number of 0 to 255, got {color!r}"
            )
        if not isinstance(thickness, (int, np.integer)) or not 1 <= thickness <= _THICKEST:
            raise ValueError(
                f"DrawBoxes: thickness must be a whole number of 1 to {_THICKEST}, got {thickness!r}"
            )
        if font_scale <= 0:
            raise ValueError(f"DrawBoxes: font_scale must be above 0, got {font_scale}")
        self.boxes = boxes
        self.scores = scores
        self.classes = classes
        self.class_names = checked_class_names("DrawBoxes", class_names, classes)
        blue, green, red = color
        self.color = (int(blue), int(green), int(red))
        self.thickness = int(thickness)
        self.font_scale = font_scale

    @takes(ImagePayload, TensorRegistry)
    def __call__(
        self, source_image: ImagePayload, registry: TensorRegistry
    ) -> tuple[ImagePayload, TensorRegistry]:
        """Give the drawn copy and the same registry.

        A box that holds NaN or is wholly outside the picture is skipped, with its label;
        one that leaves the picture is drawn as far as it is inside.

        Raises:
            ValueError: the picture is not HWC uint8 in BGR or RGB, or there is not a score per box.
        """
        canvas = checked_canvas("DrawBoxes", source_image)
        boxes, scores = registry[self.boxes], registry[self.scores]
        classes = class_tensor("DrawBoxes", registry, self.classes, "labels with the score alone")
        if boxes.shape != (len(scores), 4) or (classes is not None and len(classes) != len(scores)):
            raise ValueError(
                "DrawBoxes: wanted boxes (N, 4), scores (N,) and classes (N,), "
                f"got {boxes.shape}, {scores.shape} and {None if classes is None else classes.shape}"
            )
        height, width = source_image.spatial_shape
        # Far outside is as good as a little outside, and fits OpenCV's integers.
        far = np.array([width, height, width, height], np.float64)
        shown = np.flatnonzero(_is_inside(boxes.astype(np.float64), width, height))
        corners = np.rint(np.clip(boxes[shown].astype(np.float64), -far, 2 * far)).astype(int).tolist()
        colour = in_order_of(source_image, self.color)
        for left, top, right, bottom in corners:
            cv2.rectangle(canvas, (left, top), (right, bottom), colour, self.thickness)
        # After all lines, so that none of them runs through a label.
        numbers = [None] * len(scores) if classes is None else class_numbers(classes)
        for at, (left, top, *_) in zip(shown, corners, strict=True):
            label = self._label(float(scores[at]), numbers[at])
            draw_label(canvas, (left, top), label, colour, ink_on(self.color), self.font_scale)
        return ImagePayload(canvas, source_image.color_space, source_image.layout), registry

    def _label(self, score: float, number: int | None) -> str:
        if number is None:
            return f"{score:.2f}"
        name = name_of(self.class_names, number)
        return f"{number if name is None else name} {score:.2f}"


def _is_colour(color: object) -> bool:
    return (
        isinstance(color, (tuple, list))
        and len(color) == 3
        and all(isinstance(part, (int, np.integer)) and 0 <= part <= 255 for part in color)
    )


def _is_inside(boxes: npt.NDArray[np.float64], width: int, height: int) -> npt.NDArray[np.bool_]:
    """Tell which boxes ``(N, 4)`` touch the picture, turned round or not; one with NaN does not."""
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])
    touching: npt.NDArray[np.bool_] = np.all((low < (width, height)) & (high >= 0), axis=1)
    return touching
