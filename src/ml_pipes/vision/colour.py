"""Colour order, and pixels to the numbers that a model wants.

Knows pixels. Knows nothing of models.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import cv2
import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import takes
from ml_pipes.tensor.types import TensorPayload
from ml_pipes.vision.types import ImagePayload

__all__ = ["ColorSpace", "ConvertColorSpace", "Normalize", "TensorLayout"]

ColorSpace = Literal["RGB", "BGR"]
TensorLayout = Literal["NCHW", "NHWC", "CHW", "HWC"]

_COLOURS = 3
_WITH_ALPHA = 4
# (channels, keeps the colour order) -> OpenCV's number for dropping alpha and swapping red and blue.
_SWAPS = {
    (3, False): cv2.COLOR_BGR2RGB,
    (4, False): cv2.COLOR_BGRA2RGB,
    (4, True): cv2.COLOR_BGRA2BGR,
}
_DTYPES = ("float16", "float32", "float64")


@Operator
class ConvertColorSpace:
    """Swap red and blue where the picture is not in the wanted order."""

    def __init__(self, output_color_space: ColorSpace) -> None:
        """Want ``RGB`` or ``BGR``; ValueError for any other."""
        if output_color_space not in get_args(ColorSpace):
            raise ValueError(f"ConvertColorSpace: the output must be RGB or BGR, got {output_color_space!r}")
        self.output_color_space = output_color_space

    @takes(ImagePayload)
    def __call__(self, image_payload: ImagePayload) -> ImagePayload:
        """Give a new picture, or the same one when nothing is to do.

        Raises:
            ValueError: the picture is neither RGB nor BGR, or has not three channels.
        """
        if image_payload.color_space not in get_args(ColorSpace) or image_payload.channels != _COLOURS:
            raise ValueError(
                "ConvertColorSpace: the picture must be RGB or BGR with 3 channels, "
                f"got {image_payload.color_space} {image_payload.layout} of shape {image_payload.shape}"
            )
        if image_payload.color_space == self.output_color_space:
            return image_payload
        swapped = np.flip(image_payload.array, image_payload.layout.index("C"))
        return ImagePayload(np.ascontiguousarray(swapped), self.output_color_space, image_payload.layout)


@Operator
class Normalize:
    """Turn a picture into a model's input: ``(pixel * scale - mean) / std``, in one pass.

    Pixels count as 0 to 255. Only uint16 has another white, 65535, and is brought to
    that range first; all other integers and floats are taken as they are. Alpha is
    dropped. Floats from 0 to 1, which ``Resize`` pads as such, need ``scale=1.0``.
    """

    def __init__(
        self,
        scale: float = 1 / 255,
        mean: tuple[float, ...] | None = None,
        std: tuple[float, ...] | None = None,
        output_layout: TensorLayout = "NCHW",
        output_color_space: ColorSpace = "RGB",
        add_batch_dim: bool = True,
        *,
        dtype: Literal["float16", "float32", "float64"] = "float32",
    ) -> None:
        """Configure the step.

        Args:
            scale: the factor on each pixel.
            mean: one number per channel of the output, taken off after scaling.
            std: one number per channel of the output, divided by at the end.
            output_layout: ``NCHW`` or ``NHWC``; ``CHW`` and ``HWC`` are the same, since
                ``add_batch_dim`` decides about the N.
            output_color_space: ``RGB`` or ``BGR``.
            add_batch_dim: True gives (1, ...); False leaves the batch axis out.
            dtype: ``float32`` (default), ``float16`` or ``float64``.

        Raises:
            ValueError: an argument is none of these.
        """
        _check_choice("output_layout", output_layout, get_args(TensorLayout))
        _check_choice("output_color_space", output_color_space, get_args(ColorSpace))
        _check_choice("dtype", dtype, _DTYPES)
        if not isinstance(scale, (int, float, np.integer, np.floating)) or not np.isfinite(scale):
            raise ValueError(f"Normalize: scale must be a finite number, got {scale!r}")
        self.scale = scale
        self.mean = mean
        self.std = std
        self.output_layout = output_layout
        self.output_color_space = output_color_space
        self.add_batch_dim = add_batch_dim
        self.dtype = dtype
        divisor = _per_channel("std", std, 1.0)
        if not divisor.all():
            raise ValueError(f"Normalize: std must not hold 0, got {std}")
        self._factors = scale / divisor
        self._offsets = -_per_channel("mean", mean, 0.0) / divisor
        # All that a byte can become, per output channel: looking up is faster than computing.
        with np.errstate(over="ignore"):  # what is beyond the dtype is infinite
            self._tables = (np.arange(256) * self._factors[:, None] + self._offsets[:, None]).astype(dtype)

    @takes(ImagePayload)
    def __call__(self, image_payload: ImagePayload) -> TensorPayload:
        """Give a contiguous tensor in a new array.

        Raises:
            ValueError: the picture is not HWC, not RGB or BGR, or of a dtype that is no pixel's.
        """
        _check_image(image_payload)
        source = [0, 1, 2] if image_payload.color_space[:3] == self.output_color_space else [2, 1, 0]
        height, width = image_payload.spatial_shape
        channels_first = self.output_layout.endswith("CHW")
        shape = (_COLOURS, height, width) if channels_first else (height, width, _COLOURS)
        output = np.empty(shape, self.dtype)
        if image_payload.array.dtype == np.uint8:
            self._look_up(image_payload.array, source, output, channels_first)
        else:
            self._compute(image_payload.array, source, output, channels_first)
        layout = "CHW" if channels_first else "HWC"
        if self.add_batch_dim:
            return TensorPayload(output[None], f"N{layout}", self.dtype)
        return TensorPayload(output, layout, self.dtype)

    def _look_up(
        self, pixels: npt.NDArray[Any], source: list[int], output: npt.NDArray[Any], channels_first: bool
    ) -> None:
        if self.dtype == "float16":
            # Not every OpenCV looks up float16, but bits are bits.
            tables, output = self._tables.view(np.int16), output.view(np.int16)
        else:
            tables = self._tables
        if channels_first:
            planes = cv2.split(pixels)
            for to, at in enumerate(source):
                cv2.LUT(planes[at], tables[to], dst=output[to])
            return
        if source != [0, 1, 2] or pixels.shape[2] != _COLOURS:
            pixels = cv2.cvtColor(pixels, _SWAPS[pixels.shape[2], source == [0, 1, 2]])
        cv2.LUT(pixels, np.ascontiguousarray(tables.T)[None], dst=output)

    def _compute(
        self, pixels: npt.NDArray[Any], source: list[int], output: npt.NDArray[Any], channels_first: bool
    ) -> None:
        to_byte = 255 / 65535 if pixels.dtype == np.uint16 else 1.0
        wide = np.result_type(self.dtype, np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for to, at in enumerate(source):
                plane = pixels[..., at].astype(wide)
                plane *= wide.type(to_byte * self._factors[to])
                plane += wide.type(self._offsets[to])
                if channels_first:
                    output[to] = plane
                else:
                    output[..., to] = plane


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"Normalize: {name} must be one of {', '.join(choices)}, got {value!r}")


def _per_channel(name: str, given: tuple[float, ...] | None, default: float) -> npt.NDArray[np.float64]:
    try:
        values = np.full(_COLOURS, default) if given is None else np.asarray(given, np.float64)
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.shape != (_COLOURS,) or not np.isfinite(values).all():
        raise ValueError(f"Normalize: {name} must be three finite numbers, one per channel, got {given}")
    return values


def _check_image(image: ImagePayload) -> None:
    if image.layout != "HWC" or image.ndim != 3:  # H, W and C
        raise ValueError(f"Normalize: the picture must be HWC, got {image.layout} of shape {image.shape}")
    if image.color_space not in ("RGB", "BGR", "RGBA", "BGRA") or image.channels not in (
        _COLOURS,
        _WITH_ALPHA,
    ):
        raise ValueError(
            "Normalize: the picture must be RGB or BGR, with or without alpha, "
            f"got {image.color_space} with {image.channels} channels"
        )
    if image.array.dtype.kind not in "iuf" or image.array.size == 0:
        raise ValueError(
            f"Normalize: there must be pixels, integers or floats, got {image.dtype} {image.shape}"
        )
