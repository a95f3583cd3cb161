"""Any value as one that JSON can hold.

Knows the types that configurations and figures are made of. Knows nothing of
what they say.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date
from enum import Enum
from pathlib import PurePath
from typing import Any

import numpy as np

__all__ = ["plain", "text"]


def plain(value: Any) -> Any:
    """The value made of dicts with text keys, lists, text, numbers, booleans and None.

    Numbers that JSON has no token for (NaN, infinite) become None; paths their
    text; arrays lists; what is none of these the text it shows itself with.
    """
    match value:
        case np.generic() | np.ndarray():
            return plain(value.tolist())
        case Enum():
            return plain(value.value)
        case Mapping():
            return {text(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case AbstractSet():
            return [plain(each) for each in sorted(value, key=text)]
        case _:
            return _single(value)


def _single(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    if value is None or isinstance(value, bool | str):
        return value
    return int(value) if isinstance(value, int) else text(value)


def text(value: Any) -> str:
    """The value as a word or two: a function by its name, a path and a date as they are written."""
    match value:
        case str():
            return value
        case PurePath():
            return str(value)
        case date():
            return value.isoformat()
        case Enum():
            return value.name
        case _ if callable(value) and hasattr(value, "__qualname__"):
            return str(value.__qualname__)
        case _:
            return str(value)
