"""What a reviewer would say twice."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Source

_MARK = re.compile(
    r"\s*#\s*(?:noqa(?::\s*[A-Z]+[0-9]+(?:[,\s]+[A-Z]+[0-9]+)*)?"
    r"|type:\s*ignore(?:\[[\w\-, ]+\])?"
    r"|pragma:\s*no\s*(?:cover|branch))"
)


def test_every_ignore_carries_its_reason(sources: list[Source]) -> None:
    bare = [
        f"{source.name}:{line} {comment}"
        for source in sources
        for line, comment in _comments(source)
        if _MARK.search(comment) and not _has_a_reason(comment)
    ]

    assert not bare, "\n".join(bare)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: S101",
        "# noqa",
        "# type: ignore[misc]",
        "# pragma: no cover",
        "# type: ignore[misc] # noqa: S101, B018",
    ],
)
def test_an_ignore_alone_is_no_reason(comment: str) -> None:
    assert not _has_a_reason(comment)


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa: S101 - a fake fails the test that uses it wrongly",
        "# type: ignore[misc] # asks which one it is",
        "# pragma: no cover: only on Windows",
    ],
)
def test_an_ignore_with_words_has_a_reason(comment: str) -> None:
    assert _has_a_reason(comment)


def test_no_test_sleeps(sources: list[Source]) -> None:
    sleepers = [
        f"{source.name}:{node.lineno}"
        for source in sources
        if source.is_test
        for node in ast.walk(source.tree)
        if (isinstance(node, ast.Attribute) and ast.unparse(node) == "time.sleep")
        or (
            isinstance(node, ast.ImportFrom)
            and node.module == "time"
            and "sleep" in {a.name for a in node.names}
        )
    ]

    assert not sleepers, "\n".join(sleepers)


def test_every_example_has_a_main_and_runs_it(sources: list[Source]) -> None:
    examples = [s for s in sources if s.name.startswith("examples/")]
    without = [
        s.name
        for s in examples
        if not any(isinstance(node, ast.FunctionDef) and node.name == "main" for node in s.tree.body)
        or 'if __name__ == "__main__":' not in s.text
    ]

    assert examples
    assert not without, "\n".join(without)


def _comments(source: Source) -> Iterator[tuple[int, str]]:
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def _has_a_reason(comment: str) -> bool:
    """At least two words are left when the marks are taken away."""
    return len(re.findall(r"\w+", _MARK.sub("", comment))) > 1
