"""Files as inputs: how each is given depends on what the pipeline's first step takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest

from ml_pipes import Batch, Embed, Map, Pipeline, Store, UnBatch
from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.inputs import file_inputs, file_labels
from ml_pipes.vision import ImagePayload, LoadFile, Resize

_T = TypeVar("_T")


def _bytes(data: bytes) -> int:
    return len(data)


def _text_or_none(path: str | None) -> str:
    return str(path)


def _anything(value: _T) -> _T:
    return value


def _lengths(files: list[bytes]) -> list[int]:
    return [len(file) for file in files]


def _same(files: list) -> list:
    return files


def _items(values: list[int]) -> int:
    return sum(values)


class _Reader:
    def __call__(self, data: bytearray | memoryview) -> int:
        return len(data)


@pytest.mark.parametrize(
    ("pipeline", "given"),
    [
        (Pipeline([_bytes]), b"12"),
        (Pipeline([_Reader()]), b"12"),
        (Pipeline([_text_or_none]), "a.txt"),
        (Pipeline([LoadFile()]), Path("a.txt")),
        (Pipeline([_anything]), Path("a.txt")),
        (Pipeline([lambda value: value]), Path("a.txt")),
        (Pipeline([Map(len)]), Path("a.txt")),
        (Pipeline([]), Path("a.txt")),
        (Pipeline([Embed(Pipeline([Store("file"), _bytes]))]), b"12"),
        (Pipeline([Batch(2), UnBatch(), _bytes]), b"12"),
        (Pipeline([Batch(2), _lengths, UnBatch()]), b"12"),
        (Pipeline([Batch(2), _same, UnBatch()]), Path("a.txt")),
    ],
)
def test_a_file_is_given_as_the_first_step_takes_it(
    tmp_path: Path, monkeypatch, pipeline: Pipeline[Any, Any], given: object
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("12", encoding="utf-8")

    (give,) = file_inputs(["a.txt"], pipeline)

    assert give() == ("a.txt", given, None, None)


def test_a_step_that_takes_a_picture_is_given_the_decoded_file(tmp_path: Path) -> None:
    cv2 = pytest.importorskip("cv2")
    file = tmp_path / "dark.png"
    cv2.imwrite(str(file), np.zeros((4, 5, 3), np.uint8))

    (give,) = file_inputs([str(file)], Pipeline([Resize((2, 2))]))

    assert give()[1] == ImagePayload(np.zeros((4, 5, 3), np.uint8))


def test_a_step_that_takes_neither_is_named() -> None:
    with pytest.raises(
        CommandError, match="the pipeline begins with _items, which takes list; begin it with"
    ):
        file_inputs(["a.txt"], Pipeline([_items]))


@pytest.mark.parametrize("pipeline", [Pipeline([_bytes]), Pipeline([Resize((2, 2))])])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, pipeline: Pipeline[Any, Any]) -> None:
    (give,) = file_inputs([str(tmp_path)], pipeline)

    with pytest.raises(CommandError, match=r"--input .*: Is a directory"):
        give()


def test_files_are_called_by_their_names_or_where_those_are_the_same_by_their_paths() -> None:
    assert file_labels(["a/1.jpg", "b/2.jpg"]) == ["1.jpg", "2.jpg"]
    assert file_labels(["a/1.jpg", "b/1.jpg"]) == ["a/1.jpg", "b/1.jpg"]
