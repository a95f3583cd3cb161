"""Steps on whole numbers, for trees and streams of calls that check themselves.

Each is a pure function, and its repr is the code that makes it. Knows values.
Knows nothing of regions, threads or trees.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.core import Pipeline

__all__ = [
    "Add",
    "AtMost",
    "Combine",
    "DropIf",
    "Guarded",
    "Guilty",
    "Linger",
    "Mod",
    "MulMod",
    "Outcome",
    "RaiseIf",
    "Reveal",
    "Rows",
    "Settle",
    "Split",
    "Sum",
    "TooLarge",
    "Value",
    "outcome_of",
    "total",
]

Value: TypeAlias = Any
"""An int, or a list of values."""
Outcome: TypeAlias = tuple[Any, ...]
"""("value", it), ("dropped",), ("error", tag, value), or ("unexpected", the exception's repr)."""


class TooLarge(BaseException):
    """A batch was larger than was asked for; no ``Exception``, so that no region swallows it."""


class Guilty(Exception):
    """Raised by the value that is meant to fail; says which step raised it, and for which value."""

    def __init__(self, tag: int, value: int) -> None:
        super().__init__(tag, value)
        self.tag = tag
        self.value = value


def total(value: Value) -> int:
    """The sum of all ints in nested lists."""
    return sum(map(total, value)) if isinstance(value, list) else int(value)


def outcome_of(call: Callable[[], Any]) -> Outcome:
    """How a call ended, as plain data."""
    try:
        result = call()
    except Guilty as error:
        return ("error", error.tag, error.value)
    except (Exception, TooLarge) as error:  # noqa: BLE001 - whatever else comes out is what the test shows
        return ("unexpected", f"{type(error).__name__}: {error}")
    return ("dropped",) if result is SHORT_CIRCUIT else ("value", result)


@dataclass(frozen=True)
class Add:
    k: int

    def __call__(self, value: int) -> int:
        return value + self.k


@dataclass(frozen=True)
class MulMod:
    k: int
    m: int

    def __call__(self, value: int) -> int:
        return value * self.k % self.m


@dataclass(frozen=True)
class DropIf:
    m: int
    r: int

    def __call__(self, value: int) -> Any:
        return SHORT_CIRCUIT if value % self.m == self.r else value


@dataclass(frozen=True)
class RaiseIf:
    tag: int
    m: int
    r: int

    def __call__(self, value: int) -> int:
        if value % self.m == self.r:
            raise Guilty(self.tag, value)
        return value


@dataclass(frozen=True)
class Split:
    count: int
    stride: int

    def __call__(self, value: int) -> list[int]:
        return [value + at * self.stride for at in range(self.count)]


@dataclass(frozen=True)
class Linger:
    """Takes longer for some values than for others, so that what starts first does not end first."""

    def __call__(self, value: int) -> int:
        threading.Event().wait((2 - value % 3) * 0.0002)
        return value


@dataclass(frozen=True)
class Sum:
    def __call__(self, value: Value) -> int:
        return total(value)


# --- what regions need ----------------------------------------------------------------------


@dataclass(frozen=True)
class Combine:
    """What came and what was recalled become one number."""

    k: int

    def __call__(self, current: Value, stored: Value) -> int:
        return total(current) + self.k * total(stored)


@dataclass(frozen=True)
class AtMost:
    """Fails when a batch is larger than was asked for."""

    size: int
    rows: Callable[[Value], int] | None = None

    def __call__(self, batch: list[Value]) -> list[Value]:
        count = sum(map(self.rows, batch)) if self.rows else len(batch)
        if not 0 < count <= self.size:
            raise TooLarge(f"a batch of {count} rows where {self.size} is the most")
        return batch


@dataclass(frozen=True)
class Settle:
    """Errors among the items become numbers."""

    def __call__(self, items: list[Any]) -> list[Value]:
        return [item.tag + item.value if isinstance(item, Guilty) else item for item in items]


class _Dropped:
    """Stands for SHORT_CIRCUIT where a region of items would take it out."""


@dataclass(frozen=True)
class Guarded:
    """Runs a pipeline; its error or drop is handed on as the item's result."""

    pipeline: Pipeline[Any, Any]

    def __call__(self, value: Value) -> Any:
        try:
            result = self.pipeline(value)
        except Guilty as error:
            return error
        return _Dropped() if result is SHORT_CIRCUIT else result


@dataclass(frozen=True)
class Reveal:
    """Puts SHORT_CIRCUIT where :class:`Guarded` hid it."""

    def __call__(self, items: list[Any]) -> list[Any]:
        return [SHORT_CIRCUIT if isinstance(item, _Dropped) else item for item in items]


@dataclass(frozen=True)
class Mod:
    """A key: values of one remainder may share a batch."""

    m: int

    def __call__(self, value: Value) -> int:
        return total(value) % self.m


@dataclass(frozen=True)
class Rows:
    """1 to ``most`` rows, by the value."""

    most: int

    def __call__(self, value: Value) -> int:
        return 1 + total(value) % self.most
