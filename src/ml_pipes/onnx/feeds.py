"""What a caller brings becomes what a model takes: matched by name or order, and checked.

Knows payloads and a model's ports. Knows nothing of ONNX Runtime.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes.errors import ModelInputError
from ml_pipes.onnx.session import Port
from ml_pipes.tensor import TensorPayload, TensorRegistry

__all__ = ["ModelInput", "check_port", "dtype_text", "feeds_of"]

Array = npt.NDArray[Any]
ModelInput = (
    TensorPayload
    | TensorRegistry
    | Mapping[str, TensorPayload]
    | Mapping[str, Array]
    | Sequence[TensorPayload]
)

_ONE = (TensorPayload, np.ndarray)


def feeds_of(
    value: ModelInput, ports: Sequence[Port], first: str, layouts: Mapping[str, str]
) -> dict[str, Array]:
    """Arrays by input name, each checked against its port.

    Args:
        value: one payload (it feeds ``first``), payloads in the order of the inputs, or
            payloads or arrays by name; names that the model does not take are left aside
            in a registry and refused in a mapping.
        ports: the model's inputs.
        first: name of the input that a single payload feeds.
        layouts: the layout that a payload must have, by input name.

    Raises:
        ModelInputError: something is missing, too much, or does not fit.
    """
    given = _by_name(value, ports, first)
    missing = [port.name for port in ports if port.name not in given]
    if missing:
        raise ModelInputError(
            f"Infer: the model takes {_names(ports)}, but nothing came for {', '.join(missing)}; "
            "give a TensorRegistry, a dict, or payloads in that order"
        )
    return {port.name: check_port(given[port.name], port, layouts.get(port.name)) for port in ports}


@functools.lru_cache(maxsize=64)
def dtype_text(dtype: np.dtype[Any]) -> str:
    """A dtype as text, remembered: NumPy spells it out anew each time, which takes longer than a look-up."""
    return str(dtype)


def check_port(value: Any, port: Port, layout: str | None) -> Array:
    """Give the array, contiguous, or raise :class:`ModelInputError` when it does not fit the port."""
    array = value
    if isinstance(value, TensorPayload):
        array = value.array
        if layout is not None and value.layout != layout:
            raise ModelInputError(
                f"Infer: input {port.name!r} takes layout {layout}, got {value.layout}; "
                "let Normalize give that layout, or set input_layout"
            )
        if value.dtype != port.dtype:
            raise _dtype_error(port, f"a payload labelled {value.dtype}")
    if not isinstance(array, np.ndarray):
        raise ModelInputError(f"Infer: input {port.name!r} takes a NumPy array, got {type(array).__name__}")
    if dtype_text(array.dtype) != port.dtype and not (port.dtype == "str" and array.dtype.kind in "OUT"):
        raise _dtype_error(port, f"an array of {array.dtype}")
    _check_shape(array.shape, port)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def _by_name(value: Any, ports: Sequence[Port], first: str) -> dict[str, Any]:
    if isinstance(value, _ONE):
        return {first: value}
    names = [port.name for port in ports]
    if isinstance(value, TensorRegistry):
        return {name: value[name] for name in value if name in names}
    if isinstance(value, Mapping):
        unknown = [str(name) for name in value if name not in names]
        if unknown:
            raise ModelInputError(f"Infer: the model takes {_names(ports)}, but got {', '.join(unknown)} too")
        return dict(value)
    if isinstance(value, (tuple, list)):
        if len(value) != len(ports):
            raise ModelInputError(
                f"Infer: the model takes {len(ports)} inputs ({_names(ports)}), got {len(value)}"
            )
        return dict(zip(names, value, strict=True))
    raise ModelInputError(
        "Infer: wanted a TensorPayload, a TensorRegistry, a dict or payloads in order, "
        f"got {type(value).__name__}"
    )


def _check_shape(shape: tuple[int, ...], port: Port) -> None:
    if port.shape is None:
        return
    if len(shape) != len(port.shape):
        raise ModelInputError(
            f"Infer: input {port.name!r} takes {len(port.shape)} axes {_shape_text(port.shape)}, "
            f"got {len(shape)}: {shape}"
        )
    wrong = [at for at, side in enumerate(port.shape) if isinstance(side, int) and side != shape[at]]
    if wrong:
        raise ModelInputError(
            f"Infer: input {port.name!r} is declared {_shape_text(port.shape)}, got {shape}: axis "
            f"{', '.join(map(str, wrong))} differs; "
            f"give it that shape, or free the axis with Infer(..., free_axes={tuple(wrong)})"
        )


def _dtype_error(port: Port, came: str) -> ModelInputError:
    return ModelInputError(
        f"Infer: input {port.name!r}: the model dtype is {port.dtype}, got {came}; "
        f"put AsType({port.dtype!r}) before it"
    )


def _names(ports: Sequence[Port]) -> str:
    return ", ".join(port.name for port in ports)


def _shape_text(shape: tuple[int | str | None, ...]) -> str:
    return f"({', '.join('any' if side is None else str(side) for side in shape)})"
