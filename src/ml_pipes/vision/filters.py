"""Steps that keep detections by the area of their boxes or by their class.

Knows boxes and class numbers. Knows nothing of pixels or models.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from numbers import Integral

import numpy as np

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_names, output_names, takes
from ml_pipes.tensor.select import keep_rows
from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision.boxes import box_areas

__all__ = ["FilterTensorsByBoxArea", "FilterTensorsByClasses"]


@Operator
class FilterTensorsByBoxArea:
    """Keep the rows whose box is neither too small nor too large; see :func:`~ml_pipes.vision.box_areas`.

    An inverted box has area 0. A box that holds NaN has no area and is not kept.
    """

    def __init__(
        self,
        *srcs: str,
        boxes: str = "boxes",
        min_area: float = 0,
        max_area: float | None = None,
        as_: str | tuple[str, ...] | None = None,
    ) -> None:
        """Configure the step.

        Args:
            srcs: the tensors to filter along, all with as many rows as ``boxes``.
            boxes: the tensor ``(N, 4)`` ``xyxy`` that decides; it is filtered too, and is first in ``as_``.
            min_area: the smallest area that stays, in the square of the boxes' unit.
            max_area: the largest area that stays; None for any.
            as_: None writes in place; a name, or a tuple: that of ``boxes``, then those of ``srcs``.

        Raises:
            ValueError: ``as_`` does not name one output each, or an area is NaN or the range is empty.
        """
        if math.isnan(min_area) or (max_area is not None and not min_area <= max_area):
            raise ValueError(
                "FilterTensorsByBoxArea: min_area and max_area must be numbers, the second not below the "
                f"first, got {min_area} and {max_area}"
            )
        self.srcs = checked_names("FilterTensorsByBoxArea", srcs, first=(boxes,))
        self.boxes = boxes
        self.min_area = min_area
        self.max_area = max_area
        self.as_ = as_
        self._outputs = output_names("FilterTensorsByBoxArea", self.srcs, as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the kept rows; ValueError unless ``boxes`` is ``(N, 4)``."""
        boxes = tensors[self.boxes]
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise ValueError(f"FilterTensorsByBoxArea: {self.boxes!r} must be (N, 4), got {boxes.shape}")
        # In float32 the area of a box of 4097 x 4097 pixels is no longer exact.
        areas = box_areas(boxes.astype(np.float64))
        kept = areas >= self.min_area
        if self.max_area is not None:
            kept &= areas <= self.max_area
        return keep_rows("FilterTensorsByBoxArea", tensors, self.srcs, self._outputs, kept)


@Operator
class FilterTensorsByClasses:
    """Keep the rows of the wanted classes; a class that is NaN is none of them."""

    def __init__(
        self,
        *srcs: str,
        classes: str = "classes",
        keep_classes: Collection[int],
        as_: str | tuple[str, ...] | None = None,
    ) -> None:
        """Configure the step.

        Args:
            srcs: the tensors to filter along, all with as many rows as ``classes``.
            classes: the tensor ``(N,)`` that decides; it is filtered too, and is first in ``as_``.
            keep_classes: the numbers of the classes that stay; without any nothing stays.
            as_: None writes in place; a name, or a tuple: that of ``classes``, then those of ``srcs``.

        Raises:
            ValueError: ``as_`` does not name one output each.
            TypeError: ``keep_classes`` is no collection of whole numbers.
        """
        numbers = keep_classes if isinstance(keep_classes, (Collection, np.ndarray)) else None
        if numbers is None or not all(isinstance(number, Integral) for number in numbers):
            raise TypeError(
                "FilterTensorsByClasses: keep_classes must be a collection of class numbers "
                f"such as (0, 2), got {keep_classes!r}"
            )
        self.srcs = checked_names("FilterTensorsByClasses", srcs, first=(classes,))
        self.classes = classes
        self.keep_classes = tuple(int(number) for number in numbers)
        self.as_ = as_
        self._outputs = output_names("FilterTensorsByClasses", self.srcs, as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the kept rows; ValueError unless ``classes`` is ``(N,)``."""
        classes = tensors[self.classes]
        if classes.ndim != 1:
            raise ValueError(f"FilterTensorsByClasses: {self.classes!r} must be (N,), got {classes.shape}")
        kept = np.isin(classes, np.array(self.keep_classes, np.int64))
        return keep_rows("FilterTensorsByClasses", tensors, self.srcs, self._outputs, kept)
