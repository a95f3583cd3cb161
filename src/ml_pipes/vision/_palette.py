"""What all steps that draw share: the canvas, colours, labels, and what a class is called.

Knows pixels, colours and letters. Knows nothing of boxes, masks or where they came from.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.errors import MissingNameError
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision.labels import ClassNames
from ml_pipes.vision.types import ImagePayload

__all__ = [
    "Colour",
    "checked_canvas",
    "checked_class_names",
    "class_colour",
    "class_numbers",
    "class_tensor",
    "draw_label",
    "in_order_of",
    "ink_on",
    "name_of",
]

Colour = tuple[int, int, int]

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_MARGIN = 3
# How bright blue, green and red look (Rec. 601); above _BRIGHT black is easier to read.
_BRIGHTNESS = (0.114, 0.587, 0.299)
_BRIGHT = 128


def checked_canvas(owner: str, image: ImagePayload) -> npt.NDArray[Any]:
    """Give a copy of a picture's pixels to draw on; ValueError unless it is HWC uint8 in BGR or RGB."""
    colour = image.color_space in ("BGR", "RGB")
    if image.layout != "HWC" or image.dtype != "uint8" or image.channels != 3 or not colour:
        raise ValueError(
            f"{owner}: the picture must be HWC uint8 with 3 channels in BGR or RGB, "
            f"got {image.layout} {image.dtype} {image.shape} in {image.color_space}"
        )
    return np.array(image.array, order="C")


def checked_class_names(owner: str, class_names: ClassNames | None, classes: str | None) -> ClassNames | None:
    """Give the names as they are.

    Raises:
        ValueError: there are names and no tensor of class numbers.
        TypeError: they are neither a list nor a mapping.
    """
    if class_names is not None and classes is None:
        raise ValueError(f"{owner}: class_names needs classes, the tensor of class numbers; it is None")
    listed = isinstance(class_names, Sequence) and not isinstance(class_names, (str, bytes))
    if class_names is not None and not listed and not isinstance(class_names, Mapping):
        raise TypeError(
            f"{owner}: class_names must be a list of names, a dict from number to name or a LabelMap, "
            f"got {class_names!r}"
        )
    return class_names


def name_of(class_names: ClassNames | None, number: int) -> str | None:
    """Give a class's name, or None where it has none."""
    if class_names is None:
        return None
    if isinstance(class_names, Mapping):
        return class_names.get(number)
    return class_names[number] if 0 <= number < len(class_names) else None


def class_tensor(owner: str, tensors: TensorRegistry, classes: str | None, without: str) -> Array | None:
    """Give the tensor of class numbers, or None where none is named.

    Raises:
        MissingNameError: it is not there; the error tells what ``classes=None`` would do: ``without``.
    """
    try:
        return None if classes is None else tensors[classes]
    except MissingNameError as missing:
        raise MissingNameError(f"{owner}: {missing}; {owner}(classes=None) {without}") from None


def class_numbers(classes: Array) -> list[int | None]:
    """Give class numbers ``(N,)`` of any real dtype as integers; None for one that is NaN or infinite."""
    return [int(number) if math.isfinite(number) else None for number in classes.tolist()]


def class_colour(number: int) -> Colour:
    """Give a class's colour, blue, green, red: neighbours differ, and it is the same in every picture."""
    return (37 * number + 17) % 255, (91 * number + 53) % 255, (17 * number + 191) % 255


def in_order_of(image: ImagePayload, colour: Colour) -> Colour:
    """Give a colour (blue, green, red) in the picture's own order."""
    return colour if image.color_space == "BGR" else colour[::-1]


def ink_on(colour: Colour) -> Colour:
    """Black on a bright colour (blue, green, red), white on a dark one."""
    brightness = sum(part * weight for part, weight in zip(colour, _BRIGHTNESS, strict=True))
    return (0, 0, 0) if brightness > _BRIGHT else (255, 255, 255)


def draw_label(
    canvas: npt.NDArray[Any],
    left_top: tuple[int, int],
    label: str,
    ground: Colour,
    ink: Colour,
    font_scale: float = 0.5,
) -> None:
    """Write a label on a ground of its own, beside the corner of what it belongs to.

    Args:
        canvas: ``(H, W, 3)`` uint8, drawn on.
        left_top: the corner, pixels; it may be outside.
        label: the text.
        ground: the ground's colour, in the canvas's order.
        ink: the letters' colour.
        font_scale: 0.5 is about 11 pixels high.
    """
    left, top = left_top
    strokes = max(1, round(font_scale * 2))
    (wide, high), below = cv2.getTextSize(label, _FONT, font_scale, strokes)
    tall = high + below + 2 * _MARGIN
    # Above the corner where there is room, else below it; never over the picture's edge.
    at_y = top - tall if top >= tall else max(top, 0)
    at_x = max(0, min(left, canvas.shape[1] - wide - 2 * _MARGIN))
    cv2.rectangle(canvas, (at_x, at_y), (at_x + wide + 2 * _MARGIN, at_y + tall), ground, cv2.FILLED)
    origin = (at_x + _MARGIN, at_y + _MARGIN + high)
    cv2.putText(canvas, label, origin, _FONT, font_scale, ink, strokes, cv2.LINE_AA)
