"""A file holds one idea, and a function can be read at a glance."""

from __future__ import annotations

import ast
import io
import tokenize
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Source

LINES_IN_A_FILE = 400
LINES_IN_A_FUNCTION = 40


def test_every_file_is_shorter_than_400_lines(sources: list[Source]) -> None:
    lengths = {source.name: len(source.text.splitlines()) for source in sources}

    long = [f"{name}: {lines}" for name, lines in lengths.items() if lines >= LINES_IN_A_FILE]
    assert not long, "\n".join(long)


def test_every_function_is_shorter_than_40_lines(sources: list[Source]) -> None:
    lengths = {
        f"{source.name}:{function.lineno} {function.name}": _lines_of_code(function, _lines_with_code(source))
        for source in sources
        for function in source.functions()
        if function.end_lineno is not None
        and function.end_lineno - function.lineno >= LINES_IN_A_FUNCTION - 1
    }

    long = [f"{name}: {lines}" for name, lines in lengths.items() if lines >= LINES_IN_A_FUNCTION]
    assert not long, "\n".join(long)


def _lines_of_code(function: ast.FunctionDef | ast.AsyncFunctionDef, with_code: set[int]) -> int:
    """The lines from ``def`` to the end that hold code: no docstring, no blank lines, no lines of comment."""
    assert function.end_lineno is not None
    lines = with_code & set(range(function.lineno, function.end_lineno + 1))
    first = function.body[0]
    if ast.get_docstring(function) is not None and first.end_lineno is not None:
        lines -= set(range(first.lineno, first.end_lineno + 1))
    return len(lines)


def _lines_with_code(source: Source) -> set[int]:
    """The numbers of the lines that hold more than blanks and comments."""
    beside_code = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type not in beside_code:
            lines |= set(range(token.start[0], token.end[0] + 1))
    return lines
