"""A result for a reader: what it is, how large, and between which values.

Knows arrays and records by what they have, and imports none of their packages.
Knows nothing of pipelines.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ml_pipes._cli.parts import is_array, is_iterator, is_registry, named
from ml_pipes.control import SHORT_CIRCUIT

__all__ = ["columns", "to_text"]

_MOST_ROWS = 20
_MOST_VALUES = 12  # numbers of an array that are shown one by one
_MOST_COLUMNS = 10  # numbers in a row of aligned arrays

_short = reprlib.Repr()
_short.maxstring = _short.maxother = 200
_short.maxlist = 20


def to_text(value: Any) -> str:
    """A few lines."""
    return "\n".join(_lines(value))


def columns(rows: Sequence[Sequence[str]], *, right: Iterable[int] = ()) -> list[str]:
    """Rows of words as lines with aligned columns.

    Args:
        rows: each as long as the first.
        right: columns whose words end at the same place, as numbers do.
    """
    ends = set(right)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            word.rjust(width) if at in ends else word.ljust(width)
            for at, (word, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _lines(value: Any) -> Iterator[str]:
    if value is SHORT_CIRCUIT:
        yield "SHORT_CIRCUIT: a step dropped the input"
    elif is_array(value):
        yield f"array {_shown(value)}"
    elif isinstance(value, str):
        yield value
    elif is_registry(value):
        yield from _registry(named(value) or {})
    elif is_array(getattr(value, "array", None)):
        texts = [str(part) for name, part in (named(value) or {}).items() if name != "array"]
        yield f"{type(value).__name__} {' '.join(texts)}: {_shown(value.array)}".replace(" :", ":")
    elif (parts := named(value)) is not None:
        count = f" of {len(parts)}" if isinstance(value, Mapping) else ""
        yield f"{type(value).__name__}{count}{':' if parts else ''}"
        for name, part in parts.items():
            yield from _indented(f"{name}: ", part)
    elif isinstance(value, list | tuple) or is_iterator(value):
        yield from _sequence(value)
    elif isinstance(value, bytes | bytearray | memoryview):
        yield f"{len(value):,} bytes"
    else:
        yield _short.repr(value)


def _sequence(value: Any) -> Iterator[str]:
    kind = type(value).__name__ if isinstance(value, list | tuple) else "items"
    parts = list(value)
    if parts and all(isinstance(part, bool | int | float | str) for part in parts):
        yield f"{kind} of {len(parts)}: {_short.repr(parts)[1:-1]}"
        return
    yield f"{kind} of {len(parts)}{':' if parts else ''}"
    for at, part in enumerate(parts[:_MOST_ROWS]):
        yield from _indented(f"{at}: ", part)
    if len(parts) > _MOST_ROWS:
        yield f"  and {len(parts) - _MOST_ROWS:,} more"


def _indented(head: str, value: Any) -> Iterator[str]:
    # Text of several lines as one: it would look like parts.
    is_long = isinstance(value, str) and "\n" in value
    first, *others = [_short.repr(value)] if is_long else list(_lines(value)) or [""]
    yield f"  {head}{first}"
    for line in others:
        yield f"  {line}"


def _registry(tensors: Mapping[str, Any]) -> Iterator[str]:
    """A line per array; then, of arrays whose rows belong together, a line per row."""
    if not tensors:
        yield "TensorRegistry, empty"
        return
    head = ["name", "dtype", "shape", "values"]
    rows = [[name, str(each.dtype), _shape(each), _range(each)] for name, each in tensors.items()]
    yield from columns([head, *rows])
    aligned = _aligned(tensors)
    if all(each.size <= _MOST_VALUES for each in aligned.values()):
        return  # nothing but what stands above
    yield ""
    count = len(next(iter(aligned.values())))
    cells = [
        [str(at), *(_numbers(each[at].reshape(-1).tolist()) for each in aligned.values())]
        for at in range(min(count, _MOST_ROWS))
    ]
    yield from columns([["row", *aligned], *cells], right=range(1 + len(aligned)))
    if count > _MOST_ROWS:
        yield f"and {count - _MOST_ROWS:,} more"


def _aligned(tensors: Mapping[str, Any]) -> dict[str, Any]:
    """The arrays with as many rows as the first has, if a row is a few numbers."""
    counts = [each.shape[0] for each in tensors.values() if each.ndim]
    count = max(set(counts), key=counts.count, default=0)
    if not count or counts.count(count) < 2:
        return {}
    return {
        name: each
        for name, each in tensors.items()
        if each.ndim
        and each.shape[0] == count
        and each.size // count <= _MOST_COLUMNS
        and each.dtype.kind in "biuf"
    }


def _shown(array: Any) -> str:
    return (
        f"{array.dtype} {_shape(array)}, {_range(array)}"
        if array.size
        else f"{array.dtype} {_shape(array)}, empty"
    )


def _shape(array: Any) -> str:
    return "x".join(map(str, array.shape)) or "scalar"


def _range(array: Any) -> str:
    if not array.size:
        return "none"
    if array.size <= _MOST_VALUES:
        return _numbers(array.reshape(-1).tolist())
    if array.dtype.kind not in "biuf":
        return f"{array.size:,} values"
    known = array[array == array]  # noqa: PLR0124 - only NaN is not itself
    if not known.size:
        return "all NaN"
    low, high, mean = known.min().item(), known.max().item(), float(known.mean(dtype="float64"))
    nan = f", {array.size - known.size:,} NaN" if known.size < array.size else ""
    return f"{_number(low)} to {_number(high)}, mean {_number(mean)}{nan}"


def _numbers(values: Sequence[Any]) -> str:
    return " ".join(map(_number, values))


def _number(value: Any) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
