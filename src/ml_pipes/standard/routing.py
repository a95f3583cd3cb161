"""Steps that choose what goes on: by position, by path, by name.

Knows tuples and paths. Knows nothing of pipelines.
"""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from ml_pipes.context import Recall, Store
from ml_pipes.errors import StepInputError
from ml_pipes.operator import Operator
from ml_pipes.selector import Selector, SelectorInput

__all__ = ["Pick", "Recall", "Select", "Store"]


@Operator
class Pick:
    """Take elements of a tuple by position: one index gives the element, several a tuple in that order.

    Raises:
        ValueError: no index is given (when built).
        StepInputError: the value is no tuple; a list is none either (a ``TypeError``).
        IndexError: the tuple is too short.
    """

    def __init__(self, *indices: int) -> None:
        if not indices:
            raise ValueError("Pick needs at least one index, such as Pick(0)")
        for index in indices:
            if isinstance(index, bool) or not hasattr(index, "__index__"):
                raise TypeError(f"Pick takes integer positions, got {index!r}; to walk by name use Select")
        self.indices = indices
        self._take = itemgetter(*indices)

    def __call__(self, current: tuple[Any, ...]) -> Any:
        if not isinstance(current, tuple):
            raise StepInputError(
                f"Pick takes a tuple, got a {type(current).__name__}; to index a list use Select"
            )
        try:
            return self._take(current)
        except IndexError:
            raise IndexError(f"Pick{self.indices} is out of range for a tuple of {len(current)}") from None


@Operator
class Select:
    """Walk a path: a name is a key or an attribute, a number an index; ``"a.b[0]"`` is ``"a", "b", 0``.

    Raises:
        ValueError: the path is empty or cannot be read (when built).
        SelectorRuntimeError: a key or an attribute is missing (a ``TypeError``).
        SelectorIndexError: an index is out of range (an ``IndexError``).
    """

    def __init__(self, *path: SelectorInput) -> None:
        self.path = path
        self._selector = Selector.from_input(path)

    def __call__(self, current: Any) -> Any:
        return self._selector.select_value(current, error_prefix="Select", root_label="current")
