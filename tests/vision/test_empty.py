"""Where nothing is found each pipeline goes to its end, with the shapes and dtypes that something has.

The models are functions here: they find what is white in a picture. Real ones: tests/models/test_nothing.py.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Extract, RuntimeOutputs
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Pick, Recall, Scatter, Store, UnBatch
from ml_pipes.tensor import (
    ApplyTensorMask,
    ArgMax,
    AsType,
    Collate,
    CreateTensorMaskByThreshold,
    FilterTensors,
    GatherScores,
    MultiplyTensors,
    Scale,
    SelectTensors,
    Sigmoid,
    Slice,
    Softmax,
    SortTensorsBy,
    Squeeze,
    TensorPayload,
    TensorRegistry,
    TopK,
    Transpose,
)
from ml_pipes.vision import (
    NMM,
    NMS,
    ClampDensity,
    ConvertBoxFormat,
    DecodeYOLO,
    DensityToHeatmap,
    DrawBoxes,
    DrawDensityOverlay,
    DrawMasks,
    FilterTensorsByBoxArea,
    FilterTensorsByClasses,
    FilterTensorsByMasksArea,
    FilterTensorsByScore,
    ImagePayload,
    LogDetections,
    MasksToBoxes,
    MeanMaskScores,
    Normalize,
    ProjectBoxes,
    ProjectDensityMap,
    ProjectMasks,
    ProjectPoints,
    ProjectRoIMasks,
    ReconstructMasks,
    Resize,
    ResizeMasks,
    SaveImage,
    Stitch,
    SumDensity,
    Tile,
    WeightMasksByScores,
)

_CANDIDATES, _PROTOTYPES = 6, 3


def _picture(*, white: bool) -> ImagePayload:
    pixels = np.zeros((90, 160, 3), np.uint8)
    if white:
        pixels[30:60, 40:100] = 255
    return ImagePayload(pixels)


def _model(payload: TensorPayload) -> RuntimeOutputs:
    """As an export of a head with masks: (N, 4 + 2 + K, A) and (N, K, h/4, w/4); what is found is white."""
    array = payload.array
    head = np.zeros((len(array), 4 + 2 + _PROTOTYPES, _CANDIDATES), np.float32)
    for rows, picture in zip(head, array, strict=True):
        white = np.argwhere(picture[0] > 0.9)
        if len(white):
            (top, left), (bottom, right) = white.min(axis=0), white.max(axis=0) + 1
            box = [(left + right) / 2, (top + bottom) / 2, right - left, bottom - top]
            rows[:, :3] = np.array([*box, 0.9, 0.1, 1, 0, 0])[: len(rows), None]
            rows[4, 1] = 0.8
    grid = array[:, :1, ::4, ::4] * 8 - 4
    prototypes = np.repeat(grid, _PROTOTYPES, axis=1)
    payloads = [TensorPayload(output, "UNKNOWN", "float32") for output in (head, prototypes)]
    return RuntimeOutputs(tuple(payloads), ("output0", "output1"))


def _alike(nothing: TensorRegistry, something: TensorRegistry, rows: set[str]) -> None:
    """Assert that two registries differ in the number of their rows alone."""
    assert list(nothing) == list(something)
    for name in nothing:
        assert nothing[name].dtype == something[name].dtype, name
        if name in rows:
            assert nothing[name].shape == (0, *something[name].shape[1:]), name
            assert len(something[name]) > 0, name
        else:
            assert nothing[name].shape == something[name].shape, name


def _run(steps: list[Any]) -> tuple[Any, Any]:
    with Pipeline[Any, Any](steps) as pipeline:
        return pipeline(_picture(white=False)), pipeline(_picture(white=True))


_TO_MODEL = [Resize((64, 64), pad_value=0), Store("transform", source=1), Pick(0), Normalize()]
_FOUND = {"boxes", "scores", "classes"}


def test_boxes_of_a_head_in_one_step(tmp_path: Path) -> None:
    told = io.StringIO()

    (black, nothing), (_, something) = _run([
        Store("picture"), *_TO_MODEL, _model, Extract("output0"),
        DecodeYOLO(num_classes=2, rest_as="coefficients"), NMS(kept_as="kept", aligned=("coefficients",)),
        Recall("transform"), ProjectBoxes(),
        FilterTensorsByBoxArea("scores", "classes", "coefficients", "kept", min_area=1),
        FilterTensorsByClasses("boxes", "scores", "coefficients", "kept", keep_classes={0, 1}),
        SortTensorsBy("boxes", "classes", "coefficients", "kept", by="scores"),
        LogDetections("m", "i", "a", stream=told),
        Recall("picture", prepend=True), DrawBoxes(class_names=["thing", "other"]),
        SaveImage(tmp_path / "drawn.png", at=0),
    ])  # fmt: skip

    _alike(nothing, something, _FOUND | {"coefficients", "kept"})
    assert black == _picture(white=False)
    first, end = json.JSONDecoder().raw_decode(told.getvalue())
    assert first["detections"] == []
    assert json.loads(told.getvalue()[end:])["detections"] != []


def test_boxes_of_a_head_in_small_steps() -> None:
    nothing, something = _run([
        *_TO_MODEL, _model, Extract("output0", as_="rows"),
        Squeeze("rows", 0), Transpose("rows"),
        Slice("rows", slice(4), as_="boxes"), Slice("rows", slice(4, 6), as_="table"),
        ArgMax("table", as_="classes"), GatherScores("table", "classes", as_="scores"),
        FilterTensorsByScore("boxes", "classes", "table", score="scores", min_score=0.5),
        ConvertBoxFormat(from_="cxcywh"), Softmax("table", as_="shares"), Sigmoid("scores", as_="squashed"),
        MultiplyTensors("scores", "scores", as_="squares"), Scale("boxes", (2.0, 2.0, 2.0, 2.0), as_="twice"),
        CreateTensorMaskByThreshold("scores", 0.85, as_="sure"), AsType("float16", "scores", as_="short"),
        TopK("scores", 5), SelectTensors("boxes", indices="top_indices", as_="best"),
        FilterTensors("boxes", by="scores", predicate=lambda scores: scores > 0.85, as_="filtered"),
        ApplyTensorMask("boxes", mask="sure", as_="masked"),
        Recall("transform"), ProjectBoxes(),
    ])  # fmt: skip

    _alike(nothing, something, set(something) - {"rows"})


def test_masks_to_the_end() -> None:
    (black, nothing), (_, something) = _run([
        Store("picture"), *_TO_MODEL, _model, Extract("output0", "output1"),
        DecodeYOLO(num_classes=2, rest_as="coefficients"), NMS(aligned=("coefficients",)),
        Squeeze("output1", 0), ReconstructMasks("coefficients", "output1", as_="masks"),
        Sigmoid("masks"), WeightMasksByScores(as_="weighted"),
        Recall("transform"), ProjectRoIMasks("weighted"),
        Recall("transform"), ProjectBoxes(), Recall("transform"), ProjectMasks(),
        FilterTensorsByMasksArea("boxes", "scores", "classes", "weighted"),
        MasksToBoxes(as_="around"), MeanMaskScores("masks", as_="means"),
        lambda registry: (registry, (45, 80)), ResizeMasks(as_="small"),
        Recall("picture", prepend=True), DrawMasks(class_names=["thing", "other"]),
    ])  # fmt: skip

    _alike(nothing, something, set(something) - {"output0", "output1"})
    assert nothing["masks"].shape == (0, 90, 160)
    assert black == _picture(white=False)


@pytest.mark.parametrize("merging", [NMM("landmarks"), NMM("landmarks", merge="union", metric="ios")])
def test_tiles_of_which_none_some_or_all_hold_nothing(merging: NMM) -> None:
    def landmarks(registry: TensorRegistry) -> TensorRegistry:
        return registry.replace(landmarks=registry["boxes"].reshape(-1, 2, 2))

    nothing, something = _run([
        Tile((64, 64), (16, 16)), Store("rects", source=1), Pick(0),
        Scatter(max_concurrency=2), *_TO_MODEL, Batch(2, timeout=0.001), Collate(), _model, Distribute(),
        UnBatch(), Extract("output0"), DecodeYOLO(num_classes=2), landmarks,
        Recall("transform"), ProjectBoxes(), Recall("transform"), ProjectPoints(), Gather(),
        Recall("rects"), Stitch("scores", "classes", points=("landmarks",)), merging,
    ])  # fmt: skip

    _alike(nothing, something, _FOUND | {"landmarks"})


def test_masks_of_tiles() -> None:
    def masked(tile: ImagePayload) -> TensorRegistry:
        masks = (tile.array[None, ..., 0] > 0)[: int(tile.array.any())]
        return TensorRegistry({"masks": masks, "scores": np.ones(len(masks), np.float32)})

    nothing, something = _run([
        Tile((64, 64), (16, 16)), Store("rects", source=1), Pick(0),
        PerItem(), masked, MasksToBoxes(as_="boxes"), CollectItems(),
        Recall("rects"), Stitch("scores", masks=("masks",)),
    ])  # fmt: skip

    _alike(nothing, something, {"boxes", "scores", "masks"})
    assert nothing["masks"].shape == (0, 90, 160)


def test_a_density_of_nothing() -> None:
    def density(payload: TensorPayload) -> TensorRegistry:
        return TensorRegistry({"density": payload.array[0, 0, ::8, ::8]})

    (black, nothing), (_, something) = _run([
        Store("picture"), *_TO_MODEL[:-1], Normalize(output_color_space="BGR"), density,
        ClampDensity(), Recall("transform"), ProjectDensityMap(),
        Recall("picture", prepend=True), DrawDensityOverlay(),
    ])  # fmt: skip

    _alike(nothing, something, set())
    assert not nothing["density"].any()
    assert (SumDensity()(nothing), type(SumDensity()(something))) == (0.0, float)
    heat = [DensityToHeatmap()(registry) for registry in (nothing, something)]
    assert (heat[0].shape, heat[0].dtype) == (heat[1].shape, heat[1].dtype) == ((90, 160, 3), "uint8")
    assert black.shape == (90, 160, 3)
