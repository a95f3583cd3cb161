"""Counters behind a region's figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from threading import Barrier
from typing import Any

import pytest

from ml_pipes._threads.tally import BatchTally, ItemTally
from ml_pipes.stats import Histogram, RegionStats


def test_a_tally_that_counted_nothing_is_all_zero() -> None:
    assert BatchTally().snapshot("0:Batch", "Batch", waiting=0, running=0) == RegionStats("0:Batch", "Batch")
    assert ItemTally("0:Scatter").stats("Scatter") == RegionStats("0:Scatter", "Scatter")


def test_what_is_there_at_the_moment_is_its_owner_s_to_say() -> None:
    tally = BatchTally()
    tally.joined(2)

    shown = tally.snapshot("3:Batch", "Batch", waiting=2, running=1)

    assert (shown.calls, shown.rows, shown.waiting, shown.running, shown.batches) == (1, 2, 2, 1, 0)


def test_how_many_rows_a_caller_brings_on_average() -> None:
    tally = BatchTally()

    before = tally.rows_per_call
    tally.joined(2)
    tally.joined(5)

    assert (before, tally.rows_per_call) == (1.0, 3.5)


def test_a_batch_region_s_figures_are_what_was_counted() -> None:
    tally = BatchTally()

    tally.joined(1)
    tally.joined(1)
    tally.joined(4)
    tally.refused()
    tally.left(4)
    tally.ran("full", 2, [0.5, 0.25], 0.125, 2)
    tally.joined(1)
    tally.ran("alone", 1, [0.0], 0.0625, 0)

    assert tally.snapshot("3:Batch", "Batch", waiting=0, running=0) == RegionStats(
        "3:Batch",
        "Batch",
        calls=4,
        rows=7,
        batches=2,
        batch_sizes={2: 1, 1: 1},
        reasons={"full": 1, "alone": 1},
        wait=Histogram([0.5, 0.25, 0.0]),
        run=Histogram([0.125, 0.0625]),
        waiting=0,
        running=0,
        dropped=4,
        refused=1,
        errors=2,
    )


def test_a_snapshot_stays_as_it_is() -> None:
    batches, items = BatchTally(), ItemTally("1:PerItem")
    before = (
        batches.snapshot("0:Batch", "Batch", waiting=0, running=0),
        items.stats("PerItem"),
    )

    batches.joined(1)
    batches.ran("alone", 1, [0.5], 0.5, 0)
    items.enter()
    items.leave(1, 0, 0, [0.5])

    assert before == (RegionStats("0:Batch", "Batch"), RegionStats("1:PerItem", "PerItem"))


def test_an_item_region_s_figures_are_what_was_counted() -> None:
    tally = ItemTally("7:Scatter")

    tally.enter()
    tally.enter()
    tally.leave(8, 1, 2, [0.5, 0.25])
    during = tally.stats("Scatter")
    tally.leave(seen=2, dropped=0, errors=0)
    after = tally.stats("Scatter")

    assert (during.running, during.rows) == (1, 8)
    assert after == RegionStats(
        "7:Scatter", "Scatter", calls=2, rows=10, run=Histogram([0.5, 0.25]), dropped=1, errors=2
    )


@pytest.mark.timeout(10)
def test_an_update_that_comes_in_the_middle_of_another_does_not_wait_for_it() -> None:
    tally = ItemTally("7:Scatter")

    def interrupted() -> Iterator[float]:
        tally.enter()
        tally.leave(1, 0, 0)
        yield 0.5

    tally.enter()
    tally.leave(1, 0, 0, interrupted())

    shown = tally.stats("Scatter")
    assert (shown.calls, shown.rows, shown.running) == (2, 2, 0)


@pytest.mark.stress
def test_no_update_of_many_threads_is_lost(start: Callable[..., Future[Any]]) -> None:
    tally, together = ItemTally("7:Scatter"), Barrier(8)

    def calls() -> None:
        together.wait(timeout=20)
        for _ in range(2000):
            tally.enter()
            tally.leave(3, 1, 1, [0.5])

    for done in [start(calls) for _ in range(8)]:
        done.result(timeout=20)

    shown = tally.stats("Scatter")
    assert (shown.calls, shown.rows, shown.dropped, shown.errors) == (16_000, 48_000, 16_000, 16_000)
    assert (shown.run.count, shown.running, shown.waiting) == (16_000, 0, 0)
