"""Which tensors a step reads, and under which names it writes them.

Knows names and registries. Knows nothing of what is computed.
"""

from __future__ import annotations

from collections.abc import Callable

from ml_pipes.tensor.types import Array, TensorRegistry

__all__ = ["checked_names", "output_names", "replace_each", "replace_one"]


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
        ValueError: ``as_`` does not name as many tensors as are read.
    """
    if as_ is None:
        return names
    outputs = (as_,) if isinstance(as_, str) else tuple(as_)
    if len(outputs) != len(names):
        raise ValueError(
            f"{owner}: as_ must name one output for each of {names}, "
            f"got {len(outputs)} for {len(names)}: {outputs}"
        )
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
