"""The project's files as text and syntax trees, for the tests of the house's rules."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

_FOLDERS = ("src", "tests", "bench", "examples")


@dataclass(frozen=True)
class Source:
    """One Python file of the project."""

    path: Path
    name: str

    @cached_property
    def text(self) -> str:
        """The file's text."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        """The file's syntax tree."""
        return ast.parse(self.text, filename=self.name)

    @property
    def is_ours(self) -> bool:
        """It is part of the library, not of its tests, benchmarks or examples."""
        return self.name.startswith("src/")

    @property
    def is_test(self) -> bool:
        """It lies among the tests."""
        return self.name.startswith("tests/")

    @property
    def module(self) -> str:
        """The name to import it by, for a file of the library."""
        parts = list(self.path.with_suffix("").parts)
        parts = parts[len(parts) - parts[::-1].index("ml_pipes") - 1 :]
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """Every function and method, nested ones too."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield node


@pytest.fixture(scope="session")
def sources(root: Path) -> list[Source]:
    """Every Python file of the project."""
    paths = sorted(path for folder in _FOLDERS for path in (root / folder).rglob("*.py"))
    return [Source(path, path.relative_to(root).as_posix()) for path in paths]


@pytest.fixture(scope="session")
def rooms(root: Path) -> set[str]:
    """The rooms of the house: ``name/`` for a folder with code, ``name.py`` for a file."""
    house = root / "src" / "ml_pipes"
    folders = {f"{path.name}/" for path in house.iterdir() if path.is_dir() and any(path.glob("*.py"))}
    files = {path.name for path in house.glob("*.py")}
    return folders | files
