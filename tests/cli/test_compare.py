"""``ml-pipes compare``: two pipelines, one in two configurations, two results that were saved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from ml_pipes.__main__ import main

_SHORT = ["--blocks", "3", "--block-calls", "5", "--warmup", "2", "--seed", "1"]


def test_two_pipelines_are_measured_in_turn_on_the_same_inputs(lengths: str, capsys) -> None:
    assert main(["compare", lengths, "lengths:plain", *_SHORT]) == 0

    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0].split()[:3] == ["statistic", "lengths.py", "lengths:plain"]
    assert [line.split()[0] for line in lines[2:6]] == ["p50", "p99", "mean", "throughput"]
    assert "rounds: 3, of 15 calls each side, in random order (seed 1)  (times in ms)" in lines
    assert printed.err == ""


def test_one_pipeline_is_compared_with_itself_in_another_configuration(lengths: str, capsys) -> None:
    arguments = ["--arg-b", "times=3", "--arg", "shape=2x2", "--statistics", "p90", "mean"]

    assert main(["compare", lengths, *arguments, *_SHORT]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["statistic", "lengths.py", "times:3"]
    assert [line.split()[0] for line in lines[2:4]] == ["p90", "mean"]


def test_two_results_that_were_saved_are_told_apart_step_by_step(lengths: str, capsys) -> None:
    for name in ("a", "b"):
        main(["benchmark", lengths, "--runs", "3", "--json", f"{name}.json", "--label", name])
    capsys.readouterr()

    assert main(["compare", "a.json", "b.json"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("baseline:  a\ncandidate: b\n")
    assert "1:scale" in out
    assert out.endswith("compare the pipelines themselves to leave it out.\n")


def test_a_comparison_that_was_saved_is_shown_again(lengths: str, capsys) -> None:
    assert main(["compare", lengths, "lengths:plain", "--json", "c.json", *_SHORT]) == 0
    before = capsys.readouterr().out

    assert main(["compare", "c.json"]) == 0
    assert capsys.readouterr().out == before


def test_pages_are_written_of_pipelines_and_of_what_was_saved(lengths: str, tmp_path: Path, capsys) -> None:
    pytest.importorskip("plotly")
    main(["benchmark", lengths, "--runs", "3", "--json", "a.json"])
    arguments = [[lengths, "lengths:plain", "--json", "c.json", *_SHORT], ["c.json"], ["a.json", "a.json"]]

    for at, names in enumerate(arguments):
        assert main(["compare", *names, "--html", f"{at}.html"]) == 0

    assert all((tmp_path / f"{at}.html").stat().st_size > 1000 for at in range(3))


def test_it_goes_on_until_the_first_figure_is_known_well_enough(lengths: str, capsys) -> None:
    arguments = ["--until", "1000", "--block-calls", "5", "--warmup", "2", "--statistics", "mean"]

    assert main(["compare", lengths, "lengths:plain", *arguments]) == 0
    assert "ended when the interval was narrow enough" in capsys.readouterr().out


def test_a_pipeline_is_compared_with_itself_where_that_is_asked_for(lengths: str, capsys) -> None:
    assert main(["compare", "lengths", "lengths", *_SHORT, "--input", lengths]) == 0
    assert capsys.readouterr().out.split()[:5] == ["statistic", "lengths", "(A)", "lengths", "(B)"]


def test_one_benchmark_is_no_comparison(lengths: str, capsys) -> None:
    main(["benchmark", lengths, "--runs", "3", "--json", "a.json"])
    capsys.readouterr()

    assert main(["compare", "a.json"]) == 1
    assert capsys.readouterr().err == "error: a.json is one benchmark; to compare two, give both files\n"


def test_calls_come_as_they_are_asked_for(lengths: str, capsys) -> None:
    assert main(["compare", lengths, "lengths:plain", "--callers", "2", *_SHORT]) == 0
    assert "load: 2 callers, each in a loop" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["lengths"],
            "what is lengths to be compared with? Give a second pipeline, or other arguments for it",
        ),
        (["lengths", "a.json"], "a.json is a saved result and lengths a pipeline; give two of the same kind"),
        (["a.json", "lengths"], "a.json is a saved result and lengths a pipeline; give two of the same kind"),
        (["a.json", "a.json"], "there is no file a.json"),
        (["a.json"], "there is no file a.json"),
        (["list.json", "list.json"], "list.json: this is no benchmark result"),
        (["list.json", "list.json", "--json", "x"], "--json is for pipelines that are measured"),
        (["lengths", "--arg-b", "tims=2"], "lengths: unknown config key 'tims'; it takes times, shape"),
        (["lengths", "lengths:plain", "--arg-b", "times=2"], "--arg-b times: lengths:plain is a pipeline"),
        (
            ["lengths", "paths:pipeline", "--input", "list.json"],
            "--input: A takes a file as bytes, and B as ",
        ),
        (
            ["lengths", "lengths:plain", "--input", "list.json", "--data", "lengths"],
            "--data is for a data factory, and --input wins over it; leave one of them out",
        ),
        (["lengths", "lengths:plain", "--data", "pairs:data"], "pairs:data: an InputFn gives the 4 values"),
        (["lengths", "lengths:plain", "--data", "pairs:nothing"], "pairs:nothing: the InputFn gave nothing"),
        (["lengths", "lengths:broken", *_SHORT], "ValueError: not today\n"),
        (
            ["lengths", "lengths:plain", "--json", "list.json/x"],
            "--json list.json/x: there is no folder list.json",
        ),
    ],
)
def test_a_users_mistake_is_an_error_and_no_traceback(
    lengths: str, write, arguments: list[str], said: str, capsys
) -> None:
    write("list.json", "[]")
    write("pairs.py", "def data(): return lambda: (1, 2)\ndef nothing(): return lambda: next(iter(()))\n")
    write("paths.py", "from ml_pipes import Pipeline\ndef f(x): return x\npipeline = Pipeline([f])\n")

    assert main(["compare", *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"error: {said}")


@pytest.mark.parametrize("wrong", ["p101", "p", "median"])
def test_a_statistic_that_is_none_is_wrong_usage(lengths: str, wrong: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["compare", lengths, "lengths:plain", "--statistics", wrong])

    assert ended.value.code == 2
    assert f"must be p50 or another percentile, mean or throughput, got {wrong}" in capsys.readouterr().err


def test_ctrl_c_that_the_pipeline_swallows_ends_it_after_the_round(write, capsys) -> None:
    write(
        "swallows.py",
        """
        import signal
        from ml_pipes import Pipeline
        from ml_pipes.factory import data_factory, pipeline_factory

        calls = []

        def step(value):
            calls.append(value)
            try:
                if len(calls) == 1:
                    signal.raise_signal(signal.SIGINT)
            except BaseException:
                pass
            return value

        @pipeline_factory
        def make(times=1):
            return Pipeline([step])

        @data_factory
        def words():
            return lambda: ("word", "word", None, None)
        """,
    )

    assert main(["compare", "swallows.py", "--arg-b", "times=2", *_SHORT]) == 130

    assert "rounds: 1, " in capsys.readouterr().out


def test_ctrl_c_prints_the_rounds_that_are_whole_and_is_status_130(
    lengths: str, write, tmp_path: Path
) -> None:
    write(
        "stopped.py",
        """
        import os, signal
        from ml_pipes import Pipeline
        calls = []
        def stop(value: object) -> object:
            calls.append(value)
            if len(calls) == 40:
                os.kill(os.getpid(), signal.SIGINT)
            return value
        pipeline = Pipeline([stop])
        """,
    )
    run = [sys.executable, "-m", "ml_pipes", "compare", lengths, "stopped:pipeline"]
    short = ["--blocks", "50", "--block-calls", "5", "--warmup", "2"]

    ended = subprocess.run([*run, *short], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert (ended.returncode, ended.stderr) == (130, "")
    assert "INTERRUPTED, after " in ended.stdout
