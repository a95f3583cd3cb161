"""A value that does not belong in a step is an error that says what was forgotten before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml_pipes.core import Pipeline
from ml_pipes.errors import MissingNameError, StepInputError
from ml_pipes.standard import Recall, Store
from ml_pipes.tensor import (
    AsType,
    GatherRows,
    Scale,
    SelectTensors,
    Sigmoid,
    Slice,
    TensorPayload,
    TensorRegistry,
    TopK,
    TopKIndices2D,
    argmax,
    softmax,
)
from ml_pipes.tensor.runtime import RuntimeOutputs
from ml_pipes.vision import (
    NMS,
    ConvertBoxFormat,
    ConvertColorSpace,
    DecodeCenterFace,
    DrawBoxes,
    FilterTensorsByScore,
    ImagePayload,
    Normalize,
    ProjectBoxes,
    Resize,
    ResizeTransform,
    box_overlaps,
    convert_boxes,
    mask_areas,
    masks_to_boxes,
    mean_mask_scores,
    merge_boxes,
    project_boxes,
    resize_masks,
    weight_masks,
)

_PICTURE = ImagePayload(np.zeros((4, 4, 3), np.uint8))
_REGISTRY = TensorRegistry({"boxes": np.zeros((1, 4)), "scores": np.ones(1)})
_PICTURE_STEPS = [Resize(), Normalize(), ConvertColorSpace("RGB")]
_REGISTRY_STEPS = [
    Sigmoid("a"),
    Scale("a", 2.0),
    Slice("a", slice(0, 1)),
    TopK("a", 1),
    SelectTensors("a", indices="b"),
    NMS(),
    ConvertBoxFormat(from_="xywh"),
    FilterTensorsByScore(score="scores", min_score=0.5),
    DecodeCenterFace(),
]


@pytest.mark.parametrize("step", _PICTURE_STEPS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ((_PICTURE, 1), r"got tuple; Pick\(0\) takes the first part of a tuple"),
        (b"\xff\xd8", r"got bytes; Decode\(\) makes a picture of a file's bytes"),
        (np.zeros((4, 4, 3)), r"got ndarray; ImagePayload\(array\) says"),
        (_REGISTRY, r"got TensorRegistry; Recall\(..., prepend=True\) puts the kept picture before"),
        (None, "got NoneType$"),
    ],
)
def test_what_is_no_picture_is_refused_with_the_way_out(step: Any, value: object, words: str) -> None:
    with pytest.raises(StepInputError, match=f"^{type(step).__name__}: wanted an ImagePayload, {words}"):
        step(value)


@pytest.mark.parametrize("step", _REGISTRY_STEPS, ids=lambda step: type(step).__name__)
@pytest.mark.parametrize(
    ("value", "words"),
    [
        ((_REGISTRY, 1), r"got tuple; Pick\(0\) takes the first part of a tuple"),
        (RuntimeOutputs((), ()), r"got RuntimeOutputs; Extract\(...\) makes a registry of a model's outputs"),
        (TensorPayload(np.zeros(1), "N", "float64"), "got TensorPayload; "),
        (np.zeros(1), r'got ndarray; TensorRegistry\({"name": array}\) names an array'),
    ],
)
def test_what_is_no_registry_is_refused_with_the_way_out(step: Any, value: object, words: str) -> None:
    with pytest.raises(StepInputError, match=f"^{type(step).__name__}: wanted a TensorRegistry, {words}"):
        step(value)


def test_a_registry_before_the_picture_is_refused_with_the_way_out() -> None:
    step: Any = DrawBoxes()

    with pytest.raises(
        StepInputError, match=r"DrawBoxes: wanted an ImagePayload, .*Recall\(..., prepend=True\)"
    ):
        step(_REGISTRY, _PICTURE)


def test_a_picture_in_place_of_the_transform_is_refused() -> None:
    step: Any = ProjectBoxes()

    with pytest.raises(StepInputError, match="ProjectBoxes: wanted a ResizeTransform, got ImagePayload"):
        step(_REGISTRY, _PICTURE)


def test_suppression_without_classes_says_how_to_get_them() -> None:
    with pytest.raises(
        MissingNameError,
        match=r"NMS: .*no tensor 'classes'; available: boxes, scores; "
        r'MapTensor\("scores", np.zeros_like, as_="classes"\) before it makes all boxes one class',
    ):
        NMS()(_REGISTRY)


def test_kept_indices_do_not_take_the_place_of_the_boxes() -> None:
    with pytest.raises(ValueError, match="NMS: kept_as='scores' would take the place of"):
        NMS(kept_as="scores")


def test_a_kept_registry_is_not_changed_by_later_steps() -> None:
    registry = TensorRegistry({"boxes": np.ones((1, 4), np.float32)})
    pipeline = Pipeline(
        [Store("kept"), Scale("boxes", 2.0), AsType("int32", "boxes", as_="more"), Recall("kept")]
    )

    changed, kept = pipeline(registry)

    assert changed["boxes"].tolist() == [[2, 2, 2, 2]]
    assert kept is registry
    assert list(kept) == ["boxes"]
    assert kept["boxes"].tolist() == [[1, 1, 1, 1]]


_BOXES, _MASKS = np.zeros((2, 4)), np.zeros((2, 3, 3))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: convert_boxes(_BOXES, "yxyx"), "from_ must be one of xyxy, xywh, cxcywh, got 'yxyx'"),
        (lambda: convert_boxes(_BOXES, "xywh", "xyx"), "to must be one of xyxy, xywh, cxcywh, got 'xyx'"),
        (lambda: box_overlaps(_BOXES, _BOXES, "giou"), "metric must be one of iou, ios, got 'giou'"),
        (lambda: box_overlaps(_BOXES, _BOXES[0], "ios"), r"boxes must be \(N, 4\), got \(4,\)"),
        (
            lambda: merge_boxes(_BOXES, _BOXES[:, 0], _BOXES[:, 0], merge="max"),
            "merge_boxes: merge must be one of mean, union, got 'max'",
        ),
        (
            lambda: merge_boxes(_BOXES, _BOXES[:, 0], _BOXES[:, 0], metric="giou"),
            "merge_boxes: metric must be one of iou, ios, got 'giou'",
        ),
        (
            lambda: merge_boxes(_BOXES, _BOXES[:, 0], _BOXES[:, 0], float("nan")),
            "merge_boxes: threshold must be 0 to 1, got nan",
        ),
        (lambda: mask_areas(_MASKS[0]), r"must be \(N, H, W\), got \(3, 3\)"),
        (lambda: masks_to_boxes(_MASKS[None]), r"must be \(N, H, W\), got \(1, 2, 3, 3\)"),
        (lambda: mean_mask_scores(_MASKS[0], _MASKS[0]), r"must be \(N, H, W\), got \(3, 3\)"),
        (lambda: weight_masks(_MASKS[0], np.zeros(3)), r"must be \(N, H, W\), got \(3, 3\)"),
        (lambda: resize_masks(_MASKS[0], (4, 4)), r"must be \(N, H, W\), got \(3, 3\)"),
        (lambda: ResizeTransform((1.0, float("nan")), (0.0, 0.0), (1, 1), (1, 1)), "scale must be above 0"),
        (lambda: ResizeTransform((float("inf"), 1.0), (0.0, 0.0), (1, 1), (1, 1)), "scale must be above 0"),
    ],
)
def test_a_function_refuses_what_it_would_take_for_something_else(call: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("step", [TopK, TopKIndices2D])
@pytest.mark.parametrize("k", [2.5, "2", None])
def test_a_number_of_values_that_is_not_whole_is_refused_when_built(step: Any, k: object) -> None:
    with pytest.raises(TypeError, match=f"{step.__name__}: k must be a whole number, got {k!r}"):
        step("scores", k)


@pytest.mark.parametrize(("look", "name"), [(softmax, "Softmax"), (argmax, "ArgMax")])
@pytest.mark.parametrize(("shape", "axis"), [((2, 3), 2), ((2, 3), -3), ((), -1), ((0, 3), 2)])
def test_an_axis_that_is_not_there_is_an_error(
    look: Any, name: str, shape: tuple[int, ...], axis: int
) -> None:
    with pytest.raises(IndexError, match=rf"{name}: there is no axis {axis} in an array of shape \("):
        look(np.zeros(shape), axis)


def test_boxes_beyond_the_dtype_are_cut_at_the_picture_without_a_warning() -> None:
    transform = ResizeTransform((0.25, 0.25), (0.0, 0.0), (40, 80), (10, 20))

    projected = project_boxes(np.array([[-3e38, 0, 3e38, 3e38]], np.float32), transform)

    assert projected.tolist() == [[0, 0, 80, 40]]


def test_what_is_beyond_the_dtype_it_is_cast_to_is_infinite_without_a_warning() -> None:
    registry = TensorRegistry({"a": np.array([1e9, -1e9, 1.0], np.float32)})

    cast = AsType("float16", "a")(registry)["a"]

    assert cast.tolist() == [np.inf, -np.inf, 1.0]


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (SelectTensors("a", indices="i"), "SelectTensors: 'i' names a row that is not there: index 2 is out"),
        (GatherRows("a", "i"), "GatherRows: 'i' names a column that is not there: index 3 is out"),
    ],
)
def test_an_index_that_is_not_there_is_named(step: Any, message: str) -> None:
    registry = TensorRegistry({"a": np.zeros((2, 3)), "i": np.array([0, 2 if "Select" in message else 3])})

    with pytest.raises(IndexError, match=message):
        step(registry)
