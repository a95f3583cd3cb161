"""Eight callers around ``Batch(4)`` with a real model, as a page: which thread did what when.

Writes ``timeline.html``, to be opened in a browser, and ``timeline.json.gz``, to be opened at
https://ui.perfetto.dev: there each thread is a track, and arrows lead from each caller to its batch and on.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from photographs import after_model, before_model, open_model, photographs

from ml_pipes.collectors import TimelineCollector
from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute
from ml_pipes.standard import Batch, UnBatch
from ml_pipes.tensor import Collate
from ml_pipes.vision import Decode

__all__ = ["main"]

CALLERS = 8
PHOTOGRAPHS = 32


def main(folder: Path = Path()) -> TimelineCollector:
    """Find the faces of 32 photographs, eight at a time, and write down when what ran."""
    batch = [Batch(4, timeout=0.02), Collate(), open_model(), Distribute(), UnBatch()]
    files = photographs(PHOTOGRAPHS)
    timeline = TimelineCollector()
    pipeline = Pipeline([Decode(), *before_model(), *batch, *after_model()])
    with pipeline, ThreadPoolExecutor(CALLERS, thread_name_prefix="caller") as pool:
        list(pool.map(pipeline, files[:CALLERS]))  # the first calls of a model are slower than the later ones
        pipeline.set_tracing(timeline)
        list(pool.map(pipeline, files))
    for name in ("timeline.html", "timeline.json.gz"):
        path = timeline.save(folder / name, title=f"{CALLERS} callers around Batch(4) with CenterFace")
        print(f"written: {path}")
    return timeline


if __name__ == "__main__":
    main()
