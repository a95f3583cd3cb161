"""Pictures to the size that a model wants, remembering how.

Knows pixels and the integers that were used. Knows nothing of models.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.vision.types import ImagePayload, ResizeTransform

__all__ = ["Interpolation", "Resize", "ResizeMode", "letterbox_shape", "resize_into"]

ResizeMode = Literal["letterbox", "resize"]
Interpolation = Literal["nearest", "linear", "cubic", "area"]

_INTERPOLATIONS = {
    "nearest": cv2.INTER_NEAREST,
    "linear": cv2.INTER_LINEAR,
    "cubic": cv2.INTER_CUBIC,
    "area": cv2.INTER_AREA,
}
_WHITES = {"uint8": 255, "uint16": 65535, "float16": 1.0, "float32": 1.0, "float64": 1.0}
_WHITE = 255
# The most channels that OpenCV resizes at once, and the most that it averages.
_TOGETHER, _AVERAGED = 128, 4


def letterbox_shape(
    shape_hw: tuple[int, int], target_hw: tuple[int, int], *, allow_scale_up: bool = True
) -> tuple[int, int]:
    """Give the largest (height, width) of a shape's proportions that fits a target.

    Each side is rounded half to even and is never 0. Pixels throughout.
    """
    ratio = min(target_hw[0] / shape_hw[0], target_hw[1] / shape_hw[1])
    if not allow_scale_up:
        ratio = min(ratio, 1.0)
    height, width = (max(1, round(side * ratio)) for side in shape_hw)
    return height, width


def resize_into(
    pixels: npt.NDArray[Any],
    content_hw: tuple[int, int],
    canvas_hw: tuple[int, int],
    left_top: tuple[int, int],
    pad: float,
    interpolation: int,
) -> npt.NDArray[Any]:
    """Resize a picture onto a canvas of one colour, in one pass over its pixels.

    Args:
        pixels: ``(H, W, C)``, uint8, uint16, float16, float32 or float64.
        content_hw: the size that the picture gets, pixels.
        canvas_hw: the size of the result, pixels.
        left_top: where the picture's corner is on the canvas, pixels.
        pad: the value around the picture, in the dtype's own scale.
        interpolation: OpenCV's number.

    Returns:
        ``(*canvas_hw, C)``, a new contiguous array of the same dtype.
    """
    if pixels.dtype == np.float16:
        # OpenCV does not resize float16.
        wide = resize_into(pixels.astype(np.float32), content_hw, canvas_hw, left_top, pad, interpolation)
        return wide.astype(np.float16)
    (height, width), (left, top) = content_hw, left_top
    canvas = np.empty((*canvas_hw, pixels.shape[2]), pixels.dtype)
    canvas[:top], canvas[top + height :] = pad, pad
    canvas[top : top + height, :left], canvas[top : top + height, left + width :] = pad, pad
    content = canvas[top : top + height, left : left + width]
    if interpolation == cv2.INTER_AREA:
        # OpenCV averages only where no axis grows, so each axis goes by itself where one does.
        smaller_hw = (min(height, pixels.shape[0]), min(width, pixels.shape[1]))
        if smaller_hw != (height, width):
            smaller = np.empty((*smaller_hw, pixels.shape[2]), pixels.dtype)
            _resize_to(smaller, pixels, cv2.INTER_AREA, _AVERAGED)
            pixels, interpolation = smaller, cv2.INTER_LINEAR
    _resize_to(content, pixels, interpolation, _AVERAGED if interpolation == cv2.INTER_AREA else _TOGETHER)
    return canvas


def _resize_to(content: npt.NDArray[Any], pixels: npt.NDArray[Any], interpolation: int, most: int) -> None:
    """Fill ``content`` with the resized picture, at most so many channels at a time."""
    height, width, channels = content.shape
    if channels > most:
        for at in range(0, channels, most):
            part = np.ascontiguousarray(pixels[..., at : at + most])
            _resize_to(content[..., at : at + most], part, interpolation, most)
        return
    # OpenCV drops an axis that is 1 long; it writes through the view all the same.
    target = content[..., 0] if channels == 1 else content
    # A part of the channels only is no picture to OpenCV, so it gets one of its own.
    whole = content.strides[1] == channels * content.itemsize
    resized = cv2.resize(pixels, (width, height), dst=target if whole else None, interpolation=interpolation)
    if not np.shares_memory(resized, content):
        content[...] = resized.reshape(content.shape)


@Operator
class Resize:
    """Bring a picture to a size, and remember how.

    ``letterbox`` keeps the proportions and fills the rest with ``pad_value``;
    ``resize`` stretches.

    Choose the ``interpolation`` that the model was trained with. ``linear`` is what most
    detectors were: shrinking with it skips pixels, so that a stripe every 8 pixels can
    vanish at an eighth of the size. ``area`` averages them all, as Pillow's filters and
    torchvision's ``antialias=True`` do: fine patterns and small things keep their
    brightness, and it is the one to take for models trained so, and for pictures that
    are shrunk to be looked at. Along an axis that grows, ``area`` is ``linear``.

    Float pictures count as 0 to 1 here: that is what ``pad_value`` is scaled to. After
    them ``Normalize`` takes floats as they are, so give it ``scale=1.0``.
    """

    def __init__(
        self,
        target_size: tuple[int, int] | None = (640, 640),
        mode: ResizeMode = "letterbox",
        pad_value: int = 114,
        interpolation: Interpolation = "linear",
        center: bool = True,
        allow_scale_up: bool = True,
        *,
        multiple_of: int | None = None,
    ) -> None:
        """Configure the step.

        Args:
            target_size: (height, width), pixels; None with ``multiple_of``.
            mode: ``letterbox`` or ``resize``.
            pad_value: the colour of the padding, 0 to 255; scaled to the picture's dtype
                (65535 is white in uint16, 1.0 in floats).
            interpolation: ``nearest``, ``linear``, ``cubic`` or ``area``; see above.
            center: padding on both sides; False puts all of it right and below.
            allow_scale_up: False never enlarges in a letterbox.
            multiple_of: stretch each side up to the next multiple of this instead of
                to a fixed size; needs ``target_size=None`` and ``mode="resize"``.

        Raises:
            ValueError: an argument is none of these.
        """
        _check_choice("mode", mode, get_args(ResizeMode))
        _check_choice("interpolation", interpolation, get_args(Interpolation))
        _check_size(target_size, multiple_of, mode)
        if not 0 <= pad_value <= _WHITE:
            raise ValueError(f"Resize: pad_value must be 0 to 255, got {pad_value}")
        self.target_size = target_size
        self.mode = mode
        self.pad_value = pad_value
        self.interpolation = interpolation
        self.center = center
        self.allow_scale_up = allow_scale_up
        self.multiple_of = multiple_of

    @takes(ImagePayload)
    def __call__(self, image_payload: ImagePayload) -> tuple[ImagePayload, ResizeTransform]:
        """Give the resized picture, a new array, and how it was resized.

        Raises:
            ValueError: the picture is not HWC, is empty, or has a dtype that cannot be resized.
        """
        _check_image(image_payload)
        original = image_payload.spatial_shape
        target = self.target_size or self._next_multiples(original)
        content = target
        if self.mode == "letterbox":
            content = letterbox_shape(original, target, allow_scale_up=self.allow_scale_up)
        spare_wh = (target[1] - content[1], target[0] - content[0])
        left, top = (spare_wh[0] // 2, spare_wh[1] // 2) if self.center else (0, 0)
        white = _WHITES[image_payload.dtype]
        # Whole numbers stay so in integer pictures: 114 of 255 is 29298 of 65535.
        pad = self.pad_value / _WHITE * white if white == 1 else self.pad_value * (white // _WHITE)
        number = _INTERPOLATIONS[self.interpolation]
        pixels = resize_into(image_payload.array, content, target, (left, top), pad, number)
        transform = ResizeTransform(
            scale=(content[1] / original[1], content[0] / original[0]),
            pad=(float(left), float(top)),
            original_shape=original,
            resized_shape=target,
            content_shape=content,
        )
        return ImagePayload(pixels, image_payload.color_space, image_payload.layout), transform

    def _next_multiples(self, shape_hw: tuple[int, int]) -> tuple[int, int]:
        step = self.multiple_of or 1
        height, width = (-(-side // step) * step for side in shape_hw)
        return height, width


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"Resize: {name} must be one of {', '.join(choices)}, got {value!r}")


def _check_size(target_size: tuple[int, int] | None, multiple_of: int | None, mode: str) -> None:
    if multiple_of is not None:
        if target_size is not None or mode != "resize" or multiple_of < 1:
            raise ValueError(
                f'Resize: multiple_of={multiple_of} needs target_size=None, mode="resize" and 1 or more, '
                f"got target_size={target_size}, mode={mode!r}"
            )
        return
    sides = target_size if isinstance(target_size, (tuple, list)) else ()
    if len(sides) != 2 or any(not isinstance(side, (int, np.integer)) or side < 1 for side in sides):
        raise ValueError(
            f"Resize: target_size must be (height, width), whole pixels of 1 or more, got {target_size!r}"
        )


def _check_image(image: ImagePayload) -> None:
    if image.layout != "HWC" or image.ndim != 3:  # H, W and C
        raise ValueError(f"Resize: the picture must be HWC, got {image.layout} of shape {image.shape}")
    if image.dtype not in _WHITES:
        raise ValueError(f"Resize: pixels must be {', '.join(_WHITES)}, got {image.dtype}; cast them first")
    if image.array.size == 0:
        raise ValueError(f"Resize: the picture has no pixels, its shape is {image.shape}")
