"""Paths into values: ``"boxes[0].xyxy"``, ``("meta", "size", 1)``.

``path`` parses and renders a path, ``read`` follows it, ``write`` writes to its end;
``look`` is one step of either. They know plain Python values only: mappings,
sequences and attributes.
"""

from ml_pipes.errors import SelectorIndexError, SelectorRuntimeError
from ml_pipes.selector.path import SelectorInput, SelectorPart, parse_path, render_path
from ml_pipes.selector.read import Selector
from ml_pipes.selector.write import SelectedField

__all__ = [
    "SelectedField",
    "Selector",
    "SelectorIndexError",
    "SelectorInput",
    "SelectorPart",
    "SelectorRuntimeError",
    "parse_path",
    "render_path",
]
