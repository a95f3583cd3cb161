"""What the first bytes of an image file promise: its format, its size, and whether its end is there.

Knows file formats. Knows nothing of pixels: nothing is decoded here.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator

__all__ = [
    "cut_short",
    "is_avif",
    "is_png",
    "is_tiff",
    "is_webp",
    "known_format",
    "png_chunks",
    "promised_size_wh",
    "tiff_entries",
    "tiff_tags",
]

_Size = tuple[int, int]

# The frame headers of every JPEG process; C4, C8 and CC in between are tables.
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_JPEG_WITHOUT_LENGTH = frozenset({0x01, 0xD8})
_JPEG_END = 0xD9
# Within a scan FF is followed by 00, or marks a restart; anything else ends the scan.
_JPEG_MARKER = re.compile(rb"\xff+([^\x00\xff\xd0-\xd7])")
# The length of OS/2's header, which is how it is told from later ones.
_BMP_OLDEST = 12
# The bytes of one value of a TIFF's types 1 to 13.
_TIFF_BYTES = (1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4)
_TIFF_CODES = {1: "B", 2: "H", 4: "I"}


def promised_size_wh(data: bytes) -> _Size | None:
    """Read the width and height that an image's header states, before anything is allocated for it.

    Args:
        data: a whole file.

    Returns:
        (width, height), pixels, of the file as it is stored; None when the format is
        not known here or its header is damaged.
    """
    for _, matches, read in _READERS:
        if matches(data):
            try:
                return read(data)
            except (struct.error, IndexError):
                return None
    return None


def known_format(data: bytes) -> str | None:
    """Name the format that a file's first bytes are of; None when they are of none known here."""
    return next((name for name, matches, _ in _READERS if matches(data)), None)


def cut_short(data: bytes) -> bool:
    """Tell whether a file surely ends before its image does.

    Known for PNG (no ``IEND``), JPEG (no end marker of its own), WebP and BMP (fewer
    bytes than stated); False for all others. Decoders of some versions fill the
    missing part with grey and say nothing. What follows the picture does not count.
    """
    if is_png(data):
        return not any(kind == b"IEND" for kind, _, _ in png_chunks(data))
    if data.startswith(b"\xff\xd8"):
        return all(marker != _JPEG_END for marker, _ in _jpeg_segments(data))
    if is_webp(data):
        return len(data) < 8 + int.from_bytes(data[4:8], "little")
    if data.startswith(b"BM"):
        return len(data) < _stated_bmp_bytes(data)
    return False


def is_png(data: bytes) -> bool:
    """Tell whether the first bytes are those of a PNG."""
    return data.startswith(b"\x89PNG\r\n\x1a\n")


def is_webp(data: bytes) -> bool:
    """Tell whether the first bytes are those of a WebP."""
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def is_tiff(data: bytes) -> bool:
    """Tell whether the first bytes are those of a TIFF."""
    return data[:4] in (b"II*\0", b"MM\0*")


def is_avif(data: bytes) -> bool:
    """Tell whether the first bytes are those of an AVIF, or of a relative in the same boxes."""
    return data[4:8] == b"ftyp"


def png_chunks(data: bytes) -> Iterator[tuple[bytes, int, int]]:
    """Give each whole chunk's kind and where it starts and ends, up to and with ``IEND``."""
    at = 8
    while at + 12 <= len(data):
        kind = data[at + 4 : at + 8]
        end = at + 12 + int.from_bytes(data[at : at + 4], "big")
        if end > len(data):
            return
        yield kind, at, end
        if kind == b"IEND":
            return
        at = end


def _bmp_header(data: bytes) -> tuple[int, int, int, int]:
    """Read width, height, bits and compression; the oldest header has smaller fields and no compression."""
    if struct.unpack_from("<I", data, 14) == (_BMP_OLDEST,):
        width, height, _, bits = struct.unpack_from("<HHHH", data, 18)
        return width, height, bits, 0
    width, height, _, bits, compression = struct.unpack_from("<iiHHI", data, 18)
    return abs(width), abs(height), bits, compression


def _stated_bmp_bytes(data: bytes) -> int:
    """Give the bytes an uncompressed BMP needs; 0 when it is compressed or its header is damaged."""
    try:
        width, height, bits, compression = _bmp_header(data)
        (offset,) = struct.unpack_from("<I", data, 10)
    except struct.error:
        return 0
    row_bytes = (width * bits + 31) // 32 * 4
    return int(offset + row_bytes * height) if compression == 0 else 0


def _png_size(data: bytes) -> _Size:
    width, height = struct.unpack_from(">II", data, 16)
    return width, height


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Give each marker up to the picture's end and where its segment starts; a scan's bytes are passed over.

    A segment is passed over as a whole, so that a thumbnail in it ends nothing.
    """
    at = 2
    while (found := _JPEG_MARKER.search(data, at)) is not None:
        marker, at = found[1][0], found.end()
        yield marker, at
        if marker == _JPEG_END:
            return
        if marker not in _JPEG_WITHOUT_LENGTH:
            at += int.from_bytes(data[at : at + 2], "big")


def _jpeg_size(data: bytes) -> _Size | None:
    for marker, at in _jpeg_segments(data):
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 3)
            return width, height
    return None


def _gif_size(data: bytes) -> _Size:
    width, height = struct.unpack_from("<HH", data, 6)
    return width, height


def _bmp_size(data: bytes) -> _Size:
    width, height, _, _ = _bmp_header(data)
    return width, height


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
    tags = tiff_tags(data)
    return (tags[256], tags[257]) if {256, 257} <= tags.keys() else None


def tiff_tags(data: bytes) -> dict[int, int]:
    """Read the first directory of a TIFF, or of EXIF, which is one: tag to its first value.

    Raises:
        struct.error: the file ends within it.
    """
    order = "<" if data[:2] == b"II" else ">"
    found: dict[int, int] = {}
    for tag, (at, width) in tiff_entries(data).items():
        (found[tag],) = struct.unpack_from(f"{order}{_TIFF_CODES[width]}", data, at)
    return found


def tiff_entries(data: bytes) -> dict[int, tuple[int, int]]:
    """Read where the first directory's values are: tag to the first one's place and its bytes, 4 at most.

    Raises:
        struct.error: the file ends within it.
    """
    order = "<" if data[:2] == b"II" else ">"
    (at,) = struct.unpack_from(f"{order}I", data, 4)
    (count,) = struct.unpack_from(f"{order}H", data, at)
    found: dict[int, tuple[int, int]] = {}
    for entry in range(at + 2, at + 2 + 12 * count, 12):
        tag, kind, values, place = struct.unpack_from(f"{order}HHII", data, entry)
        width = _TIFF_BYTES[kind - 1] if 1 <= kind <= len(_TIFF_BYTES) else 4
        # Values that fit stand in the entry itself.
        found[tag] = (entry + 8 if width * values <= 4 else place, min(width, 4))
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

_READERS: tuple[tuple[str, Callable[[bytes], bool], Callable[[bytes], _Size | None]], ...] = (
    ("JPEG", lambda data: data.startswith(b"\xff\xd8"), _jpeg_size),
    ("PNG", is_png, _png_size),
    ("WebP", is_webp, _webp_size),
    ("GIF", lambda data: data[:6] in (b"GIF87a", b"GIF89a"), _gif_size),
    ("BMP", lambda data: data.startswith(b"BM"), _bmp_size),
    ("TIFF", is_tiff, _tiff_size),
    ("JPEG 2000", lambda data: data[4:8] == b"jP  ", _boxed_size(b"ihdr", 0, "hw")),
    ("AVIF", is_avif, _boxed_size(b"ispe", 4, "wh")),
    (
        "PAM",
        lambda data: data[:2] == b"P7",
        _written_size(rb"WIDTH\s+" + _NUMBER + rb"\s+HEIGHT\s+" + _NUMBER, "wh"),
    ),
    (
        "PNM",
        lambda data: data[:1] == b"P" and data[1:2] in b"123456Ff" and data[2:3] in b" \t\r\n",
        _written_size(rb"^P." + _BETWEEN + _NUMBER + _BETWEEN + _NUMBER, "wh"),
    ),
    (
        "Radiance HDR",
        lambda data: data[:2] == b"#?",
        _written_size(rb"-Y\s+" + _NUMBER + rb"\s+\+X\s+" + _NUMBER, "hw"),
    ),
    ("Sun raster", lambda data: data[:4] == b"\x59\xa6\x6a\x95", _sun_size),
)
