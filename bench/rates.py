"""Calls per second of blocks of callers in a loop, and blocks compared with those that stood beside them.

Knows blocks. Knows nothing of what was called.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from bench.load import Call, Closed, closed_block, shown

__all__ = ["Contender", "cpu_ms", "interleaved", "over", "per_s", "ranged"]


@dataclass(frozen=True)
class Contender:
    """What is called, and with what.

    Attributes:
        call: takes the item.
        item: that of each caller.
    """

    call: Call
    item: Any


def interleaved(
    contenders: Mapping[str, Contender], title: str, *, callers: int, rounds: int, block_s: float
) -> dict[str, list[Closed]]:
    """A block of each in each round, in an order of its own, so that a slow moment hits all alike.

    Args:
        contenders: by name.
        title: that of the bar.
        callers: threads that call.
        rounds: blocks of each.
        block_s: seconds of a block that count.
    """
    blocks: dict[str, list[Closed]] = {name: [] for name in contenders}
    order = Random(0)
    for _ in shown(range(rounds), title):
        for name in order.sample(list(contenders), len(contenders)):
            one = contenders[name]
            blocks[name].append(closed_block(one.call, [one.item] * callers, warm_s=0.2, block_s=block_s))
    return blocks


def per_s(block: Closed) -> float:
    """Calls that ended in a block, per second of it."""
    return len(block.calls) / (block.until - block.since)


def cpu_ms(block: Closed) -> float:
    """CPU of the process per call, milliseconds."""
    return block.cpu_s / max(1, len(block.calls)) * 1e3


def over(mine: Sequence[float], theirs: Sequence[float]) -> tuple[float, str]:
    """The ratio block by block: its median, and its least and most as text."""
    ratios = [one / other for one, other in zip(mine, theirs, strict=True)]
    return statistics.median(ratios), ranged(ratios, ".2f")


def ranged(values: Sequence[float], form: str = ".1f") -> str:
    """Least and most, as text."""
    least, most = (f"{value:{form}}" for value in (min(values), max(values)))
    return f"{least}-{most}"
