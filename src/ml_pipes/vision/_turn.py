"""How an image file says that its pixels are turned.

Knows where JPEG, WebP, PNG and AVIF keep it. Knows nothing of pixels; TIFF is left to OpenCV.
"""

from __future__ import annotations

import re
import struct
import zlib

from ml_pipes.vision._boxes import avif_properties, is_avif
from ml_pipes.vision._header import is_png, is_webp, png_chunks, tiff_tags
from ml_pipes.vision._jpeg import is_jpeg, jpeg_exif, jpeg_xmp

__all__ = ["stated_turn"]

_ORIENTATION = 0x112
_UPRIGHT = 1
# An attribute or an element, with white space where XML allows it.
_XMP_TURN = re.compile(rb"tiff:Orientation\s*(?:=\s*[\"']|>)\s*([0-9])\s*[\"'<]")
_PNG_TEXTS = frozenset({b"tEXt", b"zTXt", b"iTXt"})
# No text about a picture is longer, and a small one must not become a huge one.
_TEXT_BYTES = 1 << 20
# AVIF turns by quarters against the clock, and then mirrors top to bottom (0) or left to right (1).
_TURNS = {
    (0, None): 1, (1, None): 8, (2, None): 3, (3, None): 6,
    (0, 0): 4, (1, 0): 5, (2, 0): 2, (3, 0): 7,
    (0, 1): 2, (1, 1): 7, (2, 1): 4, (3, 1): 5,
}  # fmt: skip # a table


def stated_turn(data: bytes) -> int | None:
    """Read how a picture is turned, EXIF's 1 to 8; anything else means 1, upright.

    EXIF counts first, and XMP's ``tiff:Orientation`` where EXIF says nothing of it.
    None for what is no JPEG, WebP, PNG or AVIF: OpenCV turns a TIFF, and no others
    are turned.
    """
    if is_avif(data):
        return _avif_turn(data)
    if is_jpeg(data):
        return _turn(jpeg_exif(data), jpeg_xmp(data))
    if is_webp(data):
        return _turn(_webp_chunk(data, b"EXIF"), _webp_chunk(data, b"XMP "))
    if is_png(data):
        return _png_turn(data)
    return None


def _turn(exif: bytes, xmp: bytes) -> int:
    stated = _exif_turn(exif)
    return _xmp_turn(xmp) if stated is None else stated


def _exif_turn(exif: bytes) -> int | None:
    exif = exif.removeprefix(b"Exif\0\0")
    try:
        return tiff_tags(exif).get(_ORIENTATION) if exif else None
    except (struct.error, IndexError):
        return None


def _xmp_turn(xmp: bytes) -> int:
    found = _XMP_TURN.search(xmp)
    return _UPRIGHT if found is None else int(found[1])


def _png_turn(data: bytes) -> int:
    texts: dict[bytes, bytes] = {}
    exif = b""
    for kind, at, end in png_chunks(data):
        if kind == b"eXIf":
            exif = exif or data[at + 8 : end - 4]
        elif kind in _PNG_TEXTS:
            name, _, rest = data[at + 8 : end - 4].partition(b"\0")
            texts.setdefault(name, kind + rest)
    exif = exif or _hexadecimal(_png_text(texts.get(b"Raw profile type exif", b"")))
    return _turn(exif, _png_text(texts.get(b"XML:com.adobe.xmp", b"")))


def _png_text(stored: bytes) -> bytes:
    """Give the text of a chunk that starts with the chunk's kind; nothing when it is damaged."""
    kind, rest = stored[:4], stored[4:]
    packed = kind == b"zTXt"
    if kind == b"zTXt":
        rest = rest[1:]
    elif kind == b"iTXt":
        packed = rest[:1] == b"\1"
        # Two marks, and then a language and a translated name that end in 0 each.
        rest = rest[2:].split(b"\0", 2)[-1]
    try:
        return zlib.decompressobj().decompress(rest, _TEXT_BYTES) if packed else rest
    except zlib.error:
        return b""


def _hexadecimal(profile: bytes) -> bytes:
    """Read what ImageMagick writes: an empty line, a name, a length, and lines of hexadecimal digits."""
    try:
        return bytes.fromhex(b"".join(profile.split(b"\n")[3:]).decode("ascii"))
    except ValueError:
        return b""


def _webp_chunk(data: bytes, name: bytes) -> bytes:
    at = 12
    while at + 8 <= len(data):
        length = int.from_bytes(data[at + 4 : at + 8], "little")
        if data[at : at + 4] == name:
            return data[at + 8 : at + 8 + length]
        at += 8 + length + length % 2
    return b""


def _avif_turn(data: bytes) -> int:
    """Read the first turn and the first mirror among the properties; EXIF and XMP do not count in AVIF."""
    firsts: dict[bytes, int] = {}
    for kind, at, end in avif_properties(data):
        firsts.setdefault(kind, data[at] if at < end else 0)
    mirror = firsts[b"imir"] & 1 if b"imir" in firsts else None
    return _TURNS[firsts.get(b"irot", 0) & 3, mirror]
