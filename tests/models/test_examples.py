"""The examples run, and find what they say."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

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
