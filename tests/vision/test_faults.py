"""Faults that others had: damaged files beside whole ones, and steps that change what a model gave."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from ml_pipes import tensor, vision
from ml_pipes.errors import DecodeError
from ml_pipes.onnx import Extract
from ml_pipes.tensor import TensorPayload
from ml_pipes.tensor.runtime import RuntimeOutputs
from ml_pipes.vision import Decode, ResizeTransform

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


_TRANSFORM = ResizeTransform((0.5, 0.5), (0.0, 5.0), (80, 120), (50, 60))


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
