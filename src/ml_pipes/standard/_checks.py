"""Arguments of operators, checked when they are built.

Knows numbers and choices. Knows nothing of what they are for.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeVar

__all__ = ["check_choice", "check_count", "check_flag", "check_seconds"]

ChoiceT = TypeVar("ChoiceT", bound=str)


def check_choice(place: str, value: Any, choices: Sequence[ChoiceT]) -> ChoiceT:
    """One of the texts that may be chosen.

    Raises:
        TypeError: it is no text.
        ValueError: it is none of ``choices``.
    """
    for choice in choices:
        if isinstance(value, str) and value == choice:
            return choice
    named = f"{', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}"
    error = ValueError if isinstance(value, str) else TypeError
    raise error(f"{place} must be {named}, got {value!r}")


def check_count(place: str, value: Any) -> int:
    """A whole number, 1 or more.

    Raises:
        TypeError: it is no whole number; 4.0 is none, and neither is True.
        ValueError: it is less than 1.
    """
    try:
        count = operator.index(value)
    except TypeError:
        count = None
    if count is None or isinstance(value, bool):
        raise TypeError(f"{place} must be a whole number, 1 or more, got {value!r}")
    if count < 1:
        raise ValueError(f"{place} must be 1 or more, got {value}")
    return count


def check_flag(place: str, value: Any) -> bool:
    """True or False.

    Raises:
        TypeError: it is neither.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{place} must be True or False, got {value!r}")
    return value


def check_seconds(place: str, value: Any) -> float:
    """Finite seconds, 0 or more.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative, infinite or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{place} must be finite seconds, 0 or more, got {value!r}")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{place} must be finite seconds, 0 or more, got {value}")
    return value
