"""The maps that a net gives for the tiles of a picture become one map of the picture.

Knows arrays, and where tiles lie. Knows nothing of what a map stands for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_names
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision.tiling import TileRect, tensors_of_tiles

__all__ = ["StitchMaps", "stitch_maps"]


def stitch_maps(
    maps: Sequence[Array],
    rects: Sequence[TileRect],
    stride: int = 1,
    *,
    multiple_of: int | None = None,
    channels_last: bool = False,
) -> Array:
    """Make one map of overlapping tiles' maps: the nearest centre wins.

    Each cell comes from the tile of which the nearest cut is farthest away, since what a net gives near
    a cut lacks what lies behind it; of equals, from the earlier tile. Where a tile ends with the
    picture there is no cut. Nothing is blended, so the map is that of the whole picture where
    the overlap is at least twice as wide as the net looks, and its coarsest cells lie as in the whole:
    CenterFace looks 240 to 320 pixels far, and its coarsest cells are 32 wide.

    Args:
        maps: a map for each tile, ``(..., h, w)``, of any dtype; or ``(..., h, w, C)``.
        rects: where each tile lies, pixels; together they cover the picture.
        stride: pixels of the picture for each cell, the same on both axes.
        multiple_of: what tiles must start at multiples of, pixels: the stride of the net's coarsest layer,
            which may be more than that of its maps. None asks for multiples of ``stride``.
        channels_last: the channels come after ``h`` and ``w``.

    Returns:
        A new array ``(..., H, W)`` or ``(..., H, W, C)`` of the common dtype; ``H`` and ``W`` are in cells.

    Raises:
        ValueError: not one map for each tile, no tile at all, a tile that does not start at a multiple of
            ``multiple_of``, maps that do not have the shape of their tiles, or a part that no tile covers.
    """
    _check_strides("stitch_maps", stride, multiple_of)
    if len(maps) != len(rects):
        raise ValueError(f"stitch_maps: wanted one map per TileRect, got {len(maps)} for {len(rects)} tiles")
    if not maps:
        raise ValueError("stitch_maps: wanted at least one tile, got none")
    _check_starts(rects, multiple_of or stride)
    # Rows and columns last for all, so that one way of writing them does for both layouts.
    parts = [np.moveaxis(part, -1, 0) if channels_last and part.ndim > 2 else part for part in maps]
    _check_maps(parts, rects, stride, channels_last=channels_last, shapes=[part.shape for part in maps])
    corners = [(rect.y1 // stride, rect.x1 // stride) for rect in rects]
    height = max(top + part.shape[-2] for (top, _), part in zip(corners, parts, strict=True))
    width = max(left + part.shape[-1] for (_, left), part in zip(corners, parts, strict=True))
    whole = np.empty((*parts[0].shape[:-2], height, width), np.result_type(*parts))
    farthest = np.zeros((height, width))
    for (top, left), part in zip(corners, parts, strict=True):
        rows, columns = slice(top, top + part.shape[-2]), slice(left, left + part.shape[-1])
        away = np.minimum(_to_cut(top, part.shape[-2], height)[:, None], _to_cut(left, part.shape[-1], width))
        wins = away > farthest[rows, columns]
        np.copyto(farthest[rows, columns], away, where=wins)
        np.copyto(whole[..., rows, columns], part, where=wins)
    _check_covered(farthest, stride)
    return np.ascontiguousarray(np.moveaxis(whole, 0, -1)) if channels_last else whole


@Operator
class StitchMaps:
    """Put the maps of the tiles of a picture into one registry, each as one map; see :func:`stitch_maps`."""

    def __init__(
        self, *srcs: str, stride: int, multiple_of: int | None = None, channels_last: bool = False
    ) -> None:
        """Configure the step.

        Args:
            srcs: the maps, each ``(..., h, w)``, or ``(..., h, w, C)`` with ``channels_last``.
            stride: pixels of the picture for each cell of a map.
            multiple_of: what tiles must start at multiples of, pixels: the stride of the net's coarsest
                layer. None asks for multiples of ``stride``.
            channels_last: the channels come after ``h`` and ``w``.

        Raises:
            ValueError: no map is named, ``stride`` is not a whole number of 1 or more, or ``multiple_of`` is
                no multiple of it.
            TypeError: a name is no text.
        """
        _check_strides("StitchMaps", stride, multiple_of)
        self.srcs = checked_names("StitchMaps", srcs)
        self.stride = stride
        self.multiple_of = multiple_of
        self.channels_last = channels_last

    def __call__(self, registries: list[TensorRegistry], tile_rects: list[TileRect]) -> TensorRegistry:
        """Give a new registry with the named maps alone.

        Args:
            registries: the maps of each tile; other tensors in them are left out.
            tile_rects: where each tile lies.

        Raises:
            ValueError: as :func:`stitch_maps`.
            StepInputError: something that is no registry.
            MissingNameError: a map is not there.
        """
        tensors = tensors_of_tiles("StitchMaps", registries, tile_rects, self.srcs)
        return TensorRegistry(
            {
                name: self._stitched(name, [arrays[name] for arrays in tensors], tile_rects)
                for name in self.srcs
            }
        )

    def _stitched(self, name: str, maps: list[Array], rects: list[TileRect]) -> Array:
        try:
            return stitch_maps(
                maps, rects, self.stride, multiple_of=self.multiple_of, channels_last=self.channels_last
            )
        except ValueError as error:
            raise ValueError(f"StitchMaps: {name!r}: {error}") from error


def _to_cut(start: int, length: int, whole: int) -> npt.NDArray[np.float64]:
    """How far the middle of each cell is from the tile's nearest cut on one axis, in cells."""
    middles = np.arange(length) + 0.5
    before = middles if start > 0 else np.full(length, np.inf)
    after = length - middles if start + length < whole else np.full(length, np.inf)
    nearest: npt.NDArray[np.float64] = np.minimum(before, after)
    return nearest


def _check_strides(owner: str, stride: object, multiple_of: object) -> None:
    if not isinstance(stride, (int, np.integer)) or stride < 1:
        raise ValueError(f"{owner}: stride must be a whole number of 1 or more, got {stride!r}")
    if multiple_of is None:
        return
    if not isinstance(multiple_of, (int, np.integer)) or multiple_of < 1 or multiple_of % stride:
        raise ValueError(
            f"{owner}: multiple_of must be a multiple of the stride {stride}, or None, got {multiple_of!r}"
        )


def _check_starts(rects: Sequence[TileRect], multiple_of: int) -> None:
    for at, rect in enumerate(rects):
        if rect.x1 % multiple_of or rect.y1 % multiple_of:
            raise ValueError(
                f"stitch_maps: tiles must start at multiples of the net's stride {multiple_of}, got {rect} "
                f"for tile {at}; make the sides of picture and tiles and the overlap multiples of it"
            )


def _check_maps(
    parts: Sequence[Array],
    rects: Sequence[TileRect],
    stride: int,
    *,
    channels_last: bool,
    shapes: Sequence[tuple[int, ...]],
) -> None:
    """Refuse maps that do not lie on one grid; ``shapes`` are theirs as they were given."""
    axes = 3 if channels_last else 2
    wanted = "(..., h, w, C)" if channels_last else "(..., h, w)"
    for at, (part, rect, shape) in enumerate(zip(parts, rects, shapes, strict=True)):
        if len(shape) < axes or part.shape[:-2] != parts[0].shape[:-2]:
            raise ValueError(
                f"stitch_maps: maps must be {wanted}, alike but for h and w, got {shapes[0]} for tile 0 "
                f"and {shape} for tile {at}"
            )
        # A net rounds the cells of a tile that is no multiple of its stride up or down.
        spare = (part.shape[-2] * stride - (rect.y2 - rect.y1), part.shape[-1] * stride - (rect.x2 - rect.x1))
        if max(map(abs, spare)) >= stride:
            raise ValueError(
                f"stitch_maps: the map of tile {at}, {rect}, must have a cell for each {stride} pixels, got "
                f"{part.shape[-2]} rows and {part.shape[-1]} columns"
            )


def _check_covered(farthest: npt.NDArray[np.float64], stride: int) -> None:
    if farthest.size and not farthest.all():
        row, column = np.argwhere(farthest == 0)[0]
        raise ValueError(
            f"stitch_maps: no tile covers the pixel x {column * stride}, y {row * stride}; give all tiles of "
            "the picture"
        )
