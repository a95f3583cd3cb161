"""Detections are written as JSON that every parser reads, to where the output goes at that time."""

from __future__ import annotations

import io
import json
import pickle
import sys
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision.labels import LabelMap
from ml_pipes.vision.log import LogDetections


def _found(many: int = 1) -> TensorRegistry:
    return TensorRegistry(
        {
            "boxes": np.tile(np.float32([1, 2.5, 30, 40]), (many, 1)),
            "scores": np.full(many, 0.75, np.float32),
            "classes": np.full(many, 2, np.int32),
        }
    )


def _read(text: str) -> dict[str, object]:
    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is no JSON")

    read: dict[str, object] = json.loads(text, parse_constant=refuse)
    return read


def test_one_object_tells_the_files_and_each_detection() -> None:
    stream = io.StringIO()
    found = _found(2)

    passed = LogDetections("net.onnx", Path("in.jpg"), "out.jpg", stream=stream)(found)

    one = {"box": [1.0, 2.5, 30.0, 40.0], "score": 0.75, "class_id": 2}
    assert _read(stream.getvalue()) == {
        "model": "net.onnx",
        "image": "in.jpg",
        "annotated_image": "out.jpg",
        "detections": [one, one],
    }
    assert stream.getvalue().startswith('{\n  "model"')
    assert stream.getvalue().endswith("}\n")
    assert passed is found


def test_it_writes_to_what_stdout_is_at_the_time_of_the_call() -> None:
    step = LogDetections("m", "i", "a", indent=None)
    first, second = io.StringIO(), io.StringIO()

    for stream in (first, second):
        with redirect_stdout(stream):
            step(_found())

    assert first.getvalue() == second.getvalue()
    assert first.getvalue().count("\n") == 1
    assert _read(first.getvalue())["model"] == "m"


def test_without_a_console_nothing_is_written_and_the_value_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    found = _found()

    assert LogDetections("m", "i", "a")(found) is found


def test_no_detections_are_an_empty_list() -> None:
    stream = io.StringIO()

    LogDetections("m", "i", "a", stream=stream)(_found(0))

    assert _read(stream.getvalue())["detections"] == []


def test_what_json_has_no_word_for_is_null_and_the_other_rows_are_there() -> None:
    stream = io.StringIO()
    found = TensorRegistry(
        {
            "boxes": np.array([[np.nan, 0, np.inf, 1], [0, 0, 1, 1]], np.float16),
            "scores": np.array([-np.inf, 0.5]),
            "classes": np.array([np.nan, 3.0]),
        }
    )

    LogDetections("m", "i", "a", stream=stream)(found)

    assert _read(stream.getvalue())["detections"] == [
        {"box": [None, 0.0, None, 1.0], "score": None, "class_id": None},
        {"box": [0.0, 0.0, 1.0, 1.0], "score": 0.5, "class_id": 3},
    ]


@pytest.mark.parametrize("names", [["a", "b", "dog"], {2: "dog"}, LabelMap({"2": "dog"})])
def test_names_are_written_where_they_are_given_and_null_where_there_is_none(names: list[str]) -> None:
    stream = io.StringIO()
    found = _found(2).replace(classes=np.array([2, 9]))

    LogDetections("m", "i", "a", stream=stream, class_names=names)(found)

    detections = _read(stream.getvalue())["detections"]
    assert [one["class_name"] for one in detections] == ["dog", None]  # type: ignore[attr-defined] # a list


def test_the_registry_may_stand_in_a_tuple() -> None:
    stream = io.StringIO()
    pair = ("picture", _found())

    passed = LogDetections("m", "i", "a", stream=stream, at=1)(pair)

    assert passed is pair
    assert len(_read(stream.getvalue())["detections"]) == 1  # type: ignore[arg-type] # a list


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (None, ("picture", _found()), "wanted a TensorRegistry, got tuple; at= says where it is in a tuple"),
        (None, [1], "wanted a TensorRegistry, got list"),
        (0, ("picture", _found()), "wanted a TensorRegistry, got str"),
        (2, ("picture", _found()), "at=2 wants a tuple with a registry there, got a tuple of 2"),
        (1, 5, "at=1 wants a tuple with a registry there, got a int"),
    ],
)
def test_a_value_without_a_registry_is_an_error(at: int | None, value: object, message: str) -> None:
    step = LogDetections("m", "i", "a", at=at)

    with pytest.raises(TypeError, match=f"LogDetections: {message}"):
        step(value)


@pytest.mark.parametrize(
    "change",
    [
        {"boxes": np.zeros((2, 4))},
        {"scores": np.zeros((1, 1))},
        {"classes": np.zeros(0)},
        {"scores": np.array(1)},
    ],
)
def test_shapes_that_do_not_belong_together_are_an_error_and_nothing_is_written(
    change: dict[str, np.ndarray],
) -> None:
    stream = io.StringIO()
    step = LogDetections("m", "i", "a", stream=stream)

    with pytest.raises(
        ValueError, match=r"LogDetections: wanted boxes \(N, 4\), scores \(N,\) and classes \(N,\), got"
    ):
        step(_found().replace(**change))
    assert not stream.getvalue()


def test_wrong_arguments_are_refused_when_built() -> None:
    with pytest.raises(ValueError, match="indent must be 0 or more, or None for one line, got -1"):
        LogDetections("m", "i", "a", indent=-1)
    with pytest.raises(
        TypeError, match=r"LogDetections: class_names must be a list of names, a dict .* got 'dog'"
    ):
        LogDetections("m", "i", "a", class_names="dog")


def test_it_can_be_pickled_as_it_holds_no_stream_of_its_own() -> None:
    step = pickle.loads(pickle.dumps(LogDetections("m", "i", "a", class_names=LabelMap(["x"]))))

    assert step.class_names == {0: "x"}
