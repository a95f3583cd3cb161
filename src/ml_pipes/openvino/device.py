"""OpenVINO's devices and their properties: which there are, what is set for them, and what they refuse.

Knows OpenVINO's devices. Knows nothing of models, payloads or operators.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ml_pipes.errors import ModelProviderError
from ml_pipes.openvino.silent import ov

__all__ = [
    "check_device",
    "check_refusal",
    "cpu_properties",
    "said",
    "version",
    "with_config",
]

# They choose among the devices there are.
_CHOOSERS = ("AUTO", "BATCH", "HETERO", "MULTI")
_INSTEAD = {
    "INFERENCE_NUM_THREADS": "set threads",
    "NUM_STREAMS": "set sessions",
    "INFERENCE_PRECISION_HINT": "set precision, or precision=None to choose here",
    "ENABLE_CPU_PINNING": "it is off, since each model would bind its threads to the same first CPUs",
}
# Words of OpenVINO for a device whose driver or libraries are not there.
_NOT_STARTED = (
    "Cannot load library",
    "not registered in the OpenVINO Runtime",
    "Failed to create plugin",
    "as device id",
)


def check_device(core: ov.Core, device: str) -> None:
    """Raise :class:`ModelProviderError` for a device that is not there, with those that are."""
    available = list(core.available_devices)
    if not isinstance(device, str):
        raise ModelProviderError(
            f"Infer: device must be OpenVINO's name of one; available: {', '.join(available)}; got {device!r}"
        )
    asked = device.partition(":")[0].partition(".")[0]
    if asked not in _CHOOSERS and asked not in {name.partition(".")[0] for name in available}:
        choice = f"; to let OpenVINO choose among several: AUTO:{device}" if "," in asked else ""
        raise ModelProviderError(
            f"Infer: no device {device!r} for OpenVINO {version()}; available: "
            f"{', '.join(available)}; check its spelling, its driver and libraries{choice}"
        )


def cpu_properties(threads: int, streams: int) -> dict[str, Any]:
    """What is set for every model on a CPU."""
    return {
        "INFERENCE_NUM_THREADS": threads,
        "NUM_STREAMS": streams,
        # Each model would bind its threads to the same first CPUs.
        "ENABLE_CPU_PINNING": False,
    }


def with_config(properties: Mapping[str, Any], config: Mapping[str, Any]) -> dict[str, Any]:
    """Both together.

    Raises:
        ValueError: a property is in both.
    """
    for name in config:
        if name in properties:
            raise ValueError(
                f"Infer: config has {name!r}, which is set already (to {properties[name]!r}): "
                f"{_INSTEAD.get(name, 'leave it out')}"
            )
    return {**properties, **config}


def check_refusal(device: str, properties: Mapping[str, Any], words: str, error: Exception) -> None:
    """Raise :class:`ModelProviderError` when a model did not compile for the device's sake.

    Args:
        device: the one that was asked for.
        properties: what was set for it.
        words: what OpenVINO said.
        error: how OpenVINO said it, as the cause.

    Raises:
        ModelProviderError: the words name a property, or say that a device did not start.
    """
    refused = [name for name in properties if re.search(rf"\b{re.escape(name)}\b", words)]
    if refused:
        raise ModelProviderError(
            f"Infer: {device} in OpenVINO {version()} does not take the property "
            f"{', '.join(f'{name!r}: {properties[name]!r}' for name in refused)}: {words}"
        ) from error
    if any(sign in words for sign in _NOT_STARTED):
        raise ModelProviderError(
            f"Infer: {device} did not start in OpenVINO {version()}; check its driver and libraries, or "
            f"leave the device out that is not there: {words}"
        ) from error


def version() -> str:
    """OpenVINO's, without the build."""
    return str(ov.__version__).partition("-")[0]


def said(error: Exception) -> str:
    """The message without the lines that only name OpenVINO's own source files."""
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(line for line in lines if line and not line.startswith("Exception from "))
