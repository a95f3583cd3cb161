"""A folder to stand in, with modules of one's own, that are forgotten afterwards."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import pytest

Write: TypeAlias = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, monkeypatch) -> Iterator[Write]:
    """``write(name, text)`` puts a file into the current folder, which is a new one."""
    modules, path = dict(sys.modules), list(sys.path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [each for each in path if each])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def put(name: str, text: str) -> Path:
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text), encoding="utf-8")
        return file

    yield put
    for name, module in list(sys.modules.items()):
        if name not in modules and str(getattr(module, "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def lengths(write: Write) -> str:
    """A module with a pipeline that counts a file's bytes, and inputs of its own."""
    write(
        "lengths.py",
        """
        from ml_pipes import Pipeline
        from ml_pipes.factory import data_factory, pipeline_factory

        def length(data: bytes) -> int:
            return len(data)

        def refuse(data: bytes) -> int:
            raise ValueError("not today")

        @pipeline_factory
        def make(times=1, shape=(1, 1)):
            def scale(n: int) -> int:
                return n * times * shape[0]
            return Pipeline([length, scale])

        @data_factory
        def words(word="four"):
            return lambda: (word, word.encode(), None, None)

        plain = Pipeline([length])
        broken = Pipeline([refuse])
        """,
    )
    return "lengths.py"
