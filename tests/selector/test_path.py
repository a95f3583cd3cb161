"""How a path is written."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.selector import parse_path, render_path


@pytest.mark.parametrize(
    ("path", "parts"),
    [
        ("a", ("a",)),
        ("a.b[0]", ("a", "b", 0)),
        ("[0].a", (0, "a")),
        ("a.0.b", ("a", 0, "b")),
        ("a[-1]", ("a", -1)),
        ("a[ 2 ]", ("a", 2)),
        (3, (3,)),
        (("a", "b.c", 1), ("a", "b", "c", 1)),
        (("a", ("b", (2,))), ("a", "b", 2)),
        ("two words.key-with-dash", ("two words", "key-with-dash")),
    ],
)
def test_a_path_is_read_as_its_parts(path: Any, parts: tuple[Any, ...]) -> None:
    assert parse_path(path) == parts


@pytest.mark.parametrize("path", ["", (), "a..b", "a[", "a[x]", "a]b", "a.", "[0]a"])
def test_a_path_that_cannot_be_read_is_refused(path: Any) -> None:
    with pytest.raises(ValueError, match="path"):
        parse_path(path)


@pytest.mark.parametrize("path", [1.5, None, True, ["a"]])
def test_a_part_of_another_kind_is_refused(path: Any) -> None:
    with pytest.raises(TypeError, match="a path's part must be"):
        parse_path(path)


@given(st.lists(st.one_of(st.integers(), st.from_regex(r"[a-z_]+", fullmatch=True)), min_size=1))
def test_a_rendered_path_reads_back(parts: list[Any]) -> None:
    assert parse_path(render_path(parts, "")) == tuple(parts)
