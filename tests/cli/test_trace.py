"""``ml-pipes trace``: the calls that are made, the timeline that is written, the table."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ml_pipes.__main__ import main


def test_it_prints_a_line_per_step_and_writes_a_timeline_for_perfetto(
    lengths: str, tmp_path: Path, capsys
) -> None:
    assert main(["trace", lengths, "--calls", "5", "-o", "t.json"]) == 0

    out = capsys.readouterr().out
    assert out.startswith("lengths.py\noperator ")
    assert "runs: 5  (all values in ms)" in out
    assert out.endswith("written: t.json; open it at https://ui.perfetto.dev\n")
    assert _names(json.loads((tmp_path / "t.json").read_text("utf-8"))).count("0:length") == 5


def test_exactly_so_many_calls_are_shown_however_many_callers_there_are(
    lengths: str, tmp_path: Path, capsys
) -> None:
    assert main(["trace", lengths, "--calls", "21", "--callers", "4", "-o", "t.json.gz"]) == 0

    timeline = json.loads(gzip.decompress((tmp_path / "t.json.gz").read_bytes()))
    assert _names(timeline).count("0:length") == 21
    assert "runs: 21" in capsys.readouterr().out


def test_what_batches_did_is_told(write, tmp_path: Path, capsys) -> None:
    write(
        "batched.py",
        """
        from ml_pipes import Batch, Pipeline, UnBatch
        from ml_pipes.factory import data_factory

        def twice(values: list) -> list:
            return [2 * value for value in values]

        pipeline = Pipeline([Batch(1), twice, UnBatch()])

        @data_factory
        def numbers():
            return lambda: (1, 1, None, None)
        """,
    )

    assert main(["trace", "batched.py:pipeline", "--calls", "4", "--callers", "2", "-o", "t.json"]) == 0
    assert "0:Batch: 4 batches of 1.0 on average (4 x 1)" in capsys.readouterr().out


def test_a_page_names_what_is_shown(lengths: str, tmp_path: Path, capsys) -> None:
    assert main(["trace", lengths, "--calls", "3", "-o", "t.html"]) == 0

    assert "lengths.py: 3 calls, 1 at a time" in (tmp_path / "t.html").read_text("utf-8")
    assert capsys.readouterr().out.endswith("written: t.html; open it in a browser\n")


def test_shapes_are_noted_where_they_are_asked_for(lengths: str, tmp_path: Path, capsys) -> None:
    assert main(["trace", lengths, "--calls", "1", "--shapes", "-o", "t.json"]) == 0

    events = json.loads((tmp_path / "t.json").read_text("utf-8"))["traceEvents"]
    (step,) = [event for event in events if event["name"] == "0:length"]
    assert step["args"]["input"] == "bytes[4]"


def test_files_are_given_in_turn(lengths: str, write, tmp_path: Path, capsys) -> None:
    write("a.txt", "1")
    write("b.txt", "12")

    assert main(["trace", lengths, "--calls", "4", "--input", "a.txt", "b.txt"]) == 0
    assert "runs: 4" in capsys.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.txt", "b.txt", "lengths.py"]


def test_calls_that_fail_are_told_with_all_their_words_and_are_in_the_timeline(
    lengths: str, tmp_path: Path, capsys
) -> None:
    assert main(["trace", "lengths:broken", "--calls", "3", "-o", "t.json"]) == 1

    out = capsys.readouterr().out
    assert "errors: 3 x ValueError: not today\n" in out
    assert out.count("errors: ") == 1
    assert _names(json.loads((tmp_path / "t.json").read_text("utf-8"))).count("0:refuse") == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-o", "t.txt"], "--output t.txt: the name must end in .html, .json or .json.gz"),
        (["-o", "gone/t.json"], "--output gone/t.json: there is no folder gone"),
        (["-o", "folder.json"], "--output folder.json cannot be written: Is a directory"),
        (["--data-arg", "wrd=1"], "lengths.py: unknown config key 'wrd'; it takes word"),
        (["lengths.py:plain"], "lengths.py:plain is a Pipeline; name a function that makes an InputFn"),
        (["lengths.py:length"], "lengths.py:length: missing config key 'data'"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="the system says it in other words")
def test_a_users_mistake_is_one_line(
    lengths: str, tmp_path: Path, arguments: list[str], said: str, capsys
) -> None:
    (tmp_path / "folder.json").mkdir()

    assert main(["trace", lengths, *arguments]) == 1
    assert capsys.readouterr().err.startswith(f"error: {said}")


def test_inputs_of_another_form_are_named(lengths: str, write, capsys) -> None:
    write("other.py", "def given(): return lambda: (1, 2)\n")

    assert main(["trace", lengths, "other.py:given"]) == 1
    assert capsys.readouterr().err.startswith("error: other.py:given: an InputFn gives the 4 values")


def test_ctrl_c_writes_what_there_is_and_is_status_130(lengths: str, write, tmp_path: Path) -> None:
    write(
        "stopped.py",
        """
        import os, signal
        from ml_pipes import Pipeline
        calls = []
        def stop(value: object) -> object:
            calls.append(value)
            if len(calls) == 10:
                os.kill(os.getpid(), signal.SIGINT)
            return value
        pipeline = Pipeline([stop])
        """,
    )
    run = [sys.executable, "-m", "ml_pipes", "trace", "stopped:pipeline", lengths, "--calls", "100000"]

    ended = subprocess.run([*run, "-o", "t.json"], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert (ended.returncode, ended.stderr) == (130, "")
    assert "written: t.json" in ended.stdout
    assert (tmp_path / "t.json").is_file()


def _names(timeline: dict[str, Any]) -> list[str]:
    return [event["name"] for event in timeline["traceEvents"] if event["ph"] == "X"]
