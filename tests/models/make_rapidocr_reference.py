"""Writes ``rapidocr_reference.json``: what RapidOCR, the models' own package, reads on eleven pages.

Nine of the pages are drawn here, into ``pages/``, so that what is written on them is known; the
pictures are kept, since other versions of Pillow and of the fonts draw other pixels. It needs an
environment of its own, since ``rapidocr`` brings another build of OpenCV, and the fonts of Debian's
``fonts-dejavu``::

    python -m venv owner
    owner/bin/pip install --no-deps rapidocr==3.10.0 scikit-image==0.26.0
    owner/bin/pip install pyclipper shapely omegaconf pyyaml requests tqdm colorlog onnxruntime \
        opencv-python-headless pillow
    owner/bin/python tests/models/make_rapidocr_reference.py

Knows the owner's package. Knows nothing of ml-pipes.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
from pathlib import Path
from typing import Any

import cv2
from PIL import Image, ImageDraw, ImageFont
from rapidocr import RapidOCR

__all__ = ["main"]

COMMAND = "owner/bin/python tests/models/make_rapidocr_reference.py"
HERE = Path(__file__).parent
FONTS = Path("/usr/share/fonts/truetype/dejavu")
SCANS = {name: f"skimage/data/{name}" for name in ("page.png", "text.png")}
LETTER = (
    "The quick brown fox jumps over the lazy dog.",
    "A pipeline is a plain list of small steps,",
    "and each of them does one thing only.",
    "Invoice 2026-0417 of 12 March 2026",
    "Total: 1,284.50 EUR, payable within 30 days",
    "Thank you for your order!",
)
CODE = ("import numpy as np", "array = np.zeros(16)", "print(array.sum())", "return result")
LEFT = ("Rain in the morning,", "sun after midday,", "wind from the west,", "clear night ahead.")
RIGHT = ("Trains run hourly,", "buses on request,", "the last ferry leaves", "at half past nine.")
SLOPE = ("Handle with care", "This side up", "Keep away from fire")
SHELF = ("Collected Letters", "A Short History of Rivers")


def main() -> None:
    """Draw the pages, run the owner on every page and write the file beside this one."""
    owner = RapidOCR(params={"Global.use_cls": False, "Global.log_level": "error"})
    (HERE / "pages").mkdir(exist_ok=True)
    pages: dict[str, dict[str, Any]] = {
        name: {"package": "scikit-image", "path": inner, "truth": None} for name, inner in SCANS.items()
    }
    for name, (picture, truth) in _drawn().items():
        few_greys = picture.point(lambda value: value // 17 * 17)
        few_greys.save(HERE / "pages" / f"{name}.png", optimize=True)
        pages[f"{name}.png"] = {"package": None, "path": f"pages/{name}.png", "truth": list(truth)}
    pages = {name: said | _read(owner, said["package"], said["path"]) for name, said in pages.items()}
    packages = ("rapidocr", "onnxruntime", "numpy", "opencv-python-headless", "pyclipper", "scikit-image")
    result = {
        "command": COMMAND,
        "decoded": "cv2.imread(path, cv2.IMREAD_COLOR)",
        "settings": "Global.use_cls=False",
        "versions": {name: importlib.metadata.version(name) for name in packages},
        "pages": pages,
    }
    target = HERE / "rapidocr_reference.json"
    target.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _read(owner: RapidOCR, package: str | None, inner: str) -> dict[str, Any]:
    path = HERE / inner if package is None else importlib.metadata.distribution(package).locate_file(inner)
    bgr = cv2.imread(str(path), cv2.IMREAD_COLOR)
    found = owner(bgr)
    texts, scores, quads = (() if part is None else part for part in (found.txts, found.scores, found.boxes))
    return {
        "shape": list(bgr.shape),
        "sha256_of_bgr": hashlib.sha256(bgr.tobytes()).hexdigest(),
        "lines": [
            {"text": text, "score": round(float(score), 5), "quad": quad.round(3).tolist()}
            for text, score, quad in zip(texts, scores, quads, strict=True)
        ],
    }


def _drawn() -> dict[str, tuple[Image.Image, tuple[str, ...]]]:
    """Pages by name, and what is written on each, in the order in which it is read."""
    both = tuple(text for pair in zip(LEFT, RIGHT, strict=True) for text in pair)
    slope = _page((700, 420), SLOPE, "DejaVuSerif", 34, gap=100).rotate(-6, fillcolor=255, resample=3)
    shelf = _page((420, 700), (), "DejaVuSans", 30)
    for at, text in enumerate(SHELF):
        spine = _page((560, 50), (text,), "DejaVuSans", 30, corner=(20, 6)).rotate(-90, expand=True)
        shelf.paste(spine, (80 + 160 * at, 70))
    columns = _page((900, 360), LEFT, "DejaVuSerif", 24, gap=70)
    _write(columns, RIGHT, "DejaVuSerif", 24, gap=70, corner=(500, 40))
    poster = _page((1200, 900), ("GRAND OPENING",), "DejaVuSans-Bold", 90, corner=(180, 120))
    _write(poster, ("Saturday, 14 June, from ten o'clock",), "DejaVuSerif", 40, corner=(240, 420))
    _write(poster, ("Doors close at midnight",), "DejaVuSans", 18, corner=(480, 800))
    night = Image.eval(_page((640, 300), CODE, "DejaVuSansMono", 22, gap=58), lambda value: 255 - value)
    return {
        "letter": (_page((800, 520), LETTER, "DejaVuSans", 26, gap=74), LETTER),
        "columns": (columns, both),
        "night": (night, CODE),
        "slope": (slope, SLOPE),
        "shelf": (shelf, SHELF),
        "poster": (
            poster,
            ("GRAND OPENING", "Saturday, 14 June, from ten o'clock", "Doors close at midnight"),
        ),
        "strip": (
            _page((900, 44), ("One line alone, from edge to edge of its picture",), "DejaVuSans", 30),
            ("One line alone, from edge to edge of its picture",),
        ),
        "long": (_page((2600, 700), LETTER, "DejaVuSans", 48, gap=105), LETTER),
        "label": (_page((180, 28), ("Batch 20417",), "DejaVuSans", 20, corner=(20, 2)), ("Batch 20417",)),
    }


def _page(
    size: tuple[int, int],
    lines: tuple[str, ...],
    font: str,
    size_px: int,
    gap: int = 0,
    corner: tuple[int, int] | None = None,
) -> Image.Image:
    page = Image.new("L", size, 255)
    _write(page, lines, font, size_px, gap, corner or ((40, 40) if size[1] > 100 else (10, 3)))
    return page


def _write(
    page: Image.Image,
    lines: tuple[str, ...],
    font: str,
    size_px: int,
    gap: int = 0,
    corner: tuple[int, int] = (40, 40),
) -> None:
    draw = ImageDraw.Draw(page)
    face = ImageFont.truetype(str(FONTS / f"{font}.ttf"), size_px)
    for at, line in enumerate(lines):
        draw.text((corner[0], corner[1] + at * gap), line, fill=20, font=face)


if __name__ == "__main__":
    main()
