"""Boxes and their labels, drawn on a copy of a picture.

Knows pixels and boxes. Knows nothing of where they came from.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.errors import MissingNameError
from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision.types import ImagePayload

__all__ = ["DrawBoxes"]

_Colour = tuple[int, int, int]

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_MARGIN = 3
# How bright blue, green and red look (Rec. 601); above _BRIGHT black is easier to read.
_BRIGHTNESS = (0.114, 0.587, 0.299)
_BRIGHT = 128
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
        class_names: list[str] | tuple[str, ...] | None = None,
        color: _Colour = (0, 255, 0),
        thickness: int = 2,
        font_scale: float = 0.5,
    ) -> None:
        """Configure the step.

        Args:
            boxes: the tensor ``(N, 4)`` ``xyxy``, pixels of the picture.
            scores: the tensor ``(N,)``.
            classes: the tensor ``(N,)`` of class numbers; None labels with the score alone.
            class_names: a name per class number; a number without one is shown itself.
            color: blue, green, red, 0 to 255; turned round for an RGB picture.
            thickness: of the lines, pixels.
            font_scale: the size of the letters; 0.5 is about 11 pixels high.

        Raises:
            ValueError: ``class_names`` without ``classes``, or a colour, thickness or size out of its range.
        """
        if class_names is not None and classes is None:
            raise ValueError("DrawBoxes: class_names needs classes, the tensor of class numbers; it is None")
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
        self.class_names = class_names
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
        _check_image(source_image)
        boxes, scores = registry[self.boxes], registry[self.scores]
        classes = self._classes_of(registry)
        if boxes.shape != (len(scores), 4) or (classes is not None and len(classes) != len(scores)):
            raise ValueError(
                "DrawBoxes: wanted boxes (N, 4), scores (N,) and classes (N,), "
                f"got {boxes.shape}, {scores.shape} and {None if classes is None else classes.shape}"
            )
        canvas = np.array(source_image.array, order="C")
        height, width = source_image.spatial_shape
        # Far outside is as good as a little outside, and fits OpenCV's integers.
        far = np.array([width, height, width, height], np.float64)
        shown = np.flatnonzero(_is_inside(boxes.astype(np.float64), width, height))
        corners = np.rint(np.clip(boxes[shown].astype(np.float64), -far, 2 * far)).astype(int).tolist()
        colour = self.color if source_image.color_space == "BGR" else self.color[::-1]
        for left, top, right, bottom in corners:
            cv2.rectangle(canvas, (left, top), (right, bottom), colour, self.thickness)
        # After all lines, so that none of them runs through a label.
        for at, (left, top, *_) in zip(shown, corners, strict=True):
            label = self._label(float(scores[at]), None if classes is None else int(classes[at]))
            self._draw_label(canvas, (left, top), label, colour)
        return ImagePayload(canvas, source_image.color_space, source_image.layout), registry

    def _classes_of(self, registry: TensorRegistry) -> npt.NDArray[Any] | None:
        try:
            return None if self.classes is None else registry[self.classes]
        except MissingNameError as missing:
            way_out = "DrawBoxes(classes=None) labels with the score alone"
            raise MissingNameError(f"DrawBoxes: {missing}; {way_out}") from None

    def _label(self, score: float, number: int | None) -> str:
        if number is None:
            return f"{score:.2f}"
        names = self.class_names or ()
        name = names[number] if 0 <= number < len(names) else str(number)
        return f"{name} {score:.2f}"

    def _draw_label(
        self, canvas: npt.NDArray[Any], left_top: tuple[int, int], label: str, colour: _Colour
    ) -> None:
        left, top = left_top
        strokes = max(1, round(self.font_scale * 2))
        (wide, high), below = cv2.getTextSize(label, _FONT, self.font_scale, strokes)
        tall = high + below + 2 * _MARGIN
        # Above the box where there is room, else inside it; never over the picture's edge.
        at_y = top - tall if top >= tall else max(top, 0)
        at_x = max(0, min(left, canvas.shape[1] - wide - 2 * _MARGIN))
        cv2.rectangle(canvas, (at_x, at_y), (at_x + wide + 2 * _MARGIN, at_y + tall), colour, cv2.FILLED)
        origin = (at_x + _MARGIN, at_y + _MARGIN + high)
        ink = _ink_on(self.color)
        cv2.putText(canvas, label, origin, _FONT, self.font_scale, ink, strokes, cv2.LINE_AA)


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


def _ink_on(color: _Colour) -> _Colour:
    """Black on a bright colour (blue, green, red), white on a dark one."""
    brightness = sum(part * weight for part, weight in zip(color, _BRIGHTNESS, strict=True))
    return (0, 0, 0) if brightness > _BRIGHT else (255, 255, 255)


def _check_image(image: ImagePayload) -> None:
    colour = image.color_space in ("BGR", "RGB")
    if image.layout != "HWC" or image.dtype != "uint8" or image.channels != 3 or not colour:
        raise ValueError(
            "DrawBoxes: the picture must be HWC uint8 with 3 channels in BGR or RGB, "
            f"got {image.layout} {image.dtype} {image.shape} in {image.color_space}"
        )
