"""Two pictures, mixed.

Knows pixels and colour orders. Knows nothing of what is in a picture.
"""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.vision.types import ImagePayload

__all__ = ["BlendImages"]

_DTYPES = ("uint8", "uint16", "float16", "float32", "float64")
# OpenCV does not mix float16, and rounds in float32: not finely enough for 16 bits.
_COMPUTED = {"float16": "float32", "uint16": "float64"}
_WHITE_OF_16_BITS = 65535
# Colour spaces that differ in the order of red and blue alone, and that order.
_SWAPPED = {
    ("BGR", "RGB"): [2, 1, 0],
    ("RGB", "BGR"): [2, 1, 0],
    ("BGRA", "RGBA"): [2, 1, 0, 3],
    ("RGBA", "BGRA"): [2, 1, 0, 3],
}


@Operator
class BlendImages:
    """Mix two pictures of one size: ``base * base_weight + overlay * overlay_weight``.

    Integers are rounded and stay in their range. The result has the base's colour
    order; the overlay is brought to it.
    """

    def __init__(self, base_weight: float = 0.6, overlay_weight: float = 0.4) -> None:
        """Mix with these weights, which need not add up to 1; ValueError unless they are finite."""
        for name, weight in (("base_weight", base_weight), ("overlay_weight", overlay_weight)):
            if not math.isfinite(weight):
                raise ValueError(f"BlendImages: {name} must be a finite number, got {weight}")
        self.base_weight = base_weight
        self.overlay_weight = overlay_weight

    @takes(ImagePayload, ImagePayload)
    def __call__(self, source_image: ImagePayload, overlay_image: ImagePayload) -> ImagePayload:
        """Give the mixture in a new array.

        Raises:
            ValueError: the pictures differ in shape, dtype or layout, in a colour space that is not
                just another order of red and blue, or have a dtype that is no pixel's.
        """
        base, overlay = source_image.array, _in_order_of(source_image, overlay_image)
        if base.size == 0:
            return ImagePayload(base.copy(), source_image.color_space, source_image.layout)
        computed = _COMPUTED.get(source_image.dtype, source_image.dtype)
        # As rows of numbers, since OpenCV takes the last axis of three for channels and allows but a few.
        rows = [picture.astype(computed, copy=False).reshape(len(base), -1) for picture in (base, overlay)]
        mixed = cv2.addWeighted(rows[0], self.base_weight, rows[1], self.overlay_weight, 0)
        if base.dtype == np.uint16:
            mixed = np.clip(np.rint(mixed), 0, _WHITE_OF_16_BITS)
        with np.errstate(over="ignore"):  # what is beyond float16 is infinite
            pixels = mixed.reshape(base.shape).astype(base.dtype, copy=False)
        return ImagePayload(pixels, source_image.color_space, source_image.layout)


def _in_order_of(base: ImagePayload, overlay: ImagePayload) -> npt.NDArray[Any]:
    """Give the overlay's pixels in the base's colour order."""
    for name in ("shape", "dtype", "layout"):
        ones, others = getattr(base, name), getattr(overlay, name)
        if ones != others:
            raise ValueError(f"BlendImages: both pictures must have one {name}, got {ones} and {others}")
    if base.dtype not in _DTYPES:
        raise ValueError(f"BlendImages: pixels must be {', '.join(_DTYPES)}, got {base.dtype}")
    if base.color_space == overlay.color_space:
        return overlay.array
    order = _SWAPPED.get((base.color_space, overlay.color_space))
    if order is None or overlay.channels != len(order):
        raise ValueError(
            f"BlendImages: a picture in {overlay.color_space} cannot be laid over one in {base.color_space}, "
            f"got {overlay.layout} of shape {overlay.shape}; bring both to one colour space before"
        )
    return overlay.array.take(order, axis=overlay.layout.index("C"))
