"""Files to bytes, bytes to pictures, pictures to files.

Knows OpenCV's codecs and what they get wrong. Knows nothing of what is in a picture.
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
from ml_pipes.standard.effects import SideEffectOp
from ml_pipes.vision._header import cut_short, promised_size_wh, webp_turn
from ml_pipes.vision.types import ImagePayload

__all__ = ["Decode", "LoadFile", "SaveImage", "decode_image"]

_MAX_PIXELS = 200_000_000

# OpenCV 5 keeps these functions in a module, OpenCV 4 beside all others.
_log: Any = getattr(cv2.utils, "logging", cv2)
_LOG_FATAL, _LOG_WARNING = 1, 3
# What a client sends must not be able to flood a server's stderr: each failure is a DecodeError
# that says as much. Whoever set OpenCV's level, by its variable or before this import, keeps it.
if "OPENCV_LOG_LEVEL" not in os.environ and _log.getLogLevel() == _LOG_WARNING:
    _log.setLogLevel(_LOG_FATAL)


def decode_image(
    data: bytes | bytearray | memoryview, max_pixels: int = _MAX_PIXELS
) -> npt.NDArray[np.uint8]:
    """Decode an image file's bytes.

    Args:
        data: a whole file of any format that OpenCV reads: JPEG, PNG, WebP, GIF (its
            first frame), BMP, TIFF, JPEG 2000, AVIF and others.
        max_pixels: the most pixels that a header may promise.

    Returns:
        ``(H, W, 3)`` uint8, BGR, turned upright as EXIF says (but an
        AVIF's own turn is left as it is stored). Grey and palette are
        expanded, 16 bits are scaled to 8, CMYK is converted; alpha is dropped and
        leaves the colours as they are stored.

    Raises:
        DecodeError: the bytes are empty, are no image, are cut short, or promise too many pixels.
        TypeError: ``data`` is not bytes.
    """
    if not isinstance(data, (bytes, bytearray, memoryview)):
        raise TypeError(
            f"Decode: takes the bytes of an image file, got {type(data).__name__}; LoadFile() reads a path"
        )
    whole = data if isinstance(data, bytes) else bytes(data)
    if not whole:
        raise DecodeError("Decode: no bytes at all (0 bytes); an image was wanted")
    size = promised_size_wh(whole)
    if size is not None and size[0] * size[1] > max_pixels:
        raise DecodeError(
            f"Decode: the header promises {size[0]:,} x {size[1]:,} pixels and the limit is {max_pixels:,}; "
            "Decode(max_pixels=...) raises it for files you trust"
        )
    if cut_short(whole):
        raise DecodeError(f"Decode: the image is cut short ({_shown(whole)}); send the whole file")
    # OpenCV 4 turns no WebP and OpenCV 5 does: done here, it is the same in both.
    turn = webp_turn(whole)
    flags = cv2.IMREAD_COLOR if turn is None else cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION
    try:
        pixels = cv2.imdecode(np.frombuffer(whole, np.uint8), flags)
    except cv2.error as error:
        raise DecodeError(f"Decode: not an image OpenCV can read ({_shown(whole)})") from error
    if pixels is None:
        what = "a damaged image" if size else "not an image OpenCV can read"
        raise DecodeError(f"Decode: {what} ({_shown(whole)})")
    return _turned(pixels, turn or 1)


@Operator
class LoadFile:
    """Read a file's bytes."""

    def __call__(self, image_path: str | Path) -> bytes:
        """Give the bytes; FileNotFoundError when the file is not there."""
        return Path(image_path).read_bytes()


@Operator
class Decode:
    """Turn an image file's bytes into a picture; see :func:`decode_image`."""

    def __init__(self, *, max_pixels: int = _MAX_PIXELS) -> None:
        """Refuse files whose header promises more than ``max_pixels``; ValueError unless 1 or more."""
        if max_pixels < 1:
            raise ValueError(f"Decode: max_pixels must be 1 or more, got {max_pixels}")
        self.max_pixels = max_pixels

    def __call__(self, data: bytes) -> ImagePayload:
        """Give the picture, HWC BGR uint8; DecodeError when the bytes are no whole image."""
        return ImagePayload(decode_image(data, self.max_pixels), "BGR", "HWC")


@Operator
class SaveImage(SideEffectOp[Any]):
    """Write the picture to a file and pass the value on.

    The format is that of the file's extension; folders are made. The picture's own
    colour order and layout are honoured, alpha is kept where the format can.
    """

    def __init__(self, output_path: str | Path, at: int | None = None) -> None:
        """Configure the step.

        Args:
            output_path: the file to write; one that is there is replaced.
            at: where the picture is in a tuple; None takes the value itself.

        Raises:
            ValueError: OpenCV cannot write files with this extension.
        """
        if not cv2.haveImageWriter(str(output_path)):
            raise ValueError(
                f"SaveImage: no format for {str(output_path)!r}; end it in .jpg, .png, .webp, .bmp or .tiff"
            )
        self.output_path = output_path
        self.at = at

    def effect(self, payload: Any) -> None:  # any value that holds a picture
        """Write the file.

        Raises:
            TypeError: there is no picture in the value.
            ValueError: the picture's dtype or colour order cannot be written.
        """
        image = payload if self.at is None else payload[self.at]
        if not isinstance(image, ImagePayload):
            way_out = "; at= says where it is in a tuple" if isinstance(image, tuple) else ""
            raise TypeError(f"SaveImage: wanted an ImagePayload, got {type(image).__name__}{way_out}")
        path = Path(self.output_path)
        try:
            written, encoded = cv2.imencode(path.suffix, _in_opencv_order(image))
        except cv2.error as error:
            raise ValueError(
                f"SaveImage: cannot write {image.dtype} {image.shape} as {path.suffix}: {error.err}"
            ) from error
        if not written:
            raise ValueError(f"SaveImage: cannot write {image.dtype} {image.shape} as {path.suffix}")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(encoded.tobytes())


def _turned(pixels: npt.NDArray[Any], turn: int) -> npt.NDArray[np.uint8]:
    """Turn pixels upright that are stored as EXIF's ``turn`` says, 1 to 8; any other is taken for 1."""
    if turn in (5, 6, 7, 8):
        pixels = pixels.transpose(1, 0, 2)
    rows = -1 if turn in (3, 4, 7, 8) else 1
    columns = -1 if turn in (2, 3, 6, 7) else 1
    return np.ascontiguousarray(pixels[::rows, ::columns])


def _in_opencv_order(image: ImagePayload) -> npt.NDArray[Any]:
    """Give the pixels as OpenCV wants them: HWC, blue first."""
    if image.array.dtype not in (np.uint8, np.uint16):
        raise ValueError(
            f"SaveImage: pixels must be uint8 or uint16, got {image.dtype}; scale and cast them first"
        )
    pixels = image.array
    if image.layout == "CHW":
        pixels = pixels.transpose(1, 2, 0)
    elif image.layout not in ("HWC", "HW"):
        raise ValueError(f"SaveImage: layout must be HWC, CHW or HW, got {image.layout!r}")
    if image.color_space in ("RGB", "RGBA"):
        return np.ascontiguousarray(pixels[..., [2, 1, 0, *range(3, pixels.shape[-1])]])
    if image.color_space in ("BGR", "BGRA", "GRAY"):
        return np.ascontiguousarray(pixels)
    raise ValueError(
        f"SaveImage: color_space must be BGR, RGB, BGRA, RGBA or GRAY, got {image.color_space!r}"
    )


def _shown(data: bytes) -> str:
    """Give a length and a beginning, short enough for a message."""
    return f"{len(data):,} bytes, starts {data[:4]!r}"
