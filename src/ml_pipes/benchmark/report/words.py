"""Numbers and names as the page shows them: digits that mean something, and units.

Knows numbers and text. Knows nothing of results.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

__all__ = ["NOTHING", "decimals_for", "number", "numbered", "shortened", "span", "with_unit"]

NOTHING = "–"  # noqa: RUF001 - as long as a digit is wide
_MOST_NUMBERS = 8  # of results, before a list of them is cut


def decimals_for(values: Iterable[float | None]) -> int:
    """Decimals for a column: three digits of its smallest number, and four decimals at most."""
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value) and value]
    if not sizes:
        return 0
    return min(4, max(0, 2 - math.floor(math.log10(min(sizes)))))


def number(value: float | None, decimals: int) -> str:
    """With so many decimals and thousands apart; a dash where there is none."""
    if value is None or not math.isfinite(value):
        return NOTHING
    return f"{value:,.{decimals}f}"


def with_unit(value: float | None, unit: str) -> str:
    """Three digits or more, and the unit."""
    text = number(value, decimals_for([value]))
    return text if text == NOTHING else f"{text} {unit}"


def span(values: Sequence[float], unit: str) -> str:
    """From the least to the most of them; one number where they are shown alike."""
    is_whole = all(float(value).is_integer() for value in values)
    decimals = 0 if is_whole else min(2, decimals_for([max(values, key=abs)]))
    low, high = number(min(values), decimals), number(max(values), decimals)
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"


def shortened(text: str, most: int) -> str:
    """With its middle left out where it is longer: labels of a sweep differ at their ends."""
    line = " ".join(text.split())
    if len(line) <= most:
        return line
    head = (most - 1) // 2
    return f"{line[:head]}…{line[len(line) - (most - 1 - head) :]}"


def numbered(numbers: Sequence[int]) -> str:
    """Numbers of results: ``1, 2, 5``; a long list is cut."""
    shown = ", ".join(map(str, numbers[:_MOST_NUMBERS]))
    return shown if len(numbers) <= _MOST_NUMBERS else f"{shown} and {len(numbers) - _MOST_NUMBERS} more"
