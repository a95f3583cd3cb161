"""How an image file says that its pixels are turned.

Knows where WebP, PNG and AVIF keep it. Knows nothing of pixels; TIFF and JPEG are left to OpenCV.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

from ml_pipes.vision._header import is_avif, is_png, is_webp, jpeg_exif, png_chunks, tiff_tags

__all__ = ["jpeg_swaps_sides", "stated_turn"]

_ORIENTATION = 0x112
_UPRIGHT = 1
# AVIF turns by quarters against the clock, and then mirrors top to bottom (0) or left to right (1).
_TURNS = {
    (0, None): 1, (1, None): 8, (2, None): 3, (3, None): 6,
    (0, 0): 4, (1, 0): 5, (2, 0): 2, (3, 0): 7,
    (0, 1): 2, (1, 1): 7, (2, 1): 4, (3, 1): 5,
}  # fmt: skip # a table


def stated_turn(data: bytes) -> int | None:
    """Read how a picture is turned, EXIF's 1 to 8; anything else means 1, upright.

    Given for the formats that OpenCV does not turn, or not in every version, or not
    in every file: WebP, PNG and AVIF. None for all others, which OpenCV turns itself.
    """
    try:
        if is_webp(data):
            return _exif_turn(_webp_exif(data))
        if is_png(data):
            found = (data[at + 8 : end - 4] for kind, at, end in png_chunks(data) if kind == b"eXIf")
            return _exif_turn(next(found, b""))
        if is_avif(data):
            return _avif_turn(data)
    except (struct.error, IndexError):
        return _UPRIGHT
    return None


def jpeg_swaps_sides(data: bytes) -> bool:
    """Tell whether a JPEG's rows are columns once OpenCV has turned it, as EXIF's 5 to 8 say."""
    try:
        return _exif_turn(jpeg_exif(data)) in (5, 6, 7, 8)
    except (struct.error, IndexError):
        return False


def _exif_turn(exif: bytes) -> int:
    exif = exif.removeprefix(b"Exif\0\0")
    return tiff_tags(exif).get(_ORIENTATION, _UPRIGHT) if exif else _UPRIGHT


def _webp_exif(data: bytes) -> bytes:
    at = 12
    while at + 8 <= len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"EXIF":
            return data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2
    return b""


def _avif_turn(data: bytes) -> int:
    """Read the first turn and the first mirror among the properties; EXIF does not count in AVIF."""
    start, end = 0, len(data)
    # A box of flags and versions has four bytes before its content.
    for name, skip in ((b"meta", 4), (b"iprp", 0), (b"ipco", 0)):
        found = next((span for kind, *span in _boxes(data, start, end) if kind == name), None)
        if found is None:
            return _UPRIGHT
        start, end = found[0] + skip, found[1]
    firsts: dict[bytes, int] = {}
    for kind, at, _ in _boxes(data, start, end):
        firsts.setdefault(kind, data[at] if at < end else 0)
    mirror = firsts[b"imir"] & 1 if b"imir" in firsts else None
    return _TURNS[firsts.get(b"irot", 0) & 3, mirror]


def _boxes(data: bytes, start: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """Give each box's name and where its content starts and ends."""
    while start + 8 <= end:
        length = int.from_bytes(data[start : start + 4], "big")
        if length < 8:  # to the end of the file, or longer than any picture
            return
        yield data[start + 4 : start + 8], start + 8, min(start + length, end)
        start += length
