"""What the first bytes of an image file promise: its format, its size, and whether its end is there.

Knows file formats. Knows nothing of pixels: nothing is decoded here.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable

__all__ = ["cut_short", "promised_size_wh", "webp_turn"]

_Size = tuple[int, int]

# The frame headers of every JPEG process; C4, C8 and CC in between are tables.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_MARK = 0xFF
_JPEG_WITHOUT_LENGTH = frozenset({0x01, *range(0xD0, 0xD9)})


def promised_size_wh(data: bytes) -> _Size | None:
    """Read the width and height that an image's header states, before anything is allocated for it.

    Args:
        data: a whole file.

    Returns:
        (width, height), pixels, of the file as it is stored; None when the format is
        not known here or its header is damaged.
    """
    for matches, read in _READERS:
        if matches(data):
            try:
                return read(data)
            except (struct.error, IndexError):
                return None
    return None


def cut_short(data: bytes) -> bool:
    """Tell whether a file surely ends before its image does.

    Known for PNG (no ``IEND``), JPEG (no end marker after the last scan), WebP and
    BMP (fewer bytes than stated); False for all others. Decoders of some versions
    fill the missing part with grey and say nothing.
    """
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return not _png_is_whole(data)
    if data.startswith(b"\xff\xd8"):
        return data.rfind(b"\xff\xd9") < data.rfind(b"\xff\xda")
    if _is_webp(data):
        return len(data) < 8 + int.from_bytes(data[4:8], "little")
    if data.startswith(b"BM"):
        return len(data) < _stated_bmp_bytes(data)
    return False


def webp_turn(data: bytes) -> int | None:
    """Read how a WebP is turned, EXIF's 1 to 8 (1 is upright); None for any other format."""
    if not _is_webp(data):
        return None
    at = 12
    while at + 8 <= len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == b"EXIF":
            exif = data[at + 8 : at + 8 + length].removeprefix(b"Exif\0\0")
            try:
                return _tiff_tags(exif).get(0x112, 1)
            except struct.error:
                return 1
        at += 8 + length + length % 2
    return 1


def _png_is_whole(data: bytes) -> bool:
    at = 8
    while at + 12 <= len(data):
        kind = data[at + 4 : at + 8]
        at += 12 + int.from_bytes(data[at : at + 4], "big")
        if kind == b"IEND":
            return at <= len(data)
    return False


def _stated_bmp_bytes(data: bytes) -> int:
    """Give the bytes an uncompressed BMP needs; 0 when it is compressed or its header is damaged."""
    try:
        offset, _, width, height, _, bits, compression = struct.unpack_from("<IIiiHHI", data, 10)
    except struct.error:
        return 0
    row_bytes = (abs(width) * bits + 31) // 32 * 4
    return int(offset + row_bytes * abs(height)) if compression == 0 else 0


def _png_size(data: bytes) -> _Size:
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _jpeg_size(data: bytes) -> _Size | None:
    at = 2
    while True:
        while data[at] == _JPEG_MARK:
            at += 1
        marker = data[at]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 4)
            return width, height
        if data[at - 1] != _JPEG_MARK:
            return None
        at += 1
        if marker not in _JPEG_WITHOUT_LENGTH:
            at += int(struct.unpack_from(">H", data, at)[0])


def _gif_size(data: bytes) -> _Size:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _bmp_size(data: bytes) -> _Size:
    width, height = struct.unpack_from("<ii", data, 18)
    return abs(width), abs(height)


def _is_webp(data: bytes) -> bool:
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def _webp_size(data: bytes) -> _Size | None:
    kind = data[12:16]
    if kind == b"VP8X":
        width = int.from_bytes(data[24:27], "little") + 1
        return width, int.from_bytes(data[27:30], "little") + 1
    if kind == b"VP8L":
        (bits,) = struct.unpack_from("<I", data, 21)
        return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    width, height = struct.unpack_from("<HH", data, 26)
    return width & 0x3FFF, height & 0x3FFF


def _tiff_size(data: bytes) -> _Size | None:
    tags = _tiff_tags(data)
    return (tags[256], tags[257]) if {256, 257} <= tags.keys() else None


def _tiff_tags(data: bytes) -> dict[int, int]:
    """Read the first directory of a TIFF, or of EXIF, which is one: tag to its first value."""
    order = "<" if data[:2] == b"II" else ">"
    (at,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, at)
    found: dict[int, int] = {}
    for entry in range(count):
        tag, kind = struct.unpack_from(f"{order}HH", data, at + 2 + 12 * entry)
        short = kind == 3  # the format's number for a 16-bit value
        (found[tag],) = struct.unpack_from(f"{order}{'H' if short else 'I'}", data, at + 10 + 12 * entry)
    return found


def _boxed_size(name: bytes, skip: int, order: str) -> Callable[[bytes], _Size | None]:
    """Give a reader of the two integers ``skip`` bytes behind a named box."""

    def read(data: bytes) -> _Size | None:
        at = data.find(name, 0, 4096)
        if at < 0:
            return None
        one, two = struct.unpack_from(">II", data, at + len(name) + skip)
        return (one, two) if order == "wh" else (two, one)

    return read


def _written_size(pattern: bytes, order: str) -> Callable[[bytes], _Size | None]:
    """Give a reader of two numbers written as text in the first bytes."""

    def read(data: bytes) -> _Size | None:
        found = re.search(pattern, data[:4096])
        if found is None:
            return None
        one, two = int(found[1]), int(found[2])
        return (one, two) if order == "wh" else (two, one)

    return read


def _sun_size(data: bytes) -> _Size:
    width, height = struct.unpack_from(">II", data, 4)
    return width, height


_BETWEEN = rb"(?:\s+(?:#[^\n]*\n)*)"
_NUMBER = rb"(\d{1,9})"

_READERS: tuple[tuple[Callable[[bytes], bool], Callable[[bytes], _Size | None]], ...] = (
    (lambda data: data.startswith(b"\xff\xd8"), _jpeg_size),
    (lambda data: data.startswith(b"\x89PNG\r\n\x1a\n"), _png_size),
    (_is_webp, _webp_size),
    (lambda data: data[:6] in (b"GIF87a", b"GIF89a"), _gif_size),
    (lambda data: data.startswith(b"BM"), _bmp_size),
    (lambda data: data[:4] in (b"II*\0", b"MM\0*"), _tiff_size),
    (lambda data: data[4:8] == b"jP  ", _boxed_size(b"ihdr", 0, "hw")),
    (lambda data: data[4:8] == b"ftyp", _boxed_size(b"ispe", 4, "wh")),
    (
        lambda data: data[:2] == b"P7",
        _written_size(rb"WIDTH\s+" + _NUMBER + rb"\s+HEIGHT\s+" + _NUMBER, "wh"),
    ),
    (
        lambda data: data[:1] == b"P" and data[1:2] in b"123456Ff",
        _written_size(rb"^P." + _BETWEEN + _NUMBER + _BETWEEN + _NUMBER, "wh"),
    ),
    (lambda data: data[:2] == b"#?", _written_size(rb"-Y\s+" + _NUMBER + rb"\s+\+X\s+" + _NUMBER, "hw")),
    (lambda data: data[:4] == b"\x59\xa6\x6a\x95", _sun_size),
)
