"""What a pipeline is given while it is measured, made before.

Knows functions that give inputs. Knows nothing of what is done with them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ml_pipes.benchmark.plain import text
from ml_pipes.factory import InputFn

__all__ = ["Given", "prepared"]

_MOST = 32


@dataclass(frozen=True)
class Given:
    """One input.

    Attributes:
        id: what it is; inputs of one id are the same.
        value: what the pipeline takes.
        tag: a group that it belongs to.
        meta: more about it.
    """

    id: Any
    value: Any
    tag: Any
    meta: Any

    def to_dict(self) -> dict[str, Any]:
        """What is known of it, without the value."""
        return {"id": self.id, "tag": self.tag, "meta": self.meta}


def prepared(input_fn: InputFn, calls: int | None = None) -> list[Given]:
    """The inputs that a function gives, until one comes again, or 32: to make them costs no call anything.

    Args:
        input_fn: gives ``(id, value, tag, meta)``.
        calls: how many calls there will be, where that is known; no more are asked for.

    Raises:
        TypeError: it gave something else.
        ValueError: it gave nothing.
        Exception: what it raised.
    """
    given: dict[str, Given] = {}
    for _ in range(min(_MOST, calls or _MOST)):
        try:
            made = input_fn()
        except StopIteration:
            if given:  # it gives as many as there are
                break
            raise ValueError("the InputFn gave nothing: StopIteration") from None
        one = _checked(made)
        if (key := text(one.id)) in given:
            break
        given[key] = one
    return list(given.values())


def _checked(made: Any) -> Given:
    if not isinstance(made, tuple) or len(made) != 4:
        what = f"{len(made)} values" if isinstance(made, tuple) else _kind(made)
        raise TypeError(f"an InputFn gives the 4 values (id, value, tag, meta), this one gave {what}")
    return Given(*made)


def _kind(value: Any) -> str:
    return f"a {type(value).__name__}" + (" instead of a tuple" if isinstance(value, Iterable) else "")
