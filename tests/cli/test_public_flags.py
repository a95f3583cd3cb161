"""Commands as they are written today go on working: flags of ``run`` and ``benchmark``, and how they end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ml_pipes.__main__ import main

_SHORT = ["--runs", "3", "--warmup", "0"]


def test_region_steps_are_hidden_where_that_is_asked_for(write, lengths: str, capsys) -> None:
    write(
        "region.py",
        """
        from ml_pipes import CollectItems, PerItem, Pipeline
        pipeline = Pipeline([list, PerItem(), abs, CollectItems()])
        """,
    )

    assert main(["benchmark", "region:pipeline", lengths, *_SHORT]) == 0
    shown = capsys.readouterr().out
    assert main(["benchmark", "region:pipeline", lengths, *_SHORT, "--collapse-regions"]) == 0
    hidden = capsys.readouterr().out

    assert "\n  2:abs " in shown
    assert "abs" not in hidden
    assert "\n1:PerItem* " in hidden
    assert "\n* Child spans are collapsed\n" in hidden


@pytest.mark.parametrize(("runs", "warmup"), [("3", 5), ("80", 8)])
def test_the_warmup_is_a_tenth_of_the_runs_and_at_least_5(
    lengths: str, runs: str, warmup: int, capsys
) -> None:
    assert main(["benchmark", lengths, "--runs", runs, "--json", "-"]) == 0

    assert json.loads(capsys.readouterr().out)["warmup"] == warmup


def test_each_side_takes_one_of_the_three_ways_to_be_configured(lengths: str, tmp_path: Path, capsys) -> None:
    arguments = ["--arg", "times=2", "--arg", "shape=3x4", "--data-config", '{"word": "ab"}', "--save", "out"]

    assert main(["benchmark", lengths, *_SHORT, *arguments]) == 0

    [saved] = (tmp_path / "out").iterdir()
    assert saved.name == "word_ab_times_2_shape_(3, 4).json"
    assert json.loads(saved.read_text("utf-8"))["metadata"] == {
        "pipeline_config": {"times": 2, "shape": [3, 4]},
        "data_config": {"word": "ab"},
    }


def test_percentiles_are_the_keys_of_the_file(lengths: str, capsys) -> None:
    assert main(["benchmark", lengths, *_SHORT, "--percentiles", "0.5", "0.9", "--json", "-"]) == 0

    assert list(json.loads(capsys.readouterr().out)["total"]["percentiles"]) == ["0.5", "0.9"]


@pytest.mark.parametrize("command", ["run", "benchmark"])
def test_a_mistake_of_the_users_is_status_1_and_one_of_usage_2(command: str, lengths: str, capsys) -> None:
    assert main([command, "gone.py"]) == 1
    assert capsys.readouterr().err.startswith("error: ")
    with pytest.raises(SystemExit) as ended:
        main([command, lengths, "--no-such-flag"])

    assert ended.value.code == 2
