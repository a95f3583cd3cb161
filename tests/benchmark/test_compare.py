"""Two sides in rounds: who is called when, with what, and what ends it."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from ml_pipes import Pipeline
from ml_pipes._threads.fakes import FakeClock
from ml_pipes.benchmark import interleaved
from ml_pipes.benchmark.compare import compare, compare_all
from ml_pipes.benchmark.comparison import ComparisonResult
from ml_pipes.benchmark.load import ClosedLoop, Offline, OpenLoop, Queries


@pytest.fixture(autouse=True)
def _known_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interleaved, "environment", lambda: {"cpu": "a known one"})
    # Before each block; with all that a run of tests has loaded it takes longer than the blocks.
    monkeypatch.setattr(gc, "collect", lambda: 0)


def _lasting(clock: FakeClock, seconds: float) -> Callable[[Any], None]:
    return lambda _: clock.advance(seconds)


class TestVerdict:
    def test_a_slower_candidate_is_found(self, clock: FakeClock) -> None:
        result = compare(_lasting(clock, 0.100), _lasting(clock, 0.105), clock=clock, blocks=8, seed=0)

        assert result.verdict == "slower"
        assert result.figure("p50").ratio.value == pytest.approx(1.05)
        assert result.figure("throughput").verdict == "slower"
        assert result.environment == {"cpu": "a known one"}

    def test_a_faster_candidate_is_found(self, clock: FakeClock) -> None:
        result = compare(_lasting(clock, 0.100), _lasting(clock, 0.050), clock=clock, blocks=8, seed=0)

        assert result.verdict == "faster"
        assert result.figure("throughput").ratio.value == pytest.approx(2.0)

    def test_of_the_same_no_difference_is_found(self, clock: FakeClock) -> None:
        result = compare(_lasting(clock, 0.1), _lasting(clock, 0.1), clock=clock, blocks=8, seed=0)

        assert result.verdict == "no difference found"


class TestRounds:
    def test_each_round_has_a_block_of_each_in_an_order_that_the_seed_draws(self) -> None:
        def order(seed: int) -> str:
            calls: list[str] = []
            compare(
                lambda _: calls.append("A"),
                lambda _: calls.append("B"),
                blocks=20,
                block_calls=2,
                warmup=0,
                seed=seed,
            )
            return "".join(calls)

        one, same, other = order(1), order(1), order(2)

        rounds = {one[at : at + 4] for at in range(0, 80, 4)}
        assert rounds == {"AABB", "BBAA"}
        assert one == same != other

    def test_the_result_tells_the_seed_and_who_was_first(self) -> None:
        calls: list[str] = []

        result = compare(
            lambda _: calls.append("A"), lambda _: calls.append("B"), blocks=12, block_calls=1, warmup=0
        )

        assert [each.candidate_first for each in result.rounds] == [name == "B" for name in calls[::2]]
        again = compare(lambda _: None, lambda _: None, blocks=12, block_calls=1, warmup=0, seed=result.seed)
        assert [each.candidate_first for each in again.rounds] == [
            each.candidate_first for each in result.rounds
        ]

    def test_the_blocks_of_a_round_are_given_the_same_inputs(self) -> None:
        seen: dict[str, list[int]] = {"A": [], "B": []}

        compare(
            seen["A"].append,
            seen["B"].append,
            inputs=lambda index: index,
            blocks=3,
            block_calls=4,
            warmup=0,
        )

        assert seen["A"] == seen["B"] == list(range(12))

    def test_inputs_may_come_from_an_input_function(self) -> None:
        seen: list[str] = []
        made = iter([(0, "a", None, None), (1, "b", None, None)])

        compare(seen.append, lambda _: None, input_fn=lambda: next(made), blocks=1, block_calls=4, warmup=0)

        assert seen == ["a", "b", "a", "b"]

    def test_pipelines_are_compared_as_functions_are(self) -> None:
        result = compare(
            Pipeline([lambda x: x + 1]), Pipeline([lambda x: x + 2]), 1, blocks=2, block_calls=3, warmup=1
        )

        assert len(result.rounds) == 2
        assert result.warmup == (1, 1)

    def test_a_block_has_as_many_calls_as_take_a_fifth_of_a_second_and_one_before(
        self, clock: FakeClock
    ) -> None:
        result = compare(_lasting(clock, 1 / 64), _lasting(clock, 1 / 128), clock=clock, blocks=3, seed=0)

        assert [(len(each.baseline), each.baseline.warmup) for each in result.rounds] == [(12, 1)] * 3
        assert [(len(each.candidate), each.candidate.warmup) for each in result.rounds] == [(12, 1)] * 3

    def test_blocks_of_slow_calls_are_shorter_so_that_there_is_time_for_all(self, clock: FakeClock) -> None:
        result = compare(_lasting(clock, 0.5), _lasting(clock, 0.5), clock=clock, blocks=50, seed=0, max_s=60)

        assert [len(each.baseline) for each in result.rounds] == [1] * 50
        assert result.elapsed_s < 60.0

    def test_blocks_may_go_by_seconds(self, clock: FakeClock) -> None:
        result = compare(
            _lasting(clock, 0.125), _lasting(clock, 0.25), clock=clock, blocks=6, block_s=1.0, seed=0
        )

        assert {len(each.baseline) for each in result.rounds} == {8}
        assert {len(each.candidate) for each in result.rounds} == {4}
        assert result.figure("p50").ratio.value == pytest.approx(2.0)
        assert result.figure("throughput").ratio.value == pytest.approx(0.5)


class TestLoads:
    @pytest.mark.parametrize(
        "load",
        [ClosedLoop(4), Queries(3), Offline(4), OpenLoop(2000.0), OpenLoop(2000.0, "constant")],
        ids=str,
    )
    def test_blocks_are_called_under_any_load(self, load: Any) -> None:
        result = compare(lambda _: None, lambda _: None, load=load, blocks=2, block_calls=16, warmup=8)

        assert result.workload == load
        assert [each.baseline.count for each in result.rounds] == [16, 16]
        assert [each.candidate.count for each in result.rounds] == [16, 16]

    def test_arrivals_are_the_same_for_both_sides_and_others_in_each_round(self) -> None:
        result = compare(
            lambda _: None, lambda _: None, load=OpenLoop(2000.0), blocks=2, block_calls=8, warmup=1
        )

        first, second = (
            [side.intended_s.tolist() for side in (each.baseline, each.candidate)] for each in result.rounds
        )
        assert first[0] == pytest.approx(first[1], abs=1e-8)
        assert first[0] != pytest.approx(second[0], abs=1e-8)


class TestEnd:
    def test_no_round_begins_once_time_is_over(self, clock: FakeClock) -> None:
        result = compare(
            _lasting(clock, 1.0),
            _lasting(clock, 1.0),
            clock=clock,
            blocks=100,
            block_calls=1,
            warmup=1,
            max_s=10,
        )

        assert result.ended_by == "max_s"
        assert len(result.rounds) == 4  # 2 s of warm-up, and 2 s each
        assert result.elapsed_s == pytest.approx(10.0)

    def test_it_goes_on_until_the_interval_is_narrow_enough(self, clock: FakeClock) -> None:
        durations_s = iter([0.1, 0.11, 0.12, 0.09] * 10_000)

        result = compare(
            lambda _: clock.advance(next(durations_s)),
            lambda _: clock.advance(next(durations_s)),
            clock=clock,
            blocks=1,
            block_calls=3,
            warmup=0,
            until=0.05,
            max_s=1000,
            seed=1,
        )

        assert result.ended_by == "until"
        assert len(result.rounds) >= 20
        assert result.figures[0].ratio.half_width <= 0.05

    def test_ctrl_c_gives_back_the_rounds_that_are_whole(self, clock: FakeClock) -> None:
        calls = iter(range(1000))

        def interrupted(_: object) -> None:
            clock.advance(0.1)
            if next(calls) == 7:
                raise KeyboardInterrupt

        result = compare(
            _lasting(clock, 0.1), interrupted, clock=clock, blocks=10, block_calls=2, warmup=0, seed=0
        )

        assert result.ended_by == "interrupt"
        assert len(result.rounds) == 3
        assert "INTERRUPTED" in result.to_table()

    def test_ctrl_c_before_the_first_round_is_whole_is_raised(self) -> None:
        def interrupted(_: object) -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            compare(lambda _: None, interrupted, blocks=1, block_calls=1, warmup=0)

    def test_progress_is_told_after_each_round(self, clock: FakeClock) -> None:
        told: list[tuple[int, int | None, float]] = []

        compare(
            _lasting(clock, 0.25),
            _lasting(clock, 0.25),
            clock=clock,
            blocks=3,
            block_calls=1,
            warmup=0,
            progress=lambda *far: told.append(far),
        )

        assert told == [(1, 3, 0.5), (2, 3, 1.0), (3, 3, 1.5)]


class TestErrors:
    def test_of_some_calls_they_are_counted_and_their_times_are_in_no_figure(self, clock: FakeClock) -> None:
        calls = iter(range(1000))

        def now_and_then(_: object) -> None:
            clock.advance(0.1)
            if next(calls) % 4 == 3:
                clock.advance(9.0)
                raise ValueError("now and then")

        result = compare(
            _lasting(clock, 0.1), now_and_then, clock=clock, blocks=6, block_calls=8, warmup=0, max_s=1e3
        )

        assert result.errors == ({}, {"ValueError: now and then": 12})
        assert result.figure("p99").candidate == pytest.approx(0.1)
        assert "errors of B: 12 (12 x ValueError: now and then)" in result.to_table()

    def test_of_all_calls_at_first_the_first_is_raised_with_its_side(self) -> None:
        def fails(_: object) -> None:
            raise ValueError("no such model")

        with pytest.raises(ValueError, match="no such model") as caught:
            compare(lambda _: None, fails, labels=("old", "new"), blocks=1, block_calls=2, warmup=3)

        assert caught.value.__notes__ == ["in a comparison: none of the first 3 calls of new succeeded"]

    def test_what_cannot_be_called_is_refused(self) -> None:
        with pytest.raises(TypeError, match="B must be a pipeline or a function, got a int"):
            compare(lambda _: None, 5)  # type: ignore[arg-type] # that is the fault

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"blocks": 0}, "blocks must be a whole number, 1 or more, got 0"),
            ({"block_calls": 2.5}, "block_calls must be a whole number"),
            ({"warmup": -1}, "warmup must be a whole number, 0 or more"),
            ({"max_s": 0}, "max_s must be above 0"),
            ({"until": -0.1}, "until must be above 0"),
            ({"confidence": 95}, "confidence must be above 0 and below 1"),
            ({"statistics": ()}, "statistics is empty"),
            ({"statistics": ("median",)}, "a statistic is"),
            ({"block_calls": 2, "block_s": 1.0}, "give block_calls or block_s"),
            ({"load": Offline(), "block_s": 1.0}, "give block_calls="),
            ({"warmup": 0}, "give block_calls="),
            ({"inputs": [1], "input_fn": lambda: (0, 0, 0, 0)}, "give one of them"),
        ],
    )
    def test_arguments_that_cannot_be_are_refused_before_anything_is_called(
        self, arguments: dict[str, Any], words: str
    ) -> None:
        called: list[object] = []

        with pytest.raises(ValueError, match=words):
            compare(called.append, called.append, **arguments)

        assert called == []


class TestSeveralCandidates:
    def test_each_round_has_a_block_of_every_side_and_each_candidate_its_comparison(self) -> None:
        calls: list[str] = []

        results = compare_all(
            lambda _: calls.append("A"),
            {"one": lambda _: calls.append("1"), "two": lambda _: calls.append("2")},
            blocks=20,
            block_calls=1,
            warmup=0,
            seed=3,
        )

        rounds = ["".join(calls[at : at + 3]) for at in range(0, 60, 3)]
        assert {"".join(sorted(each)) for each in rounds} == {"12A"}
        assert len(set(rounds)) > 3
        assert list(results) == ["one", "two"]
        assert results["two"].labels == ("A", "two")
        assert [each.candidate_first for each in results["two"].rounds] == [
            each.index("2") < each.index("A") for each in rounds
        ]

    def test_the_error_is_shared_out_among_them(self, clock: FakeClock) -> None:
        results = compare_all(
            _lasting(clock, 0.1),
            {"one": _lasting(clock, 0.1), "two": _lasting(clock, 0.1)},
            clock=clock,
            blocks=8,
            block_calls=1,
            warmup=0,
        )

        assert results["one"].figures[0].ratio.confidence == pytest.approx(0.975)

    def test_without_any_there_is_nothing_to_compare(self) -> None:
        with pytest.raises(ValueError, match="give at least one"):
            compare_all(lambda _: None, {})


@pytest.mark.stress
def test_a_real_step_that_is_half_as_slow_again_is_found_in_a_few_seconds() -> None:
    def work(count: int) -> Callable[[Any], int]:
        return lambda _: sum(at * at for at in range(count))

    result: ComparisonResult = compare(
        work(10_000), work(15_000), blocks=30, block_calls=10, statistics=("p50",), max_s=10, seed=0
    )

    assert result.verdict == "slower"


class TestInterruptedWarmUp:
    @pytest.mark.parametrize("load", [ClosedLoop(1), ClosedLoop(2)])
    def test_ctrl_c_in_the_first_call_of_all_ends_it(self, load: ClosedLoop, monkeypatch) -> None:
        calls: list[None] = []

        def interrupted(*given: Any, **about: Any) -> Any:
            calls.append(None)
            return replace(measured(*given, **about), interrupted=True)

        name = "sequential" if load == ClosedLoop(1) else "measure"
        measured = getattr(interleaved, name)
        monkeypatch.setattr(interleaved, name, interrupted)

        with pytest.raises(KeyboardInterrupt):
            compare(lambda _: None, lambda _: None, load=load)

        assert len(calls) == 1
