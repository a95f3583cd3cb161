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

from ml_pipes.vision._header import is_png, is_tiff, png_chunks, tiff_entries, tiff_tags

__all__ = ["decoded", "mended", "unsupported"]

_EXTRA_SAMPLES = 0x152
_SAMPLE_FORMAT = 0x153
_BITS = 0x102
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
    darken the colours by it otherwise.
    """
    if is_png(data):
        # Capital letters are the parts without which there is no picture; tRNS belongs to the colours.
        kept = [data[at:end] for kind, at, end in png_chunks(data) if kind[:1].isupper() or kind == b"tRNS"]
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
    return pixels  # type: ignore[return-value] # imdecode with these flags gives uint8


def _of_255(raw: npt.NDArray[Any], white: int) -> npt.NDArray[np.uint8]:
    numbers = raw.astype(np.uint32).clip(0, white)
    return ((numbers * 255 + white // 2) // white).astype(np.uint8)


def unsupported(data: bytes) -> str | None:
    """Say what a TIFF holds that is no 8- or 16-bit picture; None for all else."""
    if not is_tiff(data):
        return None
    try:
        tags = tiff_tags(data)
    except (struct.error, IndexError):
        return None
    bits, kind = tags.get(_BITS, 1), tags.get(_SAMPLE_FORMAT, 1)
    if kind in _KINDS or bits > 16:
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


def _unheeded_white(data: bytes) -> int | None:
    found = _NETPBM.match(data[:4096])
    if found is None:
        return None
    kind, white = found[1], int(found[4])
    heeded = (255, 65535) if kind in (b"5", b"6") else (*range(256), 65535)
    return white if 0 < white <= 65535 and white not in heeded else None
