"""Every step and function that is offered gives the same twice, writes to nothing that it is given, and reads
arrays that may not be written to.

What a room offers and is not in the tables here fails the first test.
"""

from __future__ import annotations

import importlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from ml_pipes import onnx, standard, tensor, vision
from ml_pipes.core import Pipeline
from ml_pipes.tensor import TensorPayload, TensorRegistry
from ml_pipes.tensor.runtime import RuntimeOutputs
from ml_pipes.tensor.types import same_content
from ml_pipes.vision import ImagePayload, ResizeTransform, TileRect, text

_Given = Callable[[], tuple[Any, ...]]

_ROOMS = ("standard", "tensor", "vision", "vision.text")
# What steps hand to each other.
_NO_STEPS = {
    "Candidates", "Faces", "ImagePayload", "LabelMap", "RecognizedText", "ResizeTransform",
    "TensorPayload", "TensorRegistry", "TextRegions", "TileRect",
}  # fmt: skip
# They have a test of their own below.
_ELSEWHERE = {"MapValue", "SaveImage"}
_TRANSFORM = ResizeTransform((0.5, 0.5), (0.0, 5.0), (80, 120), (50, 60))
_RECTS = [TileRect(0, 0, 60, 40), TileRect(30, 0, 90, 40)]


def _read_only(array: Any) -> Any:
    array = np.array(array)
    array.setflags(write=False)
    return array


def _arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    masks = np.zeros((3, 40, 60), np.float32)
    masks[:, 5:30, 10:40] = 0.75
    boxes = np.array([[10, 5, 40, 30], [11, 5, 41, 30], [50, 30, 60, 40]], np.float32)
    text_map = np.zeros((1, 1, 40, 60), np.float32)
    text_map[..., 5:15, 5:50] = 0.9
    quads = np.array([[[4, 3], [30, 4], [30, 14], [4, 13]], [[2, 20], [50, 20], [50, 32], [2, 32]]])
    arrays: dict[str, Any] = {
        "boxes": boxes,
        "scores": np.array([0.5, 0.9, 0.7], np.float32),
        "classes": np.array([0, 0, 1], np.int32),
        "mask": np.array([True, False, True]),
        "order": np.array([2, 0], np.int64),
        "masks": masks,
        "binary": masks > 0.5,
        "rois": np.full((3, 8, 8), 0.75, np.float32),
        "table": np.array([[0.1, 0.9], [0.6, 0.4], [-1, 2]], np.float32),
        "prototypes": rng.random((2, 40, 60), np.float32),
        "landmarks": boxes.reshape(3, 2, 2),
        "density": np.array([[-1, 2, 0], [0.5, 0, 3]], np.float32).repeat(20, 0).repeat(20, 1),
        "single": np.ones((1, 3, 1), np.float32),
        "heat": rng.random((1, 1, 8, 8), np.float32),
        "pairs": rng.random((1, 2, 8, 8), np.float32),
        "points": rng.random((1, 10, 8, 8), np.float32),
        "head": rng.random((1, 7, 20), np.float32),
        "map": text_map,
        "quads": quads.astype(np.float32),
        "aligned": np.array([0.8, 0.9], np.float32),
        "steps": rng.random((2, 6, 4), np.float32),
        "pixels": rng.integers(0, 256, (40, 60, 3), np.uint8),
        "text": rng.random((2, 6, 4), np.float32),
    }
    return {name: _read_only(array) for name, array in arrays.items()}


def _one(*names: str, more: tuple[Any, ...] = ()) -> _Given:
    return lambda: (*[_arrays()[name] for name in names], *more)


def _registry() -> TensorRegistry:
    return TensorRegistry(_arrays())


def _picture() -> ImagePayload:
    return ImagePayload(_arrays()["pixels"])


def _payload() -> TensorPayload:
    return TensorPayload(_arrays()["prototypes"][None], "NCHW", "float32")


def _payloads() -> tuple[Any, ...]:
    return ([_payload(), _payload()],)


def _outputs() -> tuple[Any, ...]:
    payload = TensorPayload(_arrays()["masks"][:, None], "NCHW", "float32")
    return (RuntimeOutputs((payload, payload), ("a", "b")),)


def _items() -> tuple[Any, ...]:
    return ([_arrays()["boxes"], _arrays()["scores"], _arrays()["boxes"]],)


def _mapping() -> tuple[Any, ...]:
    return ({"boxes": _arrays()["boxes"], "nothing": None},)


def _png() -> tuple[Any, ...]:
    stream = io.BytesIO()
    Image.fromarray(_arrays()["pixels"]).save(stream, "PNG")
    return (stream.getvalue(),)


def _registries() -> tuple[Any, ...]:
    return (_registry(),)


def _projected() -> tuple[Any, ...]:
    return (_registry(), _TRANSFORM)


def _pictures() -> tuple[Any, ...]:
    return (_picture(),)


def _drawn() -> tuple[Any, ...]:
    return (_picture(), _registry())


def _tiles() -> tuple[Any, ...]:
    return [_registry(), _registry()], _RECTS


class _Looking(standard.SideEffectOp):
    def effect(self, payload: Any) -> None:
        np.asarray(payload).sum()


def _double(array: Any) -> Any:
    return array * 2


def _pipe(*steps: Any) -> Pipeline[Any, Any]:
    return Pipeline(steps)


_BATCH = (_pipe(standard.Batch(1), lambda values: values, standard.UnBatch()), _items)
_SCATTER = (_pipe(standard.Scatter(), _double, standard.Gather()), _items)
_PER_ITEM = (_pipe(standard.PerItem(), _double, standard.CollectItems()), _items)
_LAZY = (
    _pipe(standard.LazyPerItem(), _double, standard.StreamItems(), standard.Map(lambda all_: [*all_])),
    _items,
)
_STORE = (_pipe(standard.Store("kept"), standard.Recall("kept")), _items)

_CASES: dict[str, dict[str, tuple[Callable[..., Any], _Given]]] = {
    "standard": {
        "Batch": _BATCH,
        "UnBatch": _BATCH,
        "Scatter": _SCATTER,
        "Gather": _SCATTER,
        "PerItem": _PER_ITEM,
        "CollectItems": _PER_ITEM,
        "LazyPerItem": _LAZY,
        "StreamItems": _LAZY,
        "Store": _STORE,
        "Recall": _STORE,
        "Distinct": (standard.Distinct(source="shape"), _items),
        "DistinctBy": (standard.DistinctBy(len), _items),
        "DropNull": (standard.DropNull(), _items),
        "Filter": (standard.Filter(len), _items),
        "FilterNotNull": (standard.FilterNotNull(source="boxes"), _mapping),
        "Map": (standard.Map(_double), _one("boxes")),
        "MapNotNull": (standard.MapNotNull(_double), _one("boxes")),
        "Pick": (standard.Pick(1, 0), lambda: (tuple(_items()[0]),)),
        "Select": (standard.Select("boxes", "shape", 0), _mapping),
        "SideEffectOp": (_Looking(), _one("boxes")),
        "Take": (standard.Take(2), _items),
        "TakeWhile": (standard.TakeWhile(lambda array: array.ndim == 2), _items),
        "WrapMappingInObject": (
            _pipe(standard.WrapMappingInObject(target="held", state_factory=dict), standard.Select("held")),
            _mapping,
        ),
    },
    "tensor": {
        "ApplyTensorMask": (tensor.ApplyTensorMask("boxes", mask="mask"), _registries),
        "ArgMax": (tensor.ArgMax("table"), _registries),
        "AsType": (tensor.AsType("float16", "boxes"), _registries),
        "BinarizeTensor": (tensor.BinarizeTensor("scores", lambda values: values > 0.6, "on"), _registries),
        "BinarizeTensorByThreshold": (tensor.BinarizeTensorByThreshold("masks", 0.5), _registries),
        "Collate": (tensor.Collate(), _payloads),
        "CreateTensorMask": (tensor.CreateTensorMask("scores", lambda values: values, "on"), _registries),
        "CreateTensorMaskByThreshold": (tensor.CreateTensorMaskByThreshold("scores", 0.6), _registries),
        "FilterTensors": (
            tensor.FilterTensors("boxes", by="scores", predicate=lambda values: values > 0.6),
            _registries,
        ),
        "GatherRows": (tensor.GatherRows("table", "classes"), _registries),
        "GatherScores": (tensor.GatherScores("table", "classes"), _registries),
        "MapTensor": (tensor.MapTensor("boxes", np.sqrt), _registries),
        "MultiplyTensors": (tensor.MultiplyTensors("scores", "scores"), _registries),
        "Scale": (tensor.Scale("boxes", 2.0), _registries),
        "SelectTensors": (tensor.SelectTensors("boxes", indices="order"), _registries),
        "Sigmoid": (tensor.Sigmoid("table"), _registries),
        "Slice": (tensor.Slice("boxes", slice(0, 2)), _registries),
        "Softmax": (tensor.Softmax("table"), _registries),
        "SortTensorsBy": (tensor.SortTensorsBy("boxes", by="scores"), _registries),
        "Squeeze": (tensor.Squeeze("single"), _registries),
        "TopK": (tensor.TopK("scores", 2), _registries),
        "TopKIndices2D": (tensor.TopKIndices2D("table", 2), _registries),
        "Transpose": (tensor.Transpose("boxes"), _registries),
        "argmax": (tensor.argmax, _one("table")),
        "collate": (tensor.collate, _payloads),
        "ranking": (tensor.ranking, _one("scores")),
        "sigmoid": (tensor.sigmoid, _one("table")),
        "softmax": (tensor.softmax, _one("table")),
    },
    "vision": {
        "BlendImages": (vision.BlendImages(), lambda: (_picture(), _picture())),
        "ClampDensity": (vision.ClampDensity(), _registries),
        "ConvertBoxFormat": (vision.ConvertBoxFormat(from_="xyxy", to="cxcywh"), _registries),
        "ConvertColorSpace": (vision.ConvertColorSpace("RGB"), _pictures),
        "Decode": (vision.Decode(), _png),
        "DecodeCenterFace": (
            vision.DecodeCenterFace(heatmap="heat", scale="pairs", offset="pairs", landmarks="points"),
            _registries,
        ),
        "DecodeYOLO": (vision.DecodeYOLO("head"), _registries),
        "DensityToHeatmap": (vision.DensityToHeatmap(), _registries),
        "DrawBoxes": (vision.DrawBoxes(), _drawn),
        "DrawDensityOverlay": (vision.DrawDensityOverlay(), _drawn),
        "DrawMasks": (vision.DrawMasks("binary"), _drawn),
        "FilterTensorsByBoxArea": (vision.FilterTensorsByBoxArea("scores", min_area=200), _registries),
        "FilterTensorsByClasses": (vision.FilterTensorsByClasses("boxes", keep_classes={1}), _registries),
        "FilterTensorsByMasksArea": (vision.FilterTensorsByMasksArea("boxes", masks="binary"), _registries),
        "FilterTensorsByScore": (
            vision.FilterTensorsByScore("boxes", score="scores", min_score=0.6),
            _registries,
        ),
        "LoadFile": (vision.LoadFile(), lambda: (Path(__file__),)),
        "LogDetections": (vision.LogDetections("m", "i", "a", stream=io.StringIO()), _registries),
        "MasksToBoxes": (vision.MasksToBoxes("binary", as_="found"), _registries),
        "MeanMaskScores": (vision.MeanMaskScores("masks", "binary", as_="found"), _registries),
        "NMM": (vision.NMM("masks"), _registries),
        "NMS": (vision.NMS(aligned=("masks",), kept_as="kept"), _registries),
        "Normalize": (vision.Normalize(), _pictures),
        "ProjectBoxes": (vision.ProjectBoxes(), _projected),
        "ProjectDensityMap": (vision.ProjectDensityMap(), _projected),
        "ProjectMasks": (vision.ProjectMasks(), _projected),
        "ProjectPoints": (vision.ProjectPoints(), _projected),
        "ProjectRoIMasks": (vision.ProjectRoIMasks("rois"), _projected),
        "ReconstructMasks": (vision.ReconstructMasks("table", "prototypes", as_="found"), _registries),
        "Resize": (vision.Resize((64, 64)), _pictures),
        "ResizeMasks": (vision.ResizeMasks("binary"), lambda: (_registry(), (80, 120))),
        "Stitch": (vision.Stitch("scores", points=("landmarks",), masks=("binary",)), _tiles),
        "StitchMaps": (vision.StitchMaps("masks", stride=1), _tiles),
        "SumDensity": (vision.SumDensity(), _registries),
        "Tile": (vision.Tile((30, 30), (5, 5)), _pictures),
        "WeightMasksByScores": (vision.WeightMasksByScores(as_="found"), _registries),
        "box_areas": (vision.box_areas, _one("boxes")),
        "box_ious": (vision.box_ious, _one("boxes", "boxes")),
        "box_overlaps": (vision.box_overlaps, _one("boxes", "boxes", more=("ios",))),
        "clamp_density": (vision.clamp_density, _one("density")),
        "convert_boxes": (vision.convert_boxes, _one("boxes", more=("xywh",))),
        "decode_centerface": (vision.decode_centerface, _one("heat", "pairs", "pairs", "points")),
        "decode_image": (vision.decode_image, _png),
        "decode_yolo": (vision.decode_yolo, _one("head")),
        "heat_levels": (vision.heat_levels, _one("density")),
        "mask_areas": (vision.mask_areas, _one("masks")),
        "masks_to_boxes": (vision.masks_to_boxes, _one("masks")),
        "mean_mask_scores": (vision.mean_mask_scores, _one("masks", "binary")),
        "merge_boxes": (vision.merge_boxes, _one("boxes", "scores", "classes")),
        "nms": (vision.nms, _one("boxes", "scores", "classes")),
        "project_boxes": (vision.project_boxes, _one("boxes", more=(_TRANSFORM,))),
        "project_density": (vision.project_density, _one("density", more=(_TRANSFORM,))),
        "project_masks": (vision.project_masks, _one("masks", "boxes", more=(_TRANSFORM,))),
        "project_points": (vision.project_points, _one("landmarks", more=(_TRANSFORM,))),
        "project_roi_masks": (vision.project_roi_masks, _one("rois", "boxes", more=(_TRANSFORM,))),
        "reconstruct_masks": (vision.reconstruct_masks, _one("table", "prototypes")),
        "resize_masks": (vision.resize_masks, _one("masks", more=((20, 90),))),
        "stitch_maps": (vision.stitch_maps, lambda: ([*_arrays()["masks"][:2]], _RECTS)),
        "tile_rects": (vision.tile_rects, lambda: ((100, 50), (40, 40))),
        "weight_masks": (vision.weight_masks, _one("masks", "scores")),
    },
    "vision.text": {
        "CTCDecode": (text.CTCDecode(("", "a", "b", " ")), _registries),
        "CollateWidths": (text.CollateWidths(80), _payloads),
        "CropQuads": (text.CropQuads(), lambda: (_registry(), _picture())),
        "DecodeTextMap": (text.DecodeTextMap(), _registries),
        "PadWidth": (text.PadWidth(), lambda: (_payload(),)),
        "PreparePage": (text.PreparePage(), _pictures),
        "ProjectQuads": (text.ProjectQuads(aligned=("aligned",)), _projected),
        "ResizePage": (text.ResizePage(64), _pictures),
        "ResizeToHeight": (text.ResizeToHeight(), _pictures),
        "SortQuads": (text.SortQuads(aligned=("aligned",)), _registries),
        "crop_quads": (text.crop_quads, _one("pixels", "quads")),
        "ctc_decode": (text.ctc_decode, _one("steps", more=(("", "a", "b", " "),))),
        "ctc_table": (text.ctc_table, lambda: ("a\nb",)),
        "decode_text_map": (text.decode_text_map, _one("map")),
        "detection_shape": (text.detection_shape, lambda: ((100, 50),)),
        "order_corners": (text.order_corners, _one("quads")),
        "pad_width": (text.pad_width, lambda: (_payload(), 90)),
        "page_shape": (text.page_shape, lambda: ((3000, 50),)),
        "project_quads": (text.project_quads, _one("quads", more=(_TRANSFORM,))),
        "quad_sides": (text.quad_sides, _one("quads")),
        "reading_order": (text.reading_order, _one("quads")),
    },
    "onnx": {
        "Distribute": (onnx.Distribute(), _outputs),
        "Extract": (onnx.Extract("b", as_="boxes"), _outputs),
    },
}


@pytest.mark.parametrize("room", _ROOMS)
def test_what_a_room_offers_is_tried_here(room: str) -> None:
    offered = set(importlib.import_module(f"ml_pipes.{room}").__all__)

    assert offered - _NO_STEPS - _ELSEWHERE == set(_CASES[room])


@pytest.mark.parametrize(
    ("step", "given_values"),
    [
        pytest.param(*case, id=f"{room}.{name}")
        for room, cases in _CASES.items()
        for name, case in cases.items()
    ],
)
def test_a_step_gives_the_same_twice_and_leaves_what_it_was_given(
    step: Callable[..., Any], given_values: _Given
) -> None:
    values = given_values()

    first, second = step(*values), step(*values)

    assert _same(first, second)
    assert _same(values, given_values())


def test_saving_writes_the_same_file_twice_and_leaves_the_picture(tmp_path: Path) -> None:
    picture = _picture()

    passed = [vision.SaveImage(tmp_path / name)(picture) for name in ("one.png", "two.png")]

    assert passed[0] is passed[1] is picture
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()
    assert picture == _picture()


def test_a_mapped_value_is_written_to_its_object_and_the_array_that_was_there_stays() -> None:
    (held,) = _mapping()
    boxes = held["boxes"]

    changed = standard.MapValue(_double, source="boxes")(held)

    assert changed is held
    assert same_content(held["boxes"], boxes * 2)
    assert same_content(boxes, _arrays()["boxes"])


def _same(one: Any, other: Any) -> bool:
    """Compare arrays by dtype, shape and content, what holds arrays one by one, all else as it compares."""
    if isinstance(one, TensorRegistry):
        return list(one) == list(other) and all(same_content(one[name], other[name]) for name in one)
    if isinstance(one, np.ndarray):
        return same_content(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.zeros(2), np.zeros(2, np.float32)),
        (TensorRegistry({"a": np.zeros(2)}), TensorRegistry({"a": np.zeros((2, 1))})),
        ([np.zeros(2)], [np.array([0.0, -1.0])]),
        ({"a": np.zeros(2)}, {"b": np.zeros(2)}),
    ],
)
def test_the_comparison_sees_a_difference(one: Any, other: Any) -> None:
    assert not _same(one, other)
