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
    cut_short,
    is_png,
    is_tiff,
    pam_header,
    png_chunks,
    tiff_entries,
    tiff_tags,
)

__all__ = ["decoded", "mended", "misread", "unsupported"]

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
_KINDS = {2: "signed integers", 3: "floats", 5: "complex integers", 6: "complex floats"}

# P5 and P6 are read as if white were 255 or 65535, whatever their header says; so are P2 and P3
# of more than a byte.
_NETPBM = re.compile(rb"P([2356])" + rb"(?:\s+(?:#[^\n]*\n)*)(\d{1,9})" * 3)


def mended(data: bytes) -> bytes:
    """Give a file that decodes to the same picture, with nothing in it that misleads the decoder.

    A PNG is left with its pixels alone: a damaged or unusual profile, text or time
    cannot make libpng write to stderr, and of an animation the still picture is
    read. A TIFF's alpha is called premultiplied, which it then is not: libtiff would
    darken the colours by it otherwise. A PAM becomes a PGM or a PPM: OpenCV swaps its
    red and blue, and loses single bits.
    """
    if data[:2] == b"P7":
        return _pam_without_alpha(data)
    if is_png(data):
        # Capital letters are the parts without which there is no picture.
        kept = [data[at:end] for kind, at, end in png_chunks(data) if kind[:1].isupper()]
        return data[:8] + b"".join(kept)
    if is_tiff(data):
        return _tiff_with_colours_as_stored(data)
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


def misread(data: bytes) -> bool:
    """Tell whether OpenCV would take a file's colours from the wrong bits: some BMPs that state their own."""
    found = bmp_masks(data)
    if found is None or found[1] != 32:
        return False
    length, _, masks = found
    return masks != _BGRX if length < _BMP_HEEDED else not set(masks) <= set(_WHOLE_BYTES)


def unsupported(data: bytes) -> str | None:
    """Say what a TIFF holds that is no 8- or 16-bit picture; None for all else."""
    if not is_tiff(data):
        return None
    try:
        tags = tiff_tags(data)
    except (struct.error, IndexError):
        return None
    bits, kind = tags.get(_BITS, 1), tags.get(_SAMPLE_FORMAT, 1)
    if kind in _KINDS or (bits not in (1, 8, 16) and tags.get(_PHOTOMETRIC) != _PALETTE):
        return f"{bits}-bit {_KINDS.get(kind, 'integers')}"
    return None


def _tiff_with_colours_as_stored(data: bytes) -> bytes:
    try:
        at, _ = tiff_entries(data).get(_EXTRA_SAMPLES, (0, 0))
        if at == 0 or tiff_tags(data)[_EXTRA_SAMPLES] != _APART:
            return data
    except (struct.error, IndexError):
        return data
    order = "<" if data[:2] == b"II" else ">"
    return data[:at] + struct.pack(f"{order}H", _PREMULTIPLIED) + data[at + 2 :]


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
