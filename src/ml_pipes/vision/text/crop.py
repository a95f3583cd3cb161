"""Lines of text cut out of a page, straightened, and brought to one height.

Knows pixels and quadrilaterals. Knows nothing of models, and nothing of what is written.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.tensor.collate import collate
from ml_pipes.tensor.types import Array, TensorPayload, TensorRegistry
from ml_pipes.vision._options import check_whole
from ml_pipes.vision.resize import resize_into
from ml_pipes.vision.text.quads import check_quads, quad_sides
from ml_pipes.vision.types import ImagePayload

__all__ = ["CollateWidths", "CropQuads", "PadWidth", "ResizeToHeight", "crop_quads", "pad_width"]

_DTYPES = ("uint8", "uint16", "float16", "float32", "float64")
# Before its version 5, OpenCV warps no longer picture.
_LONGEST = 32766
# How far from a point the pixels lie that it is made of.
_REACH = 4
_MOST_CHANNELS = 4


def crop_quads(
    pixels: npt.NDArray[Any], quads: Array, upright_ratio: float | None = 1.5
) -> list[npt.NDArray[Any]]:
    """Cut quadrilaterals out of a picture, each straightened to a rectangle.

    The rectangle is as wide as the longer of top and bottom and as high as the longer of left and
    right, fractions of a pixel left out, 1 or more. Pixels between are cubic; those outside the picture
    repeat its edge.

    Args:
        pixels: ``(H, W, C)``, 1 to 4 channels, uint8, uint16, float16, float32 or float64.
        quads: ``(N, 4, 2)`` x, y, pixels: top-left, top-right, bottom-right, bottom-left; N may be 0.
        upright_ratio: a crop this many times higher than wide, or more, is turned a quarter to the
            left, as upright text in a line; None turns none.

    Returns:
        N new contiguous arrays ``(h, w, C)`` of the same dtype.

    Raises:
        ValueError: the shapes are others, a corner is no finite number, or a side is too long for OpenCV.
    """
    check_quads("CropQuads", quads)
    if pixels.ndim != 3 or not 1 <= pixels.shape[2] <= _MOST_CHANNELS or pixels.size == 0:
        raise ValueError(f"CropQuads: the picture must be (H, W, C) with 1 to 4 channels, got {pixels.shape}")
    if pixels.dtype not in [np.dtype(name) for name in _DTYPES]:
        raise ValueError(
            f"CropQuads: pixels must be {', '.join(_DTYPES)}, got {pixels.dtype}; cast them first"
        )
    if pixels.dtype == np.float16:
        # OpenCV does not warp float16.
        wide = crop_quads(pixels.astype(np.float32), quads, upright_ratio)
        return [crop.astype(np.float16) for crop in wide]
    sides = quad_sides(quads)
    bad = np.flatnonzero(~(sides <= _LONGEST).all(axis=1))
    if bad.size:
        raise ValueError(
            f"CropQuads: corners must be finite and sides at most {_LONGEST} px, "
            f"got {quads[bad[0]].tolist()} in row {bad[0]}"
        )
    corners = quads.astype(np.float32)
    sizes_wh = np.maximum(np.maximum(sides[:, :2], sides[:, 2:]).astype(int), 1)
    return [
        _crop(pixels, quad, int(width), int(height), upright_ratio)
        for quad, (width, height) in zip(corners, sizes_wh, strict=True)
    ]


def pad_width(tensor: TensorPayload, width: int, value: float = 0.0) -> TensorPayload:
    """Add columns on the right of a model's input until it is so wide.

    Args:
        tensor: its layout has a ``W``.
        width: columns.
        value: what they hold.

    Returns:
        The same dtype and layout, contiguous; the tensor itself when nothing is to add.

    Raises:
        ValueError: the layout has no W, or the tensor is wider.
    """
    axis = _width_axis("PadWidth", tensor)
    missing = width - tensor.array.shape[axis]
    if missing < 0:
        raise ValueError(f"PadWidth: the tensor is {tensor.array.shape[axis]} columns wide, wanted {width}")
    if missing == 0:
        return tensor
    by_axis = [(0, 0)] * tensor.array.ndim
    by_axis[axis] = (0, missing)
    return TensorPayload(
        np.pad(tensor.array, by_axis, constant_values=value), tensor.layout, str(tensor.array.dtype)
    )


@Operator
class CropQuads:
    """Cut a registry's quadrilaterals out of a picture; see :func:`crop_quads`."""

    def __init__(self, src: str = "quads", upright_ratio: float | None = 1.5) -> None:
        """Read ``src``; turn crops that many times higher than wide; ValueError unless it is above 0."""
        if upright_ratio is not None and not upright_ratio > 0:
            raise ValueError(f"CropQuads: upright_ratio must be above 0 or None, got {upright_ratio}")
        self.src = src
        self.upright_ratio = upright_ratio

    @takes(TensorRegistry, ImagePayload)
    def __call__(self, tensors: TensorRegistry, image: ImagePayload) -> list[ImagePayload]:
        """Give a picture per quadrilateral, in their order; ValueError as :func:`crop_quads`."""
        if image.layout != "HWC":
            raise ValueError(f"CropQuads: the picture must be HWC, got {image.layout} of shape {image.shape}")
        crops = crop_quads(image.array, tensors[self.src], self.upright_ratio)
        return [ImagePayload(crop, image.color_space, image.layout) for crop in crops]


@Operator
class ResizeToHeight:
    """Bring a picture to a height, keeping its proportions: ``width = ceil(height * w / h)``, linear."""

    def __init__(self, height: int = 48) -> None:
        """Want so many rows of pixels; ValueError for no whole number from 1 up."""
        check_whole("ResizeToHeight", 1, height=height)
        self.height = height

    @takes(ImagePayload)
    def __call__(self, image: ImagePayload) -> ImagePayload:
        """Give a new picture; ValueError when it is not HWC, is empty, or cannot be resized."""
        if image.layout != "HWC" or image.ndim != 3 or image.array.size == 0:
            raise ValueError(
                "ResizeToHeight: the picture must be HWC with pixels, "
                f"got {image.layout} of shape {image.shape}"
            )
        if image.array.dtype not in [np.dtype(name) for name in _DTYPES]:
            raise ValueError(
                f"ResizeToHeight: pixels must be {', '.join(_DTYPES)}, got {image.dtype}; cast them first"
            )
        # In whole numbers: a quotient would now and then be a pixel too wide.
        target = (self.height, -(-self.height * image.width // image.height))
        pixels = resize_into(image.array, target, target, (0, 0), 0, cv2.INTER_LINEAR)
        return ImagePayload(pixels, image.color_space, image.layout)


@Operator
class PadWidth:
    """Add columns of zeros on the right, up to a width that is shared by many; see :func:`pad_width`.

    After this step tensors of about one width have one shape, so that ``Batch`` lets them meet and
    ``Collate`` joins them; and since each is padded by itself, its result does not depend on its company.
    """

    def __init__(self, min_width: int = 320, multiple_of: int = 32, value: float = 0.0) -> None:
        """Configure the step.

        Args:
            min_width: the least columns.
            multiple_of: the width becomes the next multiple of this; a larger one lets more
                tensors meet, at the cost of columns computed in vain.
            value: what the columns hold; after ``Normalize`` 0 is its mean.

        Raises:
            ValueError: ``min_width`` or ``multiple_of`` is no whole number from 1 up.
        """
        check_whole("PadWidth", 1, min_width=min_width, multiple_of=multiple_of)
        self.min_width = min_width
        self.multiple_of = multiple_of
        self.value = value

    @takes(TensorPayload)
    def __call__(self, tensor: TensorPayload) -> TensorPayload:
        """Give the padded tensor; ValueError when its layout has no W."""
        width = max(self.min_width, tensor.array.shape[_width_axis("PadWidth", tensor)])
        return pad_width(tensor, -(-width // self.multiple_of) * self.multiple_of, self.value)


@Operator
class CollateWidths:
    """Join tensors of different widths: each gets columns of zeros on the right, up to the widest.

    What a tensor's row holds then depends on its company; ``PadWidth`` before the batch avoids it.
    """

    def __init__(self, min_width: int = 1, value: float = 0.0) -> None:
        """Make the result at least ``min_width`` columns wide, the new ones ``value``; else ValueError."""
        check_whole("CollateWidths", 1, min_width=min_width)
        self.min_width = min_width
        self.value = value

    @takes(list)
    def __call__(self, tensors: list[TensorPayload]) -> TensorPayload:
        """Give one tensor; ValueError when there are none, or they differ in more than their width."""
        widths = [tensor.array.shape[_width_axis("CollateWidths", tensor)] for tensor in tensors]
        width = max([self.min_width, *widths])
        return collate([pad_width(tensor, width, self.value) for tensor in tensors])


def _crop(
    pixels: npt.NDArray[Any],
    quad: npt.NDArray[np.float32],
    width: int,
    height: int,
    upright_ratio: float | None,
) -> npt.NDArray[Any]:
    if max(pixels.shape[:2]) > _LONGEST:
        pixels, quad = _around(pixels, quad)
    target = np.array([[0, 0], [width, 0], [width, height], [0, height]], np.float32)
    matrix = cv2.getPerspectiveTransform(quad, target)
    crop = cv2.warpPerspective(
        pixels, matrix, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
    ).reshape(height, width, pixels.shape[2])
    if upright_ratio is not None and height / width >= upright_ratio:
        crop = np.rot90(crop)
    return np.ascontiguousarray(crop)


def _around(
    pixels: npt.NDArray[Any], quad: npt.NDArray[np.float32]
) -> tuple[npt.NDArray[Any], npt.NDArray[np.float32]]:
    """The part of a picture that a crop is made of, and the quadrilateral in that part."""
    edges = np.array([pixels.shape[1], pixels.shape[0]])
    left, top = np.clip(np.floor(quad.min(axis=0)) - _REACH, 0, edges - 1).astype(int)
    right, bottom = np.clip(np.ceil(quad.max(axis=0)) + _REACH, 1, edges).astype(int)
    return pixels[top:bottom, left:right], quad - np.array([left, top], np.float32)


def _width_axis(owner: str, tensor: TensorPayload) -> int:
    axis = tensor.layout.find("W")
    if axis < 0 or len(tensor.layout) != tensor.array.ndim:
        raise ValueError(
            f"{owner}: the layout must have a W, got {tensor.layout!r} for an array {tensor.array.shape}"
        )
    return axis
