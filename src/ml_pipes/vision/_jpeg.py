"""The segments of a JPEG: its size, what it says of itself, and whether all of its scans are there.

Knows JPEG's markers. Knows nothing of pixels: nothing is decoded here.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator

from ml_pipes.errors import DecodeError

__all__ = ["is_jpeg", "jpeg_exif", "jpeg_of_pixels_alone", "jpeg_size_wh", "jpeg_xmp"]

# The frame headers of every JPEG process; C4, C8 and CC in between are tables.
_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
_HUFFMAN_SEQUENTIAL, _PROGRESSIVE = (0xC0, 0xC1), (0xC2, 0xCA)
_WITHOUT_LENGTH = frozenset({0x01, 0xD8})
_END, _SCAN, _APP1, _COMMENT = 0xD9, 0xDA, 0xE1, 0xFE
# JFIF's and Adobe's say which colours are stored; the others are for other programs.
_OF_OTHERS = (frozenset(range(0xE0, 0xF0)) - {0xE0, 0xEE}) | {_COMMENT}
# Within a scan FF is followed by 00, or marks a restart; anything else ends the scan.
# More of FF may come before a marker. They need no "+", which would make the search many times slower.
_MARKER = re.compile(rb"\xff([^\x00\xff\xd0-\xd7])")
_EXIF, _XMP = b"Exif\0\0", b"http://ns.adobe.com/xap/1.0/\0"
# libjpeg reads up to 8 bytes ahead of what it needs, and no Huffman code is made of ones alone.
_AHEAD = b"\xff\x00" * 8
_COEFFICIENTS = 64
# Encoders write about ten.
_MOST_SCANS = 100


def is_jpeg(data: bytes) -> bool:
    """Tell whether the first bytes are those of a JPEG."""
    return data.startswith(b"\xff\xd8")


def jpeg_size_wh(data: bytes) -> tuple[int, int] | None:
    """Read width and height from the frame's header; None when there is none.

    Raises:
        struct.error: the file ends within it.
    """
    for marker, at in _segments(data):
        if marker in _FRAMES:
            height, width = struct.unpack_from(">HH", data, at + 3)
            return width, height
    return None


def jpeg_exif(data: bytes) -> bytes:
    """Give the EXIF part of a JPEG, from its ``Exif`` on; nothing where there is none."""
    return _part(data, _EXIF)


def jpeg_xmp(data: bytes) -> bytes:
    """Give the XMP part of a JPEG; nothing where there is none."""
    return _part(data, _XMP)


def jpeg_of_pixels_alone(data: bytes) -> bytes | None:
    """Give a JPEG without what others wrote into it, such that libjpeg cannot make up pixels.

    Where libjpeg meets an end marker too early, it fills the rest with grey and calls
    it a picture. Where the bytes end, it stops. A picture of one scan, which nearly all
    are, is given without its end marker therefore: what then lacks bits is not decoded.
    Two blocks of 8 x 8 pixels at the very end may lack theirs and are taken for whole,
    since libjpeg must be given bytes to look ahead at.

    A picture of several scans needs its end marker. It must have all of them: each
    component's, and of a progressive one every bit of every coefficient. That its last
    scan was cut and given an end marker is not known.

    Returns:
        None when the file surely is cut short.

    Raises:
        DecodeError: there are so many scans that they were made to take long.
    """
    kept, frame, scans, pixels_at = [data[:2]], 0, list[int](), 0
    for marker, at in _segments(data):
        if marker == _END:
            return _closed(data, b"".join(kept), frame, scans, (pixels_at, at))
        if marker == _SCAN:
            pixels_at = pixels_at or at - 2
            scans.append(at)
        elif marker in _FRAMES:
            frame = frame or at
        if not pixels_at and marker not in _WITHOUT_LENGTH and marker not in _OF_OTHERS:
            kept.append(data[at - 2 : at + int.from_bytes(data[at : at + 2], "big")])
    return None


def _closed(data: bytes, head: bytes, frame: int, scans: list[int], pixels: tuple[int, int]) -> bytes | None:
    """Put a header before its scans, with an end that fits; None when some of them are missing."""
    if not frame or not scans:
        return None
    if len(scans) > _MOST_SCANS:
        raise DecodeError(
            f"Decode: a JPEG of {len(scans):,} scans, each of which goes over the whole picture; "
            f"{_MOST_SCANS} are the most that are read"
        )
    kind, components = data[frame - 1], _frame_components(data, frame)
    if kind in _HUFFMAN_SEQUENTIAL and [_scan_components(data, at) for at in scans] == [components]:
        # A view, so that the pixels are copied once.
        return b"".join([head, memoryview(data)[pixels[0] : pixels[1] - 2], _AHEAD])
    are_all_there = _has_all_bits if kind in _PROGRESSIVE else _has_all_components
    return head + data[pixels[0] : pixels[1]] if are_all_there(data, components, scans) else None


def _segments(data: bytes) -> Iterator[tuple[int, int]]:
    """Give each marker up to the picture's end and where its segment starts; a scan's bytes are passed over.

    A segment is passed over as a whole, so that a thumbnail in it ends nothing.
    """
    at = 2
    while (found := _MARKER.search(data, at)) is not None:
        marker, at = found[1][0], found.end()
        yield marker, at
        if marker == _END:
            return
        if marker not in _WITHOUT_LENGTH:
            at += int.from_bytes(data[at : at + 2], "big")


def _part(data: bytes, name: bytes) -> bytes:
    for marker, at in _segments(data):
        if marker == _SCAN:
            break
        if marker == _APP1 and data.startswith(name, at + 2):
            return data[at + 2 : at + int.from_bytes(data[at : at + 2], "big")]
    return b""


def _frame_components(data: bytes, at: int) -> list[int]:
    (count,) = data[at + 7 : at + 8] or b"\0"
    return list(data[at + 8 : at + 8 + 3 * count : 3])


def _scan_components(data: bytes, at: int) -> list[int]:
    (count,) = data[at + 2 : at + 3] or b"\0"
    return list(data[at + 3 : at + 3 + 2 * count : 2])


def _has_all_components(data: bytes, components: list[int], scans: list[int]) -> bool:
    return set(components) <= {name for at in scans for name in _scan_components(data, at)}


def _has_all_bits(data: bytes, components: list[int], scans: list[int]) -> bool:
    """Tell whether the scans bring the lowest bit of every coefficient (ITU-T T.81, G.1.1.1)."""
    missing = {(name, place) for name in components for place in range(_COEFFICIENTS)}
    for at in scans:
        names = _scan_components(data, at)
        tail = at + 3 + 2 * len(names)
        first, last, bits = data[tail : tail + 3].ljust(3, b"\xff")
        if bits & 0xF == 0:
            missing.difference_update((name, place) for name in names for place in range(first, last + 1))
    return not missing
