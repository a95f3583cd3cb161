"""Read the text of a page: find its lines, cut each out, read several at once, print them in order.

Lines are cut out as pictures of one height and of any width; each gets columns of padding up to a width that
others have too, and lines of one width share runs of the second model. The models and the page lie in
other packages' wheels: ``pip install --no-deps rapidocr==3.10.0 scikit-image==0.26.0``.
"""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract, Infer
from ml_pipes.standard import Batch, Gather, Pick, Recall, Scatter, Store, UnBatch
from ml_pipes.tensor import Collate, TensorPayload
from ml_pipes.vision import Decode, LoadFile, Normalize
from ml_pipes.vision.text import (
    CropQuads,
    CTCDecode,
    DecodeTextMap,
    PadWidth,
    ProjectQuads,
    RecognizedText,
    ResizePage,
    ResizeToHeight,
    SortQuads,
)

__all__ = ["main", "make_pipeline"]

WAY_OUT = "; get models and page with: pip install --no-deps rapidocr==3.10.0 scikit-image==0.26.0"


def width(tensor: TensorPayload) -> int:
    """The key of a batch: its lines have one width, columns."""
    return tensor.array.shape[-1]


def make_pipeline(detector: Path, recogniser: Path) -> Pipeline[str | Path, list[RecognizedText]]:
    """A path goes in; the lines of its page come out, from top to bottom, with their scores."""
    reader = Infer(recogniser)
    normalize = Normalize(mean=(0.5,) * 3, std=(0.5,) * 3, output_color_space="BGR")
    return Pipeline([
        LoadFile(), Decode(), Store("page"),
        # Where is text? A map of probabilities, then rectangles in pixels of the page.
        ResizePage(), Store("resized", source=1), Pick(0), normalize,
        Infer(detector), Extract("fetch_name_0", as_="map"),
        DecodeTextMap(), Recall("resized"), ProjectQuads(), SortQuads(),
        Recall("page"), CropQuads(),
        # What is written? The lines of one width meet in a batch.
        Scatter(max_concurrency=6), ResizeToHeight(48), normalize, PadWidth(320, 64),
        Batch(size=6, key=width), Collate(),
        reader, Extract("fetch_name_0", as_="text"), CTCDecode.from_metadata(reader.metadata),
        UnBatch(), Gather(),
    ])  # fmt: skip


def main(page: str | Path | None = None) -> list[str]:
    """Print the text of ``page``, by default of a scanned page of scikit-image's."""
    try:
        models = Path(str(distribution("rapidocr").locate_file("rapidocr/models")))
        page = page or str(distribution("scikit-image").locate_file("skimage/data/page.png"))
    except PackageNotFoundError as missing:
        sys.exit(f"{missing.name} is missing" + WAY_OUT)
    with make_pipeline(models / "PP-OCRv6_det_small.onnx", models / "PP-OCRv6_rec_small.onnx") as pipeline:
        lines = pipeline(page)
    # Of what is no text the recogniser makes little, with little score.
    texts = [line.text for line in lines if line.text.strip() and line.score >= 0.5]
    print("\n".join(texts))
    return texts


if __name__ == "__main__":
    main()
