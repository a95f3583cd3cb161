"""The door from a shell: exit statuses and error lines."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys

import pytest

import ml_pipes
from ml_pipes.__main__ import main
from ml_pipes._cli import demo
from ml_pipes._cli.errors import CommandError


def test_the_module_and_the_console_script_are_one_command() -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "ml_pipes", "--version"], capture_output=True, text=True, check=True
    )
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="ml-pipes")

    assert ended.stdout.strip() == f"ml-pipes {ml_pipes.__version__}"
    assert script.value == "ml_pipes.__main__:main"


def test_no_command_is_argparses_error(capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main([])

    assert ended.value.code == 2
    assert "the following arguments are required: COMMAND" in capsys.readouterr().err


def test_a_users_mistake_is_one_line_and_status_1(monkeypatch, capsys) -> None:
    monkeypatch.setattr(demo, "run", _raising(CommandError("do it like this")))

    assert main(["demo"]) == 1
    assert capsys.readouterr().err == "error: do it like this\n"


def test_ctrl_c_is_status_130(monkeypatch) -> None:
    monkeypatch.setattr(demo, "run", _raising(KeyboardInterrupt()))

    assert main(["demo"]) == 130


def test_a_mistake_of_ours_keeps_its_traceback(monkeypatch) -> None:
    monkeypatch.setattr(demo, "run", _raising(ZeroDivisionError("ours")))

    with pytest.raises(ZeroDivisionError, match="ours"):
        main(["demo"])


def test_a_reader_that_has_read_enough_is_no_traceback() -> None:
    program = (
        "import os, sys; from ml_pipes._cli import demo; from ml_pipes.__main__ import main; "
        "demo.run = lambda arguments: print('x' * 100_000); sys.exit(main(['demo']))"
    )
    reader, writer = os.pipe()
    os.close(reader)

    ended = subprocess.run(
        [sys.executable, "-c", program], stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)

    assert ended.stderr == ""
    assert ended.returncode == 1


def _raising(error: BaseException):
    def run(arguments: object) -> None:
        raise error

    return run
