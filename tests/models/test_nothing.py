"""Real models on a black picture: pipelines go to their ends, with the shapes and dtypes that faces have."""

from __future__ import annotations

import importlib
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml_pipes._demo.assets import ASTRONAUT, find_asset
from ml_pipes._demo.faces import draw_faces
from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract, Infer
from ml_pipes.standard import Pick, Recall, Store
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import (
    NMM,
    NMS,
    Decode,
    DecodeYOLO,
    DrawBoxes,
    ImagePayload,
    LoadFile,
    Normalize,
    ProjectBoxes,
    Resize,
    SaveImage,
)

pytestmark = pytest.mark.models


@pytest.fixture
def black(tmp_path: Path) -> Path:
    SaveImage(tmp_path / "black.png")(ImagePayload(np.zeros((512, 768, 3), np.uint8)))
    return tmp_path / "black.png"


@pytest.fixture(autouse=True)
def _examples_can_be_imported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As for `python examples/NAME.py`, whose folder is the first place where its imports are looked for.
    monkeypatch.syspath_prepend(root / "examples")


def kinds(registry: TensorRegistry, names: tuple[str, ...]) -> dict[str, Any]:
    """The dtype of each tensor, and its shape without the number of rows."""
    return {name: (str(registry[name].dtype), registry[name].shape[1:]) for name in names}


def test_no_faces_are_found_drawn_and_saved(centerface: Path, black: Path, tmp_path: Path) -> None:
    names = ("boxes", "scores", "classes", "landmarks")
    pipeline = draw_faces(centerface, tmp_path / "drawn.png")

    something, nothing = pipeline(find_asset(ASTRONAUT)), pipeline(black)

    assert kinds(nothing, names) == kinds(something, names)
    assert [len(nothing[name]) for name in names] == [0, 0, 0, 0]
    assert (tmp_path / "drawn.png").read_bytes() == black.read_bytes()


@pytest.mark.parametrize("merging", [NMS(iou_threshold=0.3), NMM(merge="union", metric="ios"), NMM()])
def test_no_faces_are_found_in_tiles(black: Path, merging: Any) -> None:
    names = ("boxes", "scores", "classes")
    tiles = importlib.import_module("tiles")
    model = importlib.import_module("photographs").open_model()
    astronaut = Decode()(LoadFile()(find_asset(ASTRONAUT)))
    # Two tiles, one with the face and one without.
    photograph = ImagePayload(np.hstack([astronaut.array, np.zeros_like(astronaut.array)]))

    with Pipeline([*tiles.one_by_one(model).operators[:-1], merging]) as pipeline:
        something, nothing = pipeline(photograph), pipeline(Decode()(black.read_bytes()))

    assert kinds(nothing, names) == kinds(something, names)
    assert [len(something[name]) for name in names] == [1, 1, 1]
    assert [len(nothing[name]) for name in names] == [0, 0, 0]


def test_no_faces_are_found_in_tiles_that_share_runs(black: Path) -> None:
    names = ("boxes", "scores", "classes")
    model = importlib.import_module("photographs").open_model()

    with importlib.import_module("tiles").together(model) as pipeline:
        nothing = pipeline(Decode()(black.read_bytes()))

    assert kinds(nothing, names) == {
        "boxes": ("float32", (4,)),
        "scores": ("float32", ()),
        "classes": ("int64", ()),
    }
    assert [len(nothing[name]) for name in names] == [0, 0, 0]


def test_a_page_without_text_has_no_lines(black: Path) -> None:
    models = Path(str(distribution("rapidocr").locate_file("rapidocr/models")))
    pair = models / "PP-OCRv6_det_small.onnx", models / "PP-OCRv6_rec_small.onnx"

    with importlib.import_module("read_page").make_pipeline(*pair) as pipeline:
        lines = pipeline(black)

    assert lines == []


def test_a_head_that_finds_nothing(black: Path) -> None:
    names = ("boxes", "scores", "classes", "kept")
    model = Path(str(distribution("nudenet").locate_file("nudenet/320n.onnx")))
    zidane = Path(str(distribution("ultralytics").locate_file("ultralytics/assets/zidane.jpg")))
    pipeline = Pipeline([
        LoadFile(), Decode(), Store("picture"),
        Resize((640, 640), pad_value=0, center=False), Store("transform", source=1), Pick(0),
        Normalize(output_color_space="BGR"), Infer(model), Extract("output0"),
        DecodeYOLO(), NMS(kept_as="kept"), Recall("transform"), ProjectBoxes(),
        Recall("picture", prepend=True), DrawBoxes(), Pick(1),
    ])  # fmt: skip

    something, nothing = pipeline(zidane), pipeline(black)

    assert kinds(nothing, names) == kinds(something, names)
    assert [len(nothing[name]) for name in names] == [0, 0, 0, 0]
    assert len(something["boxes"]) > 0
