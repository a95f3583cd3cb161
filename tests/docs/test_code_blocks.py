"""What the README and the pages of docs/ show runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

_ROOT = Path(__file__).resolve().parents[2]
_PAGES = [_ROOT / "README.md", _ROOT / "CONTRIBUTING.md", *sorted((_ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.models
@pytest.mark.parametrize(
    "page",
    [page for page in _PAGES if _BLOCK.search(page.read_text(encoding="utf-8"))],
    ids=lambda page: page.name,
)
def test_the_code_of_a_page_runs_in_the_order_of_the_page(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = page.read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "page"}

    for block in _BLOCK.finditer(text):
        # Blank lines before it, so that a traceback names the line of the page.
        code = "\n" * text[: block.start(1)].count("\n") + block[1]
        exec(compile(code, str(page), "exec"), namespace)  # noqa: S102 - our own pages


@pytest.mark.models
def test_the_first_example_of_the_readme_finds_the_astronaut() -> None:
    namespace: dict[str, Any] = {"__name__": "page"}

    exec(_first_example(), namespace)  # noqa: S102 - our own page

    assert namespace["faces"]["boxes"] == pytest.approx(np.array([[182, 58, 270, 178]]), abs=1)
    assert namespace["faces"]["scores"] == pytest.approx([0.93], abs=0.005)


def test_the_first_example_of_the_readme_has_twenty_lines_at_most() -> None:
    lines = [line for line in _first_example().splitlines() if line.strip()]

    assert len(lines) <= 20


def _first_example() -> str:
    found = _BLOCK.search((_ROOT / "README.md").read_text(encoding="utf-8"))
    assert found is not None, "README.md shows an example"
    return found[1]
