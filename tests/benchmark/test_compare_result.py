"""What a comparison found: in words, as a table, as a file."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml_pipes.benchmark.comparison import ComparisonResult, ComparisonVerdict, Figure, Round
from ml_pipes.benchmark.load import OpenLoop
from ml_pipes.benchmark.ratios import Ratio
from ml_pipes.benchmark.samples import Samples


def _samples(*latency_s: float, **more: Any) -> Samples:
    ended_s = np.cumsum(latency_s)
    started_s = ended_s - latency_s
    return Samples(started_s, started_s, ended_s, np.zeros(len(latency_s)), **more)


def _result(slower: float = 1.25, rounds: int = 8, **more: Any) -> ComparisonResult:
    """Calls of 4 ms and a little noise, B's of so many times as much."""
    made = []
    for at in range(rounds):
        noise = 1.0 + 0.01 * (at % 3)
        a = _samples(0.004 * noise, 0.004, 0.005)
        b = _samples(0.004 * slower, 0.004 * slower, 0.005 * slower * noise)
        made.append(Round(a, b, candidate_first=at % 2 == 1))
    settings: dict[str, Any] = {"labels": ("old", "new"), "rounds": tuple(made), "seed": 7, **more}
    return ComparisonResult(**settings)


class TestVerdict:
    @pytest.mark.parametrize(
        ("statistic", "low", "high", "verdict"),
        [
            ("p50", 1.01, 1.03, "slower"),
            ("p50", 0.97, 0.99, "faster"),
            ("p50", 0.99, 1.01, "no difference found"),
            ("p50", 1.0, 1.01, "no difference found"),
            ("throughput", 1.01, 1.03, "faster"),
            ("throughput", 0.97, 0.99, "slower"),
            ("p99", 0.0, math.inf, "too little to tell"),
            ("p99", 0.9, math.inf, "too little to tell"),
            ("p99", 1.5, math.inf, "slower"),
            ("p99", 0.0, 0.5, "faster"),
            ("p99", math.nan, math.nan, "too little to tell"),
        ],
    )
    def test_it_says_what_the_interval_allows(
        self, statistic: str, low: float, high: float, verdict: ComparisonVerdict
    ) -> None:
        figure = Figure(statistic, 1.0, 1.0, Ratio(1.0, low, high, 0.95, 30))

        assert figure.verdict == verdict

    def test_where_none_is_found_it_says_how_large_a_difference_would_have_been(self) -> None:
        figure = Figure("p50", 1.0, 1.0, Ratio(1.0, 0.98, 1.02, 0.95, 30))

        assert figure.would_have_seen == pytest.approx(0.02 * (1.96 + 0.84) / 1.96, rel=1e-3)
        assert figure.text == "no difference found (would have seen 2.9 %)"

    def test_the_first_statistic_decides_and_the_others_share_the_error(self) -> None:
        result = _result(statistics=("mean", "p50", "p90"), confidence=0.9)

        assert result.verdict == "slower"
        assert [f"{figure.ratio.confidence:.3f}" for figure in result.figures] == ["0.900", "0.950", "0.950"]

    def test_any_figure_can_be_asked_for_by_itself(self) -> None:
        figure = _result().figure("p90", 0.8)

        assert figure.ratio.confidence == 0.8
        assert figure.baseline == pytest.approx(0.005)


class TestTable:
    def test_it_shows_each_statistic_what_it_means_and_how_it_was_measured(self) -> None:
        table = _result(1.25, statistics=("p50", "throughput")).to_table()

        lines = table.splitlines()
        assert lines[0].split() == ["statistic", "old", "new", "change", "low", "high", "sure", "verdict"]
        assert lines[2].split()[:5] == ["p50", "4.04", "5", "+24.4", "%"]
        assert lines[2].endswith("slower")
        assert lines[3].startswith("throughput /s")
        assert "rounds: 8, of 24 calls each side, in random order (seed 7)  (times in ms)" in lines
        assert "load: one caller in a loop" in lines
        assert "p50 decides; the intervals of the others are for all of them together" in lines

    def test_it_is_what_the_result_prints(self) -> None:
        result = _result()

        assert str(result) == result.to_table()
        assert repr(result) == "ComparisonResult('new' against 'old': p50 slower)"

    def test_what_nothing_bounds_is_a_dash(self) -> None:
        table = _result(rounds=3, statistics=("p50",)).to_table()

        assert table.splitlines()[2].split()[5:7] == ["-", "-"]
        assert "too little to tell" in table

    def test_a_difference_that_rounds_to_nothing_has_no_minus(self) -> None:
        once = Round(_samples(0.1), _samples(0.099999), candidate_first=False)

        table = ComparisonResult(("A", "B"), (once,)).to_table()

        assert table.splitlines()[2].split()[3] == "+0.0"

    def test_it_says_why_it_ended_early(self) -> None:
        assert "ENDED by max_s, after 60.0 s" in _result(ended_by="max_s", elapsed_s=60.0).to_table()
        assert "INTERRUPTED, after 1.5 s" in _result(ended_by="interrupt", elapsed_s=1.5).to_table()

    def test_it_says_that_the_machine_changed_where_values_and_rounds_tell_different_stories(self) -> None:
        levels = [1.0] * 5 + [3.0] * 6
        rounds = [Round(_samples(0.01 * at), _samples(0.011 * at), candidate_first=False) for at in levels]
        # The one round that is fast for the candidate only shifts the median of all calls.
        rounds.append(Round(_samples(0.03), _samples(0.01), candidate_first=False))

        table = ComparisonResult(("A", "B"), tuple(rounds)).to_table()

        assert "p50: the values differ by -26.7 %, but within the rounds by +10.0 %" in table

    def test_reasons_not_to_trust_it_are_told_once_for_all_blocks(self) -> None:
        late = [_samples(0.01, invalid=(f"the generator was late by itself: {at} ms",)) for at in range(3)]
        rounds = tuple(Round(_samples(0.01), each, candidate_first=False) for each in late)

        result = ComparisonResult(("A", "B"), rounds)

        assert result.invalid == ("B: the generator was late by itself (3 of 3 blocks)",)
        assert "INVALID: B: the generator was late by itself (3 of 3 blocks)" in result.to_table()


class TestFile:
    def test_what_was_saved_is_loaded_with_every_call(self, tmp_path: Path) -> None:
        result = _result(
            workload=OpenLoop(50.0), until=0.02, ended_by="until", elapsed_s=3.5, environment={"cpu": "x"}
        )

        result.save(tmp_path / "new" / "folder.json")
        loaded = ComparisonResult.load(tmp_path / "new" / "folder.json")

        assert loaded == result
        assert loaded.to_table() == result.to_table()
        assert loaded.rounds[1].candidate_first
        assert loaded.rounds[0].baseline.latency_s == pytest.approx([0.004, 0.004, 0.005])
        assert [path.name for path in (tmp_path / "new").iterdir()] == ["folder.json"]

    def test_no_number_in_it_is_nan_or_infinite(self) -> None:
        result = ComparisonResult(("A", "B"), (Round(_samples(), _samples(), candidate_first=False),))

        text = json.dumps(result.to_dict(), allow_nan=False)

        assert json.loads(text)["figures"][0]["ratio"] is None
        assert result.verdict == "too little to tell"

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("{", "Expecting"),
            ("[]", "no comparison: one is an object"),
            ('{"kind": "benchmark"}', "no comparison: one is an object"),
            ('{"kind": "comparison"}', "no comparison: KeyError: 'labels'"),
            ('{"kind": "comparison", "labels": ["A"]}', "no comparison: IndexError"),
        ],
    )
    def test_another_file_is_refused_with_its_name(self, tmp_path: Path, text: str, words: str) -> None:
        path = tmp_path / "other.json"
        path.write_text(text)

        with pytest.raises(ValueError, match=rf"other\.json.*{words}"):
            ComparisonResult.load(path)

    def test_it_is_equal_to_nothing_of_another_kind(self) -> None:
        assert _result() == _result()
        assert _result() != _result(seed=8)
        assert _result() != "a comparison"
