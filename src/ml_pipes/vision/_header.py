"""What the first bytes of an image file promise: its format, its size, and whether its end is there.

Knows file formats. Knows nothing of pixels: nothing is decoded here.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Callable, Iterator

from ml_pipes.vision._boxes import avif_size_wh, is_avif, is_heic, is_jpeg_2000, jpeg_2000_size_wh
from ml_pipes.vision._jpeg import is_jpeg, jpeg_size_wh

__all__ = [
    "bmp_bits",
    "bmp_masks",
    "bmp_palette",
    "cut_short",
    "is_damaged_png",
    "is_overfull_png",
    "is_png",
    "is_tiff",
    "is_webp",
    "known_format",
    "pam_header",
    "png_chunks",
    "promised_size_wh",
    "tiff_entries",
    "tiff_tags",
]

_Size = tuple[int, int]

# No header that is text goes on beyond this.
_TEXT_BYTES = 4096
# The length of OS/2's header, which is how it is told from later ones.
_BMP_OLDEST = 12
_BMP_BITFIELDS = (3, 6)
_PNG_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_PNG_SPARE_BYTES = 1 << 16
# The bytes of one value of a TIFF's types 1 to 18; 14 and 15 do not exist.
_TIFF_BYTES = (1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4, 4, 4, 8, 8, 8)
_TIFF_WIDTH, _TIFF_HEIGHT, _TILE_WIDTH, _TILE_HEIGHT = 0x100, 0x101, 0x142, 0x143
_TIFF_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
# Place of the first directory and of its count, its entries and their length, what fits into one.
_TIFF_CLASSIC = (4, "I", "H", "HHII", 12, 4)
_TIFF_BIG = (8, "Q", "Q", "HHQQ", 20, 8)
_PAM_END = re.compile(rb"\nENDHDR[^\n]*\n")
_PAM_FIELD = re.compile(rb"(?m)^(WIDTH|HEIGHT|DEPTH|MAXVAL)\s+(\d{1,9})")


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

    Known for PNG (no ``IEND``), WebP, BMP and PAM (fewer bytes than stated); False for
    all others. What follows the picture does not count. A JPEG's scans are looked at in
    ``_jpeg``, once for all that is wanted of them.
    """
    if is_png(data):
        return not any(kind == b"IEND" for kind, _, _ in png_chunks(data))
    if is_webp(data):
        return len(data) < 8 + int.from_bytes(data[4:8], "little")
    if data.startswith(b"BM"):
        return len(data) < _stated_bmp_bytes(data)
    pam = pam_header(data)
    return pam is not None and len(data) < pam[4] + pam[0] * pam[1] * pam[2] * (2 if pam[3] > 0xFF else 1)


def is_png(data: bytes) -> bool:
    """Tell whether the first bytes are those of a PNG."""
    return data.startswith(b"\x89PNG\r\n\x1a\n")


def is_webp(data: bytes) -> bool:
    """Tell whether the first bytes are those of a WebP."""
    return data[:4] == b"RIFF" and data[8:12] == b"WEBP"


def is_tiff(data: bytes) -> bool:
    """Tell whether the first bytes are those of a TIFF, or of a BigTIFF."""
    return data[:4] in (b"II*\0", b"MM\0*") or _is_big_tiff(data)


def _is_big_tiff(data: bytes) -> bool:
    return data[:4] in (b"II+\0", b"MM\0+")


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


def is_damaged_png(data: bytes) -> bool:
    """Tell whether a part of a PNG that its picture needs differs from its checksum.

    libpng would find the same, and say so on stderr.
    """
    return is_png(data) and any(
        zlib.crc32(memoryview(data)[at + 4 : end - 4]) != int.from_bytes(data[end - 4 : end], "big")
        for kind, at, end in png_chunks(data)
        if kind[:1].isupper() and kind != b"IEND"
    )


def is_overfull_png(data: bytes) -> bool:
    """Tell whether a PNG has more compressed bytes than any encoder writes for its pixels.

    libpng unpacks all of them, a thousand bytes for each at worst, and then throws away
    what does not belong to the picture.
    """
    if not is_png(data) or len(data) < _PNG_SPARE_BYTES:
        return False
    width, height, depth, colour, _, _, interlaced = struct.unpack_from(">IIBBBBB", data, 16)
    row_bytes = (width * depth * _PNG_CHANNELS.get(colour, 4) + 7) // 8 + 1
    # A row of its own for each row of each pass at most.
    most = 2 * height * row_bytes * (2 if interlaced else 1) + _PNG_SPARE_BYTES
    return bool(most < sum(end - at for kind, at, end in png_chunks(data) if kind == b"IDAT"))


def _bmp_header(data: bytes) -> tuple[int, int, int, int]:
    """Read width, height, bits and compression; the oldest header has smaller fields and no compression."""
    if struct.unpack_from("<I", data, 14) == (_BMP_OLDEST,):
        width, height, _, bits = struct.unpack_from("<HHHH", data, 18)
        return width, height, bits, 0
    width, height, _, bits, compression = struct.unpack_from("<iiHHI", data, 18)
    return abs(width), abs(height), bits, compression


def bmp_masks(data: bytes) -> tuple[int, int, tuple[int, int, int]] | None:
    """Read a BMP's header length, its bits per pixel and the bits of red, green and blue in a pixel.

    Returns:
        None for what is no BMP, or one that states no such bits.
    """
    try:
        bits, compression = _bmp_header(data)[2:] if data.startswith(b"BM") else (0, 0)
        if compression not in _BMP_BITFIELDS:
            return None
        (length,) = struct.unpack_from("<I", data, 14)
        red, green, blue = struct.unpack_from("<III", data, 54)
    except struct.error:
        return None
    return length, bits, (red, green, blue)


def bmp_palette(data: bytes) -> tuple[int, int]:
    """Read where a BMP's palette starts and ends; twice the same place where there is none."""
    try:
        bits = _bmp_header(data)[2]
        (length,) = struct.unpack_from("<I", data, 14)
        if not 1 <= bits <= 8 or length == _BMP_OLDEST:
            return 0, 0
        (colours,) = struct.unpack_from("<I", data, 46)
    except struct.error:
        return 0, 0
    return 14 + length, 14 + length + 4 * min(colours or 1 << bits, 256)


def bmp_bits(data: bytes) -> int:
    """Read a BMP's bits per pixel; 0 for what is no BMP."""
    try:
        return _bmp_header(data)[2] if data.startswith(b"BM") else 0
    except struct.error:
        return 0


def pam_header(data: bytes) -> tuple[int, int, int, int, int] | None:
    """Read a PAM's width, height, depth, white, and where its pixels start; None for what is none."""
    end = _PAM_END.search(data, 0, _TEXT_BYTES) if data[:2] == b"P7" else None
    if end is None:
        return None
    found = {field[1]: int(field[2]) for field in _PAM_FIELD.finditer(data, 0, end.end())}
    if len(found) < 4:
        return None
    return found[b"WIDTH"], found[b"HEIGHT"], found[b"DEPTH"], found[b"MAXVAL"], end.end()


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
    """Read the picture's size, or that of a tile where it is larger: memory is taken for a whole one."""
    tags = tiff_tags(data)
    if not {_TIFF_WIDTH, _TIFF_HEIGHT} <= tags.keys():
        return None
    picture = tags[_TIFF_WIDTH], tags[_TIFF_HEIGHT]
    tile = tags.get(_TILE_WIDTH, 0), tags.get(_TILE_HEIGHT, 0)
    return max(picture, tile, key=lambda size: size[0] * size[1])


def tiff_tags(data: bytes) -> dict[int, int]:
    """Read the first directory of a TIFF, or of EXIF, which is one: tag to its first value.

    A value that lies beyond the end of the file is left out.

    Raises:
        struct.error: the file ends within it.
    """
    order = "<" if data[:2] == b"II" else ">"
    found: dict[int, int] = {}
    for tag, (at, width) in tiff_entries(data).items():
        if at + width <= len(data):
            (found[tag],) = struct.unpack_from(f"{order}{_TIFF_CODES[width]}", data, at)
    return found


def tiff_entries(data: bytes) -> dict[int, tuple[int, int]]:
    """Read where the first directory's values are: tag to the first one's place and its bytes.

    Raises:
        struct.error: the file ends within it.
    """
    order = "<" if data[:2] == b"II" else ">"
    head, place_code, count_code, entry_code, entry_bytes, fits = (
        _TIFF_BIG if _is_big_tiff(data) else _TIFF_CLASSIC
    )
    (at,) = struct.unpack_from(f"{order}{place_code}", data, head)
    # A place may be larger than struct takes; the end is as far out of the file.
    at = min(at, len(data))
    (count,) = struct.unpack_from(f"{order}{count_code}", data, at)
    first = at + struct.calcsize(f"{order}{count_code}")
    found: dict[int, tuple[int, int]] = {}
    for entry in range(first, first + entry_bytes * count, entry_bytes):
        tag, kind, values, place = struct.unpack_from(f"{order}{entry_code}", data, entry)
        width = _TIFF_BYTES[kind - 1] if 1 <= kind <= len(_TIFF_BYTES) else 4
        # Values that fit stand in the entry itself.
        found[tag] = (entry + entry_bytes - fits if width * values <= fits else place, width)
    return found


def _pam_size(data: bytes) -> _Size | None:
    pam = pam_header(data)
    return pam and pam[:2]


def _written_size(pattern: bytes, order: str) -> Callable[[bytes], _Size | None]:
    """Give a reader of two numbers written as text in the first bytes."""

    def read(data: bytes) -> _Size | None:
        found = re.search(pattern, data[:_TEXT_BYTES])
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
    ("JPEG", is_jpeg, jpeg_size_wh),
    ("PNG", is_png, _png_size),
    ("WebP", is_webp, _webp_size),
    ("GIF", lambda data: data[:6] in (b"GIF87a", b"GIF89a"), _gif_size),
    ("BMP", lambda data: data.startswith(b"BM"), _bmp_size),
    ("TIFF", is_tiff, _tiff_size),
    ("JPEG 2000", is_jpeg_2000, jpeg_2000_size_wh),
    ("AVIF", is_avif, avif_size_wh),
    ("HEIC", is_heic, avif_size_wh),
    ("PAM", lambda data: data[:2] == b"P7", _pam_size),
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
