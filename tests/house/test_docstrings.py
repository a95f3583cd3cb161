"""Everything that can be used says what it is."""

from __future__ import annotations

import ast
import importlib
import inspect
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conftest import Source


def test_every_file_says_what_it_is(sources: list[Source]) -> None:
    silent = [s.name for s in sources if s.text.strip() and not ast.get_docstring(s.tree)]

    assert not silent, "\n".join(silent)


def test_every_public_function_and_class_says_what_it_is(sources: list[Source]) -> None:
    silent = [
        f"{source.name}:{node.lineno} {node.name}"
        for source in sources
        if not source.is_test
        for node in source.tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        and not node.name.startswith("_")
        and not ast.get_docstring(node)
    ]

    assert not silent, "\n".join(silent)


def test_every_public_method_says_what_it_does_or_overrides_one_that_says_it(sources: list[Source]) -> None:
    silent = [
        f"{source.name}:{method.lineno} {cls.name}.{method.name}"
        for source in sources
        if source.is_ours
        for cls in source.tree.body
        if isinstance(cls, ast.ClassDef) and not cls.name.startswith("_")
        for method in cls.body
        if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef)
        and not method.name.startswith("_")
        and not _inherited_text(source, cls, method)
    ]

    assert not silent, "\n".join(silent)


def _inherited_text(
    source: Source, cls: ast.ClassDef, method: ast.FunctionDef | ast.AsyncFunctionDef
) -> str | None:
    if text := ast.get_docstring(method):
        return text
    defined = getattr(importlib.import_module(source.module), cls.name)
    return inspect.getdoc(getattr(defined, method.name))
