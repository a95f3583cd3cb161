"""The example that reads a page prints what is written on it."""

from __future__ import annotations

import importlib.util
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.models


@pytest.fixture
def read_page(root: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("example_read_page", root / "examples" / "read_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_scanned_page_is_read_from_top_to_bottom(read_page, capsys) -> None:
    texts = read_page.main()

    assert capsys.readouterr().out == "\n".join(texts) + "\n"
    assert texts[:3] == [
        "Region-based segmentation",
        "Let us first determine markers of the coins and the",
        "background. These markers are pixels that we can label",
    ]
    assert len(texts) == 7


def test_another_page_can_be_given(read_page, capsys) -> None:
    texts = read_page.main(Path(__file__).parent / "pages" / "columns.png")

    assert texts[:2] == ["Rain in the morning,", "Trains run hourly,"]
    assert len(capsys.readouterr().out.splitlines()) == 8


def test_without_its_models_it_says_how_to_get_them(read_page, monkeypatch) -> None:
    def nothing(package: str) -> object:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(read_page, "distribution", nothing)

    with pytest.raises(SystemExit, match=r"^rapidocr is missing; .*: pip install --no-deps rapidocr==3.10.0"):
        read_page.main()
