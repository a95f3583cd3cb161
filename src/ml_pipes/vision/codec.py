"""Files to bytes, bytes to pictures.

Knows image files. Knows nothing of what is in a picture.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.errors import DecodeError
from ml_pipes.operator import Operator
from ml_pipes.vision._header import cut_short, is_damaged_png, is_overfull_png, known_format, promised_size_wh
from ml_pipes.vision._mend import decoded, mended, misread, unsupported
from ml_pipes.vision._turn import stated_turn
from ml_pipes.vision.types import ImagePayload

__all__ = ["Decode", "LoadFile", "decode_image"]

_MAX_PIXELS = 200_000_000
_REDUCTIONS = (
    (8, cv2.IMREAD_REDUCED_COLOR_8),
    (4, cv2.IMREAD_REDUCED_COLOR_4),
    (2, cv2.IMREAD_REDUCED_COLOR_2),
)
# EXIF's turns: those that make columns of rows, and how OpenCV calls the mirroring that follows.
_SIDEWAYS = (5, 6, 7, 8)
_FLIPS = {2: 1, 3: -1, 4: 0, 6: 1, 7: -1, 8: 0}

# OpenCV 5 keeps these functions in a module, OpenCV 4 beside all others.
_log: Any = getattr(cv2.utils, "logging", cv2)
_LOG_FATAL, _LOG_WARNING = 1, 3
# OpenCV's own log would say again what each DecodeError says. Whoever set its level, by its variable
# or before this import, keeps it. It covers libtiff and OpenJPEG. libjpeg and libpng have no level, and
# OpenCV leaves their printing as it is: only the whole process's stderr could be turned away, also from
# other threads. So what they would complain of is left out or refused before, as far as it can be.
if "OPENCV_LOG_LEVEL" not in os.environ and _log.getLogLevel() == _LOG_WARNING:
    _log.setLogLevel(_LOG_FATAL)


def decode_image(
    data: bytes | bytearray | memoryview,
    max_pixels: int = _MAX_PIXELS,
    *,
    at_least: tuple[int, int] | None = None,
) -> npt.NDArray[np.uint8]:
    """Decode an image file's bytes.

    Args:
        data: a whole file of any format that OpenCV reads: JPEG, PNG, WebP, GIF (its
            first frame), BMP, TIFF, JPEG 2000, AVIF and others.
        max_pixels: the most pixels that a header may promise.
        at_least: (height, width), pixels, of the upright picture. A JPEG is decoded at
            the smallest of its full size, a half, a quarter and an eighth that has no
            shorter side than that (a part of a pixel counts as one); other formats keep
            their full size. None keeps every pixel.

    Returns:
        ``(H, W, 3)`` uint8, BGR, turned upright as EXIF says, or XMP where EXIF says
        nothing of it (AVIF: as its own properties say; TIFF: as its tag says). Grey and
        palette are expanded, 16 bits are scaled to 8, a PGM's or PPM's own white becomes
        255, CMYK is converted; alpha is dropped and leaves the colours as they are
        stored. Bytes behind the picture, such as a motion photo's film, are passed over.
        Of several pictures the first counts; where a GIF's is transparent, its background
        shows.

    Raises:
        DecodeError: the bytes are empty, are no image, are cut short, hold numbers of a
            kind that is no 8- or 16-bit pixel or Lab colours, promise too many pixels, or
            were made to take long.
        TypeError: ``data`` is not bytes.

    A JPEG that was cut and given an end marker is refused too, with two exceptions: the
    last two blocks of 8 x 8 pixels may be lacking, and the last of several scans (in a
    progressive picture the lowest bits of some coefficients) may be cut. Damage that
    leaves enough bits is not known from a picture, in most formats. Of a JPEG's damaged
    pixels libjpeg writes a line to stderr that no setting prevents, and libpng of a
    PNG's whose checksums are right.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"Decode: takes the bytes of an image file, got {type(data).__name__}; "
            + (
                "it is decoded already, leave Decode out"
                if isinstance(data, ImagePayload)
                else "LoadFile() reads a path"
            )
        )
    whole = data if isinstance(data, bytes) else bytes(data)
    if not whole:
        raise DecodeError("Decode: no bytes at all (0 bytes); an image was wanted")
    size = _checked_size_wh(whole, max_pixels)
    plain = mended(whole)
    if plain is None:
        raise DecodeError(_cut(whole))
    # Done here it is the same in every version of OpenCV, and in every file.
    turn = stated_turn(whole)
    flags = _reduced(whole, size, at_least, turn)
    flags = flags if turn is None else flags | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        pixels = decoded(plain, flags)
    except cv2.error as error:
        raise DecodeError(_refusal(whole, size)) from error
    if pixels is None:
        raise DecodeError(_refusal(whole, size))
    return _turned(pixels, turn or 1)


@Operator
class LoadFile:
    """Read a file's bytes."""

    def __call__(self, image_path: str | Path) -> bytes:
        """Give the bytes; FileNotFoundError when the file is not there, TypeError for what is no path."""
        given: object = image_path  # what comes may not be what is promised
        if not isinstance(given, (str, os.PathLike)):
            is_bytes = isinstance(given, (bytes, bytearray, memoryview))
            way_out = "; bytes go straight to Decode()" if is_bytes else ""
            raise TypeError(
                f"LoadFile: takes the path of a file, text or a Path, got {type(given).__name__}{way_out}"
            )
        return Path(image_path).read_bytes()


@Operator
class Decode:
    """Turn an image file's bytes into a picture; see :func:`decode_image`."""

    def __init__(self, *, max_pixels: int = _MAX_PIXELS, at_least: tuple[int, int] | None = None) -> None:
        """Set what is decoded, and at which size.

        Args:
            max_pixels: files whose header promises more are refused; 1 or more.
            at_least: (height, width), pixels, that a following Resize needs. A JPEG at
                least twice as large is decoded at a half, a quarter or an eighth of its
                size, which is faster and averages its pixels. The picture is then as
                large as what was decoded, and so boxes projected back to it are in
                pixels of that, not of the file; divided by its size they are parts of
                both.

        Raises:
            TypeError: ``max_pixels`` is no number, or ``at_least`` no two integers.
            ValueError: one of them is less than 1.
        """
        if isinstance(max_pixels, bool) or not isinstance(max_pixels, int | float):
            raise TypeError(f"Decode: max_pixels must be a number, 1 or more, got {max_pixels!r}")
        if max_pixels < 1:
            raise ValueError(f"Decode: max_pixels must be 1 or more, got {max_pixels}")
        if at_least is not None and not (
            isinstance(at_least, tuple | list)
            and len(at_least) == 2
            and all(isinstance(side, int) and not isinstance(side, bool) for side in at_least)
        ):
            raise TypeError(f"Decode: at_least must be (height, width), two integers, got {at_least!r}")
        if at_least is not None and min(at_least) < 1:
            raise ValueError(f"Decode: at_least must be sides of 1 or more, got {at_least!r}")
        self.max_pixels = max_pixels
        self.at_least = None if at_least is None else (at_least[0], at_least[1])

    def __call__(self, data: bytes) -> ImagePayload:
        """Give the picture, HWC BGR uint8; DecodeError when the bytes are no whole image."""
        return ImagePayload(decode_image(data, self.max_pixels, at_least=self.at_least), "BGR", "HWC")


def _checked_size_wh(whole: bytes, max_pixels: float) -> tuple[int, int] | None:
    """Read (width, height) as stored, None for an unknown format; refuse what need not be decoded for it."""
    size = promised_size_wh(whole)
    if size is None and known_format(whole) is not None:
        raise DecodeError(_refusal(whole, None))
    if size is not None and size[0] * size[1] > max_pixels:
        raise DecodeError(
            f"Decode: the header promises {size[0]:,} x {size[1]:,} pixels and the limit is {max_pixels:,}; "
            "Decode(max_pixels=...) raises it for files you trust"
        )
    if cut_short(whole):
        raise DecodeError(_cut(whole))
    if is_damaged_png(whole):
        raise DecodeError(_refusal(whole, size))
    if is_overfull_png(whole):
        raise DecodeError(
            f"Decode: a PNG with far more compressed bytes than its pixels need ({_shown(whole)})"
        )
    colours = misread(whole)
    if colours is not None:
        raise DecodeError(
            f"Decode: a {colours} is not supported ({_shown(whole)}); "
            "save it as grey or RGB with 8 bits for each colour"
        )
    return size


def _reduced(
    data: bytes, size: tuple[int, int] | None, at_least: tuple[int, int] | None, turn: int | None
) -> int:
    """Give OpenCV's flag for the smallest size of a JPEG that is large enough; all else is left whole."""
    if size is None or at_least is None or known_format(data) != "JPEG":
        return cv2.IMREAD_COLOR
    shape_hw = size if turn in _SIDEWAYS else size[::-1]
    for divisor, flag in _REDUCTIONS:
        if all(-(-side // divisor) >= least for side, least in zip(shape_hw, at_least, strict=True)):
            return flag
    return cv2.IMREAD_COLOR


def _turned(pixels: npt.NDArray[Any], turn: int) -> npt.NDArray[np.uint8]:
    """Turn pixels upright that are stored as EXIF's ``turn`` says, 1 to 8; any other is taken for 1.

    What is given may be written to.
    """
    if turn in _SIDEWAYS:
        pixels = cv2.transpose(pixels)
    if turn in _FLIPS:
        # In its own place: memory for another picture costs more than the mirroring.
        pixels = cv2.flip(pixels, _FLIPS[turn], dst=pixels)
    return np.ascontiguousarray(pixels)


def _refusal(data: bytes, size: tuple[int, int] | None) -> str:
    """Say why a file was not decoded, as far as its first bytes tell."""
    kind, numbers = known_format(data), unsupported(data)
    article = "an" if kind == "AVIF" else "a"
    if numbers is not None:
        return f"Decode: a TIFF of {numbers} is not supported ({_shown(data)}); save it with 8 or 16 bits"
    if kind is None:
        return (
            f"Decode: not an image OpenCV can read ({_shown(data)}); "
            "JPEG, PNG, WebP, GIF, BMP, TIFF, JPEG 2000, AVIF and PNM can be read"
        )
    if size is None:
        return f"Decode: {article} {kind} image whose header is cut short or damaged ({_shown(data)})"
    if kind == "JPEG":
        return (
            f"Decode: a JPEG image that is cut short before its end marker, damaged, or of a kind that "
            f"OpenCV does not read ({_shown(data)}); send the whole file"
        )
    return f"Decode: {article} {kind} image that is damaged or that OpenCV does not read ({_shown(data)})"


def _cut(data: bytes) -> str:
    return f"Decode: the image is cut short ({_shown(data)}); send the whole file"


def _shown(data: bytes) -> str:
    """Give a length and a beginning, short enough for a message."""
    return f"{len(data):,} bytes, starts {data[:4]!r}"
