"""The levers of performance as pipelines to be measured from the command line; see docs/performance.md.

For example: ``ml-pipes benchmark examples/guide.py:faces examples/guide.py:photograph --axis batch=1,4,8``.
Each factory's arguments are the levers; what they make is what the other examples explain.
"""

from __future__ import annotations

from itertools import cycle
from typing import Any

from photographs import after_list, after_model, before_list, before_model, open_model, photographs, report

from ml_pipes.core import Pipeline
from ml_pipes.factory import InputFn, data_factory, pipeline_factory
from ml_pipes.onnx import Distribute
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Scatter, UnBatch
from ml_pipes.tensor import Collate
from ml_pipes.vision import Decode

__all__ = ["album", "album_faces", "faces", "main", "photograph", "pieces_of_faces"]


@pipeline_factory
def faces(
    batch: int = 1,
    timeout: float = 0.005,
    policy: str = "auto",
    at_once: int = 1,
    serialize: bool = False,
    threads: int | None = None,
) -> Pipeline:
    """A file's bytes go in, its faces come out.

    Args:
        batch: most callers that share a run of the model; 1 for no ``Batch``.
        timeout: longest wait for company, seconds.
        policy: when a batch leaves: ``auto``, ``greedy`` or ``full``.
        at_once: how many batches may run at a time.
        serialize: let one call at a time into the model.
        threads: CPU threads of one run of the model; all CPUs when left out.
    """
    model: list[Any] = [open_model(serialize=serialize, threads=threads)]
    if batch > 1:
        meeting = Batch(batch, timeout, policy=policy, max_concurrency=at_once)
        model = [meeting, Collate(), *model, Distribute(), UnBatch()]
    return Pipeline([Decode(), *before_model(), *model, *after_model()])


@pipeline_factory
def album_faces(workers: int = 1, batch: int = 1) -> Pipeline:
    """A list of files goes in, a list of faces comes out.

    Args:
        workers: how many files are worked on at once.
        batch: most of them that share a run of the model; 1 for no ``Batch``.
    """
    model: list[Any] = [open_model()]
    if batch > 1:
        model = [Batch(batch), Collate(), *model, Distribute(), UnBatch()]
    return Pipeline([Scatter(workers), Decode(), *before_model(), *model, *after_model(), Gather()])


@pipeline_factory
def pieces_of_faces(size: int = 4, workers: int = 2) -> Pipeline:
    """The same, in batches that the caller forms: the list is cut into pieces, each a run of the model.

    Args:
        size: files in a piece.
        workers: how many files are decoded at once.
    """

    def pieces(items: list[Any]) -> list[list[Any]]:
        return [items[at : at + size] for at in range(0, len(items), size)]

    def joined(results: list[list[Any]]) -> list[Any]:
        return [result for piece in results for result in piece]

    runs = [pieces, PerItem(), Collate(), open_model(), Distribute(), CollectItems(), joined]
    return Pipeline([*before_list(workers), *runs, *after_list()])


@data_factory
def photograph(count: int = 8) -> InputFn:
    """So many different photographs, one after the other, over and over.

    Args:
        count: how many.
    """
    named = cycle(list(enumerate(photographs(count))))

    def next_one() -> tuple[Any, Any, Any, Any]:
        number, data = next(named)
        return f"photograph {number}", data, "photograph", {"bytes": len(data)}

    return next_one


@data_factory
def album(count: int = 8) -> InputFn:
    """One list of so many photographs.

    Args:
        count: how many.
    """
    files = photographs(count)
    return lambda: (f"album of {count}", files, "album", {"photographs": count})


def main() -> None:
    """Run each pipeline once on eight photographs."""
    pipelines = {
        "faces": faces(batch=4),
        "album_faces": album_faces(2, 4),
        "pieces_of_faces": pieces_of_faces(),
    }
    _, files, _, _ = album(8)()
    for name, pipeline in pipelines.items():
        with pipeline:
            found = [pipeline(data) for data in files] if name == "faces" else pipeline(files)
            print(f"{name}: {[len(each['boxes']) for each in found]} faces")
            report(pipeline)


if __name__ == "__main__":
    main()
