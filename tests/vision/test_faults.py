"""Faults that others had: damaged files beside whole ones, and steps that change what they are given."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ml_pipes import tensor, vision
from ml_pipes.errors import DecodeError
from ml_pipes.onnx import Extract
from ml_pipes.tensor import TensorPayload, TensorRegistry
from ml_pipes.tensor.runtime import RuntimeOutputs
from ml_pipes.vision import Decode, ImagePayload, ResizeTransform, TileRect

_RNG = np.random.default_rng(0)
_NOISE = _RNG.integers(0, 256, (48, 64, 3), np.uint8)
_KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "jpeg": ("JPEG", {}),
    "progressive": ("JPEG", {"progressive": True}),
    "png": ("PNG", {}),
    "webp": ("WEBP", {}),
    "lossless webp": ("WEBP", {"lossless": True}),
    "gif": ("GIF", {}),
    "tiff": ("TIFF", {"compression": "tiff_lzw"}),
    "jpeg 2000": ("JPEG2000", {}),
    "avif": ("AVIF", {}),
    "ppm": ("PPM", {}),
}


def _file(image: Image.Image, name: str) -> bytes:
    kind, options = _KINDS[name]
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


_FILES = {name: _file(Image.fromarray(_NOISE), name) for name in _KINDS}
_BLANK = {
    name: [_file(Image.new("RGB", (64, 48), colour), name) for colour in ("white", "black")]
    for name in _KINDS
}


def _outcome(data: bytes) -> object:
    try:
        return Decode(max_pixels=1_000_000)(data).array.tolist()
    except DecodeError as error:
        return str(error)


# A codec says on stderr what it thinks of damaged pixels; those lines belong to nobody here.
@pytest.mark.usefixtures("capfd")
@pytest.mark.parametrize("name", _KINDS)
@pytest.mark.parametrize("part", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_a_damaged_file_of_any_format_shows_nothing_of_the_one_before(name: str, part: float) -> None:
    damaged = bytearray(_FILES[name])
    at = int(len(damaged) * part)
    damaged[at : at + 48] = bytes(48)

    outcomes = []
    for blank in _BLANK[name]:
        Decode()(blank)
        outcomes.append(_outcome(bytes(damaged)))

    assert outcomes[0] == outcomes[1]


@pytest.mark.usefixtures("capfd")
@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(_KINDS)), st.integers(0, 10_000), st.binary(min_size=1, max_size=6))
def test_damage_anywhere_gives_a_picture_or_one_clear_error(name: str, at: int, junk: bytes) -> None:
    data = bytearray(_FILES[name])
    at %= len(data)
    data[at : at + len(junk)] = junk

    outcome = _outcome(bytes(data))

    if isinstance(outcome, str):
        assert outcome.startswith("Decode: ")
    else:
        assert np.array(outcome).shape[2] == 3


@pytest.mark.parametrize(
    "data", [b"", b"junk", b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"II*\0"]
)
def test_nothing_and_junk_are_the_same_kind_of_error(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"^Decode: "):
        Decode()(data)


def _read_only(array: Any) -> Any:
    array = np.array(array)
    array.setflags(write=False)
    return array


def _registry() -> TensorRegistry:
    masks = np.zeros((3, 40, 60), np.float32)
    masks[:, 5:30, 10:40] = 0.75
    boxes = np.array([[10, 5, 40, 30], [11, 5, 41, 30], [50, 30, 60, 40]], np.float32)
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
        "prototypes": np.random.default_rng(0).random((2, 40, 60), np.float32),
        "landmarks": boxes.reshape(3, 2, 2),
        "density": np.array([[-1, 2, 0], [0.5, 0, 3]], np.float32).repeat(20, 0).repeat(20, 1),
        "single": np.ones((1, 3, 1), np.float32),
    }
    return TensorRegistry({name: _read_only(array) for name, array in arrays.items()})


def _picture() -> ImagePayload:
    return ImagePayload(_read_only(np.random.default_rng(1).integers(0, 256, (40, 60, 3), np.uint8)))


_TRANSFORM = ResizeTransform((0.5, 0.5), (0.0, 5.0), (80, 120), (50, 60))
_RECTS = [TileRect(0, 0, 60, 40), TileRect(30, 0, 90, 40)]

_OF_REGISTRIES: list[Any] = [
    vision.NMS(aligned=("masks",), kept_as="kept"),
    vision.NMM("masks"),
    vision.ClampDensity(),
    vision.ConvertBoxFormat(from_="xyxy", to="cxcywh"),
    vision.DensityToHeatmap(),
    vision.SumDensity(),
    vision.FilterTensorsByBoxArea("scores", min_area=200),
    vision.FilterTensorsByClasses("boxes", "scores", keep_classes={1}),
    vision.FilterTensorsByMasksArea("boxes", masks="binary"),
    vision.FilterTensorsByScore("boxes", score="scores", min_score=0.6),
    vision.MasksToBoxes("binary", as_="found"),
    vision.MeanMaskScores("masks", "binary", as_="found"),
    vision.ReconstructMasks("table", "prototypes", as_="found"),
    vision.WeightMasksByScores(as_="found"),
    tensor.ApplyTensorMask("boxes", mask="mask"),
    tensor.ArgMax("table"),
    tensor.AsType("float16", "boxes"),
    tensor.BinarizeTensorByThreshold("masks", 0.5),
    tensor.CreateTensorMaskByThreshold("scores", 0.6),
    tensor.FilterTensors("boxes", by="scores", predicate=lambda scores: scores > 0.6),
    tensor.GatherRows("table", "classes"),
    tensor.GatherScores("table", "classes"),
    tensor.MapTensor("boxes", np.sqrt),
    tensor.MultiplyTensors("scores", "scores"),
    tensor.Scale("boxes", 2.0),
    tensor.SelectTensors("boxes", indices="order"),
    tensor.Sigmoid("table"),
    tensor.Slice("boxes", slice(0, 2)),
    tensor.Softmax("table"),
    tensor.SortTensorsBy("boxes", by="scores"),
    tensor.Squeeze("single"),
    tensor.TopK("scores", 2),
    tensor.TopKIndices2D("table", 2),
    tensor.Transpose("boxes"),
]
_OF_A_TRANSFORM: list[Any] = [
    vision.ProjectBoxes(),
    vision.ProjectDensityMap(),
    vision.ProjectMasks(),
    vision.ProjectPoints(),
    vision.ProjectRoIMasks("rois"),
]
_OF_A_PICTURE: list[Any] = [
    vision.ConvertColorSpace("RGB"),
    vision.Normalize(),
    vision.Resize((64, 64)),
    vision.Tile((30, 30), (5, 5)),
]
_DRAWN: list[Any] = [
    vision.DrawBoxes(),
    vision.DrawDensityOverlay(),
    vision.DrawMasks("binary"),
]


def _tiles() -> tuple[Any, ...]:
    return [_registry(), _registry()], _RECTS


def _cases() -> list[Any]:
    groups: list[tuple[list[Any], Callable[[], tuple[Any, ...]]]] = [
        (_OF_REGISTRIES, lambda: (_registry(),)),
        (_OF_A_TRANSFORM, lambda: (_registry(), _TRANSFORM)),
        (_OF_A_PICTURE, lambda: (_picture(),)),
        (_DRAWN, lambda: (_picture(), _registry())),
        ([vision.ResizeMasks("binary")], lambda: (_registry(), (80, 120))),
        ([vision.BlendImages()], lambda: (_picture(), _picture())),
        ([vision.Stitch("scores", points=("landmarks",), masks=("binary",))], _tiles),
        ([vision.StitchMaps("masks", stride=1)], _tiles),
    ]
    return [
        pytest.param(step, given_values, id=type(step).__name__)
        for steps, given_values in groups
        for step in steps
    ]


@pytest.mark.parametrize(("step", "given_values"), _cases())
def test_a_step_gives_the_same_twice_and_leaves_what_it_was_given(
    step: Any, given_values: Callable[[], tuple[Any, ...]]
) -> None:
    values = given_values()

    first, second = step(*values), step(*values)

    assert _same(first, second)
    assert _same(values, given_values())


def _same(one: Any, other: Any) -> bool:
    """Compare registries by their arrays, everything else as it compares itself."""
    if isinstance(one, TensorRegistry):
        return list(one) == list(other) and all(
            one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name], equal_nan=True)
            for name in one
        )
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(_same(a, b) for a, b in zip(one, other, strict=True))
    return bool(one == other)


def test_what_follows_a_model_leaves_its_outputs_as_they_are() -> None:
    boxes = np.array([[20, 20, 10, 10], [21, 20, 10, 10]], np.float32)
    scores = np.array([[0.9, 0.1], [0.8, 0.2]], np.float32)
    outputs = RuntimeOutputs(
        (TensorPayload(boxes, "NC", "float32"), TensorPayload(scores, "NC", "float32")), ("boxes", "table")
    )
    before = [payload.array.copy() for payload in outputs.tensors]

    registry = Extract("boxes", "table")(outputs)
    for step in (
        vision.ConvertBoxFormat(from_="cxcywh"),
        tensor.ArgMax("table", as_="classes"),
        tensor.GatherScores("table", "classes", as_="scores"),
        vision.NMS(),
        tensor.Scale("boxes", 2.0),
    ):
        registry = step(registry)
    result = vision.ProjectBoxes()(registry, _TRANSFORM)

    assert result["boxes"].shape == (1, 4)
    assert all(np.array_equal(a.array, b) for a, b in zip(outputs.tensors, before, strict=True))


def test_boxes_of_5000_sizes_come_back_without_a_shift() -> None:
    rng = np.random.default_rng(0)
    sizes, targets = rng.integers(1, 500, (5000, 2)), rng.integers(1, 200, (5000, 2))
    errors = np.zeros((5000, 4))

    for at, ((height, width), target) in enumerate(zip(sizes.tolist(), targets.tolist(), strict=True)):
        blank = ImagePayload(np.zeros((height, width, 1), np.uint8))
        _, transform = vision.Resize(tuple(target), interpolation="nearest")(blank)
        gain = np.array([*transform.content_shape[::-1], *transform.content_shape[::-1]])
        gain = gain / [width, height, width, height]
        box = np.sort(rng.random((2, 2)), axis=0).ravel() * [width, height, width, height]
        # A model sees whole pixels.
        seen = np.rint(box * gain + [*transform.pad, *transform.pad])
        errors[at] = (vision.project_boxes(seen, transform) - box) * gain

    assert np.abs(errors).max() <= 0.51
    assert np.abs(errors.mean(axis=0)).max() < 0.02
