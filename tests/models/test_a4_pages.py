"""Two pages as an office prints them, of which every letter is known, are read as they were written."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

import pytest

from ml_pipes.vision import Decode
from ml_pipes.vision.text import RecognizedText

pytestmark = pytest.mark.models

HERE = Path(__file__).parent
PAGES = json.loads((HERE / "a4_pages.json").read_text(encoding="utf-8"))
MOST_ERRORS = 0.001  # of the characters that are written


def edits(one: Sequence[str], other: Sequence[str]) -> int:
    """The fewest insertions, deletions and replacements that make one of the other (Levenshtein, 1966)."""
    above = list(range(len(other) + 1))
    for row, mine in enumerate(one, 1):
        line = [row]
        for at, theirs in enumerate(other, 1):
            line.append(min(above[at] + 1, line[-1] + 1, above[at - 1] + (mine != theirs)))
        above = line
    return above[-1]


@pytest.fixture(scope="module")
def read(root: Path) -> dict[str, list[RecognizedText]]:
    spec = importlib.util.spec_from_file_location("example_read_page", root / "examples" / "read_page.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    models = Path(str(distribution("rapidocr").locate_file("rapidocr/models")))
    pair = models / "PP-OCRv6_det_small.onnx", models / "PP-OCRv6_rec_small.onnx"
    with module.make_pipeline(*pair) as pipeline:
        return {name: pipeline(HERE / "pages" / name) for name in PAGES}


def test_edits_are_counted_one_by_one() -> None:
    assert edits("kitten", "sitting") == 3
    assert edits("", "abc") == 3
    assert edits("same", "same") == 0


@pytest.mark.parametrize("name", PAGES)
def test_the_page_is_a4_with_dots_and_lines_enough(name: str) -> None:
    dots_per_inch = PAGES[name]["dpi"]

    picture = Decode()((HERE / "pages" / name).read_bytes())

    assert dots_per_inch >= 150
    assert picture.width == round(210 / 25.4 * dots_per_inch)
    assert picture.height == round(297 / 25.4 * dots_per_inch)
    assert len(PAGES[name]["lines"]) >= 30


@pytest.mark.parametrize("name", PAGES)
def test_of_a_thousand_characters_one_at_most_is_read_wrongly(name: str, read) -> None:
    truth = PAGES[name]["lines"]

    found = [line.text for line in read[name]]

    assert len(found) == len(truth)
    errors = sum(edits(mine, theirs) for mine, theirs in zip(found, truth, strict=True))
    assert errors <= MOST_ERRORS * sum(map(len, truth))
