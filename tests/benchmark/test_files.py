"""Files of JSON, written whole and read with words for what is wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ml_pipes.benchmark.files import read_json, write_json


def test_what_is_written_is_read_and_folders_on_the_way_are_made(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"

    write_json(path, {"é": [1, 2.5]})

    assert read_json(path, "thing", dict) == {"é": [1, 2.5]}
    assert [other.name for other in path.parent.iterdir()] == ["b.json"]


def test_what_json_does_not_have_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"old": 1})

    with pytest.raises(ValueError, match="not JSON compliant"):
        write_json(path, {"new": float("nan")})

    assert read_json(path, "thing", dict) == {"old": 1}


@pytest.mark.parametrize("content", [b"{", b"\xff\xfe", b""])
def test_what_is_no_json_is_told_with_the_files_name(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(content)

    with pytest.raises(ValueError, match=r"a\.json: this is no thing, it is not JSON: "):
        read_json(path, "thing", dict)


def test_what_cannot_be_used_is_told_in_the_words_of_who_tried(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {})

    def refuse(_: Any) -> None:
        raise ValueError("there is nothing in it")

    with pytest.raises(ValueError, match=r"a\.json: there is nothing in it"):
        read_json(path, "thing", refuse)
