"""Files made such that OpenCV gives their colours as they are stored.

Knows what OpenCV and its codecs get wrong. Knows nothing of steps.
"""

from __future__ import annotations

import re
import struct
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.vision._header import (
    bmp_bits,
    bmp_masks,
    bmp_palette,
    cut_short,
    is_png,
    is_tiff,
    pam_header,
    png_chunks,
    tiff_entries,
    tiff_tags,
)
from ml_pipes.vision._jpeg import is_jpeg, jpeg_of_pixels_alone

__all__ = ["decoded", "mended", "misread", "unsupported"]

_PNG_END = b"\0\0\0\0IEND\xaeB\x60\x82"
_EXTRA_SAMPLES = 0x152
_SAMPLE_FORMAT = 0x153
_BITS, _PHOTOMETRIC, _PALETTE = 0x102, 0x106, 3
_WHOLE_BYTES = (0xFF, 0xFF00, 0xFF0000, 0xFF000000)
_BGRX = (0xFF0000, 0xFF00, 0xFF)
# From this header on, OpenCV heeds the places of the colours in a pixel.
_BMP_HEEDED = 56
_GREEN_OF_6 = 0x7E0
_GREY, _RGB = 1, 3
_PREMULTIPLIED, _APART = 1, 2
_LABS = (8, 9, 10)
_PFM = (b"PF\n", b"Pf\n", b"PF ", b"Pf ", b"PF\r", b"Pf\r", b"PF\t", b"Pf\t")
_KINDS = {2: "signed integers", 3: "floats", 5: "complex integers", 6: "complex floats"}

# P5 and P6 are read as if white were 255 or 65535, whatever their header says; so are P2 and P3
# of more than a byte.
_NETPBM = re.compile(rb"P([2356])" + rb"(?:\s+(?:#[^\n]*\n)*)(\d{1,9})" * 3)


def mended(data: bytes) -> bytes | None:
    """Give a file that decodes to the same picture, with nothing in it that misleads the decoder.

    A JPEG and a PNG are left with their pixels alone: a damaged or unusual profile, text
    or time cannot make libjpeg or libpng write to stderr, and of an animation the still
    picture is read. Pixels that a JPEG lacks are not made up; see
    :func:`jpeg_of_pixels_alone`. A TIFF's alpha is called premultiplied, which it then
    is not: libtiff would darken the colours by it otherwise. A PAM becomes a PGM or a
    PPM: OpenCV swaps its red and blue, and loses single bits. A BMP's pixels are where
    Pillow looks for them too if its header says that they are in itself.

    Returns:
        None for a JPEG that is cut short.
    """
    if is_jpeg(data):
        return jpeg_of_pixels_alone(data)
    if data[:2] == b"P7":
        return _pam_without_alpha(data)
    if is_png(data):
        # Capital letters are the parts without which there is no picture.
        parts = (data[at:end] for kind, at, end in png_chunks(data) if kind[:1].isupper() and kind != b"IEND")
        return b"".join([data[:8], *parts, _PNG_END])
    if is_tiff(data):
        return _tiff_with_colours_as_stored(data)
    if data.startswith(b"BM"):
        return _bmp_with_pixels_behind_its_palette(data)
    return data


def decoded(data: bytes, flags: int) -> npt.NDArray[np.uint8] | None:
    """Decode a mended file to ``(H, W, 3)`` BGR uint8; None when OpenCV cannot."""
    buffer = np.frombuffer(data, np.uint8)
    white = _unheeded_white(data)
    if white is None:
        pixels = cv2.imdecode(buffer, flags)
    else:
        raw = cv2.imdecode(buffer, cv2.IMREAD_UNCHANGED)
        pixels = None if raw is None else _of_255(raw, white)
    if pixels is not None and pixels.ndim == 2:
        pixels = cv2.cvtColor(pixels, cv2.COLOR_GRAY2BGR)
    if pixels is not None and bmp_bits(data) == 16:
        # OpenCV leaves the lower bits 0, so that white would be 248.
        masks = bmp_masks(data)
        green = 6 if masks is not None and masks[2][1] == _GREEN_OF_6 else 5
        pixels = np.bitwise_or(pixels, pixels >> np.array([5, green, 5], np.uint8))
    return pixels  # type: ignore[return-value] # imdecode with these flags gives uint8


def _of_255(raw: npt.NDArray[Any], white: int) -> npt.NDArray[np.uint8]:
    numbers = raw.astype(np.uint32).clip(0, white)
    return ((numbers * 255 + white // 2) // white).astype(np.uint8)


def misread(data: bytes) -> str | None:
    """Say what a file holds whose colours OpenCV would give wrong; None for all else.

    A BMP may state bits that OpenCV does not look for, Lab in a TIFF is read for another
    white than Pillow's, and a PFM states no white at all.
    """
    if data[:3] in _PFM:
        return "PFM of 32-bit floats"
    if _tiff_tags(data).get(_PHOTOMETRIC) in _LABS:
        return "TIFF of Lab colours"
    found = bmp_masks(data)
    if found is None or found[1] != 32:
        return None
    length, _, masks = found
    is_heeded = set(masks) <= set(_WHOLE_BYTES) if length >= _BMP_HEEDED else masks == _BGRX
    return None if is_heeded else "BMP with colours of unusual bits"


def unsupported(data: bytes) -> str | None:
    """Say what a TIFF holds that is no 8- or 16-bit picture; None for all else."""
    tags = _tiff_tags(data)
    bits, kind = tags.get(_BITS, 1), tags.get(_SAMPLE_FORMAT, 1)
    if tags and (kind in _KINDS or (bits not in (1, 8, 16) and tags.get(_PHOTOMETRIC) != _PALETTE)):
        return f"{bits}-bit {_KINDS.get(kind, 'integers')}"
    return None


def _tiff_tags(data: bytes) -> dict[int, int]:
    try:
        return tiff_tags(data) if is_tiff(data) else {}
    except (struct.error, IndexError):
        return {}


def _tiff_with_colours_as_stored(data: bytes) -> bytes:
    try:
        at, _ = tiff_entries(data).get(_EXTRA_SAMPLES, (0, 0))
        if at == 0 or tiff_tags(data)[_EXTRA_SAMPLES] != _APART:
            return data
    except (struct.error, IndexError):
        return data
    order = "<" if data[:2] == b"II" else ">"
    return data[:at] + struct.pack(f"{order}H", _PREMULTIPLIED) + data[at + 2 :]


def _bmp_with_pixels_behind_its_palette(data: bytes) -> bytes:
    """State where the pixels are, where a file says that they are in its header, or in its palette."""
    palette_at, pixels_at = bmp_palette(data)
    stated = int.from_bytes(data[10:14], "little")
    if stated > palette_at or pixels_at == palette_at:
        return data
    return data[:10] + struct.pack("<I", pixels_at) + data[14:]


def _pam_without_alpha(data: bytes) -> bytes:
    header = pam_header(data)
    if header is None or cut_short(data) or not (1 <= header[2] <= 4 and 1 <= header[3] <= 0xFFFF):
        return b""
    width, height, depth, white, at = header
    colours = _GREY if depth <= 2 else _RGB
    dtype = np.uint16 if white > 0xFF else np.uint8
    stored = np.frombuffer(data, dtype, width * height * depth, at).reshape(-1, depth)
    return b"P%d %d %d %d\n" % (5 if colours == _GREY else 6, width, height, white) + (
        stored[:, :colours].tobytes()
    )


def _unheeded_white(data: bytes) -> int | None:
    found = _NETPBM.match(data[:4096])
    if found is None:
        return None
    kind, white = found[1], int(found[4])
    heeded = (255, 65535) if kind in (b"5", b"6") else (*range(256), 65535)
    return white if 0 < white <= 65535 and white not in heeded else None
