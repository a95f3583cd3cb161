"""A caller has a list of sixteen, and the model takes four at a time.

``PerItem`` over pieces of four: each caller's list is cut for itself, and nobody waits for anybody. That is
right for one caller, or where a run should never hold two callers' pictures. ``Batch(size=4, many=True)``:
the caller brings its list as it is, and where several do, the rest of one list leaves together with the
beginning of the next.
"""

from __future__ import annotations

from typing import Any

from photographs import (
    after_list,
    at_once,
    before_list,
    check_same,
    open_model,
    photographs,
    report,
    serial_pipeline,
)

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.standard import Batch, CollectItems, PerItem, UnBatch
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorRegistry

__all__ = ["in_fours", "in_pieces", "joined", "main", "met"]


def in_fours(items: list[Any]) -> list[list[Any]]:
    """Pieces of four, the last one shorter."""
    return [items[at : at + 4] for at in range(0, len(items), 4)]


def joined(pieces: list[list[Any]]) -> list[Any]:
    """The pieces as one list again."""
    return [item for piece in pieces for item in piece]


def in_pieces(model: Infer) -> Pipeline[list[bytes], list[TensorRegistry]]:
    """Each list is cut for itself."""
    return Pipeline([
        *before_list(),
        in_fours, PerItem(), Collate(), model, Distribute(), CollectItems(), joined,
        *after_list(),
    ])  # fmt: skip


def met(model: Infer) -> Pipeline[list[bytes], list[TensorRegistry]]:
    """The lists of all callers are one queue, cut in fours."""
    return Pipeline([
        *before_list(),
        Batch(size=4, many=True), Collate(), model, Distribute(), UnBatch(),
        *after_list(),
    ])  # fmt: skip


def main() -> PipelineStats:
    """One caller with sixteen, both ways; then two callers with six each."""
    model, files = open_model(), photographs(16)
    serial = [serial_pipeline(model)(data) for data in files]
    print("16 in pieces of four")
    with in_pieces(model) as pieces:
        check_same(serial, pieces(files))
    print("16 through Batch(size=4, many=True)")
    with met(model) as pipeline:
        check_same(serial, pipeline(files))
        report(pipeline)
    print("6 and 6 at once, through Batch(size=4, many=True)")
    with met(model) as pipeline:
        one, two = at_once(pipeline, [files[:6], files[6:12]])
        check_same(serial[:12], [*one, *two])
        report(pipeline)
        return pipeline.stats()


if __name__ == "__main__":
    main()
