"""``ml-pipes run``: how a pipeline and its inputs are found, and what is printed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ml_pipes.__main__ import main

_HEAVY = ["numpy", "cv2", "onnxruntime", "openvino", "rich", "psutil", "scipy", "shtab", "ml_pipes.benchmark"]


def test_the_one_factory_of_a_file_is_run_on_the_inputs_of_its_own(lengths: str, capsys) -> None:
    assert main(["run", lengths]) == 0
    assert capsys.readouterr() == ("4\n", "")


@pytest.mark.parametrize("name", ["lengths.py:make", "lengths", "lengths:plain", "./lengths.py"])
def test_a_pipeline_is_named_by_module_or_file_with_or_without_its_function(
    lengths: str, name: str, capsys
) -> None:
    assert main(["run", name]) == 0
    assert capsys.readouterr().out == "4\n"


def test_arguments_go_to_the_two_factories(lengths: str, capsys) -> None:
    arguments = ["run", lengths, "--arg", "times=10", "--arg", "shape=2x1", "--data-arg", "word=three"]

    assert main(arguments) == 0
    assert capsys.readouterr().out == "100\n"


def test_files_win_over_a_data_factory_and_several_are_told_apart(lengths: str, write, capsys) -> None:
    write("a.txt", "12")
    write("b.txt", "123")

    assert main(["run", lengths, "--input", "a.txt", "b.txt"]) == 0
    assert capsys.readouterr().out == "a.txt:\n2\n\nb.txt:\n3\n"


def test_the_inputs_of_another_module_are_named(lengths: str, write, capsys) -> None:
    write("other.py", "def given():\n    return lambda: (1, b'1234567', None, None)\n")

    assert main(["run", lengths, "other.py:given"]) == 0
    assert capsys.readouterr().out == "7\n"


@pytest.mark.parametrize(
    ("annotation", "given"),
    [
        ("bytes", "b'12'"),
        ("str", "'a.txt'"),
        ("str | Path", "PosixPath('a.txt')"),
        ("Any", "PosixPath('a.txt')"),
    ],
)
@pytest.mark.skipif(sys.platform == "win32", reason="paths show themselves differently")
def test_a_file_is_given_as_the_first_step_takes_it(write, annotation: str, given: str, capsys) -> None:
    write("a.txt", "12")
    write(
        "shown.py",
        f"""
        from pathlib import Path
        from typing import Any
        from ml_pipes import Pipeline, Store

        def show(value: {annotation}) -> str:
            return repr(value)

        pipeline = Pipeline([Store("x"), show])
        """,
    )

    assert main(["run", "shown:pipeline", "--input", "a.txt"]) == 0
    assert capsys.readouterr().out == f"{given}\n"


def test_a_first_step_that_takes_no_file_is_named(write, capsys) -> None:
    write("a.txt", "12")
    write(
        "sums.py",
        """
        from ml_pipes import Pipeline
        def add(values: list[int]) -> int: return sum(values)
        pipeline = Pipeline([add])
        """,
    )

    assert main(["run", "sums:pipeline", "--input", "a.txt"]) == 1
    assert "the pipeline begins with add, which takes list; begin it with a step" in capsys.readouterr().err


def test_json_is_a_list_with_an_object_per_input(lengths: str, capsys) -> None:
    assert main(["run", lengths, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"input": "four", "result": 4}]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["lenghts.py"], "there is no file lenghts.py; did you mean lengths.py?"),
        (["lenghts"], "there is no module 'lenghts'; did you mean lengths?"),
        (["qqqqqq.zzz"], "there is no module 'qqqqqq.zzz'"),
        (
            ["./lengths"],
            "./lengths is neither a module's name nor a file that ends in .py; did you mean lengths.py?",
        ),
        (["len-gths"], "'len-gths' is no module's name; write MODULE:FUNCTION or FILE.py:FUNCTION"),
        ([":make"], "':make': write MODULE:FUNCTION or FILE.py:FUNCTION"),
        (
            ["lengths:mak"],
            "lengths has no 'mak'; did you mean make?; it has length, refuse, make, words, plain, broken",
        ),
        (["lengths:words"], "lengths:words: words is a DataFactory, and a PipelineFactory is needed here"),
        (
            ["lengths", "lengths:make"],
            "lengths:make: make is a PipelineFactory, and a DataFactory is needed here",
        ),
        (["lengths", "--arg", "tims=2"], "lengths: unknown config key 'tims'; it takes times, shape"),
        (["lengths", "--data-arg", "wrd=2"], "lengths: unknown config key 'wrd'; it takes word"),
        (
            ["lengths:plain", "--arg", "times=2"],
            "--arg times: lengths:plain is a pipeline that is made already",
        ),
        (["lengths", "--input", "gone.txt"], "--input gone.txt: there is no such file"),
        (["lengths", "--input", "."], "--input . is a folder, not a file; name its files: ./*"),
        (["lengths", "--input", "lengths.py", "lengths.py"], "--input lengths.py is given twice"),
        (
            ["lengths", "--input", "lengths.py", "--data-arg", "word=a"],
            "--data-arg is for a data factory, and --input wins over it; leave one of them out",
        ),
    ],
)
def test_a_users_mistake_is_one_line(lengths: str, arguments: list[str], said: str, capsys) -> None:
    assert main(["run", *arguments]) == 1

    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f"error: {said}")
    assert printed.err.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "def make(): return 1\n",
            "mine.py has no @pipeline_factory; decorate one, or name what is meant: mine.py:make",
        ),
        ("x = 1\n", "mine.py has no @pipeline_factory\n"),
        (
            "from ml_pipes.factory import pipeline_factory as p\n@p\ndef a(): ...\n@p\ndef b(): ...\n",
            "mine.py: multiple @pipeline_factory functions: a, b; say which one is meant, as mine.py:a",
        ),
        ("import torchh\n", "mine.py cannot be imported: mine.py, line 1: No module named 'torchh'"),
        (
            "from ml_pipes import Pipelin\n",
            "mine.py cannot be imported: mine.py, line 1: cannot import name 'Pipelin'",
        ),
        ("def make(:\n", "mine.py cannot be imported:\n  File "),
    ],
)
def test_a_module_that_does_not_serve_says_where_and_why(write, text: str, said: str, capsys) -> None:
    write("mine.py", text)

    assert main(["run", "mine.py"]) == 1
    assert capsys.readouterr().err.startswith(f"error: {said}")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return 3", "mine.make: a @pipeline_factory must return a Pipeline, got a int"),
        ("return Pipeline([Batch(2)])", "mine.py, line 3: "),
        ("Batch('x')", "mine.py, line 3: Batch: size must be"),
        ("import torchh", "mine.py, line 3: No module named 'torchh'"),
        ("open('model.bin')", "mine.py, line 3: [Errno 2] No such file or directory: 'model.bin'"),
    ],
)
def test_a_factory_that_cannot_make_a_pipeline_says_where_and_why(
    write, body: str, said: str, capsys
) -> None:
    write(
        "mine.py",
        f"from ml_pipes import Batch, Pipeline\ndef make():\n    {body}\ndef given(): return lambda: 1\n",
    )

    assert main(["run", "mine.py:make", "mine.py:given"]) == 1
    assert capsys.readouterr().err.startswith(f"error: {said}")


def test_an_argument_that_an_operator_refuses_is_named(write, capsys) -> None:
    write(
        "mine.py", "from ml_pipes import Batch\ndef make(size): Batch(size)\ndef given(): return lambda: 1\n"
    )

    assert main(["run", "mine.py:make", "mine.py:given", "--arg", "size=0"]) == 1

    err = capsys.readouterr().err
    assert err.startswith("error: mine.py, line 2: Batch: ")
    assert err.endswith(", with size=0\n")


def test_what_the_factorys_own_code_raises_keeps_its_traceback(write) -> None:
    write("mine.py", "def make(): raise ValueError('mine')\ndef given(): return lambda: 1\n")

    with pytest.raises(ValueError, match="mine"):
        main(["run", "mine.py:make", "mine.py:given"])


def test_an_argument_that_is_missing_says_how_to_give_it(write, capsys) -> None:
    write("mine.py", "def make(size): ...\ndef given(): ...\n")

    assert main(["run", "mine.py:make", "mine.py:given"]) == 1
    assert capsys.readouterr().err == (
        "error: mine.py:make: missing config key 'size'; it takes size; give it with --arg KEY=VALUE\n"
    )


def test_without_inputs_it_says_where_they_may_come_from(write, capsys) -> None:
    write("mine.py", "from ml_pipes import Pipeline\nempty = Pipeline([])\n")

    assert main(["run", "mine.py:empty"]) == 1
    assert capsys.readouterr().err == (
        "error: there are no inputs: mine.py has no @data_factory; "
        "give files with --input, or a DATA_MODULE[:FN]\n"
    )


@pytest.mark.parametrize(
    ("given", "what"), [("(1, 2)", "2 values"), ("[1, 2, 3, 4]", "a list"), ("None", "a NoneType")]
)
def test_a_function_that_gives_no_input_says_what_it_gave(write, given: str, what: str, capsys) -> None:
    write(
        "mine.py",
        f"from ml_pipes import Pipeline\nempty = Pipeline([])\ndef data(): return lambda: {given}\n",
    )

    assert main(["run", "mine.py:empty", "mine.py:data"]) == 1
    assert capsys.readouterr().err == (
        f"error: mine.py:data: an InputFn gives the 4 values (id, value, tag, meta), this one gave {what}\n"
    )


def test_what_the_pipeline_raises_keeps_its_traceback(lengths: str) -> None:
    with pytest.raises(ValueError, match="not today"):
        main(["run", "lengths:broken"])


def test_a_file_that_is_no_picture_is_one_line(write, capsys) -> None:
    pytest.importorskip("cv2")
    write("notes.jpg", "not a picture")
    write(
        "mine.py",
        "from ml_pipes import Pipeline\nfrom ml_pipes.vision import Decode\np = Pipeline([Decode()])\n",
    )

    assert main(["run", "mine.py:p", "--input", "notes.jpg"]) == 1
    assert capsys.readouterr().err.startswith("error: notes.jpg: Decode: not an image")


def test_two_files_of_one_name_are_two_modules(write, capsys) -> None:
    for folder in ("a", "b"):
        write(
            f"{folder}/mine.py",
            f"""
            from ml_pipes import Pipeline
            from ml_pipes.factory import data_factory
            import beside
            def say(value: object) -> str: return {folder!r}
            pipeline = Pipeline([say])
            @data_factory
            def one(): return lambda: (1, 2, 3, 4)
            """,
        )
    write("a/beside.py", "")

    assert main(["run", "a/mine.py:pipeline"]) == 0
    assert main(["run", "b/mine.py:pipeline"]) == 0
    assert capsys.readouterr().out == "a\nb\n"


def test_the_command_finds_modules_of_the_current_folder_however_it_is_started(
    lengths: str, tmp_path: Path
) -> None:
    program = (
        "import sys; sys.path.pop(0); from ml_pipes.__main__ import main; sys.exit(main(['run', 'lengths']))"
    )

    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path
    )

    assert (ended.stdout, ended.stderr, ended.returncode) == ("4\n", "", 0)


@pytest.mark.parametrize("arguments", [["--help"], ["run", "--help"]])
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    program = f"""
import sys
from ml_pipes.__main__ import main
try:
    main({arguments})
finally:
    sys.stderr.write(repr([name for name in {_HEAVY} if name in sys.modules]))
"""

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.stderr, ended.returncode) == ("[]", 0)


def test_options_may_stand_between_the_names(lengths: str, capsys) -> None:
    assert main(["run", lengths, "--arg", "times=2", "lengths:words", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"input": "four", "result": 8}]


def test_what_is_too_much_is_wrong_usage_of_that_command(lengths: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", lengths, "lengths", "third", "--fast"])

    err = capsys.readouterr().err
    assert ended.value.code == 2
    assert err.startswith("usage: ml-pipes run ")
    assert "unrecognized arguments: " in err
