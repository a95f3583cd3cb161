"""A map of where text is likely becomes rectangles around the lines of text.

Knows probabilities and geometry. Knows nothing of models, and nothing of what is written.
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_output, takes
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision._options import check_whole
from ml_pipes.vision.text.quads import order_corners

__all__ = ["DecodeTextMap", "TextRegions", "decode_text_map"]

# What OpenCV makes of a rotated rectangle: centre, size, degrees.
_Rectangle = tuple[tuple[float, float], tuple[float, float], float]

_DILATION = np.ones((2, 2), np.uint8)
# The margin that was taken off a line's core in training: a grown region has at least this much more.
_GROWN_BY = 2


class TextRegions(NamedTuple):
    """Where text is in one picture, in pixels of the map, in the order in which OpenCV finds outlines.

    Attributes:
        quads: ``(N, 4, 2)`` float32 x, y: top-left, top-right, bottom-right, bottom-left.
        scores: ``(N,)`` float32, the mean probability inside, before the region was grown.
    """

    quads: npt.NDArray[np.float32]
    scores: npt.NDArray[np.float32]


def decode_text_map(
    probabilities: Array,
    threshold: float = 0.3,
    score_threshold: float = 0.5,
    unclip_ratio: float = 1.6,
    min_side: float = 3.0,
    max_candidates: int = 1000,
    *,
    dilate: bool = True,
    whole: bool = True,
) -> TextRegions:
    """Turn a map of probabilities into rectangles, each around one line of text.

    Pixels above the threshold are joined; around each outline goes the smallest rectangle.
    The net marks only the core of a line, so a rectangle of sides a and b then grows by
    ``d = a * b * unclip_ratio / (2 * (a + b))`` on each side (Liao et al., "Real-time Scene Text
    Detection with Differentiable Binarization", 2020): its outline is offset by d with round corners, and
    around that goes the smallest rectangle again. That one has the same centre and axes and the sides
    ``a + 2d`` and ``b + 2d``: at any other angle t, both the product and the sum of the widths
    ``a cos t + b sin t`` and ``a sin t + b cos t`` are larger. So no outline has to be made.

    The code published with the models offsets in whole numbers: corners lose their fractions first, and the
    outline is rounded. This shifts a corner by a pixel, now and then by two; ``whole`` does the same, so
    that a recogniser sees the crops that its makers' code would show it.

    Args:
        probabilities: ``(1, 1, H, W)``, ``(1, H, W)`` or ``(H, W)``, 0 to 1; NaN counts as 0.
        threshold: the probability that a pixel of text is above.
        score_threshold: the lowest mean probability inside a rectangle that counts.
        unclip_ratio: how much a rectangle grows; 0 leaves it.
        min_side: the shortest side, pixels of the map; after growing it must be 2 longer.
        max_candidates: how many outlines are looked at.
        dilate: widen the pixels of text by one to the right and below, which joins broken letters.
        whole: grow in whole pixels of the map; False grows exactly.

    Returns:
        The regions; empty arrays of the same shapes and dtypes when there are none.

    Raises:
        ValueError: the map has another shape, or is that of several pictures.
    """
    chances = _map_of_one(probabilities)
    if chances.size == 0:
        return _regions([], [])
    mask = (chances > threshold).astype(np.uint8)
    if dilate:
        mask = np.asarray(cv2.dilate(mask, _DILATION), np.uint8)
    outlines, _ = cv2.findContours(mask, cv2.RETR_LIST, cv2.CHAIN_APPROX_SIMPLE)
    quads, scores = [], []
    for outline in outlines[:max_candidates]:
        rectangle: _Rectangle = cv2.minAreaRect(outline)  # type: ignore[assignment] # OpenCV says Sequence
        if min(rectangle[1]) < min_side:
            continue
        score = _mean_inside(chances, _corners(rectangle))
        grown = _grown(rectangle, unclip_ratio, whole=whole)
        if score >= score_threshold and min(grown[1]) >= min_side + _GROWN_BY:
            quads.append(_corners(grown))
            scores.append(score)
    return _regions(quads, scores)


@Operator
class DecodeTextMap:
    """Turn a text detector's map, by name in a registry, into rectangles; see :func:`decode_text_map`."""

    def __init__(
        self,
        src: str = "map",
        threshold: float = 0.3,
        score_threshold: float = 0.5,
        unclip_ratio: float = 1.6,
        min_side: float = 3.0,
        max_candidates: int = 1000,
        *,
        dilate: bool = True,
        whole: bool = True,
        as_: tuple[str, str] = ("quads", "scores"),
    ) -> None:
        """Configure the step.

        Args:
            src: the tensor ``(1, 1, H, W)``, ``(1, H, W)`` or ``(H, W)``.
            threshold: the probability, 0 to 1, that a pixel of text is above.
            score_threshold: the lowest mean probability inside a rectangle that counts.
            unclip_ratio: how much a rectangle grows.
            min_side: the shortest side, pixels of the map.
            max_candidates: how many outlines are looked at.
            dilate: widen the pixels of text by one.
            whole: grow in whole pixels of the map, as the code published with the models.
            as_: the names under which the quadrilaterals and their scores are written.

        Raises:
            ValueError: a number is out of its range, or ``as_`` is not two names.
        """
        for name, value in (("threshold", threshold), ("score_threshold", score_threshold)):
            if not 0 <= value <= 1:
                raise ValueError(f"DecodeTextMap: {name} must be 0 to 1, got {value}")
        for name, value in (("unclip_ratio", unclip_ratio), ("min_side", min_side)):
            if not 0 <= value < np.inf:
                raise ValueError(f"DecodeTextMap: {name} must be a number of 0 or more, got {value}")
        check_whole("DecodeTextMap", 0, max_candidates=max_candidates)
        if isinstance(as_, str) or len(as_) != 2:
            raise ValueError(f"DecodeTextMap: as_ must be two names, of quads and of scores, got {as_!r}")
        checked_output("DecodeTextMap", *as_)
        self.src = src
        self.threshold = threshold
        self.score_threshold = score_threshold
        self.unclip_ratio = unclip_ratio
        self.min_side = min_side
        self.max_candidates = max_candidates
        self.dilate = dilate
        self.whole = whole
        self.as_ = as_

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the quadrilaterals and their scores, in pixels of the map.

        Raises:
            ValueError: the map has another shape, or is that of several pictures.
        """
        found = decode_text_map(
            tensors[self.src],
            self.threshold,
            self.score_threshold,
            self.unclip_ratio,
            self.min_side,
            self.max_candidates,
            dilate=self.dilate,
            whole=self.whole,
        )
        return tensors.replace(**dict(zip(self.as_, found, strict=True)))


def _map_of_one(probabilities: Array) -> npt.NDArray[np.float32]:
    leading = probabilities.shape[:-2]
    if not 2 <= probabilities.ndim <= 4 or any(side != 1 for side in leading):
        raise ValueError(
            "DecodeTextMap: the map must be (H, W), (1, H, W) or (1, 1, H, W), that of one picture, "
            f"got {probabilities.shape}; after a batch, Distribute() and UnBatch() give each picture its own"
        )
    with np.errstate(over="ignore"):  # what is beyond float32 is infinite
        chances = np.ascontiguousarray(probabilities.reshape(probabilities.shape[-2:]), np.float32)
    return np.where(np.isnan(chances), np.float32(0), chances) if np.isnan(chances).any() else chances


def _mean_inside(chances: npt.NDArray[np.float32], corners: npt.NDArray[np.float32]) -> float:
    """The mean of the pixels inside a rectangle, its edges included; corners outside are cut off."""
    height, width = chances.shape
    left, top = np.clip(np.floor(corners.min(axis=0)).astype(int), 0, (width - 1, height - 1))
    right, bottom = np.clip(np.ceil(corners.max(axis=0)).astype(int), 0, (width - 1, height - 1))
    inside = np.zeros((bottom - top + 1, right - left + 1), np.uint8)
    cv2.fillPoly(inside, [(corners - (left, top)).astype(np.int32)], (1,))
    return float(cv2.mean(chances[top : bottom + 1, left : right + 1], inside)[0])


def _corners(rectangle: _Rectangle) -> npt.NDArray[np.float32]:
    return np.asarray(cv2.boxPoints(rectangle), np.float32)


def _grown(rectangle: _Rectangle, unclip_ratio: float, *, whole: bool) -> _Rectangle:
    centre, (width, height), degrees = rectangle
    if not width * height * unclip_ratio:
        return rectangle
    distance = width * height * unclip_ratio / (2 * (width + height))
    if whole:
        corners = np.trunc(order_corners(_corners(rectangle)[None])[0].astype(np.float64))
        edges = np.roll(corners, -1, axis=0) - corners
        lengths = np.hypot(*edges.T)
        if lengths.all():
            # Corners go around clockwise as seen, so outwards is to the left of an edge. The arcs
            # between do not reach further out than these ends along any edge.
            shifts = distance * np.stack([edges[:, 1], -edges[:, 0]], axis=1) / lengths[:, None]
            ends = np.concatenate([corners + shifts, corners + np.roll(shifts, 1, axis=0)])
            return cv2.minAreaRect(np.rint(ends).astype(np.float32))  # type: ignore[return-value] # as above
    return centre, (width + 2 * distance, height + 2 * distance), degrees


def _regions(quads: list[npt.NDArray[np.float32]], scores: list[float]) -> TextRegions:
    corners = np.asarray(quads, np.float32).reshape(-1, 4, 2)
    return TextRegions(order_corners(corners), np.asarray(scores, np.float32))
