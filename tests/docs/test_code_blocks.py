"""What the README and the pages of docs/ show runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

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


def test_the_first_example_of_the_readme_has_twenty_lines() -> None:
    first = _BLOCK.search((_ROOT / "README.md").read_text(encoding="utf-8"))

    assert first is not None
    assert len([line for line in first[1].splitlines() if line.strip()]) <= 20
