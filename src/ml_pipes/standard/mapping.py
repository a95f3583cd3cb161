"""Steps that make another value of the current one, or of a part of it.

Knows the function and the paths that were given. Knows nothing of pipelines.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar, cast

from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.operator import Operator
from ml_pipes.selector import SelectorInput
from ml_pipes.standard._given import check_makes, check_path, check_takes_one

__all__ = ["Map", "MapNotNull", "MapValue", "WrapMappingInObject"]

CurrentT = TypeVar("CurrentT")
ValueT = TypeVar("ValueT")
MappedT = TypeVar("MappedT")
StateT = TypeVar("StateT")

_DROPPED: Any = SHORT_CIRCUIT  # what no annotation of a result names


@Operator
class Map(Generic[ValueT, MappedT]):
    """Go on with ``fn(current)``; a tuple is given whole. ``Map[T, U]`` states the types.

    Args:
        fn: any callable of one value: a function, a class, a builtin such as ``str`` or ``np.sqrt``.

    Raises:
        TypeError: ``fn`` cannot be called with one value by position (when built).
    """

    def __init__(self, fn: Callable[[ValueT], MappedT]) -> None:
        check_takes_one("Map: fn", fn)
        self.fn = fn

    def __call__(self, current: ValueT) -> MappedT:
        return self.fn(current)


@Operator
class MapNotNull(Generic[ValueT, MappedT]):
    """Go on with ``fn(current)``; where that is None the run ends, or the item is dropped.

    Args:
        fn: as in :class:`Map`.

    Raises:
        TypeError: ``fn`` cannot be called with one value by position (when built).
    """

    def __init__(self, fn: Callable[[ValueT], MappedT | None]) -> None:
        check_takes_one("MapNotNull: fn", fn)
        self.fn = fn

    def __call__(self, current: ValueT) -> MappedT:
        mapped = self.fn(current)
        return _DROPPED if mapped is None else mapped


@Operator
class MapValue:
    """Write ``fn(the value at source)`` to ``target`` in the current object, and go on with that object.

    It is the one operator that changes what it gets: whoever else holds the object
    sees the change. To leave it as it is, make a new object with :class:`Map`. A
    current None passes untouched. Nothing is written where ``fn`` fails, or gives
    ``SHORT_CIRCUIT``, which ends the run.

    Args:
        fn: as in :class:`Map`.
        source: path of the value to read, such as ``"meta.size"``.
        target: path of the place to write to; ``source`` unless it is given. Keys that
            mappings lack on the way are made, as dicts.

    Raises:
        TypeError: ``fn`` cannot be called with one value, or a path is no path (when built).
        ValueError: a path cannot be read (when built).
        SelectorRuntimeError: ``source`` is not there, or ``target`` cannot be written to: a
            tuple, a frozen dataclass, a read-only array (a ``TypeError``; when called).
        SelectorIndexError: an index is out of range (an ``IndexError``; when called).
    """

    def __init__(
        self,
        fn: Callable[[ValueT], MappedT],
        *,
        source: SelectorInput,
        target: SelectorInput | None = None,
    ) -> None:
        check_takes_one("MapValue: fn", fn)
        self.fn = fn
        self.source = source
        self.target = source if target is None else target
        self._read = check_path("MapValue: source", source)
        self._write = check_path("MapValue: target", self.target)

    def __call__(self, current: CurrentT | None) -> CurrentT | None:
        if current is None:
            return None
        value = self._read.select_value(current, error_prefix="MapValue: source", root_label="current")
        mapped: Any = self.fn(value)
        if mapped is SHORT_CIRCUIT:
            return cast(CurrentT, mapped)
        field = self._write.select_field(current, root_label="current")
        field.set(mapped, create_missing_mappings=True, error_prefix="MapValue: target")
        return current


@Operator
class WrapMappingInObject(Generic[StateT]):
    """Go on with a new object of ``state_factory()`` that holds the current mapping at ``target``.

    What is no mapping, None too, ends the run, or drops the item.

    Args:
        target: path of the place in the object, such as ``"payload"``.
        state_factory: makes the object, a new one at each call; parameters of it must have defaults.

    Raises:
        TypeError: ``state_factory`` requires an argument, or ``target`` is no path (when built).
        ValueError: ``target`` cannot be read (when built).
        SelectorRuntimeError: ``target`` cannot be written to in that object (a ``TypeError``; when called).
    """

    def __init__(self, *, target: SelectorInput, state_factory: Callable[[], StateT]) -> None:
        check_makes("WrapMappingInObject: state_factory", state_factory)
        self.target = target
        self.state_factory = state_factory
        self._write = check_path("WrapMappingInObject: target", target)

    def __call__(self, value: Mapping[Any, Any] | None) -> StateT:
        if not isinstance(value, Mapping):
            return cast(StateT, SHORT_CIRCUIT)
        state = self.state_factory()
        field = self._write.select_field(state, root_label="state")
        field.set(value, error_prefix="WrapMappingInObject: target")
        return state
