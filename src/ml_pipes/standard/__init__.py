"""Front door of the operators that work on any value: routing, mapping, filtering, regions, effects."""

from ml_pipes.standard.batch import Batch, UnBatch
from ml_pipes.standard.effects import SideEffectOp
from ml_pipes.standard.filtering import Distinct, DistinctBy, DropNull, Filter, FilterNotNull, Take, TakeWhile
from ml_pipes.standard.items import CollectItems, PerItem
from ml_pipes.standard.lazy import LazyPerItem, StreamItems
from ml_pipes.standard.mapping import Map, MapNotNull, MapValue, WrapMappingInObject
from ml_pipes.standard.routing import Pick, Recall, Select, Store
from ml_pipes.standard.scatter import Gather, Scatter

__all__ = [
    "Batch",
    "CollectItems",
    "Distinct",
    "DistinctBy",
    "DropNull",
    "Filter",
    "FilterNotNull",
    "Gather",
    "LazyPerItem",
    "Map",
    "MapNotNull",
    "MapValue",
    "PerItem",
    "Pick",
    "Recall",
    "Scatter",
    "Select",
    "SideEffectOp",
    "Store",
    "StreamItems",
    "Take",
    "TakeWhile",
    "UnBatch",
    "WrapMappingInObject",
]
