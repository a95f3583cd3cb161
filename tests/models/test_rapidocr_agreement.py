"""Our list of steps reads what PP-OCR's own package reads; see make_rapidocr_reference.py."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from ml_pipes._demo.assets import Asset, find_asset
from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract, Infer
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Pick, Recall, Scatter, Store, UnBatch
from ml_pipes.tensor import Collate, TensorPayload, TensorRegistry
from ml_pipes.vision import Decode, Normalize, ResizeTransform
from ml_pipes.vision.text import (
    CollateWidths,
    CropQuads,
    CTCDecode,
    DecodeTextMap,
    PadWidth,
    PreparePage,
    ProjectQuads,
    RecognizedText,
    ResizePage,
    ResizeToHeight,
    SortQuads,
    ctc_table,
)

pytestmark = pytest.mark.models

HERE = Path(__file__).parent
REFERENCE = json.loads((HERE / "rapidocr_reference.json").read_text(encoding="utf-8"))
PAGES = list(REFERENCE["pages"])
DETECTOR = Asset(
    "PP-OCR's detector's weights",
    "rapidocr==3.10.0",
    "rapidocr/models/PP-OCRv6_det_small.onnx",
    "Apache-2.0",
    "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
)
RECOGNISER = Asset(
    "PP-OCR's recogniser's weights",
    "rapidocr==3.10.0",
    "rapidocr/models/PP-OCRv6_rec_small.onnx",
    "Apache-2.0",
    "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
)
HALF = (0.5, 0.5, 0.5)
WIDEST_OF_A_BATCH, BUCKETS = "each as wide as the widest of its batch", "each in a bucket of its own width"
WAYS = (WIDEST_OF_A_BATCH, BUCKETS)


def page(name: str) -> bytes:
    said = REFERENCE["pages"][name]
    if said["package"] is None:
        return (HERE / said["path"]).read_bytes()
    return Path(str(importlib.metadata.distribution(said["package"]).locate_file(said["path"]))).read_bytes()


def kept(
    found: TensorRegistry, transform: ResizeTransform, lines: list[RecognizedText]
) -> list[dict[str, Any]]:
    """What counts as read, in pixels of the page as it came."""
    quads = ProjectQuads(whole=False, min_side=0)(found, transform)["quads"]
    return [
        {"text": line.text, "score": line.score, "quad": quad}
        for line, quad in zip(lines, quads, strict=True)
        if line.text.strip() and line.score >= 0.5
    ]


def alike(tensor: TensorPayload) -> str:
    """The key of a batch in which tensors of all widths meet."""
    return tensor.layout


def reader(detector: Path, recogniser: Path, way: str) -> Pipeline[bytes, list[dict[str, Any]]]:
    table = ctc_table(next(p.value for p in onnx.load(recogniser).metadata_props if p.key == "character"))
    normalize = Normalize(mean=HALF, std=HALF, output_color_space="BGR")
    read = [Infer(recogniser), Extract("fetch_name_0", as_="text"), CTCDecode(table), UnBatch()]
    crops: list[Any] = [
        Scatter(max_concurrency=6), ResizeToHeight(48), normalize, PadWidth(320, 32),
        Batch(size=6), Collate(), *read, Gather(),
    ]  # fmt: skip
    if way == WIDEST_OF_A_BATCH:
        crops = [
            PerItem(), ResizeToHeight(48), normalize, CollectItems(),
            Batch(size=6, many=True, key=alike), CollateWidths(320), *read,
        ]  # fmt: skip
    return Pipeline([
        Decode(), PreparePage(), Store("prepared", source=1), Pick(0), Store("page"),
        ResizePage(), Store("resized", source=1), Pick(0), normalize,
        Infer(detector), Extract("fetch_name_0", as_="map"), DecodeTextMap(),
        Recall("resized"), ProjectQuads(), SortQuads(), Store("found"),
        Recall("page"), CropQuads(), *crops, Store("lines"),
        Recall("found"), Pick(1), Recall("prepared"), Recall("lines"), kept,
    ])  # fmt: skip


@pytest.fixture(scope="module", params=WAYS)
def read(request, detector: Path, recogniser: Path) -> dict[str, list[dict[str, Any]]]:
    with reader(detector, recogniser, request.param) as pipeline:
        return {name: pipeline(page(name)) for name in PAGES}


@pytest.fixture(scope="module")
def detector() -> Path:
    return find_asset(DETECTOR)


@pytest.fixture(scope="module")
def recogniser() -> Path:
    return find_asset(RECOGNISER)


@pytest.mark.parametrize("name", PAGES)
def test_the_pages_decode_to_the_owners_pixels(name: str) -> None:
    pixels = Decode()(page(name)).array

    assert list(pixels.shape) == REFERENCE["pages"][name]["shape"]
    assert hashlib.sha256(pixels.tobytes()).hexdigest() == REFERENCE["pages"][name]["sha256_of_bgr"]


@pytest.mark.parametrize("name", PAGES)
def test_the_same_texts_are_read_in_the_same_order(name: str, read) -> None:
    owner = REFERENCE["pages"][name]["lines"]

    assert [line["text"] for line in read[name]] == [line["text"] for line in owner]


@pytest.mark.parametrize("name", [name for name in PAGES if REFERENCE["pages"][name]["truth"]])
def test_what_is_drawn_is_read_without_an_error(name: str, read) -> None:
    assert [line["text"] for line in read[name]] == REFERENCE["pages"][name]["truth"]


@pytest.mark.parametrize("name", PAGES)
def test_corners_agree_to_a_pixel(name: str, read) -> None:
    owner = [line["quad"] for line in REFERENCE["pages"][name]["lines"]]
    ours = [line["quad"] for line in read[name]]

    np.testing.assert_allclose(np.reshape(ours, (-1, 8)), np.reshape(owner, (-1, 8)), rtol=0, atol=1.0)


@pytest.mark.parametrize("name", PAGES)
def test_scores_agree_to_a_twentieth(name: str, read) -> None:
    owner = [line["score"] for line in REFERENCE["pages"][name]["lines"]]
    ours = [line["score"] for line in read[name]]

    np.testing.assert_allclose(ours, owner, rtol=0, atol=0.05)
