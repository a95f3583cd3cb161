"""Following a path into a value."""

from __future__ import annotations

import types
import weakref
from typing import Any

import numpy as np
import pytest

from ml_pipes.errors import SelectorRuntimeError
from ml_pipes.selector import Selector


class Kept:
    size = 3


class Slots:
    __slots__ = ("unset",)


class Registry:
    """Has names, and is no mapping."""

    def __init__(self, **values: Any) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __contains__(self, name: str) -> bool:
        return name in self._values

    def keys(self) -> Any:
        return self._values.keys()


class Lazy:
    """Answers names that it does not have."""

    def __getattr__(self, name: str) -> str:
        if name.startswith("_"):
            raise AttributeError(name)
        return f"made {name}"

    @property
    def broken(self) -> int:
        raise AttributeError("inside the property")


_KEPT = Kept()


@pytest.mark.parametrize(
    ("value", "path", "found"),
    [
        ({"a": {"b": 1}}, "a.b", 1),
        ({0: "zero"}, 0, "zero"),
        ([[1, 2], [3]], "[0][1]", 2),
        ((1, 2), -1, 2),
        (Registry(boxes=3), "boxes", 3),
        (Lazy(), "colour", "made colour"),
        ({"a": None}, "a", None),
        (np.array([(1, 2)], dtype=[("x", int), ("y", int)])[0], "y", 2),
        (weakref.proxy(_KEPT), "size", 3),
        (types.ModuleType("empty", "its text"), "__doc__", "its text"),
    ],
)
def test_a_path_leads_through_keys_indices_and_attributes(value: Any, path: Any, found: Any) -> None:
    assert Selector.from_input(path).select_value(value) == found


def test_no_path_selects_the_value_itself() -> None:
    value = object()

    assert Selector.from_input(None).select_value(value) is value


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({"a": 1}, "b"),
        (Registry(boxes=1), "scores"),
        (3, 0),
        ("text", 0),
        (object(), "size"),
        (Lazy(), "_size"),
        ({}, 0),
    ],
)
def test_what_is_missing_is_a_type_error_that_shows_the_way_so_far(value: Any, path: Any) -> None:
    selector = Selector.from_input(path)

    with pytest.raises(SelectorRuntimeError, match="cannot resolve x"):
        selector.select_value(value)
    assert selector.select_value_or_missing(value, missing="none") == "none"


def test_an_error_inside_a_property_is_not_a_missing_value() -> None:
    selector = Selector.from_input("broken")

    with pytest.raises(AttributeError, match="inside the property"):
        selector.select_value_or_missing(PropertyOnly())


class PropertyOnly:
    @property
    def broken(self) -> int:
        raise AttributeError("inside the property")


def test_a_selector_error_inside_a_property_is_not_a_missing_value_either() -> None:
    class Nested:
        @property
        def inner(self) -> Any:
            return Selector(("size",)).select_value({})

    with pytest.raises(SelectorRuntimeError, match="has no key or attribute 'size'"):
        Selector(("inner",)).select_value_or_missing(Nested(), missing=None)
