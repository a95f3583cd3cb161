"""Photographs with faces, and pictures made of them with NumPy alone, so that every machine makes the same.

Knows files and slices. Knows nothing of models or of ml-pipes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["PHOTOGRAPHS", "derived"]

# A distribution, and the file in it.
PHOTOGRAPHS = {
    "astronaut.png": ("scikit-image", "skimage/data/astronaut.png"),
    "camera.png": ("scikit-image", "skimage/data/camera.png"),
    "chelsea.png": ("scikit-image", "skimage/data/chelsea.png"),
    "coffee.png": ("scikit-image", "skimage/data/coffee.png"),
    "rocket.jpg": ("scikit-image", "skimage/data/rocket.jpg"),
    "bus.jpg": ("ultralytics", "ultralytics/assets/bus.jpg"),
    "zidane.jpg": ("ultralytics", "ultralytics/assets/zidane.jpg"),
}


def derived(photographs: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Give more pictures by name: turned over, cut, enlarged, made small, dark or flat, and put together.

    Args:
        photographs: ``(H, W, 3)`` uint8 by name, all in one order of colours; the result has it too.
    """
    astronaut, bus, zidane = (photographs[name] for name in ("astronaut.png", "bus.jpg", "zidane.jpg"))
    upper = np.hstack([astronaut, zidane[:512, :768]])
    lower = np.hstack([zidane[100:612, 600:1240][:, ::-1], astronaut[:, ::-1], bus[350:862, :128]])
    pictures = {
        "astronaut, mirrored": astronaut[:, ::-1],
        "astronaut, cut": astronaut[20:301, 100:401],
        "astronaut, twice as wide": astronaut.repeat(2, axis=1),
        "bus, half": bus[::2, ::2],
        "bus, cut": bus[300:800, 33:777],
        "zidane, half": zidane[::2, ::2],
        "zidane, dark": zidane // 3,
        "zidane, a part twice as large": zidane[:, :750].repeat(2, axis=0).repeat(2, axis=1),
        "a mosaic": np.vstack([upper, lower]),
    }
    return {name: np.ascontiguousarray(pixels) for name, pixels in pictures.items()}
