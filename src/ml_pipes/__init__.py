"""ml-pipes: machine-learning inference as a plain list of small steps.

The house, from the roof down; imports look down, never up::

    ml_pipes/
      __main__.py    the door from a shell: ml-pipes, python -m ml_pipes
      _cli/          the commands behind it
      _demo/         the pipeline, the model and the photograph of ``ml-pipes demo``
      benchmark/     how fast a pipeline is: loads, what was measured under them, and what may be said of it
      factory.py     from a configuration to a pipeline, its keys checked by name
      collectors/    what is done with traces: keep the newest, print each
      vision/        pictures: decode, resize, normalise, boxes, suppression, drawing
      onnx/          models in ONNX Runtime: Infer, Extract, Distribute
      openvino/      the same in OpenVINO
      _runtimes/     what both are built of
      tensor/        arrays with names, and steps that work on them
      standard/      steps for any value: Batch, Scatter, PerItem, Store, Recall, Pick, Map, Filter, Take, ...
      core.py        front door of the engine
      pipeline.py    Pipeline, Embed, Inline
      _engine/       a list becomes a plan; a driver carries a value through it
      _threads/      the cellar: every thread, lock, queue and clock
      region.py      what an opener, a closer and the body between them are
      context.py     the named values of one run; Store and Recall
      tracing.py     spans and traces as data; who receives them
      stats.py       the figures of regions as data: histograms, and a table of them
      operator.py    what an operator is: configuration that can be shown, and one call
      selector/      paths into values
      errors.py      every error of our own, in one tree
      control.py     SHORT_CIRCUIT
      __init__.py    this map, the version, and the names used most

The names used most can be had from here too: ``from ml_pipes import Pipeline``.
They are looked up in their rooms on first use, so that importing this package
alone imports nothing else. Other distributions may add rooms beside these.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ml_pipes.core import (
        SHORT_CIRCUIT,
        Context,
        Embed,
        Inline,
        Operator,
        Pipeline,
        RegionCloser,
        RegionOpener,
        embed,
        inline,
    )
    from ml_pipes.standard import (
        Batch,
        CollectItems,
        Distinct,
        DistinctBy,
        DropNull,
        Filter,
        FilterNotNull,
        Gather,
        LazyPerItem,
        Map,
        MapNotNull,
        MapValue,
        PerItem,
        Pick,
        Recall,
        Scatter,
        Select,
        SideEffectOp,
        Store,
        StreamItems,
        Take,
        TakeWhile,
        UnBatch,
        WrapMappingInObject,
    )

__version__ = "0.1.0"

__all__ = [
    "SHORT_CIRCUIT",
    "Batch",
    "CollectItems",
    "Context",
    "Distinct",
    "DistinctBy",
    "DropNull",
    "Embed",
    "Filter",
    "FilterNotNull",
    "Gather",
    "Inline",
    "LazyPerItem",
    "Map",
    "MapNotNull",
    "MapValue",
    "Operator",
    "PerItem",
    "Pick",
    "Pipeline",
    "Recall",
    "RegionCloser",
    "RegionOpener",
    "Scatter",
    "Select",
    "SideEffectOp",
    "Store",
    "StreamItems",
    "Take",
    "TakeWhile",
    "UnBatch",
    "WrapMappingInObject",
    "__version__",
    "embed",
    "inline",
]

__path__ = pkgutil.extend_path(__path__, __name__)

_FROM_CORE = frozenset(
    {"SHORT_CIRCUIT", "Context", "Embed", "Inline", "Operator", "Pipeline", "RegionCloser", "RegionOpener"}
    | {"embed", "inline"}
)


def __getattr__(name: str) -> Any:
    """A name used most, from its room; the second time it is found here (PEP 562)."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    room = importlib.import_module("ml_pipes.core" if name in _FROM_CORE else "ml_pipes.standard")
    globals()[name] = value = getattr(room, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
