"""What a user's own code does wrong must not look like something else, and must not pass a gate."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ml_pipes.__main__ import main
from ml_pipes.benchmark import BenchmarkResult

_SHORT = ["--blocks", "2", "--block-calls", "5", "--warmup", "2", "--seed", "1"]


def _factory(body: str) -> str:
    return f"""
        import sys
        from ml_pipes import Pipeline
        from ml_pipes.factory import data_factory, pipeline_factory

        def step(value):
            {body}

        @pipeline_factory
        def make(times=1):
            return Pipeline([step])

        @data_factory
        def words():
            return lambda: ("word", "word", None, None)
        """


@pytest.mark.parametrize("command", ["run", "benchmark", "trace"])
def test_a_module_that_exits_is_a_mistake_of_status_1(command: str, write, capsys) -> None:
    write("exits.py", "import sys; sys.exit(0)")

    assert main([command, "exits.py"]) == 1
    assert capsys.readouterr().err.startswith(
        "error: the code that was to be run ended itself: sys.exit(0); "
    )


def test_a_module_that_exits_with_0_does_not_pass_a_gate(lengths: str, write) -> None:
    write("exits.py", "import sys; sys.exit(0)")

    assert main(["gate", lengths, "exits.py", "p50 not worse than 5 %", *_SHORT]) == 2


def test_a_step_that_exits_with_0_does_not_pass_a_gate(write) -> None:
    write("exits.py", _factory("sys.exit(0)"))

    assert main(["gate", "exits.py", "exits.py", "errors <= 0", *_SHORT]) == 2


@pytest.mark.parametrize("callers", ["1", "2"])
def test_a_step_that_always_exits_is_a_mistake_whoever_calls(callers: str, write, capsys) -> None:
    write("exits.py", _factory("sys.exit(0)"))

    assert main(["benchmark", "exits.py", "--runs", "5", "--callers", callers]) == 1
    assert "error: the code that was to be run ended itself: sys.exit(0)" in capsys.readouterr().err


def test_a_module_that_raises_is_not_a_condition_that_is_broken(lengths: str, write, capsys) -> None:
    write("raises.py", "raise RuntimeError('not today')")

    assert main(["gate", lengths, "raises.py", "p50 not worse than 5 %", *_SHORT]) == 2
    assert capsys.readouterr().err.endswith("RuntimeError: not today\n")


@pytest.mark.parametrize(
    "error", ["ConnectionRefusedError(111, 'nobody there')", "BrokenPipeError(32, 'gone')"]
)
def test_an_error_of_the_pipelines_is_not_called_one_of_the_output(error: str, write, capsys) -> None:
    write("calls.py", _factory(f"raise {error}"))

    with pytest.raises(OSError, match=r"nobody there|gone"):
        main(["run", "calls.py"])

    assert "cannot be written" not in capsys.readouterr().err


def test_json_of_run_stands_on_standard_output_alone(write, capsys) -> None:
    write("talks.py", _factory("print('talking'); return value"))

    assert main(["run", "talks.py", "--json"]) == 0

    printed = capsys.readouterr()
    assert json.loads(printed.out) == [{"input": "word", "result": "word"}]
    assert printed.err == "talking\n"


def test_a_comparison_as_json_stands_on_standard_output_alone(lengths: str, tmp_path: Path, capsys) -> None:
    assert main(["compare", lengths, "lengths:plain", "--json", "-", *_SHORT]) == 0

    assert json.loads(capsys.readouterr().out)["kind"] == "comparison"
    assert not (tmp_path / "-").exists()


def test_results_of_another_pipeline_are_not_taken_for_those_of_this_one(write, capsys) -> None:
    write("one.py", _factory("return value"))
    write("other.py", _factory("return value * 2"))
    arguments = ["--axis", "times=1,2", "--runs", "3", "--save", "results", "--resume"]
    main(["benchmark", "one.py", *arguments])

    main(["benchmark", "other.py", *arguments])

    saved = BenchmarkResult.load("results/input_times_1.json")
    assert saved.made_by == {"pipeline": "other:make", "data": "other:words"}


def test_a_label_of_bytes_that_are_no_text_is_printed_and_saved(lengths: str, tmp_path: Path, capsys) -> None:
    arguments = ["--runs", "3", "--label", "\udcff", "--save", "results", "--json", "a.json"]

    assert main(["benchmark", lengths, *arguments]) == 0

    assert BenchmarkResult.load("a.json").label == "\udcff"
    assert [file.name for file in (tmp_path / "results").iterdir()] == ["_.json"]


def test_a_terminal_without_the_labels_letters_does_not_cost_the_result(lengths: str, tmp_path: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "ml_pipes", "benchmark", lengths, "--runs", "3", "--label", "\N{SNOWMAN}"],
        cwd=tmp_path,
        env={"PYTHONIOENCODING": "ascii", "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 0
    assert ended.stdout.startswith("\\u2603\n")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"kind": "comparison", "labels": 5}', "error: a.json: this is no comparison"),
        ("[]", "error: a.json: this is no benchmark result: it is a list of 0; "),
    ],
)
def test_a_file_that_cannot_be_judged_is_called_what_it_is(text: str, said: str, write, capsys) -> None:
    write("a.json", text)

    assert main(["gate", "a.json", "p50 <= 1 s"]) == 2
    assert capsys.readouterr().err.startswith(said)
