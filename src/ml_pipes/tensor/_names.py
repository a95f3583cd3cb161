"""Which value a step takes, which tensors it reads, and under which names it writes them.

Knows types, names and registries. Knows nothing of what is computed.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar, cast

from ml_pipes.errors import StepInputError
from ml_pipes.tensor.types import Array, TensorRegistry

__all__ = ["checked_names", "checked_output", "output_names", "replace_each", "replace_one", "takes"]

_Call = TypeVar("_Call", bound=Callable[..., Any])

# What most likely was forgotten before a step, by what came to it.
_WAYS_OUT = {
    "tuple": "Pick(0) takes the first part of a tuple",
    "list": "a list's items go through one by one: Distribute() and UnBatch(), or PerItem()",
    "bytes": "Decode() makes a picture of a file's bytes",
    "RuntimeOutputs": "Extract(...) makes a registry of a model's outputs",
    "TensorPayload": "Infer(...) and Extract(...) come before it",
}
_WAYS_TO = {
    ("TensorRegistry", "ndarray"): 'TensorRegistry({"name": array}) names an array',
    ("TensorRegistry", "ImagePayload"): "the registry comes first; Recall(...) puts the picture after it",
    ("ImagePayload", "ndarray"): "ImagePayload(array) says what an array's colours are",
    ("ImagePayload", "TensorRegistry"): "Recall(..., prepend=True) puts the kept picture before a registry",
    ("ImagePayload", "RuntimeOutputs"): "it works on the picture, before the model",
    ("ImagePayload", "TensorPayload"): "it works on the picture, before Normalize()",
    ("ImagePayload", "str"): "LoadFile() and Decode() read a picture",
}


def takes(*kinds: type) -> Callable[[_Call], _Call]:
    """Make an operator's call refuse what is not of these types, one per argument, and say the way out."""

    def checking(call: _Call) -> _Call:
        @wraps(call)
        def checked(self: object, *values: Any, **named: Any) -> Any:  # whatever the call takes and gives
            for value, kind in zip(values, kinds, strict=False):
                if not isinstance(value, kind):
                    raise StepInputError(_wrong_input(type(self).__name__, kind.__name__, value))
            return call(self, *values, **named)

        return cast("_Call", checked)

    return checking


def _wrong_input(owner: str, wanted: str, value: object) -> str:
    came = type(value).__name__
    way_out = _WAYS_TO.get((wanted, came)) or _WAYS_OUT.get(came)
    return f"{owner}: wanted {_with_article(wanted)}, got {came}" + (f"; {way_out}" if way_out else "")


def _with_article(name: str) -> str:
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def checked_output(owner: str, *names: str | None) -> str | None:
    """Give the first of the names that a step writes under; None is allowed.

    Raises:
        ValueError: a name is empty, or is there twice, so that one result would be lost.
        TypeError: a name is no text.
    """
    given = [name for name in names if name is not None]
    for name in given:
        if not isinstance(name, str):
            raise TypeError(f"{owner}: tensors are named by text, got {name!r}")
        if not name:
            raise ValueError(f"{owner}: a tensor's name must not be empty, got {name!r}")
    if len(set(given)) < len(given):
        raise ValueError(f"{owner}: each output needs a name of its own, got {', '.join(map(repr, given))}")
    return names[0]


def checked_names(owner: str, srcs: tuple[str, ...], first: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Give ``first`` and then ``srcs``, each name once; ValueError when there is none."""
    for name in (*first, *srcs):
        if not isinstance(name, str):
            raise TypeError(f"{owner}: tensors are named by text, got {name!r}")
    names = tuple(dict.fromkeys((*first, *srcs)))
    if not names:
        raise ValueError(f"{owner}: name at least one tensor to work on")
    return names


def output_names(owner: str, names: tuple[str, ...], as_: str | tuple[str, ...] | None) -> tuple[str, ...]:
    """Give one name to write per name read.

    ``as_`` None writes in place; text names the one output; a tuple names several.

    Raises:
        ValueError: ``as_`` does not name as many tensors as are read, or a name is
            empty or there twice.
    """
    if as_ is None:
        return names
    outputs = (as_,) if isinstance(as_, str) else tuple(as_)
    if len(outputs) != len(names):
        raise ValueError(
            f"{owner}: as_ must name one output for each of {names}, "
            f"got {len(outputs)} for {len(names)}: {outputs}"
        )
    checked_output(owner, *outputs)
    return outputs


def replace_one(
    tensors: TensorRegistry, src: str, as_: str | None, work: Callable[[Array], Array]
) -> TensorRegistry:
    """Give a registry in which ``as_`` (``src`` when None) is ``work`` of ``src``."""
    return tensors.replace(**{as_ or src: work(tensors[src])})


def replace_each(
    tensors: TensorRegistry, names: tuple[str, ...], outputs: tuple[str, ...], work: Callable[[Array], Array]
) -> TensorRegistry:
    """Give a registry in which each of ``outputs`` is ``work`` of the tensor of ``names`` beside it."""
    return tensors.replace(
        **{output: work(tensors[name]) for name, output in zip(names, outputs, strict=True)}
    )
