"""Front door of the engine: what a program needs to write and run a pipeline."""

from ml_pipes.context import Context
from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.operator import Operator
from ml_pipes.pipeline import Embed, Inline, OperatorLike, Pipeline, PipelineDescription, embed, inline
from ml_pipes.region import RegionCloser, RegionOpener

__all__ = [
    "SHORT_CIRCUIT",
    "Context",
    "Embed",
    "Inline",
    "Operator",
    "OperatorLike",
    "Pipeline",
    "PipelineDescription",
    "RegionCloser",
    "RegionOpener",
    "embed",
    "inline",
]
