"""Conditions on figures, read from text: ``p99 not worse than 5 %``, ``p50 <= 12 ms``, ``errors <= 0``.

Knows a small grammar. Knows nothing of results.

    condition  = statistic ("not worse than" number "%" | relation number [unit])
    statistic  = "p" number | "mean" | "throughput" | "errors"
    relation   = "<=" | "<" | ">=" | ">"
    unit       = "s" | "ms" | "us"        of a percentile or a mean
               | "/s"                     of a throughput
               | "%" | nothing            of errors: of all calls, or how many
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from ml_pipes.benchmark.ratios import StatisticName, fraction_of

__all__ = ["Condition", "Relation", "parse_condition"]

Relation: TypeAlias = Literal["not worse than", "<=", "<", ">=", ">"]

_NUMBER: Final = r"(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d+)?)"
_RELATIVE: Final = re.compile(rf"(?P<statistic>\S+)\s+not\s+worse\s+than\s+{_NUMBER}\s*(?P<unit>\S*)")
_ABSOLUTE: Final = re.compile(
    rf"(?P<statistic>[^\s<>=]+)\s*(?P<relation><=|>=|<|>)\s*{_NUMBER}\s*(?P<unit>.*)"
)
_SECONDS: Final = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "\N{MICRO SIGN}s": 1e-6,
    "\N{GREEK SMALL LETTER MU}s": 1e-6,
}
_EXAMPLES: Final = '"p99 not worse than 5 %", "p50 <= 12 ms", "throughput >= 100 /s", "errors <= 0"'


@dataclass(frozen=True)
class Condition:
    """What a figure must keep.

    Attributes:
        text: as it was written.
        statistic: ``"p99"`` and other percentiles, ``"mean"``, ``"throughput"``; or ``"errors"``.
        relation: to the limit; ``"not worse than"`` compares with a baseline.
        limit: seconds, calls per second, a number of calls; or a share, 0.05 for 5 %.
        is_share: the limit is a share: of the baseline's figure, or of all calls.
    """

    text: str
    statistic: StatisticName
    relation: Relation
    limit: float
    is_share: bool = False

    @property
    def is_relative(self) -> bool:
        """It compares with a baseline."""
        return self.relation == "not worse than"

    def holds(self, value: float) -> bool:
        """Whether the value keeps an absolute limit; NaN keeps none."""
        match self.relation:
            case "<=":
                return value <= self.limit
            case "<":
                return value < self.limit
            case ">=":
                return value >= self.limit
            case _:
                return value > self.limit


def parse_condition(text: str) -> Condition:
    """Read a condition; capitals and spaces do not matter.

    Args:
        text: such as ``"p99 not worse than 5%"``.

    Raises:
        ValueError: it is none; the message says what is wrong, and what would be right.
    """
    written = " ".join(text.lower().split()).replace("\N{LESS-THAN OR EQUAL TO}", "<=")
    written = written.replace("\N{GREATER-THAN OR EQUAL TO}", ">=")
    if match := _RELATIVE.fullmatch(written):
        return _relative(text, *match.group("statistic", "number", "unit"))
    if match := _ABSOLUTE.fullmatch(written):
        return _absolute(text, *match.group("statistic", "relation", "number", "unit"))
    raise ValueError(f"condition {text!r}: not understood; write one such as {_EXAMPLES}")


def _relative(text: str, statistic: str, number: str, unit: str) -> Condition:
    if statistic == "errors":
        raise ValueError(f'condition {text!r}: errors have a limit of their own; write "errors <= 0"')
    _check_statistic(text, statistic)
    if unit != "%":
        raise ValueError(
            f"condition {text!r}: how much worse is said in percent; "
            f'write "{statistic} not worse than {number} %"'
        )
    limit = _number(text, number) / 100.0
    if limit < 0.0:
        raise ValueError(f"condition {text!r}: the limit must be 0 % or more, got {number} %")
    return Condition(text, statistic, "not worse than", limit, is_share=True)


def _absolute(text: str, statistic: str, relation: str, number: str, unit: str) -> Condition:
    if statistic != "errors":
        _check_statistic(text, statistic)
    wanted: tuple[Relation, ...] = (">=", ">") if statistic == "throughput" else ("<=", "<")
    kept = next((each for each in wanted if each == relation), None)
    if kept is None:
        better = "higher" if statistic == "throughput" else "lower"
        right = f"{statistic} {wanted[0]} {number} {unit}".rstrip()
        raise ValueError(f'condition {text!r}: {statistic} is better the {better} it is; write "{right}"')
    scale = _scale(text, statistic, relation, number, unit)
    limit = _number(text, number) * scale
    if limit < 0.0:
        raise ValueError(f"condition {text!r}: the limit must be 0 or more, got {number}")
    return Condition(text, statistic, kept, limit, is_share=unit == "%")


def _number(text: str, number: str) -> float:
    value = float(number)
    if math.isinf(value):
        raise ValueError(f"condition {text!r}: {number} is too large for a limit, and would let all pass")
    return value


def _scale(text: str, statistic: str, relation: str, number: str, unit: str) -> float:
    """What the number is to be multiplied with."""
    match statistic:
        case "throughput":
            scales, names = {"/s": 1.0, "per s": 1.0}, '"/s"'
        case "errors":
            scales, names = {"": 1.0, "%": 0.01}, '"%" of all calls, or none for a number of calls'
        case _:
            scales, names = _SECONDS, '"s", "ms" or "us"'
    if unit in scales:
        return scales[unit]
    way_out = ""
    if unit == "%":
        way_out = f'; against a baseline it is "{statistic} not worse than {number} %"'
    elif statistic != "errors":
        way_out = f'; write "{statistic} {relation} {number} {"/s" if statistic == "throughput" else "ms"}"'
    got = f"got {unit!r}" if unit else "got none"
    raise ValueError(f"condition {text!r}: the unit of {statistic} is {names}, {got}{way_out}")


def _check_statistic(text: str, statistic: str) -> None:
    try:
        fraction_of(statistic)
    except ValueError:
        raise ValueError(
            f'condition {text!r}: a condition is about a percentile such as "p50" or "p99.9", "mean", '
            f'"throughput" or "errors", got {statistic!r}'
        ) from None
