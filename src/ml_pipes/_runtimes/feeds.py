"""What a caller brings becomes what a model takes: matched by name or order, and checked.

Knows payloads and a model's ports. Knows nothing of any runtime.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes._runtimes.fits import Slot, as_text, check_shape
from ml_pipes.errors import ModelError, ModelInputError, StepInputError
from ml_pipes.tensor import TensorPayload, TensorRegistry

__all__ = ["ModelInput", "check_feed", "dtype_text", "feeds_of", "named_of", "run_error"]

Array = npt.NDArray[Any]
ModelInput = (
    TensorPayload
    | TensorRegistry
    | Mapping[str, TensorPayload]
    | Mapping[str, Array]
    | Sequence[TensorPayload]
)

_ONE = (TensorPayload, np.ndarray)
_WANTED = "wanted a TensorPayload, a TensorRegistry, a dict or payloads in order"
# Words of errors that no other input would mend.
_MACHINE = ("allocate", "CUDA", "CUDNN", "CUBLAS", "TensorRT")
_WITH_SIDES = 3
_WAY_OUT = "an image becomes one by Normalize(), a model's outputs by Extract(...)"


def feeds_of(value: ModelInput, slots: Sequence[Slot], first: str) -> dict[str, Array]:
    """Arrays by input name, each checked against its slot; arguments and errors as of :func:`named_of`.

    Raises:
        ModelInputError: an array does not fit.
    """
    given = named_of(value, slots, first)
    return {slot.port.name: check_feed(given[slot.port.name], slot) for slot in slots}


def named_of(value: ModelInput, slots: Sequence[Slot], first: str) -> dict[str, Any]:
    """What came for each input, by its name, not looked into.

    Args:
        value: one payload (it feeds ``first``), payloads in the order of the inputs, or
            payloads or arrays by name; names that the model does not take are left aside
            in a registry and refused in a mapping.
        slots: the model's inputs.
        first: name of the input that a single payload feeds.

    Raises:
        StepInputError: the value is of another kind.
        ModelInputError: something is missing or too much.
    """
    given = _by_name(value, slots, first)
    missing = [slot.port.name for slot in slots if slot.port.name not in given]
    if missing:
        raise ModelInputError(
            f"Infer: the model takes {_names(slots)}, but nothing came for {', '.join(missing)} "
            f"(got {_came(value)}); give a TensorRegistry, a dict, or payloads in that order"
        )
    return given


@functools.lru_cache(maxsize=64)
def dtype_text(dtype: np.dtype[Any]) -> str:
    """A dtype as text, ``str`` for text; remembered, since NumPy spells it out anew each time."""
    return "str" if dtype.kind in "OUT" else str(dtype)


def check_feed(value: Any, slot: Slot) -> Array:
    """Give the array, contiguous, or raise :class:`ModelInputError` when it does not fit."""
    array, port = value, slot.port
    if isinstance(value, TensorPayload):
        array = value.array
        if slot.layout is not None and value.layout != slot.layout:
            raise ModelInputError(
                f"Infer: input {port.name!r} takes layout {slot.layout}, got {value.layout}; "
                "let Normalize give that layout, or set input_layout"
            )
        if value.dtype != port.dtype and not (port.dtype == "str" and _is_text(value.dtype)):
            raise _dtype_error(slot, f"a payload labelled {value.dtype}")
    if not isinstance(array, np.ndarray):
        raise ModelInputError(f"Infer: input {port.name!r} takes a NumPy array, got {type(array).__name__}")
    if dtype_text(array.dtype) != port.dtype:
        raise _dtype_error(slot, f"an array of {array.dtype}")
    check_shape(array.shape, slot)
    if port.dtype == "str":
        return as_text(array, port.name)
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def run_error(model: str, feeds: Mapping[str, Array], error: Exception) -> ModelError:
    """The runtime's own error in our words: with which input, and what that input may lack."""
    came = ", ".join(f"{name} {array.shape}" for name, array in feeds.items())
    said = f"Infer: {model} failed on {came}: {str(error).strip()}"
    if any(word in str(error) for word in _MACHINE):
        return ModelError(said)
    sides = any(array.ndim >= _WITH_SIDES for array in feeds.values())
    way_out = (
        "; its sides may have to be multiples of the model's stride, as Resize(..., multiple_of=32) makes"
    )
    return ModelInputError(said + (way_out if sides else ""))


def _by_name(value: Any, slots: Sequence[Slot], first: str) -> dict[str, Any]:
    if isinstance(value, _ONE):
        return {first: value}
    names = [slot.port.name for slot in slots]
    if isinstance(value, TensorRegistry):
        return {name: value[name] for name in value if name in names}
    if isinstance(value, Mapping):
        unknown = [str(name) for name in value if name not in names]
        if unknown:
            raise ModelInputError(f"Infer: the model takes {_names(slots)}, but got {', '.join(unknown)} too")
        return dict(value)
    if isinstance(value, (tuple, list)):
        return _in_order(value, names)
    raise StepInputError(f"Infer: {_WANTED}, got {_came(value)}; {_WAY_OUT}")


def _in_order(values: Sequence[Any], names: list[str]) -> dict[str, Any]:
    kind = type(values).__name__
    strangers = [type(value).__name__ for value in values if not isinstance(value, _ONE)]
    if strangers:
        first = values and isinstance(values[0], _ONE)
        way_out = "put Pick(0) before it to take the first alone" if first else _WAY_OUT
        raise StepInputError(f"Infer: {_WANTED}, got a {kind} with {', '.join(strangers[:3])}; {way_out}")
    if len(names) == 1 and len(values) > 1:
        raise ModelInputError(
            f"Infer: got a {kind} of {len(values)} payloads for a model with one input ({names[0]}); "
            "put Collate() before it"
        )
    if len(values) != len(names):
        raise ModelInputError(
            f"Infer: the model takes {len(names)} input{'' if len(names) == 1 else 's'} "
            f"({', '.join(names)}), got {len(values)}"
        )
    return dict(zip(names, values, strict=True))


def _dtype_error(slot: Slot, came: str) -> ModelInputError:
    wanted = "str, text" if slot.port.dtype == "str" else slot.port.dtype
    bytes_came = slot.port.dtype == "str" and "|S" in came
    way_out = "decode its bytes first" if bytes_came else f"put AsType({slot.port.dtype!r}) before it"
    return ModelInputError(
        f"Infer: input {slot.port.name!r}: the model dtype is {wanted}, got {came}; {way_out}"
    )


def _is_text(label: str) -> bool:
    """Is it a name of the dtypes that hold text: ``str``, ``object``, ``<U7``, ``StringDType()``?"""
    return label in ("str", "object") or label.startswith("StringDType") or label[1:2] == "U"


def _came(value: Any) -> str:
    if isinstance(value, (TensorRegistry, Mapping)):
        return f"a {type(value).__name__} with {', '.join(map(str, value)) or 'nothing'}"
    return "None" if value is None else f"one {type(value).__name__}"


def _names(slots: Sequence[Slot]) -> str:
    return ", ".join(slot.port.name for slot in slots)
