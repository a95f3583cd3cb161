"""``ml-pipes benchmark``: what it takes together, what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ml_pipes.__main__ import main
from ml_pipes.benchmark import BenchmarkResult


def test_it_prints_a_line_per_step_and_says_what_it_is_of(lengths: str, capsys) -> None:
    assert main(["benchmark", lengths, "--runs", "7", "--percentiles", "0.5", "p99.9"]) == 0

    printed = capsys.readouterr()
    lines = printed.out.splitlines()
    assert lines[0] == "lengths.py"
    assert lines[1].split() == ["operator", "mean", "p50", "p99.9", "stddev", "min", "max"]
    assert [line.split()[0] for line in lines[3:6]] == ["total", "0:length", "1:scale"]
    assert "runs: 7  (all values in ms)" in lines
    assert printed.err == ""


def test_axes_are_measured_in_all_combinations_and_compared(lengths: str, capsys) -> None:
    arguments = ["benchmark", lengths, "--runs", "3", "--axis", "times=1,2", "--data-axis", "word=ab,cd"]

    assert main(arguments) == 0

    printed = capsys.readouterr()
    assert "[4] word:cd|times:2" in printed.out
    assert "[1] word:ab|times:1\nthroughput: " in printed.out
    assert printed.err == (
        "plan: 4 combinations (4 active, 0 filtered)\n"
        "word \\ times  1  2\nab            x  x\ncd            x  x\n"
    )


def test_the_plan_alone_measures_nothing(lengths: str, capsys) -> None:
    assert main(["benchmark", lengths, "--plan", "--axis", "times=1,2"]) == 0
    assert capsys.readouterr().out == "plan: 2 config(s)\n  input|times:1\n  input|times:2\n"


def test_several_files_are_measured_one_by_one(lengths: str, write, capsys) -> None:
    write("a.txt", "1")
    write("b.txt", "12")

    assert main(["benchmark", lengths, "--runs", "2", "--input", "a.txt", "b.txt"]) == 0

    out = capsys.readouterr().out
    assert "\n[1] a.txt " in out
    assert "\n[2] b.txt " in out


def test_configurations_in_json_are_measured_one_by_one(lengths: str, capsys) -> None:
    configs = '[{"times": 2}, {"times": 3, "shape": [1, 2]}]'

    assert main(["benchmark", lengths, "--runs", "2", "--config", configs]) == 0
    assert "[2] input|times:3|shape:[1, 2]" in capsys.readouterr().out


def test_results_are_saved_and_not_measured_again(lengths: str, tmp_path: Path, capsys) -> None:
    arguments = ["benchmark", lengths, "--runs", "3", "--axis", "times=1,2", "--save", "out", "--resume"]

    assert main(arguments) == 0
    before = (tmp_path / "out" / "input_times_1.json").read_bytes()
    assert main(arguments) == 0

    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "input_times_1.json",
        "input_times_2.json",
    ]
    assert (tmp_path / "out" / "input_times_1.json").read_bytes() == before


def test_one_result_as_json_is_one_that_can_be_loaded(lengths: str, tmp_path: Path, capsys) -> None:
    assert main(["benchmark", lengths, "--runs", "3", "--json", "one.json", "--label", "mine"]) == 0

    result = BenchmarkResult.load(tmp_path / "one.json")
    assert (result.label, result.total.count) == ("mine", 3)
    assert capsys.readouterr().out.startswith("mine\n")


def test_a_page_is_written(lengths: str, tmp_path: Path, capsys) -> None:
    pytest.importorskip("plotly")

    assert main(["benchmark", lengths, "--runs", "3", "--html", "page.html"]) == 0
    assert "lengths.py" in (tmp_path / "page.html").read_text("utf-8")
    assert capsys.readouterr().err == "written: page.html; open it in a browser\n"


def test_a_page_of_another_name_is_refused_before_anything_is_measured(lengths: str, capsys) -> None:
    assert main(["benchmark", lengths, "--html", "page.pdf"]) == 1
    assert capsys.readouterr() == ("", "error: --html page.pdf: the name must end in .html\n")


def test_json_on_standard_output_stands_there_alone(lengths: str, write, capsys) -> None:
    write(
        "loud.py",
        """
        from ml_pipes import Pipeline
        def say(value: object) -> object:
            print("said")
            return value
        pipeline = Pipeline([say])
        """,
    )

    assert main(["benchmark", "loud:pipeline", lengths, "--runs", "2", "--warmup", "0", "--json", "-"]) == 0

    printed = capsys.readouterr()
    assert json.loads(printed.out)["total"]["count"] == 2
    assert printed.err == "said\nsaid\n"


@pytest.mark.parametrize(
    ("arguments", "load"),
    [
        (["--callers", "2"], {"kind": "closed", "callers": 2}),
        (
            ["--rate", "500"],
            {"kind": "open", "rate_per_s": 500.0, "arrivals": "poisson", "seed": 0, "max_in_flight": 256},
        ),
        (
            ["--rate", "500", "--arrivals", "constant", "--max-in-flight", "3"],
            {"kind": "open", "rate_per_s": 500.0, "arrivals": "constant", "seed": 0, "max_in_flight": 3},
        ),
    ],
)
def test_calls_come_as_they_are_asked_for(lengths: str, arguments: list[str], load: object, capsys) -> None:
    assert main(["benchmark", lengths, "--runs", "5", "--json", "-", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["load"] == load


@pytest.mark.parametrize(
    ("arguments", "figure"),
    [
        (["single", "--duration", "0.05"], "SingleStream: p90 latency "),
        (["multi", "--duration", "0.05", "--samples-per-query", "2"], "MultiStream: p99 query latency "),
        (["server", "--rate", "500", "--latency-bound", "1000", "--duration", "0.1"], "Server: p99 latency "),
        (["offline", "--runs", "20", "--max-in-flight", "2"], "Offline: throughput "),
    ],
)
def test_a_scenario_has_its_figure(lengths: str, arguments: list[str], figure: str, capsys) -> None:
    assert main(["benchmark", lengths, "--warmup", "1", "--scenario", *arguments]) == 0
    assert figure in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--resume"], "--resume needs --save DIR, the folder of the results that are there already"),
        (["--arrivals", "poisson"], "--arrivals needs --rate R, the calls per second"),
        (["--max-in-flight", "2"], "--max-in-flight needs --rate R, the calls per second"),
        (["--rate", "2", "--callers", "2"], "--callers and --rate exclude each other"),
        (["--scenario", "server", "--rate", "2"], "--scenario server needs --rate R and --latency-bound MS"),
        (
            ["--scenario", "single", "--runs", "2"],
            "--scenario single has no --runs; it is for offline; it takes --duration",
        ),
        (
            ["--scenario", "multi", "--callers", "2"],
            "--scenario multi has no --callers; it takes --samples-per-query",
        ),
        (["--latency-bound", "2"], "--latency-bound is for --scenario server"),
        (["--axis", "tims=1"], "lengths.py: unknown config key 'tims'; it takes times, shape"),
        (["--config", '{"tims": 1}'], "lengths.py: unknown config key 'tims'; it takes times, shape"),
        (["--data-axis", "wrd=1"], "lengths.py: unknown config key 'wrd'; it takes word"),
        (["--input", "lengths.py", "--data-axis", "word=1"], "--data-axis is for a data factory"),
        (["--save", "lengths.py/there"], "--save: "),
        (["--json", "gone/there.json"], "--json gone/there.json: there is no folder gone"),
        (["--html", "gone/there.html"], "--html gone/there.html: there is no folder gone"),
        (["--json", "."], "--json . is a folder; give the path of a file"),
    ],
)
def test_a_users_mistake_is_one_line(lengths: str, arguments: list[str], said: str, capsys) -> None:
    assert main(["benchmark", lengths, *arguments]) == 1

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {said}")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--arg", "times=1", "--axis", "times=1"], "argument --axis: not allowed with argument --arg"),
        (["--data-arg", "word=a", "--data-config", "{}"], "argument --data-config: not allowed with"),
        (["--runs", "2", "--duration", "2"], "argument --duration: not allowed with argument --runs"),
        (["--runs", "0"], "argument --runs: must be a whole number, 1 or more, got 0"),
        (["--duration", "-1"], "argument --duration: must be seconds, above 0, got -1"),
        (
            ["--percentiles", "99"],
            "argument --percentiles: must be a fraction, 0 to 1, or p0 to p100, got 99",
        ),
        (["--scenario", "double"], "argument --scenario: invalid choice: 'double'"),
    ],
)
def test_wrong_usage_is_argparses_error(lengths: str, arguments: list[str], said: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["benchmark", lengths, *arguments])

    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_calls_that_all_fail_are_told_in_the_table_and_are_status_1(lengths: str, capsys) -> None:
    assert main(["benchmark", "lengths:broken", "--runs", "3"]) == 1

    printed = capsys.readouterr()
    assert "runs: 0  (all values in ms)\nerror: ValueError: not today\n" in printed.out
    assert printed.err == ""


def test_calls_of_which_some_fail_are_counted_and_are_status_0(lengths: str, write, capsys) -> None:
    write(
        "some.py",
        """
        from ml_pipes import Pipeline
        calls = []
        def half(value: object) -> int:
            calls.append(value)
            if len(calls) % 2:
                raise ValueError("odd")
            return len(calls)
        pipeline = Pipeline([half])
        """,
    )

    assert main(["benchmark", "some:pipeline", lengths, "--runs", "10", "--warmup", "0"]) == 0
    assert "errors: 5 (5 x ValueError: odd)" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--runs", "1000000"], ["--axis", "times=1,2", "--duration", "1000"]])
def test_ctrl_c_prints_what_was_measured_and_is_status_130(
    lengths: str, tmp_path: Path, write, arguments: list[str]
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
        def make(times: int = 1) -> Pipeline:
            return Pipeline([stop])
        """,
    )
    run = [
        sys.executable,
        "-m",
        "ml_pipes",
        "benchmark",
        "stopped.py:make",
        lengths,
        "--warmup",
        "1",
        *arguments,
    ]

    ended = subprocess.run(run, capture_output=True, text=True, check=False, cwd=tmp_path)

    assert ended.returncode == 130
    assert "INTERRUPTED: what was measured until then" in ended.stdout
    assert "Traceback" not in ended.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="there are no pseudo-terminals")
def test_a_terminal_shows_how_far_it_is(lengths: str, tmp_path: Path) -> None:
    import pty

    ours, theirs = pty.openpty()
    run = [sys.executable, "-m", "ml_pipes", "benchmark", lengths, "--duration", "0.5"]

    with subprocess.Popen(
        run, stdout=subprocess.PIPE, stderr=theirs, cwd=tmp_path, env={**os.environ, "TERM": "xterm"}
    ) as started:
        os.close(theirs)
        shown = b""
        while chunk := _read(ours):
            shown += chunk
        out = started.communicate()[0]

    assert started.returncode == 0
    assert b"0/1" in shown
    assert out.startswith(b"lengths.py\noperator ")


def test_an_interrupt_is_put_back_as_it_was(lengths: str, capsys) -> None:
    before = signal.getsignal(signal.SIGINT)

    assert main(["benchmark", lengths, "--runs", "1"]) == 0

    assert signal.getsignal(signal.SIGINT) is before


def test_a_missing_package_names_the_extra_to_install(lengths: str, tmp_path: Path) -> None:
    program = (
        "import sys; sys.modules['numpy'] = None; from ml_pipes.__main__ import main; "
        "sys.exit(main(['benchmark', 'lengths.py']))"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == (
        'error: ml_pipes.benchmark needs numpy; install it with: pip install "ml-pipes[benchmark]"\n'
    )


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # how Linux says that the other end is closed
        return b""
