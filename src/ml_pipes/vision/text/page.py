"""A page at the sizes in which text is found: not too long, not too flat, and in a net's stride.

Knows pixels and the integers that were used. Knows nothing of models or of text.
"""

from __future__ import annotations

import cv2
import numpy as np

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.vision._options import check_whole
from ml_pipes.vision.resize import resize_into
from ml_pipes.vision.types import ImagePayload, ResizeTransform

__all__ = ["PreparePage", "ResizePage", "detection_shape", "page_shape"]

_STRIDE = 32
_DTYPES = ("uint8", "uint16", "float16", "float32", "float64")


def page_shape(shape_hw: tuple[int, int], min_side: int = 30, max_side: int = 2000) -> tuple[int, int]:
    """Give the (height, width) of a page that is neither too long nor too small.

    A page whose longer side is above ``max_side`` shrinks to it; then one whose shorter
    side is below ``min_side`` grows to it. Sides that change are rounded to the nearest
    multiple of 32, half to even, and are 32 or more. Pixels throughout. (What RapidOCR
    does before detection.)
    """
    height, width = shape_hw
    if max(height, width) > max_side:
        height, width = _in_strides(height, width, max_side / max(height, width), _STRIDE)
    if min(height, width) < min_side:
        height, width = _in_strides(height, width, min_side / min(height, width), _STRIDE)
    return height, width


def detection_shape(
    shape_hw: tuple[int, int], min_side: int = 736, multiple_of: int = _STRIDE
) -> tuple[int, int]:
    """Give the (height, width) at which text is looked for.

    A page whose shorter side is below ``min_side`` grows to it, and none shrinks; each side is then
    rounded to the nearest multiple, half to even, and is one multiple or more. Pixels throughout.
    """
    return _in_strides(*shape_hw, max(1.0, min_side / min(shape_hw)), multiple_of)


def _in_strides(height: int, width: int, ratio: float, stride: int) -> tuple[int, int]:
    sides = (max(1, round(int(side * ratio) / stride)) * stride for side in (height, width))
    high, wide = sides
    return high, wide


@Operator
class PreparePage:
    """Shrink a page that is too long, enlarge one that is too small, and give a flat one black margins.

    A line of text alone fills its picture from edge to edge, where detectors miss it: a page wider
    than ``max_ratio`` times its height, or not higher than ``min_side``, gets black rows above and below.
    """

    def __init__(self, min_side: int = 30, max_side: int = 2000, max_ratio: float = 8.0) -> None:
        """Configure the step.

        Args:
            min_side: the shorter side, pixels, below which a page is enlarged.
            max_side: the longer side, pixels, above which a page is shrunk.
            max_ratio: width over height, above which a page gets margins.

        Raises:
            ValueError: a number is out of its range.
        """
        if not 1 <= min_side <= max_side:
            raise ValueError(
                f"PreparePage: wanted 1 <= min_side <= max_side, got min_side={min_side}, max_side={max_side}"
            )
        if not max_ratio > 0:
            raise ValueError(f"PreparePage: max_ratio must be above 0, got {max_ratio}")
        self.min_side = min_side
        self.max_side = max_side
        self.max_ratio = max_ratio

    @takes(ImagePayload)
    def __call__(self, image: ImagePayload) -> tuple[ImagePayload, ResizeTransform]:
        """Give the page, a new picture unless nothing was to do, and how it came about.

        Raises:
            ValueError: the picture is not HWC, is empty, or has a dtype that cannot be resized.
        """
        _check_image("PreparePage", image)
        original = image.spatial_shape
        height, width = page_shape(original, self.min_side, self.max_side)
        margin = self._margin(height, width)
        canvas = (height + 2 * margin, width)
        transform = ResizeTransform(
            scale=(width / original[1], height / original[0]),
            pad=(0.0, float(margin)),
            original_shape=original,
            resized_shape=canvas,
            content_shape=(height, width),
        )
        if canvas == original:
            return image, transform
        pixels = resize_into(image.array, (height, width), canvas, (0, margin), 0, cv2.INTER_LINEAR)
        return ImagePayload(pixels, image.color_space, image.layout), transform

    def _margin(self, height: int, width: int) -> int:
        """Rows of black above, and as many below."""
        if height > self.min_side and width / height <= self.max_ratio:
            return 0
        wanted = max(int(width / self.max_ratio), self.min_side) * 2
        return abs(wanted - height) // 2


@Operator
class ResizePage:
    """Stretch a page to the size at which text is looked for; see :func:`detection_shape`."""

    def __init__(self, min_side: int = 736, multiple_of: int = _STRIDE) -> None:
        """Configure the step.

        Args:
            min_side: the shorter side, pixels, below which a page is enlarged.
            multiple_of: the net's stride, pixels: both sides become multiples of it.

        Raises:
            ValueError: a number is no whole one from 1 up.
        """
        check_whole("ResizePage", 1, min_side=min_side, multiple_of=multiple_of)
        self.min_side = min_side
        self.multiple_of = multiple_of

    @takes(ImagePayload)
    def __call__(self, image: ImagePayload) -> tuple[ImagePayload, ResizeTransform]:
        """Give the resized page, a new array, and how it was resized.

        Raises:
            ValueError: the picture is not HWC, is empty, or has a dtype that cannot be resized.
        """
        _check_image("ResizePage", image)
        original = image.spatial_shape
        target = detection_shape(original, self.min_side, self.multiple_of)
        pixels = resize_into(image.array, target, target, (0, 0), 0, cv2.INTER_LINEAR)
        transform = ResizeTransform(
            scale=(target[1] / original[1], target[0] / original[0]),
            pad=(0.0, 0.0),
            original_shape=original,
            resized_shape=target,
            content_shape=target,
        )
        return ImagePayload(pixels, image.color_space, image.layout), transform


def _check_image(owner: str, image: ImagePayload) -> None:
    if image.layout != "HWC" or image.ndim != 3:  # H, W and C
        raise ValueError(f"{owner}: the picture must be HWC, got {image.layout} of shape {image.shape}")
    if image.array.dtype not in [np.dtype(name) for name in _DTYPES]:
        raise ValueError(f"{owner}: pixels must be {', '.join(_DTYPES)}, got {image.dtype}; cast them first")
    if image.array.size == 0:
        raise ValueError(f"{owner}: the picture has no pixels, its shape is {image.shape}")
