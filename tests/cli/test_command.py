"""The door from a shell: exit statuses and error lines."""

from __future__ import annotations

import importlib.metadata
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ml_pipes
from ml_pipes.__main__ import main
from ml_pipes._cli import demo
from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.interrupts import ending_at_once

FULL = Path("/dev/full")


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


@pytest.mark.skipif(not FULL.exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("arguments", [["demo"], ["--help"], ["--version"]])
def test_an_output_that_is_full_is_one_line_and_status_1(arguments: list[str]) -> None:
    program = (
        "import sys; from ml_pipes._cli import demo; from ml_pipes.__main__ import main; "
        f"demo.run = lambda arguments: print('x' * 100_000); sys.exit(main({arguments}))"
    )
    # Unbuffered, argparse leaves out what cannot be printed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    run = [sys.executable, "-c", program]

    with FULL.open("w") as full:
        ended = subprocess.run(
            run, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=environment
        )

    assert ended.stderr == "error: the output cannot be written: No space left on device\n"
    assert ended.returncode == 1


def test_an_error_of_a_file_that_no_command_foresaw_keeps_its_traceback(monkeypatch) -> None:
    monkeypatch.setattr(demo, "run", _raising(FileNotFoundError(2, "No such file", "ours")))

    with pytest.raises(FileNotFoundError, match="ours"):
        main(["demo"])


def test_ctrl_c_while_python_still_imports_is_status_130_in_silence() -> None:
    program = """
import sys
from ml_pipes.__main__ import main
class Stopped:
    def find_spec(self, name, *_):
        if name == "ml_pipes._cli.parser":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Stopped())
sys.exit(main(["demo"]))
"""

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.stdout, ended.stderr, ended.returncode) == ("", "", 130)


@pytest.mark.parametrize("late", [False, True])
def test_ctrl_c_inside_native_imports_ends_at_once(late: bool) -> None:
    program = f"""
import os, signal
from ml_pipes._cli.interrupts import ending_at_once
try:
    with ending_at_once():
        if not {late}: os.kill(os.getpid(), signal.SIGINT)
        print("imported", flush=True)
    os.kill(os.getpid(), signal.SIGINT)
except BaseException as error:
    print(type(error).__name__)
"""

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.stdout, ended.returncode) == (("imported\nKeyboardInterrupt\n", 0) if late else ("", 130))


def test_an_interrupt_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with ending_at_once():
            inside = signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)

    assert inside is signal.SIG_IGN


def test_a_thread_that_is_not_interrupted_changes_nothing() -> None:
    def handler() -> object:
        with ending_at_once():
            return signal.getsignal(signal.SIGINT)

    with ThreadPoolExecutor(1) as pool:
        inside = pool.submit(handler).result(timeout=10)

    assert inside is signal.getsignal(signal.SIGINT)


def _raising(error: BaseException):
    def run(arguments: object) -> None:
        raise error

    return run
