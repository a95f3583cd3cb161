"""Front door of the operators that work on any value: routing, regions, effects."""

from ml_pipes.standard.batch import Batch, UnBatch
from ml_pipes.standard.effects import SideEffectOp
from ml_pipes.standard.items import CollectItems, PerItem
from ml_pipes.standard.routing import Pick, Recall, Select, Store
from ml_pipes.standard.scatter import Gather, Scatter

__all__ = [
    "Batch",
    "CollectItems",
    "Gather",
    "PerItem",
    "Pick",
    "Recall",
    "Scatter",
    "Select",
    "SideEffectOp",
    "Store",
    "UnBatch",
]
