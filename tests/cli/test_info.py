"""``ml-pipes info`` and ``ml-pipes completion``."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
import sys

import pytest

import ml_pipes
from ml_pipes.__main__ import main

_BASH = shutil.which("bash")


def test_it_shows_versions_extras_and_cpus(monkeypatch, capsys) -> None:
    monkeypatch.setenv("ML_PIPES_CPUS", "1")

    assert main(["info"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["ml-pipes", ml_pipes.__version__]
    assert any(line.startswith("CPUs ") and "1 usable of " in line for line in lines)
    assert any(line.startswith("vision ") and "numpy " in line for line in lines)


def test_what_is_missing_is_told_with_how_to_install_it(monkeypatch, capsys) -> None:
    requirements = [
        "numpy>=2.0; extra == 'vision'",
        "no-such-thing>=1; extra == 'vision'",
        'ml-pipes[vision]; extra == "all"',
        "pytest; extra == 'dev'",
        "always>=1",
    ]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: requirements)

    assert main(["info"]) == 0

    out = capsys.readouterr().out
    version = importlib.metadata.version("numpy")
    assert f'vision  numpy {version}, no-such-thing MISSING  pip install "ml-pipes[vision]"\n' in out
    assert "dev" not in out.partition("extra ")[2]


def test_a_source_tree_that_is_not_installed_says_so(monkeypatch, capsys) -> None:
    def nothing(name: str) -> object:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "requires", nothing)

    assert main(["info"]) == 0
    assert capsys.readouterr().out.endswith("\nthe distribution ml-pipes is not installed\n")


def test_json_has_the_environment_of_a_benchmark_too(capsys) -> None:
    assert main(["info", "--json"]) == 0

    found = json.loads(capsys.readouterr().out)
    assert found["cpus"]["usable"] >= 1
    assert found["environment"]["versions"]["numpy"] == importlib.metadata.version("numpy")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["info"], "ONNX Runtime  not known: its package is missing\n"),
        (["info", "--json"], '"environment": null'),
    ],
)
def test_it_works_with_nothing_installed(arguments: list[str], said: str) -> None:
    program = f"""
import importlib.util, sys
find, missing = importlib.util.find_spec, ["numpy", "onnxruntime", "openvino", "pynvml"]
sys.modules.update(dict.fromkeys(missing))
importlib.util.find_spec = lambda name: None if name in missing else find(name)
from ml_pipes.__main__ import main
sys.exit(main({arguments}))
"""

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert said in ended.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "tcsh"])
def test_a_script_completes_commands_and_options(shell: str, capsys) -> None:
    pytest.importorskip("shtab")

    assert main(["completion", shell]) == 0

    script = capsys.readouterr().out
    for word in ("benchmark", "compare", "collapse-regions", "scenario"):
        assert word in script


@pytest.mark.skipif(_BASH is None, reason="there is no bash")
def test_bash_completes_with_it(tmp_path, capsys) -> None:
    pytest.importorskip("shtab")
    (tmp_path / "photo.jpg").touch()
    main(["completion", "bash"])
    script = tmp_path / "ml-pipes.bash"
    script.write_text(capsys.readouterr().out, encoding="utf-8")
    ask = """
        source ml-pipes.bash
        function="$(complete -p ml-pipes | sed 's/.*-F \\([^ ]*\\).*/\\1/')"
        asked() {
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            $function
            echo "${COMPREPLY[@]}"
        }
        asked ml-pipes bench
        asked ml-pipes benchmark --coll
        asked ml-pipes run pho
        asked ml-pipes run lengths.py --input pho
    """

    ended = subprocess.run([str(_BASH), "-c", ask], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert ended.stdout.splitlines() == ["benchmark", "--collapse-regions", "photo.jpg", "photo.jpg"]


def test_completion_without_its_package_says_how_to_install_it() -> None:
    program = (
        "import sys; sys.modules['shtab'] = None; from ml_pipes.__main__ import main; "
        "sys.exit(main(['completion', 'bash']))"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr == 'error: this needs shtab; install it with: pip install "ml-pipes[benchmark]"\n'


@pytest.mark.parametrize("command", ["run", "benchmark", "compare", "trace", "info", "completion"])
def test_the_help_of_a_command_ends_with_examples_and_what_its_status_says(command: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])

    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert f"examples:\n  ml-pipes {command}" in out
    assert "exit status: 0 done, 1 " in out


def test_the_help_has_every_command_on_a_line(monkeypatch, capsys) -> None:
    monkeypatch.setenv("COLUMNS", "100")

    with pytest.raises(SystemExit):
        main(["--help"])

    out = capsys.readouterr().out
    assert "    completion    print a script with which a shell completes what is typed\n" in out
