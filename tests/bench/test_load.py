"""What is counted of a block of callers in a loop."""

from __future__ import annotations

import math

import pytest

from bench.load import Closed, Run, SleepingModel, closed_block, median


class TestClosed:
    def test_rows_are_counted_from_the_end_of_a_run_to_the_end_of_another(self) -> None:
        block = Closed(since=1.0, until=2.0, cpu_s=0.0, calls=[])
        runs = [Run(1.0, 1.25, 8), Run(1.25, 1.5, 8), Run(1.5, 1.75, 4)]

        # The first only starts the clock: twelve rows in half a second.
        assert block.rows_per_s(runs) == pytest.approx(24.0)

    def test_runs_that_end_outside_the_block_are_not_counted(self) -> None:
        block = Closed(since=1.0, until=2.0, cpu_s=0.0, calls=[])
        runs = [Run(0.5, 1.0, 8), Run(1.0, 1.5, 8), Run(1.5, 2.0, 8), Run(2.0, 2.5, 8)]

        assert block.rows_per_s(runs) == pytest.approx(16.0)

    def test_one_run_tells_no_rate(self) -> None:
        block = Closed(since=1.0, until=2.0, cpu_s=0.0, calls=[])

        assert math.isnan(block.rows_per_s([Run(1.0, 1.5, 8)]))

    def test_a_latency_is_from_the_call_to_its_result(self) -> None:
        block = Closed(since=1.0, until=2.0, cpu_s=0.0, calls=[(1.0, 1.25), (1.25, 1.75)])

        assert block.latencies_s == [0.25, 0.5]


class TestSleepingModel:
    def test_it_gives_the_rows_back_and_notes_how_many_they_were(self) -> None:
        model = SleepingModel()

        assert model(["a", "b"]) == ["a", "b"]
        assert [run.rows for run in model.runs] == [2]


class TestClosedBlock:
    def test_what_a_call_raises_ends_the_block(self) -> None:
        def fails(item: object) -> None:
            raise ArithmeticError(f"{item} is wrong")

        with pytest.raises(ArithmeticError, match="seven is wrong"):
            closed_block(fails, ["seven"], warm_s=30.0, block_s=30.0)


class TestMedian:
    def test_what_is_no_number_does_not_count(self) -> None:
        assert median([1.0, math.nan, 2.0, 9.0]) == 2.0

    def test_of_no_number_there_is_none(self) -> None:
        assert math.isnan(median([math.nan]))
