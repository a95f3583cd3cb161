"""A value that does not belong in a step is an error that says what was forgotten before it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml_pipes.errors import MissingNameError, StepInputError
from ml_pipes.tensor import Scale, SelectTensors, Sigmoid, Slice, TensorPayload, TensorRegistry, TopK
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
