"""Which results differ only in how much was asked: those that a line may join.

Knows loads, labels and metadata. Knows nothing of figures.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from ml_pipes.benchmark.load import ClosedLoop, Load, Offline, OpenLoop, Queries
from ml_pipes.benchmark.plain import plain
from ml_pipes.benchmark.report.rows import Row

__all__ = ["Group", "asked", "groups_of"]

# Keys under which people write down how much was asked, in labels and in metadata.
_WORDS = ("callers", "caller", "clients", "concurrency", "threads", "rate_per_s", "rate", "qps", "load")
_NUMBER = r"(?<![\w.]){number}(?![\w.])"


@dataclass(frozen=True)
class Group:
    """Results that differ only in how much was asked, from little to much.

    Attributes:
        name: what they have in common.
        unit: what was asked more or less of.
        rows: of the results.
    """

    name: str
    unit: str
    rows: tuple[Row, ...]


def groups_of(rows: Sequence[Row]) -> list[Group]:
    """Each row in one group, in the order of first sight; some have one row only."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(_key(row), []).append(row)
    return [_group(members) for members in found.values()]


def asked(load: Load | None) -> tuple[float, str] | None:
    """How much a load asks, and of what; None where there is no such number."""
    match load:
        case ClosedLoop():
            return float(load.callers), "callers"
        case OpenLoop():
            return load.rate_per_s, "calls/s"
        case Queries():
            return float(load.samples_per_query), "calls a query"
        case Offline():
            return float(load.max_in_flight), "calls at a time"
        case _:
            return None


def _group(members: list[Row]) -> Group:
    ordered = sorted(members, key=lambda row: _amount(row.result.workload))
    how_much = asked(members[0].result.workload)
    unit = "" if how_much is None else how_much[1]
    if len(members) == 1:
        return Group(members[0].label, unit, tuple(ordered))
    return Group(_common_label(members[0]), unit, tuple(ordered))


def _common_label(row: Row) -> str:
    bare = _bare_label(row).replace("*", "").strip(" |,;:@=-_/")
    load = row.result.workload
    kind = (
        "open loop" if isinstance(load, OpenLoop) else "closed loop" if isinstance(load, ClosedLoop) else ""
    )
    return ", ".join(part for part in (bare, kind) if part) or row.label


def _key(row: Row) -> str:
    """The same for results that differ in how much was asked and in nothing else that is known."""
    load = row.result.workload
    metadata = {name: value for name, value in row.result.metadata.items() if name not in _WORDS}
    others = {} if load is None else {k: v for k, v in load.to_dict().items() if k not in _AMOUNTS}
    return json.dumps([_bare_label(row), plain(metadata), plain(others)], sort_keys=True)


_AMOUNTS = ("callers", "rate_per_s", "samples_per_query", "max_in_flight")


def _amount(load: Load | None) -> float:
    how_much = asked(load)
    return 0.0 if how_much is None else how_much[0]


def _bare_label(row: Row) -> str:
    """The label without the load's own number: beside a word for it, or where it stands only once."""
    label, how_much = row.result.label, asked(row.result.workload)
    if how_much is None:
        return label
    number = _NUMBER.format(number=re.escape(f"{how_much[0]:g}"))
    words = "|".join(_WORDS)
    for pattern in (rf"\b(?:{words})[ :=_-]*{number}", rf"{number}[ _-]*(?:{words})\b", number):
        if len(re.findall(pattern, label)) == 1:
            return re.sub(pattern, "*", label)
    return label
