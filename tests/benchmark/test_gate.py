"""Conditions held against results: what passes, what fails, and on what nothing was decided."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ml_pipes.benchmark.comparison import ComparisonResult, Round
from ml_pipes.benchmark.conditions import parse_condition
from ml_pipes.benchmark.evidence import pieces
from ml_pipes.benchmark.gate import EXIT_CODES, Check, GateResult, GateVerdict, gate
from ml_pipes.benchmark.load import ClosedLoop
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.stat import InvocationStat
from ml_pipes.benchmark.verdict import Verdict


def _samples(latency_s: Any, failed: int = 0, **more: Any) -> Samples:
    """Calls one after another, of which the last few failed."""
    ended_s = np.cumsum(latency_s)
    started_s = ended_s - latency_s
    errors = {"ValueError: no": failed} if failed else {}
    return Samples(
        started_s, started_s, ended_s, np.arange(len(ended_s)) >= len(ended_s) - failed, errors=errors, **more
    )


def _comparison(slower: float, *, rounds: int = 20, noise: float = 0.01, **more: Any) -> ComparisonResult:
    """Blocks of 20 calls of 10 ms; the candidate's take so many times as long."""
    random = np.random.default_rng(1)
    made = []
    for _ in range(rounds):
        a, b = 0.010 * np.exp(noise * random.standard_normal((2, 20)))
        made.append(Round(_samples(a), _samples(b * slower, **more), candidate_first=False))
    return ComparisonResult(("old", "new"), tuple(made))


def _benchmark(slower: float = 1.0, *, calls: int = 300, seed: int = 1, **more: Any) -> BenchmarkResult:
    latency_s = slower * 0.010 * np.exp(0.01 * np.random.default_rng(seed).standard_normal(calls))
    return BenchmarkResult(
        "new",
        {},
        InvocationStat.from_seconds("total", latency_s, (0.5, 0.99)),
        [],
        **{"samples": _samples(latency_s), "workload": ClosedLoop(), **more},
    )


class TestRelativeToTheOtherSideOfAComparison:
    @pytest.mark.parametrize(
        ("slower", "verdict", "words"),
        [
            (1.00, "pass", "95 % sure of at most"),
            (0.90, "pass", "% better, 95 % sure of at most"),
            (1.20, "fail", "% worse, 95 % sure of at least"),
            (1.05, "undecided", "% worse, 95 % sure of at most"),
        ],
    )
    def test_it_goes_by_what_one_may_be_sure_of(self, slower: float, verdict: str, words: str) -> None:
        result = gate(_comparison(slower), "p50 not worse than 5 %")

        assert result.verdict == verdict
        assert words in result.checks[0].text
        assert result.checks[0].text.endswith("; limit 5 %")
        assert result.checks[0].value == pytest.approx(slower - 1.0, abs=0.01)

    @pytest.mark.parametrize(("slower", "verdict"), [(1.0, "pass"), (1.2, "fail")])
    def test_a_throughput_is_worse_the_lower_it_is(self, slower: float, verdict: str) -> None:
        result = gate(_comparison(slower), "throughput not worse than 5 %")

        assert result.verdict == verdict

    def test_the_bound_is_of_one_side_at_the_confidence(self) -> None:
        comparison = _comparison(1.0)

        check = gate(comparison, "p50 not worse than 5 %", confidence=0.9).checks[0]

        assert check.bound == comparison.figure("p50", 0.8).ratio.high - 1.0
        assert "90 % sure" in check.text

    def test_more_noise_decides_nothing_where_less_would_pass(self) -> None:
        result = gate(_comparison(1.0, noise=1.0), "p50 not worse than 5 %")

        assert result.verdict == "undecided"

    def test_a_percentile_of_too_few_calls_decides_nothing(self) -> None:
        result = gate(_comparison(1.0, rounds=4), "p99 not worse than 5 %")

        assert result.verdict == "undecided"
        assert "too few calls or rounds make sure; limit 5 %" in result.checks[0].text

    def test_an_invalid_measurement_passes_nothing(self) -> None:
        comparison = _comparison(1.0, invalid=("the generator was late",))

        result = gate(comparison, ["p50 not worse than 5 %", "p50 <= 5 ms"])

        assert [check.verdict for check in result.checks] == ["undecided", "fail"]
        assert "; but new: the generator was late" in result.checks[0].text
        assert result.warnings == ("new: the generator was late (20 of 20 blocks)",)


class TestAbsolute:
    @pytest.mark.parametrize(
        ("condition", "verdict", "words"),
        [
            ("p50 <= 12 ms", "pass", "ms; limit <= 12 ms"),
            ("p50 <= 8 ms", "fail", "ms; limit <= 8 ms"),
            ("mean < 12000 us", "pass", "limit < 12 ms"),
            ("throughput >= 90 /s", "pass", " /s; limit >= 90 /s"),
            ("throughput >= 110 /s", "fail", " /s; limit >= 110 /s"),
            ("errors <= 0", "pass", "errors: 0 of 400 calls; limit <= 0"),
        ],
    )
    def test_the_candidates_figure_is_held_against_the_limit(
        self, condition: str, verdict: str, words: str
    ) -> None:
        result = gate(_comparison(1.0), condition)

        assert result.verdict == verdict
        assert words in result.checks[0].text

    def test_errors_are_those_of_the_candidate_in_calls_or_as_a_share(self) -> None:
        result = gate(_comparison(1.0, failed=1), ["errors <= 20", "errors <= 5 %", "errors < 5 %"])

        assert [check.verdict for check in result.checks] == ["pass", "pass", "fail"]
        assert result.checks[0].text == "errors: 20 of 400 calls; limit <= 20"
        assert result.checks[1].text == "errors: 20 of 400 calls; limit <= 5 %"

    def test_errors_that_no_condition_asks_about_are_told(self) -> None:
        result = gate(_comparison(1.0, failed=1), "p50 <= 12 ms")

        assert result.warnings == ("20 of 400 calls failed, and no condition is about errors",)

    def test_a_single_measurement_is_judged_by_its_calls(self) -> None:
        result = gate(_benchmark(), ["p99 <= 12 ms", "throughput >= 90 /s", "errors <= 0"])

        assert result.verdict == "pass"
        assert result.warnings == ()

    def test_a_percentile_of_too_few_calls_decides_nothing(self) -> None:
        result = gate(_benchmark(calls=298), "p99 <= 12 ms")

        assert result.verdict == "undecided"
        assert result.checks[0].text == "p99: 298 calls do not tell a p99; it takes 299"

    def test_a_measurement_without_its_calls_is_judged_by_its_figures(self) -> None:
        result = gate(
            _benchmark(samples=None), ["p50 <= 12 ms", "mean <= 8 ms", "p90 <= 12 ms", "throughput >= 9 /s"]
        )

        assert [check.verdict for check in result.checks] == ["pass", "fail", "undecided", "undecided"]
        assert "no p90 among the figures" in result.checks[2].text
        assert "without them there is no throughput" in result.checks[3].text

    def test_a_measurement_that_broke_its_rules_passes_nothing(self) -> None:
        result = gate(_benchmark(verdict=Verdict(False, ("too short",))), ["p50 <= 12 ms", "p50 <= 8 ms"])

        assert [check.verdict for check in result.checks] == ["undecided", "fail"]

    def test_a_measurement_that_failed_fails_every_condition(self) -> None:
        result = gate(_benchmark(error="ValueError: no such model", samples=None), "errors <= 0")

        assert result.verdict == "fail"
        assert result.checks[0].text == "errors: there are no figures: ValueError: no such model"

    def test_where_no_call_succeeded_nothing_is_decided(self) -> None:
        failed = _samples(np.full(300, 0.01), failed=300)

        result = gate(_benchmark(samples=failed), ["p50 <= 12 ms", "errors <= 0"])

        assert [check.verdict for check in result.checks] == ["undecided", "fail"]


class TestRelativeToAnEarlierMeasurement:
    @pytest.mark.parametrize(
        ("slower", "verdict"), [(1.0, "pass"), (0.9, "pass"), (1.2, "fail"), (1.05, "undecided")]
    )
    def test_it_goes_by_what_one_may_be_sure_of(self, slower: float, verdict: str) -> None:
        result = gate(_benchmark(slower, seed=2), "p50 not worse than 5 %", baseline=_benchmark())

        assert result.verdict == verdict

    def test_it_warns_that_they_were_measured_apart_and_of_what_is_another(self) -> None:
        baseline = _benchmark(environment={"date": "1", "cpu": {"model": "x", "cores": 2}, "threads": None})
        candidate = _benchmark(environment={"date": "2", "cpu": {"model": "y", "cores": 2}, "threads": 4})

        result = gate(candidate, "p50 not worse than 5 %", baseline=baseline)

        assert "were measured apart" in result.warnings[0]
        assert result.warnings[1:] == (
            "environment cpu model differs: x, now y",
            "environment threads differs: not known, now 4",
        )

    def test_measurements_under_different_loads_decide_nothing(self) -> None:
        baseline = _benchmark(workload=ClosedLoop(4))

        result = gate(_benchmark(), "p50 not worse than 5 %", baseline=baseline)

        assert result.verdict == "undecided"
        assert "the loads differ, 4 callers, each in a loop and one caller in a loop" in result.checks[0].text

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            ({"samples": None}, "the baseline has no raw samples"),
            ({"calls": 29}, "the baseline has 29 calls; it takes 30 or more"),
            ({"error": "OSError: x"}, "the baseline has no figures: OSError: x"),
        ],
    )
    def test_a_baseline_that_tells_too_little_decides_nothing(self, more: dict[str, Any], words: str) -> None:
        result = gate(_benchmark(), "p50 not worse than 5 %", baseline=_benchmark(**more))

        assert result.verdict == "undecided"
        assert words in result.checks[0].text

    def test_a_machine_that_drifted_meanwhile_decides_nothing(self) -> None:
        drifting = _samples(np.linspace(0.010, 0.020, 300))

        result = gate(_benchmark(samples=drifting), "p50 not worse than 5 %", baseline=_benchmark())

        assert result.verdict == "undecided"
        assert "the machine changed while it was measured" in result.checks[0].text

    def test_without_a_baseline_there_is_nothing_to_compare_with(self) -> None:
        with pytest.raises(ValueError, match="needs something to compare with"):
            gate(_benchmark(), "p50 not worse than 5 %")

    def test_the_same_measured_twice_is_seldom_found_worse(self) -> None:
        """At 95 %, 10 of 200 are; that 20 or more are has odds of 1 : 300."""
        failed = sum(
            gate(
                _benchmark(seed=2 * at), "mean not worse than 0 %", baseline=_benchmark(seed=2 * at + 1)
            ).verdict
            == "fail"
            for at in range(200)
        )

        assert failed < 20


class TestPieces:
    def test_they_are_of_time_and_lose_no_stall_between_two(self) -> None:
        samples = _samples(np.array([1.0] * 4 + [9.0] + [1.0] * 5), failed=2)

        first, second = pieces(samples, 2)

        assert (first.latency_s.tolist(), first.successes, first.duration_s) == ([1, 1, 1, 1, 9], 5, 13.0)
        assert (second.latency_s.tolist(), second.successes, second.duration_s) == ([1, 1, 1], 3, 5.0)

    def test_there_are_none_where_they_would_be_too_small(self) -> None:
        assert pieces(_samples(np.ones(9)), 2) == []


class TestVerdict:
    @pytest.mark.parametrize(
        ("verdicts", "undecided", "verdict", "exit_code"),
        [
            (["pass", "pass"], "undecided", "pass", 0),
            (["pass", "fail", "undecided"], "undecided", "fail", 1),
            (["pass", "undecided"], "undecided", "undecided", 3),
            (["pass", "undecided"], "fail", "fail", 1),
            (["pass", "undecided"], "pass", "pass", 0),
            (["fail", "undecided"], "pass", "fail", 1),
        ],
    )
    def test_the_worst_condition_decides(
        self, verdicts: list[GateVerdict], undecided: GateVerdict, verdict: str, exit_code: int
    ) -> None:
        condition = parse_condition("errors <= 0")

        result = GateResult(
            tuple(Check(condition, each, "errors: 0") for each in verdicts), undecided=undecided
        )

        assert (result.verdict, result.exit_code) == (verdict, exit_code)

    def test_no_exit_code_is_that_of_wrong_arguments(self) -> None:
        assert EXIT_CODES == {"pass": 0, "fail": 1, "undecided": 3}

    def test_it_is_shown_with_a_line_per_condition(self) -> None:
        text = str(gate(_comparison(1.0, failed=1), ["p50 <= 12 ms", "throughput >= 500 /s"]))

        lines = text.splitlines()
        assert lines[0].startswith("pass  p50: ")
        assert lines[1].startswith("fail  throughput: ")
        assert lines[2] == "warning: 20 of 400 calls failed, and no condition is about errors"
        assert lines[3] == "gate: fail"

    def test_it_can_be_written_as_json(self) -> None:
        result = gate(_benchmark(calls=10), ["errors <= 0", "p99 <= 1 ms"])

        data = json.loads(json.dumps(result.to_dict(), allow_nan=False))

        assert (data["verdict"], data["exit_code"]) == ("undecided", 3)
        assert data["checks"][0]["condition"] == "errors <= 0"
        assert data["checks"][1]["value"] is None


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            ({"conditions": []}, "there is no condition"),
            ({"conditions": "fast"}, "not understood"),
            ({"confidence": 0.5}, "above 0.5 and below 1"),
            ({"confidence": 95}, "above 0.5 and below 1"),
            ({"confidence": "0.9"}, "above 0.5 and below 1"),
            ({"undecided": "maybe"}, 'must be "undecided", "fail" or "pass"'),
        ],
    )
    def test_what_cannot_be_is_refused(self, arguments: dict[str, Any], words: str) -> None:
        with pytest.raises(ValueError, match=words):
            gate(_benchmark(), **{"conditions": "errors <= 0", **arguments})

    @pytest.mark.parametrize("conditions", [None, 5, [5]])
    def test_a_condition_is_text(self, conditions: Any) -> None:
        with pytest.raises(TypeError, match="gate: conditions are text"):
            gate(_benchmark(), conditions)

    def test_a_comparison_takes_no_other_baseline(self) -> None:
        with pytest.raises(ValueError, match="has its own baseline"):
            gate(_comparison(1.0), "errors <= 0", baseline=_benchmark())

    def test_a_result_of_another_kind_is_refused(self) -> None:
        with pytest.raises(TypeError, match="a ComparisonResult or a BenchmarkResult, got a dict"):
            gate({}, "errors <= 0")  # type: ignore[arg-type] # that is the fault
