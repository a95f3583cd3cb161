"""A model's outputs by name, and a batch's outputs row by row.

Knows payloads. Knows nothing of any runtime.
"""

from __future__ import annotations

from ml_pipes.errors import MissingNameError, ModelError
from ml_pipes.operator import Operator
from ml_pipes.tensor import TensorPayload, TensorRegistry
from ml_pipes.tensor.runtime import RuntimeOutputs

__all__ = ["Distribute", "Extract"]


@Operator
class Extract:
    """Give the named outputs as a registry; ``as_`` renames them.

    Raises:
        ValueError: when built: no name, a name twice, or not one new name per name.
        MissingNameError: when called (also a ``KeyError``): an output is not found.
    """

    def __init__(self, *names: str, as_: str | tuple[str, ...] | None = None) -> None:
        new_names = (as_,) if isinstance(as_, str) else names if as_ is None else tuple(as_)
        if not names:
            raise ValueError("Extract: give the name of one output or more")
        if len(new_names) != len(names):
            raise ValueError(f"Extract: as_ must have one name per output, got {new_names} for {names}")
        if len(set(new_names)) != len(new_names):
            raise ValueError(f"Extract: two tensors would have one name: {new_names}")
        self.names = names
        self.as_ = as_
        self._new_names = new_names

    def __call__(self, outputs: RuntimeOutputs) -> TensorRegistry:
        there = dict(zip(outputs.names, outputs.tensors, strict=True))
        missing = [name for name in self.names if name not in there]
        if missing:
            raise MissingNameError(
                f"Extract: output {', '.join(map(repr, missing))} not found; "
                f"the model gives: {', '.join(there)}"
            )
        return TensorRegistry(
            {new: there[name].array for name, new in zip(self.names, self._new_names, strict=True)}
        )


@Operator
class Distribute:
    """Split a batch's outputs into one per item, each with a first axis of 1 and memory of its own.

    Raises:
        ModelError: an output has no first axis, or the outputs have different numbers of rows.
    """

    def __call__(self, outputs: RuntimeOutputs) -> list[RuntimeOutputs]:
        if isinstance(outputs, TensorPayload):
            return [_row(outputs, at) for at in range(_rows((outputs,), ("tensor",)))]  # type: ignore[misc] # one kind in, the same out
        return [
            RuntimeOutputs(tuple(_row(tensor, at) for tensor in outputs.tensors), outputs.names)
            for at in range(_rows(outputs.tensors, outputs.names))
        ]


def _rows(tensors: tuple[TensorPayload, ...], names: tuple[str, ...]) -> int:
    """How many items there are: the length of every first axis."""
    flat = [name for name, tensor in zip(names, tensors, strict=True) if not tensor.array.ndim]
    if flat:
        raise ModelError(
            f"Distribute: output {', '.join(flat)} is a single number, which has no rows to give out"
        )
    counts = {name: len(tensor.array) for name, tensor in zip(names, tensors, strict=True)}
    if len(set(counts.values())) > 1:
        said = ", ".join(f"{name} has {count}" for name, count in counts.items())
        raise ModelError(f"Distribute: every output must have one row per item: {said}")
    return next(iter(counts.values()), 0)


def _row(tensor: TensorPayload, at: int) -> TensorPayload:
    # A copy: a view would keep the whole batch alive, and share it among its callers.
    return TensorPayload(tensor.array[at : at + 1].copy(), tensor.layout, tensor.dtype)
