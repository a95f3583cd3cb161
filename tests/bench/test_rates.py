"""How blocks of callers in a loop are compared."""

from __future__ import annotations

import pytest

from bench.load import Closed
from bench.rates import Contender, cpu_ms, interleaved, over, per_s, ranged


def block(calls: int) -> Closed:
    """Two seconds long, half a second of CPU."""
    return Closed(since=1.0, until=3.0, cpu_s=0.5, calls=[(1.0, 2.0)] * calls)


def test_calls_are_counted_per_second_of_the_block() -> None:
    assert per_s(block(calls=5)) == 2.5


def test_the_cpu_of_a_block_is_shared_by_its_calls() -> None:
    assert cpu_ms(block(calls=5)) == pytest.approx(100.0)


def test_a_block_without_a_call_has_the_cpu_of_one() -> None:
    assert cpu_ms(block(calls=0)) == pytest.approx(500.0)


def test_ratios_are_taken_block_by_block() -> None:
    assert over([1.0, 6.0, 3.0], [1.0, 2.0, 2.0]) == (1.5, "1.00-3.00")


def test_blocks_of_another_number_are_not_compared() -> None:
    with pytest.raises(ValueError, match="shorter"):
        over([1.0, 2.0], [1.0])


def test_the_least_and_the_most_are_shown() -> None:
    assert ranged([2.0, 1.04, 3.0]) == "1.0-3.0"


def test_each_has_a_block_in_each_round() -> None:
    seen: list[str] = []

    blocks = interleaved(
        {"one": Contender(seen.append, "first"), "other": Contender(seen.append, "second")},
        "test",
        callers=2,
        rounds=2,
        block_s=0.001,
    )

    assert [len(made) for made in blocks.values()] == [2, 2]
    assert set(seen) == {"first", "second"}
