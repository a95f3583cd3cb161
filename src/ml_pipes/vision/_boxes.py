"""The boxes that AVIF, HEIC and JPEG 2000 files are made of: what they say to be, and how large.

Knows ISO's boxes. Knows nothing of pixels: nothing is decoded here.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

__all__ = [
    "avif_properties",
    "avif_size_wh",
    "is_avif",
    "is_heic",
    "is_jpeg_2000",
    "jpeg_2000_size_wh",
]

_Box = tuple[bytes, int, int]

_CODE = b"\xff\x4f\xff\x51"
# A box without a length of its own has its brands before this.
_BRANDS_END = 256
# Where a box is to the end of the file, and where its length follows its name, in 8 bytes.
_TO_THE_END, _LONG = 0, 1


def is_avif(data: bytes) -> bool:
    """Tell whether the first box says that an AVIF is in those that follow."""
    return _has_brand(data, b"avif", b"avis")


def is_heic(data: bytes) -> bool:
    """Tell whether the first box says that a HEIC, or a relative, is in those that follow."""
    return _has_brand(data, b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")


def is_jpeg_2000(data: bytes) -> bool:
    """Tell whether the first bytes are those of a JPEG 2000, with boxes or without."""
    return data[4:8] == b"jP  " or data.startswith(_CODE)


def avif_properties(data: bytes) -> Iterator[_Box]:
    """Give the boxes of all properties, of whichever item: names, and where their contents start and end."""
    start, end = 0, len(data)
    # A box of flags and versions has four bytes before its content.
    for name, skip in ((b"meta", 4), (b"iprp", 0), (b"ipco", 0)):
        found = next((span for kind, *span in _boxes(data, start, end) if kind == name), None)
        if found is None:
            return
        start, end = found[0] + skip, found[1]
    yield from _boxes(data, start, end)


def avif_size_wh(data: bytes) -> tuple[int, int] | None:
    """Read the largest width and height of any picture in an AVIF: a grid's first part is not all of it.

    Raises:
        struct.error: the file ends within it.
    """
    sizes = [
        struct.unpack_from(">II", data, at + 4) for kind, at, _ in avif_properties(data) if kind == b"ispe"
    ]
    return max(sizes, key=lambda size: size[0] * size[1], default=None)


def jpeg_2000_size_wh(data: bytes) -> tuple[int, int] | None:
    """Read it from the code itself, which is what is decoded, whatever the boxes around it say.

    Raises:
        struct.error: the file ends within it.
    """
    at: int | None = 0
    if not data.startswith(_CODE):
        at = next((start for kind, start, _ in _boxes(data, 0, len(data)) if kind == b"jp2c"), None)
    if at is None or not data.startswith(_CODE, at):
        return None
    right, bottom, left, top = struct.unpack_from(">IIII", data, at + 8)
    return max(0, right - left), max(0, bottom - top)


def _has_brand(data: bytes, *brands: bytes) -> bool:
    """Look among what a file says to be, of which films in the same boxes say something else."""
    end = max(_BRANDS_END, int.from_bytes(data[:4], "big"))
    return data[4:8] == b"ftyp" and any(brand in data[8:end] for brand in brands)


def _boxes(data: bytes, start: int, end: int) -> Iterator[_Box]:
    """Give each box's name and where its content starts and ends."""
    while start + 8 <= end:
        length, head = int.from_bytes(data[start : start + 4], "big"), 8
        if length == _LONG:
            length, head = int.from_bytes(data[start + 8 : start + 16], "big"), 16
        elif length == _TO_THE_END:
            length = end - start
        if length < head:
            return
        yield data[start + 4 : start + 8], start + head, min(start + length, end)
        start += length
