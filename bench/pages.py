"""Text read from pages: our steps against the arrangement that the models' own package comes with.

Knows the models of an installed wheel, and their package where it can be imported. Knows nothing of how
letters look: pages are drawn elsewhere.
"""

from __future__ import annotations

import difflib
import importlib
import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any, TypeAlias

import cv2
import numpy as np

from bench.drawn_pages import drawn_pages
from bench.load import Options, shown
from bench.rates import over, ranged
from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract, Infer
from ml_pipes.standard import Gather, Pick, Recall, Scatter, Store
from ml_pipes.vision import Decode, Normalize
from ml_pipes.vision.text import (
    CropQuads,
    CTCDecode,
    DecodeTextMap,
    PadWidth,
    PreparePage,
    ProjectQuads,
    RecognizedText,
    ResizePage,
    ResizeToHeight,
    SortQuads,
    ctc_table,
)

__all__ = ["differing_lines", "page_rows"]

_Texts: TypeAlias = list[str]
_Read: TypeAlias = Callable[[Sequence[bytes]], list[_Texts]]

_OWNER = "RapidOCR(use_cls=False)"
_PAGES, _QUICK_PAGES, _GOAL = 6, 2, 1.5
_LEAST_SCORE = 0.5
# What it imports; opencv-python, which it asks for too, must not stand beside opencv-python-headless.
_WAY_OUT = (
    "pip install --no-deps rapidocr==3.10.0 && "
    "pip install pyclipper shapely omegaconf pyyaml requests tqdm colorlog"
)


@dataclass
class _Reader:
    """A way to read pages, and what its blocks gave.

    Attributes:
        read: gives the lines of each page.
        judged: whether the goal is for it.
        texts: what it read.
        per_s: pages per second, one per block.
        cpu_s: CPU of the process per page, seconds, one per block.
    """

    read: _Read
    judged: bool
    texts: list[_Texts] = field(default_factory=list)
    per_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)

    def block(self, pages: Sequence[bytes]) -> None:
        """Read all pages once."""
        began_at, cpu_s = time.perf_counter(), time.process_time()
        self.texts = self.read(pages)
        self.per_s.append(len(pages) / (time.perf_counter() - began_at))
        self.cpu_s.append((time.process_time() - cpu_s) / len(pages))


def page_rows(options: Options) -> list[dict[str, Any]]:
    """Pages per second of each way to read them, interleaved, and how many lines differ."""
    try:
        models = Path(str(distribution("rapidocr").locate_file("rapidocr/models")))
    except PackageNotFoundError:
        print(f"Pages are left out: rapidocr is not installed; {_WAY_OUT}")
        return []
    drawn = drawn_pages(_QUICK_PAGES if options.quick else _PAGES)
    pages = [page for page, _ in drawn]
    readers = _readers(models)
    for reader in readers.values():
        # A model's first run with a size plans it.
        reader.read(pages)
    order = random.Random(0)
    for _ in shown(range(2 if options.quick else 7), "pages"):
        for name in order.sample(list(readers), len(readers)):
            readers[name].block(pages)
    written = [lines for _, lines in drawn]
    return [_row(name, reader, readers.get(_OWNER), written) for name, reader in readers.items()]


def differing_lines(ones: Sequence[_Texts], others: Sequence[_Texts]) -> int:
    """How many lines of pages are different, missing or too many.

    Raises:
        ValueError: the pages are not as many.
    """
    count = 0
    for one, other in zip(ones, others, strict=True):
        changes = difflib.SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
        count += sum(max(b - a, d - c) for tag, a, b, c, d in changes if tag != "equal")
    return count


def _readers(models: Path) -> dict[str, _Reader]:
    readers = {
        "ours, page by page": _Reader(_one_by_one(_pipeline(models, threads=None)), judged=False),
        "ours, two pages at once": _Reader(_two_at_once(_pipeline(models, threads=1)), judged=True),
    }
    try:
        owner = importlib.import_module("rapidocr").RapidOCR(
            params={"Global.use_cls": False, "Global.log_level": "error"}
        )
    except ImportError as missing:
        print(f"{_OWNER} is left out: {missing}; {_WAY_OUT}")
        return readers
    return {_OWNER: _Reader(_by_owner(owner), judged=False), **readers}


def _by_owner(owner: Any) -> _Read:
    def read(page: bytes) -> _Texts:
        found = owner(cv2.imdecode(np.frombuffer(page, np.uint8), cv2.IMREAD_COLOR))
        return list(found.txts or ())

    return lambda pages: [read(page) for page in pages]


def _one_by_one(pipeline: Pipeline[bytes, list[RecognizedText]]) -> _Read:
    return lambda pages: [_texts(pipeline(page)) for page in pages]


def _two_at_once(pipeline: Pipeline[bytes, list[RecognizedText]]) -> _Read:
    def read(pages: Sequence[bytes]) -> list[_Texts]:
        with ThreadPoolExecutor(2) as callers:
            return [_texts(lines) for lines in callers.map(pipeline, pages)]

    return read


def _texts(lines: list[RecognizedText]) -> _Texts:
    """What counts as read, as for the owner."""
    return [line.text for line in lines if line.text.strip() and line.score >= _LEAST_SCORE]


def _row(name: str, reader: _Reader, owner: _Reader | None, written: list[_Texts]) -> dict[str, Any]:
    row: dict[str, Any] = {
        "what": name,
        "pages per s": statistics.median(reader.per_s),
        "blocks": ranged(reader.per_s, ".2f"),
        "CPU each, s": statistics.median(reader.cpu_s),
        "lines": sum(map(len, written)),
        "other than drawn": differing_lines(reader.texts, written),
    }
    if owner is None:
        return row
    ratio, spread = over(reader.per_s, owner.per_s)
    return {
        **row,
        f"other than {_OWNER}": differing_lines(reader.texts, owner.texts),
        f"over {_OWNER}": ratio,
        "of that min-max": spread,
        "goal": f">= {_GOAL}" if reader.judged else "",
        "met": ratio >= _GOAL if reader.judged else "",
    }


def _pipeline(models: Path, threads: int | None) -> Pipeline[bytes, list[RecognizedText]]:
    """The steps of examples/read_page.py after the owner's own preparation; ``threads`` of each model's call.

    Lines get no more columns than they need: with a thread to itself a run of one line costs per column
    what a run of six does, so company saves less than padding to a common width costs.
    """
    detector = Infer(models / "PP-OCRv6_det_small.onnx", threads=threads)
    reader = Infer(models / "PP-OCRv6_rec_small.onnx", threads=1)
    normalize = Normalize(mean=(0.5,) * 3, std=(0.5,) * 3, output_color_space="BGR")
    return Pipeline([
        Decode(), PreparePage(), Pick(0), Store("page"),
        ResizePage(), Store("resized", source=1), Pick(0), normalize,
        detector, Extract("fetch_name_0", as_="map"),
        DecodeTextMap(), Recall("resized"), ProjectQuads(), SortQuads(),
        Recall("page"), CropQuads(),
        Scatter(max_concurrency=1 if threads == 1 else 2), ResizeToHeight(48), normalize, PadWidth(1, 32),
        reader, Extract("fetch_name_0", as_="text"), CTCDecode(ctc_table(reader.metadata["character"])),
        Gather(), _flat,
    ])  # fmt: skip


def _flat(lists: list[list[RecognizedText]]) -> list[RecognizedText]:
    return [line for lines in lists for line in lines]
