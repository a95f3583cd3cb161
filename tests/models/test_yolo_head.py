"""Our list of steps finds what 320n's own package finds; see make_yolo_head_reference.py.

The model stands for every YOLOv8 head. Its classes are numbers here and have no names.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml_pipes._demo.assets import Asset, find_asset
from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Extract, Infer
from ml_pipes.standard import Batch, Gather, Pick, Recall, Scatter, Store, UnBatch
from ml_pipes.tensor import ArgMax, Collate, GatherScores, Slice, Squeeze, TensorRegistry, Transpose
from ml_pipes.vision import (
    NMS,
    ConvertBoxFormat,
    Decode,
    FilterTensorsByScore,
    Normalize,
    ProjectBoxes,
    Resize,
)
from ml_pipes.vision.yolo import DecodeYOLO

pytestmark = pytest.mark.models

REFERENCE = json.loads(Path(__file__).with_name("yolo_head_reference.json").read_text(encoding="utf-8"))
CASES = [(name, side) for name in REFERENCE["photographs"] for side in (320, 640)]
CANDIDATES = {"bus.jpg": 31, "zidane.jpg": 16, "astronaut.png": 10, "camera.png": 21, "chelsea.png": 0}
DETECTIONS = {"bus.jpg": 3, "zidane.jpg": 2, "astronaut.png": 1, "camera.png": 2, "chelsea.png": 0}
MODEL = Asset(
    "320n's weights",
    "nudenet==3.4.2",
    "nudenet/320n.onnx",
    "AGPL-3.0",
    "c15d8273adad2d0a92f014cc69ab2d6c311a06777a55545f2c4eb46f51911f0f",
)
HEAD = [DecodeYOLO(conf_threshold=0.2)]
HEAD_IN_SMALL_STEPS = [
    Transpose("output0", (0, 2, 1), as_="rows"),
    Squeeze("rows"),
    Slice("rows", slice(4), as_="boxes"),
    Slice("rows", slice(4, None), as_="table"),
    ArgMax("table", as_="classes"),
    GatherScores("table", "classes", as_="scores"),
    FilterTensorsByScore("boxes", "classes", score="scores", min_score=0.2),
    ConvertBoxFormat(from_="cxcywh"),
]


def photograph(name: str) -> bytes:
    said = REFERENCE["photographs"][name]
    path = importlib.metadata.distribution(said["package"]).locate_file(said["path"])
    return Path(str(path)).read_bytes()


def owners(name: str, side: int, what: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = REFERENCE["photographs"][name]["found"][str(side)][what]
    return found


def candidates(model: list[Any], side: int, head: list[Any]) -> list[Any]:
    """The steps from a file to boxes of the photograph, before suppression."""
    return [
        Decode(),
        Resize((side, side), pad_value=0, center=False),
        Store("transform", source="1"),
        Pick(0),
        Normalize(output_color_space="BGR"),
        *model,
        Extract("output0"),
        *head,
        Recall("transform"),
        ProjectBoxes(),
    ]


def assert_boxes_agree(ours: TensorRegistry, owner: list[dict[str, Any]]) -> None:
    """The owner cuts a corner at the picture's edge and keeps the size, so the far side is then another."""
    expected = np.reshape([one["box"] for one in owner], (-1, 4))
    corners, ends = ours["boxes"][:, :2], ours["boxes"][:, 2:]
    cut = expected[:, :2] == 0
    np.testing.assert_allclose(corners, expected[:, :2], rtol=0, atol=1)
    np.testing.assert_allclose(
        np.where(cut, 0, ends - corners), np.where(cut, 0, expected[:, 2:]), rtol=0, atol=1
    )


@pytest.fixture(scope="module")
def infer() -> Infer:
    return Infer(find_asset(MODEL))


@pytest.fixture(scope="module")
def found(infer: Infer) -> dict[tuple[str, int], tuple[TensorRegistry, TensorRegistry]]:
    """Per photograph and side: the candidates, and what is left of them."""
    suppress = NMS(conf_threshold=0.25, iou_threshold=0.45, class_agnostic=True)
    pipelines = {side: Pipeline(candidates([infer], side, HEAD)) for side in (320, 640)}
    all_of_them = {(name, side): pipelines[side](photograph(name)) for name, side in CASES}
    return {case: (registry, suppress(registry)) for case, registry in all_of_them.items()}


@pytest.mark.parametrize("name", REFERENCE["photographs"])
def test_the_photographs_decode_to_the_owners_pixels(name: str) -> None:
    pixels = Decode()(photograph(name)).array

    assert list(pixels.shape) == REFERENCE["photographs"][name]["shape"]
    assert hashlib.sha256(pixels.tobytes()).hexdigest() == REFERENCE["photographs"][name]["sha256_of_bgr"]


@pytest.mark.parametrize(("name", "side"), CASES)
def test_the_head_gives_the_owners_candidates_in_their_order(name: str, side: int, found) -> None:
    ours, owner = found[name, side][0], owners(name, side, "candidates")

    assert len(ours["boxes"]) == len(owner)
    assert side == 320 or len(owner) == CANDIDATES[name]
    np.testing.assert_allclose(ours["scores"], [one["score"] for one in owner], rtol=0, atol=1e-4)
    assert_boxes_agree(ours, owner)


@pytest.mark.parametrize(("name", "side"), CASES)
def test_suppression_leaves_the_owners_detections(name: str, side: int, found) -> None:
    ours, owner = found[name, side][1], owners(name, side, "detections")

    assert side == 320 or len(owner) == DETECTIONS[name]
    assert ours["classes"].tolist() == [one["class"] for one in owner]
    np.testing.assert_allclose(ours["scores"], [one["score"] for one in owner], rtol=0, atol=1e-4)
    assert_boxes_agree(ours, owner)


@pytest.mark.parametrize(("name", "side"), CASES)
def test_the_head_in_small_steps_gives_the_same_bits(name: str, side: int, infer: Infer, found) -> None:
    small = Pipeline(candidates([infer], side, HEAD_IN_SMALL_STEPS))(photograph(name))

    for tensor in ("boxes", "scores", "classes"):
        np.testing.assert_array_equal(small[tensor], found[name, side][0][tensor])


def test_five_photographs_in_a_batch_give_what_each_gives_alone(infer: Infer, found) -> None:
    model = [Batch(5), Collate(), infer, Distribute(), UnBatch()]
    names = list(REFERENCE["photographs"])

    with Pipeline([Scatter(5), *candidates(model, 640, HEAD), Gather()]) as pipeline:
        batched = pipeline([photograph(name) for name in names])

    for name, ours in zip(names, batched, strict=True):
        alone = found[name, 640][0]
        assert ours["classes"].tolist() == alone["classes"].tolist()
        np.testing.assert_allclose(ours["boxes"], alone["boxes"], rtol=0, atol=1e-2)
        np.testing.assert_allclose(ours["scores"], alone["scores"], rtol=0, atol=1e-4)
