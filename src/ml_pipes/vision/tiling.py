"""One large picture as tiles of one size, and what was found in the tiles back as one.

Knows pixels, boxes and where tiles lie. Knows nothing of models, and of which boxes show one thing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal, get_args

import numpy as np

from ml_pipes.errors import MissingNameError, StepInputError
from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_names, takes
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision.types import ImagePayload

__all__ = ["Stitch", "Tile", "TileEdge", "TileRect", "tensors_of_tiles", "tile_rects"]

TileEdge = Literal["inward", "cut"]


@dataclass(frozen=True)
class TileRect:
    """Where a tile lies in its picture, pixels.

    Attributes:
        x1: its first column.
        y1: its first row.
        x2: the column after its last.
        y2: the row after its last.
    """

    x1: int
    y1: int
    x2: int
    y2: int


def tile_rects(
    size_wh: tuple[int, int],
    slice_wh: tuple[int, int],
    overlap_wh: tuple[int, int] = (0, 0),
    edge: TileEdge = "inward",
) -> list[TileRect]:
    """Cover a picture with tiles of one size.

    Args:
        size_wh: (width, height) of the picture, pixels.
        slice_wh: (width, height) of a tile, pixels; where the picture is smaller, the picture's.
        overlap_wh: (x, y), pixels that neighbours share at least; less than the tile's side.
        edge: ``inward`` moves the last tile of a row or column inward, so that none is smaller than the
            others: ``max(1, ceil((length - overlap) / (side - overlap)))`` tiles per axis. ``cut`` starts a
            tile at each multiple of ``side - overlap`` and cuts at the edge, so the last may be a sliver.

    Returns:
        The tiles row by row, from the left.

    Raises:
        ValueError: a side is less than 1, an overlap is not 0 to less than the tile's side, or ``edge`` is
            neither of the two.
    """
    _check_tiles("tile_rects", slice_wh, overlap_wh, edge)
    if min(size_wh) < 1:
        raise ValueError(f"tile_rects: the picture has no pixels, its width and height are {size_wh}")
    columns, rows = (
        _spans(int(length), int(side), int(overlap), edge)
        for length, side, overlap in zip(size_wh, slice_wh, overlap_wh, strict=True)
    )
    return [TileRect(x1, y1, x2, y2) for (y1, y2), (x1, x2) in product(rows, columns)]


def tensors_of_tiles(
    owner: str, registries: Sequence[TensorRegistry], rects: Sequence[TileRect], names: Sequence[str]
) -> list[dict[str, Array]]:
    """Give the named tensors of each tile.

    Args:
        owner: the operator that asks, for the words of an error.
        registries: what was made of each tile.
        rects: where each tile lies.
        names: the tensors to take.

    Raises:
        ValueError: not one registry for each tile, or no tile at all.
        StepInputError: something that is no registry.
        MissingNameError: a tensor is not there.
    """
    if len(registries) != len(rects):
        raise ValueError(
            f"{owner}: wanted one TensorRegistry per TileRect, got {len(registries)} for {len(rects)} tiles"
        )
    if not registries:
        raise ValueError(f"{owner}: wanted at least one tile registry, got none")
    tensors = []
    for at, registry in enumerate(registries):
        if not isinstance(registry, TensorRegistry):
            raise StepInputError(
                f"{owner}: wanted a TensorRegistry for each tile, got {type(registry).__name__} for tile {at}"
            )
        try:
            tensors.append({name: registry[name] for name in names})
        except MissingNameError as missing:
            raise MissingNameError(f"{owner}: in tile {at}: {missing}") from None
    return tensors


@Operator
class Tile:
    """Cut a picture into tiles of one size that may overlap; see :func:`tile_rects`."""

    def __init__(
        self,
        slice_wh: tuple[int, int],
        overlap_wh: tuple[int, int] = (0, 0),
        *,
        edge: TileEdge = "inward",
    ) -> None:
        """Configure the step.

        Args:
            slice_wh: (width, height) of a tile, pixels. A smaller picture gives one tile of its own size.
            overlap_wh: (x, y), pixels that neighbours share at least.
            edge: ``inward`` moves the last tile of a row or column inward; ``cut`` makes it smaller.

        Raises:
            ValueError: a side is less than 1, an overlap is not 0 to less than the tile's side, or ``edge``
                is neither of the two.
        """
        _check_tiles("Tile", slice_wh, overlap_wh, edge)
        self.slice_wh = slice_wh
        self.overlap_wh = overlap_wh
        self.edge: TileEdge = edge

    @takes(ImagePayload)
    def __call__(self, payload: ImagePayload) -> tuple[list[ImagePayload], list[TileRect]]:
        """Give the tiles row by row, and where each lies; the tiles are views of the picture's pixels.

        Raises:
            ValueError: the picture is not HWC, or has no pixels.
        """
        if payload.layout != "HWC" or payload.ndim != 3:
            raise ValueError(f"Tile: the picture must be HWC, got {payload.layout} of shape {payload.shape}")
        if payload.array.size == 0:
            raise ValueError(f"Tile: the picture has no pixels, its shape is {payload.shape}")
        rects = tile_rects(payload.size, self.slice_wh, self.overlap_wh, self.edge)
        tiles = [
            ImagePayload(payload.array[at.y1 : at.y2, at.x1 : at.x2], payload.color_space, payload.layout)
            for at in rects
        ]
        return tiles, rects


@Operator
class Stitch:
    """Put what was found in the tiles of a picture into one registry, in pixels of the picture.

    A thing that lies in two tiles is there twice; ``NMS`` or ``NMM`` comes next.
    """

    def __init__(
        self, *srcs: str, boxes: str = "boxes", points: tuple[str, ...] = (), masks: tuple[str, ...] = ()
    ) -> None:
        """Configure the step.

        Args:
            srcs: tensors that go with the boxes, a row each, and are put together as they are.
            boxes: the tensor ``(N, 4)`` ``xyxy``, pixels of the tile.
            points: tensors ``(N, ..., 2)`` of x, y, pixels of the tile, such as landmarks.
            masks: tensors ``(N, h, w)``, a mask of its whole tile for each box; they are put
                into masks of the whole picture, which are 0 elsewhere.

        Raises:
            TypeError: a name is no text, or ``points`` or ``masks`` is no tuple.
            ValueError: a tensor is named for two purposes.
        """
        names: tuple[tuple[str, object], ...] = (("points", points), ("masks", masks))
        for name, given in names:
            if isinstance(given, str):
                raise TypeError(f"Stitch: {name} must be a tuple of names, got {given!r}; write ({given!r},)")
        named = [*dict.fromkeys((boxes, *srcs)), *points, *masks]
        if len(checked_names("Stitch", tuple(named))) < len(named):
            raise ValueError(f"Stitch: name each tensor for one purpose, got {', '.join(map(repr, named))}")
        self.srcs = srcs
        self.boxes = boxes
        self.points = tuple(points)
        self.masks = tuple(masks)

    def __call__(self, registries: list[TensorRegistry], tile_rects: list[TileRect]) -> TensorRegistry:
        """Give a new registry with the boxes and the named tensors of all tiles, in the tiles' order.

        Args:
            registries: what was found in each tile; other tensors in them are left out.
            tile_rects: where each tile lies.

        Returns:
            Boxes and points as float32, or wider where theirs is; integers are never cut.

        Raises:
            ValueError: not one registry for each tile, no tile at all, or a tensor that does not go with
                its boxes.
            StepInputError: something that is no registry.
            MissingNameError: a tensor is not there.
        """
        names = (self.boxes, *self.srcs, *self.points, *self.masks)
        tensors = tensors_of_tiles("Stitch", registries, tile_rects, names)
        canvas_hw = (max(rect.y2 for rect in tile_rects), max(rect.x2 for rect in tile_rects))
        parts = [
            self._moved(at, arrays, rect, canvas_hw)
            for at, (arrays, rect) in enumerate(zip(tensors, tile_rects, strict=True))
        ]
        return TensorRegistry({name: _joined(name, [part[name] for part in parts]) for name in parts[0]})

    def _moved(
        self, at: int, arrays: dict[str, Array], rect: TileRect, canvas_hw: tuple[int, int]
    ) -> dict[str, Array]:
        """The named tensors of one tile, in the picture's frame."""
        boxes = arrays[self.boxes]
        if boxes.ndim != 2 or boxes.shape[1] != 4:
            raise ValueError(f"Stitch: boxes must be (N, 4), got {boxes.shape} in tile {at}")
        for name, array in arrays.items():
            if array.shape[:1] != boxes.shape[:1]:
                raise ValueError(
                    f"Stitch: {name!r} of shape {array.shape} must align with boxes, of which tile {at} "
                    f"has {len(boxes)}"
                )
        moved = {**arrays, self.boxes: _shifted(boxes, (rect.x1, rect.y1, rect.x1, rect.y1))}
        for name in self.points:
            if arrays[name].ndim < 2 or arrays[name].shape[-1] != 2:
                raise ValueError(
                    f"Stitch: points {name!r} must be (N, ..., 2) x y, got {arrays[name].shape} in tile {at}"
                )
            moved[name] = _shifted(arrays[name], (rect.x1, rect.y1))
        for name in self.masks:
            moved[name] = _placed(name, arrays[name], rect, canvas_hw)
        return moved


def _spans(length: int, side: int, overlap: int, edge: TileEdge) -> list[tuple[int, int]]:
    """First and end of each tile on one axis."""
    step = side - overlap
    if edge == "cut":
        return [(start, min(start + side, length)) for start in range(0, length, step)]
    side = min(side, length)
    count = max(1, -(-(length - overlap) // step))
    starts = [min(at * step, length - side) for at in range(count)]
    return [(start, start + side) for start in starts]


def _check_tiles(owner: str, slice_wh: object, overlap_wh: object, edge: str) -> None:
    sides, overlaps = _pair_of_integers(slice_wh), _pair_of_integers(overlap_wh)
    if sides is None or min(sides) < 1:
        raise ValueError(
            f"{owner}: slice_wh must be (width, height), whole pixels of 1 or more, got {slice_wh!r}"
        )
    if (
        overlaps is None
        or min(overlaps) < 0
        or any(over >= side for over, side in zip(overlaps, sides, strict=True))
    ):
        raise ValueError(
            f"{owner}: overlap_wh must be (x, y), whole pixels of 0 or more and less than "
            f"slice_wh {slice_wh}, got {overlap_wh!r}"
        )
    if edge not in get_args(TileEdge):
        raise ValueError(f"{owner}: edge must be one of {', '.join(get_args(TileEdge))}, got {edge!r}")


def _pair_of_integers(value: object) -> tuple[int, int] | None:
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        return None
    first, second = value
    whole = isinstance(first, (int, np.integer)) and isinstance(second, (int, np.integer))
    return (int(first), int(second)) if whole else None


def _shifted(array: Array, by: tuple[int, ...]) -> Array:
    # Small integers would wrap, and float16 counts in steps of two pixels from 2048 on.
    wide = array.astype(np.result_type(array.dtype, np.float32))
    shifted: Array = wide + np.asarray(by, wide.dtype)
    return shifted


def _placed(name: str, masks: Array, rect: TileRect, canvas_hw: tuple[int, int]) -> Array:
    tile_hw = (rect.y2 - rect.y1, rect.x2 - rect.x1)
    if masks.shape[1:] != tile_hw:
        raise ValueError(
            f"Stitch: masks {name!r} must be (N, {tile_hw[0]}, {tile_hw[1]}) as their tile {rect}, "
            f"got {masks.shape}"
        )
    whole = np.zeros((len(masks), *canvas_hw), masks.dtype)
    whole[:, rect.y1 : rect.y2, rect.x1 : rect.x2] = masks
    return whole


def _joined(name: str, arrays: Iterable[Array]) -> Array:
    parts = list(arrays)
    rows = {part.shape[1:] for part in parts}
    if len(rows) > 1:
        raise ValueError(
            f"Stitch: the rows of {name!r} must have one shape in all tiles, got "
            f"{', '.join(str(row) for row in sorted(rows))}"
        )
    return np.concatenate(parts)
