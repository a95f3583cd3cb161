"""What programs write today stays right: the names, their order and their defaults, room by room.

An operator may take more than what is written here, by name only and with a default.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from typing import Any

import numpy as np
import pytest

from ml_pipes.onnx import RuntimeOutputs
from ml_pipes.tensor import TensorPayload
from ml_pipes.vision import ImagePayload, ResizeTransform, TileRect

_WANTED: dict[str, dict[str, str]] = {
    "standard": {
        "Batch": "(size, timeout=0.05)",
        "CollectItems": "()",
        "Distinct": "(*, source)",
        "DistinctBy": "(fn)",
        "DropNull": "()",
        "Filter": "(predicate, *, source=None)",
        "FilterNotNull": "(*, source)",
        "Gather": "()",
        "LazyPerItem": "()",
        "Map": "(fn)",
        "MapNotNull": "(fn)",
        "MapValue": "(fn, *, source, target=None)",
        "PerItem": "()",
        "Pick": "(*indices)",
        "Recall": "(name, prepend=False)",
        "Scatter": "(max_concurrency=1)",
        "Select": "(*path)",
        "SideEffectOp": "()",
        "Store": "(name, *, source=None)",
        "StreamItems": "()",
        "Take": "(count)",
        "TakeWhile": "(predicate)",
        "UnBatch": "()",
        "WrapMappingInObject": "(*, target, state_factory)",
    },
    "tensor": {
        "ApplyTensorMask": "(*srcs, mask, as_=None)",
        "ArgMax": "(src, axis=-1, as_=None)",
        "AsType": "(dtype, src=None, as_=None)",
        "BinarizeTensor": "(src, predicate, as_)",
        "BinarizeTensorByThreshold": "(src, threshold, as_=None)",
        "Collate": "()",
        "CreateTensorMask": "(src, predicate, as_)",
        "CreateTensorMaskByThreshold": "(src, threshold, as_=None)",
        "FilterTensors": "(*srcs, by, predicate, as_=None)",
        "GatherRows": "(src, indices, as_=None)",
        "GatherScores": "(src, indices, as_=None)",
        "MapTensor": "(src, fn, as_=None)",
        "MultiplyTensors": "(left, right, as_=None)",
        "Scale": "(src, by, as_=None)",
        "SelectTensors": "(*srcs, indices, as_=None)",
        "Sigmoid": "(src, as_=None)",
        "Slice": "(src, at, as_=None)",
        "Softmax": "(src, axis=-1, as_=None)",
        "SortTensorsBy": "(*srcs, by, descending=True, as_=None)",
        "Squeeze": "(src, axis=None, as_=None)",
        "TensorPayload": "(array, layout, dtype)",
        "TensorRegistry": "(tensors=None)",
        "TopK": "(src, k, values_as='top_values', indices_as='top_indices')",
        "TopKIndices2D": (
            "(src, k, values_as='top_values', row_indices_as='row_indices', col_indices_as='col_indices')"
        ),
        "Transpose": "(src, axes=None, as_=None)",
    },
    "vision": {
        "BlendImages": "(base_weight=0.6, overlay_weight=0.4)",
        "ClampDensity": "(src='density', as_=None)",
        "ConvertBoxFormat": "(src='boxes', *, from_, to='xyxy', as_=None)",
        "ConvertColorSpace": "(output_color_space)",
        "Decode": "()",
        "DensityToHeatmap": "(src='density', colormap=20)",
        "DrawBoxes": (
            "(boxes='boxes', scores='scores', classes='classes', *, class_names=None, color=(0, 255, 0), "
            "thickness=2, font_scale=0.5)"
        ),
        "DrawDensityOverlay": "(src='density', *, colormap=20, opacity=0.4)",
        "DrawMasks": "(masks='masks', classes='classes', *, class_names=None, alpha=0.45)",
        "FilterTensorsByBoxArea": "(*srcs, boxes='boxes', min_area=0, max_area=None, as_=None)",
        "FilterTensorsByClasses": "(*srcs, classes='classes', keep_classes, as_=None)",
        "FilterTensorsByMasksArea": "(*srcs, masks='masks', min_area=1, as_=None)",
        "FilterTensorsByScore": "(*srcs, score, min_score, as_=None)",
        "ImagePayload": "(array, color_space='BGR', layout='HWC')",
        "LoadFile": "()",
        "LogDetections": (
            "(model_path, image_path, annotated_image_path, boxes='boxes', scores='scores', "
            "classes='classes', *, indent=2, stream=None, at=None)"
        ),
        "MasksToBoxes": "(masks='masks', *, as_)",
        "MeanMaskScores": "(mask_scores='mask_scores', masks='masks', *, as_)",
        "NMM": "(*srcs, boxes='boxes', scores='scores', classes='classes', iou_threshold=0.5)",
        "NMS": (
            "(boxes='boxes', scores='scores', classes='classes', kept_as=None, conf_threshold=0.25, "
            "iou_threshold=0.45, max_detections=300)"
        ),
        "Normalize": (
            "(scale=0.00392156862745098, mean=None, std=None, output_layout='NCHW', "
            "output_color_space='RGB', add_batch_dim=True)"
        ),
        "ProjectBoxes": "(src='boxes')",
        "ProjectDensityMap": "(src='density', as_=None, interpolation=1)",
        "ProjectMasks": "(masks='masks', boxes='boxes', mask_threshold=0.5)",
        "ProjectRoIMasks": "(masks='masks', boxes='boxes', mask_threshold=0.5)",
        "ReconstructMasks": "(coefficients, prototypes, as_)",
        "Resize": (
            "(target_size=(640, 640), mode='letterbox', pad_value=114, interpolation='linear', "
            "center=True, allow_scale_up=True)"
        ),
        "ResizeMasks": "(masks='masks', as_=None)",
        "ResizeTransform": "(scale, pad, original_shape, resized_shape)",
        "SaveImage": "(output_path, at=None)",
        "Stitch": "(*srcs, boxes='boxes')",
        "SumDensity": "(src='density')",
        "Tile": "(slice_wh, overlap_wh=(0, 0))",
        "TileRect": "(x1, y1, x2, y2)",
        "WeightMasksByScores": "(masks='masks', scores='scores', *, as_)",
    },
    "onnx": {
        "Distribute": "()",
        "Extract": "(*names, as_=None)",
        "Infer": (
            "(model_path, providers=('CPUExecutionProvider',), input_name=None, input_layout='NCHW', "
            "dtype=None, output_layouts=None, serialize=False)"
        ),
        "RuntimeOutputs": "(tensors, names)",
    },
}
_CALLS = [
    ("vision", "Resize", "image_payload"),
    ("standard", "DistinctBy", "items"),
    ("standard", "DropNull", "current"),
    ("standard", "Filter", "current"),
    ("standard", "FilterNotNull", "current"),
    ("standard", "Map", "current"),
    ("standard", "MapNotNull", "current"),
    ("standard", "MapValue", "current"),
    ("standard", "Pick", "current"),
    ("standard", "Select", "current"),
    ("standard", "SideEffectOp", "payload"),
    ("standard", "Take", "current"),
    ("standard", "TakeWhile", "current"),
    ("standard", "WrapMappingInObject", "value"),
    ("tensor", "AsType", "value"),
    ("tensor", "Collate", "tensors"),
    ("vision", "BlendImages", "source_image, overlay_image"),
    ("vision", "ConvertColorSpace", "image_payload"),
    ("vision", "Decode", "data"),
    ("vision", "DensityToHeatmap", "registry"),
    ("vision", "DrawBoxes", "source_image, registry"),
    ("vision", "DrawDensityOverlay", "source_image, registry"),
    ("vision", "DrawMasks", "source_image, registry"),
    ("vision", "LoadFile", "image_path"),
    ("vision", "Normalize", "image_payload"),
    ("vision", "ProjectBoxes", "registry, transform"),
    ("vision", "ProjectDensityMap", "registry, transform"),
    ("vision", "ProjectMasks", "registry, transform"),
    ("vision", "ProjectRoIMasks", "registry, transform"),
    ("vision", "ResizeMasks", "registry, image_shape"),
    ("vision", "Stitch", "registries, tile_rects"),
    ("vision", "SumDensity", "registry"),
    ("vision", "Tile", "payload"),
    ("onnx", "Distribute", "outputs"),
    ("onnx", "Extract", "outputs"),
    ("onnx", "Infer", "tensor_payload"),
]
_CASES = [(room, name) for room, wanted in _WANTED.items() for name in wanted]


@pytest.mark.parametrize(("room", "name"), _CASES)
def test_an_operator_takes_the_arguments_that_it_always_took(room: str, name: str) -> None:
    wanted = _WANTED[room][name]

    signature = inspect.signature(getattr(importlib.import_module(f"ml_pipes.{room}"), name))

    old = [one for one in signature.parameters.values() if one.name in re.findall(r"\w+", wanted)]
    more = [one for one in signature.parameters.values() if one not in old]
    assert str(inspect.Signature([one.replace(annotation=one.empty) for one in old])) == wanted
    assert all(one.kind is one.KEYWORD_ONLY and one.default is not one.empty for one in more)


@pytest.mark.parametrize(("room", "name", "wanted"), _CALLS)
def test_what_a_step_is_called_with_has_the_names_that_it_always_had(
    room: str, name: str, wanted: str
) -> None:
    operator = getattr(importlib.import_module(f"ml_pipes.{room}"), name)

    _, *ours = inspect.signature(operator.__call__).parameters

    assert ", ".join(ours) == wanted


_PIXELS = np.zeros((2, 3, 3), np.uint8)


@pytest.mark.parametrize(
    ("value", "names"),
    [
        (TensorPayload(np.zeros(1), "N", "float64"), ["array", "layout", "dtype"]),
        (ImagePayload(_PIXELS), ["array", "color_space", "layout"]),
        (
            ResizeTransform((1.0, 1.0), (0.0, 0.0), (2, 3), (2, 3)),
            ["scale", "pad", "original_shape", "resized_shape"],
        ),
        (TileRect(0, 0, 1, 1), ["x1", "y1", "x2", "y2"]),
        (RuntimeOutputs((), ()), ["tensors", "names"]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_payload_has_its_fields_and_cannot_be_changed(value: Any, names: list[str]) -> None:
    fields = [field.name for field in dataclasses.fields(value)]

    assert fields[: len(names)] == names
    for name in names:
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(value, name, None)


def test_a_picture_tells_its_measures() -> None:
    picture = ImagePayload(_PIXELS)

    assert (picture.shape, picture.spatial_shape, picture.size) == ((2, 3, 3), (2, 3), (3, 2))
    assert (picture.height, picture.width, picture.ndim, picture.channels) == (2, 3, 3, 3)
    assert picture.dtype == "uint8"
    assert ImagePayload(_PIXELS[..., 0], "GRAY", "HW").channels is None
