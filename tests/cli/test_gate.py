"""``ml-pipes gate``: conditions as arguments, verdicts as exit statuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ml_pipes.__main__ import main

_SHORT = ["--blocks", "4", "--block-calls", "5", "--warmup", "2", "--seed", "1"]


@pytest.fixture
def saved(lengths: str, capsys) -> str:
    """A result of 40 calls."""
    main(["benchmark", lengths, "--runs", "40", "--json", "a.json"])
    capsys.readouterr()
    return "a.json"


@pytest.mark.parametrize(
    ("condition", "status", "verdict"),
    [
        ("p50 <= 10 s", 0, "pass"),
        ("p50 <= 0 ms", 1, "fail"),
        ("p99 <= 10 s", 3, "undecided"),
        ("errors<=0", 0, "pass"),
    ],
)
def test_a_saved_result_is_held_to_what_it_says(
    saved: str, condition: str, status: int, verdict: str, capsys
) -> None:
    assert main(["gate", saved, condition]) == status
    assert capsys.readouterr().out.endswith(f"gate: {verdict}\n")


@pytest.mark.parametrize(("counts_as", "status"), [("fail", 1), ("pass", 0), ("undecided", 3)])
def test_what_is_undecided_counts_as_it_is_told_to(saved: str, counts_as: str, status: int) -> None:
    assert main(["gate", saved, "p99 <= 10 s", "--undecided", counts_as]) == status


def test_two_saved_results_are_baseline_and_candidate(saved: str, capsys) -> None:
    assert main(["gate", saved, saved, "p50 not worse than 300 %"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("pass  p50: 0 % worse, 95 % sure of at most ")
    assert "warning: the two were measured apart" in out


def test_two_pipelines_are_measured_in_turn_with_the_statistics_of_the_conditions(
    lengths: str, capsys
) -> None:
    arguments = ["gate", lengths, "lengths:plain", "p90 not worse than 100000 %", "errors <= 0"]

    assert main([*arguments, *_SHORT]) in {0, 3}  # so few calls may not decide it

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["statistic", lengths, "lengths:plain"]
    assert [line.split()[0] for line in lines[2:3]] == ["p90"]
    assert "pass       errors: 0 of 20 calls; limit <= 0" in lines or (
        "pass  errors: 0 of 20 calls; limit <= 0" in lines
    )


def test_a_comparison_that_was_saved_is_judged_again(lengths: str, capsys) -> None:
    main(["compare", lengths, "lengths:plain", "--json", "c.json", *_SHORT])
    capsys.readouterr()

    assert main(["gate", "c.json", "errors <= 0"]) == 0
    assert capsys.readouterr().out == "pass  errors: 0 of 20 calls; limit <= 0\ngate: pass\n"


def test_conditions_and_options_come_in_any_order(saved: str, capsys) -> None:
    assert (
        main(["gate", "--confidence", "0.9", saved, "errors <= 0", "--undecided", "fail", "p50 <= 9 s"]) == 0
    )
    assert capsys.readouterr().out.count("pass") == 3


def test_the_verdicts_are_written_as_json(saved: str, tmp_path: Path, capsys) -> None:
    assert main(["gate", saved, "p50 <= 0 ms", "--json", "gate.json"]) == 1
    assert main(["gate", saved, "p50 <= 0 ms", "--json", "-"]) == 1

    in_file = json.loads((tmp_path / "gate.json").read_text("utf-8"))
    printed = capsys.readouterr().out
    assert json.loads(printed[printed.index("{") :]) == in_file
    assert (in_file["verdict"], in_file["exit_code"]) == ("fail", 1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a.json"], 'there is no condition; give at least one, such as "p99 not worse than 5 %"'),
        (["a.json", "p50 about 3 ms"], "condition 'p50 about 3 ms': not understood; write one such as "),
        (["a.json", "p50<3"], "condition 'p50<3': the unit of p50 is "),
        (["p50 < 3 ms"], "give what is judged, or a baseline and a candidate, and conditions; got none"),
        (
            ["a", "b", "c", "p50 < 3 ms"],
            "give what is judged, or a baseline and a candidate, and conditions; got a, b, c",
        ),
        (
            ["a.json", "p50 not worse than 3 %"],
            "a.json is one measurement, and a condition with 'not worse than'",
        ),
        (["gone.json", "p50 < 3 ms"], "there is no file gone.json"),
        (["lengths", "p50 < 3 ms"], "what is lengths to be compared with? Give a second pipeline"),
        (
            ["lengths", "lengths:plain", "p50<3ms", "--input", "p50 < 3 ms"],
            "--input 'p50 < 3 ms' looks like a condition",
        ),
        (["lengths", "lengths:broken", "p50 < 3 ms", *_SHORT], "ValueError: not today"),
        (["a.json", "p50 < 3 s", "--json", "gone/x.json"], "--json gone/x.json: there is no folder gone"),
    ],
)
def test_a_mistake_is_status_2_and_never_looks_like_a_condition_that_is_not_kept(
    saved: str, arguments: list[str], said: str, capsys
) -> None:
    assert main(["gate", *arguments]) == 2

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {said}")


@pytest.mark.parametrize("wrong", ["0.5", "1", "sure"])
def test_a_confidence_that_cannot_be_is_wrong_usage(saved: str, wrong: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["gate", saved, "p50 < 3 ms", "--confidence", wrong])

    assert ended.value.code == 2
    assert f"must be above 0.5 and below 1, such as 0.95, got {wrong}" in capsys.readouterr().err


def test_the_help_says_what_each_status_says(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["gate", "--help"])

    assert "0 all conditions are kept, 1 one is not, 2 wrong usage" in capsys.readouterr().out
