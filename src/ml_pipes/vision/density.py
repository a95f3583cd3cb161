"""Density maps: how many of something there are in each cell, their sums, and their pictures.

Knows maps and pixels. Knows nothing of what is counted, or of the model that counted it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_output, replace_one, takes
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision._palette import checked_canvas
from ml_pipes.vision.types import ImagePayload, ResizeTransform

__all__ = [
    "ClampDensity",
    "DensityToHeatmap",
    "DrawDensityOverlay",
    "ProjectDensityMap",
    "SumDensity",
    "clamp_density",
    "heat_levels",
    "project_density",
]

# OpenCV's numbers, and the name of each.
_INTERPOLATIONS = {0: "nearest", 1: "linear", 2: "cubic", 3: "area", 4: "Lanczos"}
# A smaller part of a cell is the rounding of a number, not a part.
_SLIVER = 1e-6


def clamp_density(density: Array) -> Array:
    """Put 0 in place of what is below it.

    Args:
        density: any shape and real dtype; it may be empty.

    Returns:
        A new array of the same shape and dtype. NaN stays NaN.
    """
    clamped: Array = np.maximum(density, density.dtype.type(0))
    return clamped


def heat_levels(density: Array) -> npt.NDArray[np.uint8]:
    """Show a density map as brightness, from 0 for nothing to 255 for the largest value.

    Args:
        density: ``(H, W)``, any real dtype. What is below 0 or NaN counts as nothing;
            what is infinite is as bright as the largest number.

    Returns:
        ``(H, W)`` uint8, rounded. A map of one positive value is 255 throughout, one
        without any positive value is 0 throughout.
    """
    shares = np.where(density > 0, density, 0).astype(np.float64)
    peak = np.max(shares, where=np.isfinite(shares), initial=0)
    if peak > 0:
        shares /= peak
    levels: npt.NDArray[np.uint8] = np.rint(np.minimum(shares, 1) * 255).astype(np.uint8)
    return levels


def project_density(
    density: Array, transform: ResizeTransform, interpolation: int = cv2.INTER_LINEAR
) -> Array:
    """Bring a density map of a resized picture back to the original, keeping its sum.

    Args:
        density: ``(..., H, W)``, any real dtype: a map of the resized picture with its
            padding, in as many cells as the model gives, such as one per 8 x 8 pixels.
        transform: how the picture was resized.
        interpolation: OpenCV's number for the axes that grow; area counts as linear there.
            Along an axis that shrinks the cells of a pixel are always added up.

    Returns:
        ``(..., height, width)`` of the original, new; float32, or float64 where float32 could
        not hold the input. What lies in the padding is gone; the sum of each map is that of the
        cells which lie in the picture, and a cell that lies in it partly counts whole: the model
        saw nothing in its other part. What is above and below 0 keeps its sum each for
        itself. A cell that is NaN or infinite gives NaN where it is, and nowhere else.

    Raises:
        ValueError: the last two axes are no map.
    """
    if density.ndim < 2 or 0 in density.shape[-2:]:
        raise ValueError(
            f"ProjectDensityMap: a density map must be (..., H, W) with cells, got {density.shape}"
        )
    cells_hw, original_hw = density.shape[-2:], transform.original_shape
    rows, columns = (
        _axis(
            cells_hw[at],
            transform.pad[1 - at],
            transform.content_shape[at],
            transform.resized_shape[at],
            original_hw[at],
        )
        for at in (0, 1)
    )
    wide = density.astype(np.result_type(density.dtype, np.float32), copy=False)
    projected = np.empty((*density.shape[:-2], *original_hw), wide.dtype)
    for at in np.ndindex(density.shape[:-2]):
        projected[at] = _project_one(wide[at], rows, columns, interpolation)
    return projected


class _Axis(NamedTuple):
    """How one axis of a map becomes one of the original: ``gathered`` first, then cut and sampled."""

    gathered: npt.NDArray[np.float64] | None  # (pixels, cells): how much of each cell goes to each pixel
    first: int  # the cells in which a pixel has its middle,
    last: int  # this one no longer
    before: int  # cells before them that reach into the picture by less than half a pixel, 0 or 1,
    after: int  # and after them
    start: float  # where the picture begins, in cells from the first
    step: float  # cells per pixel
    pixels: int

    @property
    def whole(self) -> bool:
        """Whether the picture begins and ends where cells do."""
        return self.start == 0 and abs(self.step * self.pixels - (self.last - self.first)) < _SLIVER

    @property
    def places(self) -> npt.NDArray[np.float64]:
        """Where the middle of each pixel is, in cells from the first; 0.5 is the middle of a cell."""
        middles: npt.NDArray[np.float64] = np.arange(self.pixels, dtype=np.float64) + 0.5
        return middles * self.step + self.start


def _axis(cells: int, pad: float, content: int, resized: int, pixels: int) -> _Axis:
    low, high = pad * cells / resized, (pad + content) * cells / resized
    step = (high - low) / pixels
    if step <= 1:
        first, last = int(low + step / 2), min(int(high - step / 2) + 1, cells)
        before, after = int(low + _SLIVER < first), int(high - _SLIVER > last)
        return _Axis(None, first, last, before, after, low - first, step, pixels)
    edges, cell = np.linspace(low, high, pixels + 1), np.arange(cells)
    shared = np.minimum(edges[1:, None], cell + 1) - np.maximum(edges[:-1, None], cell)
    shared = np.maximum(shared, 0)
    inside = shared.sum(axis=0)
    gathered = np.divide(shared, inside, out=np.zeros_like(shared), where=inside > _SLIVER)
    return _Axis(gathered, 0, pixels, 0, 0, 0.0, 1.0, pixels)


def _project_one(density: Array, rows: _Axis, columns: _Axis, interpolation: int) -> Array:
    finite = np.isfinite(density)
    if not finite.all():
        projected = _project_one(np.where(finite, density, 0), rows, columns, interpolation)
        spoiled = _gather((~finite).astype(density.dtype), rows, columns)
        spoiled = spoiled[rows.first : rows.last, columns.first : columns.last]
        projected[_sample(spoiled, rows, columns, cv2.INTER_NEAREST) != 0] = np.nan
        return projected
    if density.min() < 0:
        # Each for itself: a sum near 0 is nothing to scale by.
        above, below = (np.maximum(part, 0) for part in (density, -density))
        more = _project_one(above, rows, columns, interpolation)
        more -= _project_one(below, rows, columns, interpolation)
        return more
    density = _gather(density, rows, columns)
    reached = [slice(axis.first - axis.before, axis.last + axis.after) for axis in (rows, columns)]
    total = float(density[tuple(reached)].sum(dtype=np.float64))
    inside = _without_slivers(_without_slivers(density, rows).T, columns).T
    sampled = _sample(inside, rows, columns, interpolation)
    found = float(sampled.sum(dtype=np.float64))
    if found > 0:
        sampled *= sampled.dtype.type(total / found)
    return sampled


def _gather(density: Array, rows: _Axis, columns: _Axis) -> Array:
    """Add up the cells of each pixel, along the axes that shrink."""
    if rows.gathered is not None:
        density = rows.gathered.astype(density.dtype) @ density
    if columns.gathered is not None:
        density = density @ columns.gathered.astype(density.dtype).T
    return density


def _without_slivers(density: Array, rows: _Axis) -> Array:
    """Give the cells in which pixels have their middles, with what the cells beside them hold.

    No pixel would be sampled from those. Only what they hold more than their neighbours moves there, so that
    a map that goes on evenly to the edge stays even.
    """
    inside = density[rows.first : rows.last]
    if not rows.before and not rows.after:
        return inside
    inside = inside.copy()
    if rows.before:
        np.maximum(inside[0], density[rows.first - 1], out=inside[0])
    if rows.after:
        np.maximum(inside[-1], density[rows.last], out=inside[-1])
    return inside


def _sample(inside: Array, rows: _Axis, columns: _Axis, interpolation: int) -> Array:
    """Give the map at the picture's pixels, not scaled yet."""
    if interpolation == cv2.INTER_AREA:
        interpolation = cv2.INTER_LINEAR
    if interpolation == cv2.INTER_NEAREST:
        # OpenCV's own rounding would miss a cell whose part in the picture is small.
        at = (np.minimum(axis.places.astype(int), axis.last - axis.first - 1) for axis in (rows, columns))
        return np.asarray(inside[np.ix_(*at)])
    if rows.whole and columns.whole:
        return cv2.resize(inside, (columns.pixels, rows.pixels), interpolation=interpolation)
    return _warp(inside, rows, columns, interpolation)


def _warp(inside: Array, rows: _Axis, columns: _Axis, interpolation: int) -> Array:
    """Sample cells of which those at the edge lie in the picture partly; cv2.resize would stretch them."""
    there = np.array([[columns.step, 0, columns.places[0] - 0.5], [0, rows.step, rows.places[0] - 0.5]])
    # In float32, since OpenCV 5.0 gives zeros for cubic in float64; shares of the peak fit it.
    peak = inside.max() or inside.dtype.type(1)
    shares = (inside / peak).astype(np.float32, copy=False)
    flags = interpolation | cv2.WARP_INVERSE_MAP
    size = (columns.pixels, rows.pixels)
    warped = cv2.warpAffine(shares, there, size, flags=flags, borderMode=cv2.BORDER_REPLICATE)
    scaled: Array = warped.astype(inside.dtype, copy=False) * peak
    return scaled


@Operator
class ClampDensity:
    """Put 0 in place of what is below it in a density map; see :func:`clamp_density`."""

    def __init__(self, src: str = "density", as_: str | None = None) -> None:
        """Read ``src``, write ``as_`` (``src`` by default)."""
        self.src = src
        self.as_ = checked_output("ClampDensity", as_)

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with the clamped map."""
        return replace_one(tensors, self.src, self.as_, clamp_density)


@Operator
class SumDensity:
    """Add up a density map: how many there are in the picture."""

    def __init__(self, src: str = "density") -> None:
        """Read ``src``."""
        self.src = src

    @takes(TensorRegistry)
    def __call__(self, registry: TensorRegistry) -> float:
        """Give the sum, added up in float64; 0.0 for an empty map, NaN where the map holds NaN."""
        with np.errstate(invalid="ignore", over="ignore"):  # both infinities at once
            return float(registry[self.src].sum(dtype=np.float64))


@Operator
class ProjectDensityMap:
    """Bring a registry's density map back to the original picture; see :func:`project_density`."""

    def __init__(
        self, src: str = "density", as_: str | None = None, interpolation: int = cv2.INTER_LINEAR
    ) -> None:
        """Configure the step.

        Args:
            src: the tensor ``(..., H, W)``.
            as_: where to write; None writes in place.
            interpolation: OpenCV's number: 0 nearest, 1 linear, 2 cubic, 3 area, 4 Lanczos.

        Raises:
            ValueError: ``interpolation`` is none of these.
        """
        if interpolation not in _INTERPOLATIONS:
            known = ", ".join(f"{number} ({name})" for number, name in _INTERPOLATIONS.items())
            raise ValueError(
                f"ProjectDensityMap: interpolation must be one of {known}, got {interpolation!r}"
            )
        self.src = src
        self.as_ = checked_output("ProjectDensityMap", as_)
        self.interpolation = int(interpolation)

    @takes(TensorRegistry, ResizeTransform)
    def __call__(self, registry: TensorRegistry, transform: ResizeTransform) -> TensorRegistry:
        """Give a registry with the projected map; ValueError unless it is ``(..., H, W)``."""
        return replace_one(
            registry,
            self.src,
            self.as_,
            lambda density: project_density(density, transform, self.interpolation),
        )


@Operator
class DensityToHeatmap:
    """Make a picture of a density map, the brightest where it is largest; see :func:`heat_levels`."""

    def __init__(self, src: str = "density", colormap: int | None = cv2.COLORMAP_TURBO) -> None:
        """Configure the step.

        Args:
            src: the tensor ``(H, W)``; axes of length 1 before these are ignored.
            colormap: OpenCV's number of a colour map; None gives grey.

        Raises:
            ValueError: OpenCV has no such colour map.
        """
        self.src = src
        self.colormap = None if colormap is None else _checked_colormap("DensityToHeatmap", colormap)

    @takes(TensorRegistry)
    def __call__(self, registry: TensorRegistry) -> ImagePayload:
        """Give a uint8 picture, BGR HWC, or GRAY HW without a colour map.

        Raises:
            ValueError: the tensor is no map.
        """
        levels = heat_levels(_one_map("DensityToHeatmap", self.src, registry[self.src]))
        if self.colormap is None:
            return ImagePayload(levels, "GRAY", "HW")
        return ImagePayload(cv2.applyColorMap(levels, self.colormap), "BGR", "HWC")


@Operator
class DrawDensityOverlay:
    """Lay a density map, as colours, over a copy of the picture; see :func:`heat_levels`."""

    def __init__(
        self, src: str = "density", *, colormap: int = cv2.COLORMAP_TURBO, opacity: float = 0.4
    ) -> None:
        """Configure the step.

        Args:
            src: the tensor ``(H, W)``, as large as the picture; axes of length 1 before these are ignored.
            colormap: OpenCV's number of a colour map.
            opacity: how much of the colours is mixed in, 0 to 1.

        Raises:
            ValueError: OpenCV has no such colour map, or ``opacity`` is out of its range.
        """
        if not 0 <= opacity <= 1:
            raise ValueError(f"DrawDensityOverlay: opacity must be 0 to 1, got {opacity}")
        self.src = src
        self.colormap = _checked_colormap("DrawDensityOverlay", colormap)
        self.opacity = opacity

    @takes(ImagePayload, TensorRegistry)
    def __call__(
        self, source_image: ImagePayload, registry: TensorRegistry
    ) -> tuple[ImagePayload, TensorRegistry]:
        """Give the drawn copy and the same registry.

        Raises:
            ValueError: the picture is not HWC uint8 in BGR or RGB, or the map is not of its size.
        """
        canvas = checked_canvas("DrawDensityOverlay", source_image)
        density = _one_map("DrawDensityOverlay", self.src, registry[self.src])
        if density.shape != source_image.spatial_shape:
            raise ValueError(
                f"DrawDensityOverlay: {self.src!r} must have the picture's shape "
                f"{source_image.spatial_shape}, got {density.shape}; ProjectDensityMap() brings it there"
            )
        heat = cv2.applyColorMap(heat_levels(density), self.colormap)
        if source_image.color_space == "RGB":
            heat = cv2.cvtColor(heat, cv2.COLOR_BGR2RGB)
        cv2.addWeighted(canvas, 1 - self.opacity, heat, self.opacity, 0, dst=canvas)
        return ImagePayload(canvas, source_image.color_space, source_image.layout), registry


def _checked_colormap(owner: str, colormap: int) -> int:
    try:
        cv2.applyColorMap(np.zeros((1, 1), np.uint8), colormap)
    except (cv2.error, TypeError):
        raise ValueError(
            f"{owner}: colormap must be OpenCV's number of a colour map, such as 20 (TURBO), got {colormap!r}"
        ) from None
    return int(colormap)


def _one_map(owner: str, name: str, density: Array) -> npt.NDArray[Any]:
    if density.ndim < 2 or density.size == 0 or density.size != density.shape[-1] * density.shape[-2]:
        raise ValueError(f"{owner}: {name!r} must be one density map (H, W) with cells, got {density.shape}")
    return density.reshape(density.shape[-2:])
