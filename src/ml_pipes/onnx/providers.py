"""Execution providers: which of those asked for there are, which are in force, and what is said when not all.

Knows ONNX Runtime's providers. Knows nothing of models, payloads or operators.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import onnxruntime as ort

from ml_pipes.errors import ModelProviderError

__all__ = ["CPU", "Provider", "ProviderFallbackWarning", "check_in_force", "present", "provider_name"]

Provider = str | tuple[str, dict[str, Any]]
CPU = "CPUExecutionProvider"

_PACKAGES = {
    "CUDAExecutionProvider": "onnxruntime-gpu",
    "TensorrtExecutionProvider": "onnxruntime-gpu",
    "OpenVINOExecutionProvider": "onnxruntime-openvino",
    "DmlExecutionProvider": "onnxruntime-directml",
    "ROCMExecutionProvider": "onnxruntime-rocm",
    "MIGraphXExecutionProvider": "onnxruntime-rocm",
    "QNNExecutionProvider": "onnxruntime-qnn",
}
# From the warning to the line that makes an Infer: through the session, the step and the operator.
_TO_THE_CALLER = 6


class ProviderFallbackWarning(UserWarning):
    """A provider that was preferred is not in force, and the model runs on another one of the list."""


def provider_name(provider: Provider) -> str:
    """The name, with or without options beside it."""
    return provider if isinstance(provider, str) else provider[0]


def present(providers: Sequence[Provider]) -> list[Provider]:
    """Those that this ONNX Runtime has, in the order of preference.

    Raises:
        ModelProviderError: there is none, one is of another form, or ONNX Runtime knows none of that name.
    """
    if isinstance(providers, str) or not providers:
        raise ModelProviderError(f"Infer: providers must be a tuple of one name or more, got {providers!r}")
    for provider in providers:
        if not _is_provider(provider):
            raise ModelProviderError(
                f"Infer: a provider is a name, or (name, options) the options in a dict, got {provider!r}"
            )
    available = ort.get_available_providers()
    names = [provider_name(provider) for provider in providers]
    known = {*available, *ort.get_all_providers(), *_PACKAGES}
    unknown = [name for name in names if name not in known]
    if unknown or not any(name in available for name in names):
        name = (unknown or names)[0]
        raise ModelProviderError(
            f"Infer: no provider {name!r} in this ONNX Runtime; available: {', '.join(available)}; "
            f"{'check its spelling' if unknown else _way_to(name)}"
        )
    return [provider for provider in providers if provider_name(provider) in available]


def check_in_force(providers: Sequence[Provider], in_force: Sequence[str], said: str = "") -> None:
    """Warn when one of ``providers`` is not in force.

    Args:
        providers: those asked for, in the order of preference.
        in_force: those that the model runs on.
        said: what ONNX Runtime said of one that did not start.

    Raises:
        ModelProviderError: none of them is in force.
    """
    names = [provider_name(provider) for provider in providers]
    missing = [name for name in names if name not in in_force]
    if not missing:
        return
    available = ort.get_available_providers()
    reason = f" ({said.strip()})" if said else ""
    if len(missing) == len(names):
        name = next((name for name in names if name in available), names[0])
        raise ModelProviderError(
            f"Infer: {name} did not start and ONNX Runtime fell back to {', '.join(in_force)}{reason}; "
            f"check its driver and libraries, or ask for {CPU}"
        )
    why = "; ".join(
        f"{name} did not start{reason}: check its driver and libraries"
        if name in available
        else f"{name} is not in this ONNX Runtime: {_way_to(name)}"
        for name in missing
    )
    warnings.warn(
        f"Infer: asked for {', '.join(names)}, in force: {', '.join(in_force)}; {why}",
        ProviderFallbackWarning,
        stacklevel=_TO_THE_CALLER,
    )


def _is_provider(value: object) -> bool:
    if isinstance(value, str):
        return True
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and isinstance(value[0], str)
        and isinstance(value[1], dict)
    )


def _way_to(name: str) -> str:
    package = _PACKAGES.get(name)
    return (
        f"install it with: pip install {package}"
        if package
        else "take an ONNX Runtime that was built with it"
    )
