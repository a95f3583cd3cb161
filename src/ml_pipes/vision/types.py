"""What vision steps hand to each other: a picture, and how it was resized.

Knows NumPy arrays. Knows nothing of files, models or drawing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy.typing as npt

from ml_pipes.tensor.types import same_content

__all__ = ["ImagePayload", "ResizeTransform"]


@dataclass(frozen=True, eq=False)
class ImagePayload:
    """A picture: its pixels, their colour order and their layout.

    Two pictures are equal when their texts and their pixels are; comparing never
    raises. A picture is not hashable, since its array can be written to.

    Attributes:
        array: the pixels, of any dtype; usually uint8.
        color_space: ``BGR``, ``RGB``, ``GRAY``, ``BGRA`` or ``RGBA``.
        layout: ``HWC``, ``CHW`` or ``HW``.
    """

    array: npt.NDArray[Any]
    color_space: str = "BGR"
    layout: str = "HWC"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ImagePayload):
            return NotImplemented
        texts_equal = (self.color_space, self.layout) == (other.color_space, other.layout)
        return texts_equal and same_content(self.array, other.array)

    # Its array can be written to, so its hash could not last.
    __hash__ = None  # type: ignore[assignment] # how Python spells "not hashable"

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape, in the order of the layout."""
        return self.array.shape

    @property
    def spatial_shape(self) -> tuple[int, int]:
        """(height, width), pixels."""
        return self.height, self.width

    @property
    def size(self) -> tuple[int, int]:
        """(width, height), pixels."""
        return self.width, self.height

    @property
    def height(self) -> int:
        """Rows of pixels."""
        return self._side("H")

    @property
    def width(self) -> int:
        """Columns of pixels."""
        return self._side("W")

    @property
    def channels(self) -> int | None:
        """Values per pixel, or None where the layout has no C."""
        return self._side("C") if "C" in self.layout else None

    @property
    def dtype(self) -> str:
        """The array's dtype as text."""
        return str(self.array.dtype)

    @property
    def ndim(self) -> int:
        """Axes of the array."""
        return self.array.ndim

    def _side(self, axis: str) -> int:
        at = self.layout.find(axis)
        if at < 0 or len(self.layout) != self.array.ndim:
            raise ValueError(
                f"ImagePayload: layout {self.layout!r} does not give the {axis} of an array {self.shape}"
            )
        return int(self.array.shape[at])


@dataclass(frozen=True)
class ResizeTransform:
    """How a picture was resized, kept so that what is found in it can be put back on the original.

    A point of the original is ``(x * scale[0] + pad[0], y * scale[1] + pad[1])`` in
    the resized picture. ``scale`` is the true one, new size over old, not the ratio
    that was aimed at; both ways use the same integers, so nothing shifts.

    Attributes:
        scale: (x, y), resized pixels per original pixel.
        pad: (left, top), whole pixels of the resized picture.
        original_shape: (height, width) of the original, pixels.
        resized_shape: (height, width) of the resized picture with its padding, pixels.
        content_shape: (height, width) of the part which is not padding, pixels;
            worked out from ``scale`` when left out.
    """

    scale: tuple[float, float]
    pad: tuple[float, float]
    original_shape: tuple[int, int]
    resized_shape: tuple[int, int]
    content_shape: tuple[int, int] = field(default=(0, 0), kw_only=True)

    def __post_init__(self) -> None:
        if not all(0 < side < math.inf for side in self.scale):
            raise ValueError(f"ResizeTransform: scale must be above 0 in both axes, got {self.scale}")
        if self.content_shape == (0, 0):
            height = max(1, round(self.original_shape[0] * self.scale[1]))
            width = max(1, round(self.original_shape[1] * self.scale[0]))
            object.__setattr__(self, "content_shape", (height, width))
