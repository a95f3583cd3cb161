"""Pictures to files.

Knows OpenCV's codecs and how a file appears as a whole. Knows nothing of what is in a picture.
"""

from __future__ import annotations

import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.standard.effects import SideEffectOp
from ml_pipes.vision.types import ImagePayload

__all__ = ["SaveImage"]

_OF_16_BITS = {".png", ".tif", ".tiff", ".jp2", ".ppm", ".pgm", ".pnm"}
_TO_A_BYTE = 65535 / 255
_CHANNELS = {"GRAY": (1,), "BGR": (3, 4), "RGB": (3, 4), "BGRA": (4,), "RGBA": (4,)}


@Operator
class SaveImage(SideEffectOp[Any]):
    """Write the picture to a file and pass the value on.

    The format is that of the file's extension; folders are made. The picture's own
    colour order and layout are honoured, alpha is kept where the format can. 16 bits
    are kept in PNG, TIFF, JPEG 2000 and PNM, and scaled to 8 for all others. The file
    is there as a whole or not at all: it is written beside its place and then renamed.
    """

    def __init__(self, output_path: str | Path, at: int | None = None) -> None:
        """Configure the step.

        Args:
            output_path: the file to write; one that is there is replaced.
            at: where the picture is in a tuple; None takes the value itself.

        Raises:
            ValueError: OpenCV cannot write files with this extension.
        """
        suffix = Path(output_path).suffix
        if not suffix or not cv2.haveImageWriter(f"name{suffix}"):
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
            OSError: the file cannot be written; the error names it.
        """
        try:
            image = payload if self.at is None else payload[self.at]
        except (IndexError, TypeError, KeyError):
            raise TypeError(
                f"SaveImage: at={self.at} wants a tuple with a picture there, got a {type(payload).__name__}"
                f"{f' of {len(payload)}' if isinstance(payload, tuple) else ''}"
            ) from None
        if not isinstance(image, ImagePayload):
            way_out = "; at= says where it is in a tuple" if isinstance(image, tuple) else ""
            raise TypeError(f"SaveImage: wanted an ImagePayload, got {type(image).__name__}{way_out}")
        path = Path(self.output_path)
        pixels = _in_opencv_order(image)
        if pixels.dtype == np.uint16 and path.suffix.lower() not in _OF_16_BITS:
            pixels = np.rint(pixels / _TO_A_BYTE).astype(np.uint8)
        try:
            written, encoded = cv2.imencode(path.suffix, pixels)
        except cv2.error as error:
            raise ValueError(
                f"SaveImage: cannot write {image.dtype} {image.shape} as {path.suffix}: {error.err}"
            ) from error
        if not written:
            raise ValueError(f"SaveImage: cannot write {image.dtype} {image.shape} as {path.suffix}")
        _write_whole(path, encoded.tobytes())


def _in_opencv_order(image: ImagePayload) -> npt.NDArray[Any]:
    """Give the pixels as OpenCV wants them: HWC, blue first."""
    if image.array.dtype not in (np.uint8, np.uint16):
        raise ValueError(
            f"SaveImage: pixels must be uint8 or uint16, got {image.dtype}; scale and cast them first"
        )
    if image.layout not in ("HWC", "CHW", "HW"):
        raise ValueError(f"SaveImage: layout must be HWC, CHW or HW, got {image.layout!r}")
    wanted = _CHANNELS.get(image.color_space)
    if wanted is None:
        raise ValueError(
            f"SaveImage: color_space must be BGR, RGB, BGRA, RGBA or GRAY, got {image.color_space!r}"
        )
    channels = 1 if image.layout == "HW" and image.ndim == 2 else image.channels
    if channels not in wanted:
        raise ValueError(
            f"SaveImage: {image.color_space} has {' or '.join(map(str, wanted))} channels, "
            f"got {image.layout} of shape {image.shape}"
        )
    pixels = image.array.transpose(1, 2, 0) if image.layout == "CHW" else image.array
    if image.color_space in ("RGB", "RGBA"):
        pixels = pixels[..., [2, 1, 0, 3][: pixels.shape[-1]]]
    return np.ascontiguousarray(pixels)


def _write_whole(path: Path, data: bytes) -> None:
    """Write a file such that it is there as a whole or as it was before; OSError names it."""
    # A link stays one: what it points to is replaced.
    target = Path(os.path.realpath(path))
    beside = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("xb") as file:
            file.write(data)
        if target.exists():
            shutil.copymode(target, beside)
        beside.replace(target)
    except OSError as error:
        raise type(error)(
            error.errno, f"SaveImage: cannot write the file: {error.strerror}", str(path)
        ) from error
    finally:
        # Gone already when all went well; what went wrong is told, not that this did too.
        with suppress(OSError):
            beside.unlink(missing_ok=True)
