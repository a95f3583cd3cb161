"""Writing to the end of a path."""

from __future__ import annotations

import enum
from collections import namedtuple
from dataclasses import dataclass
from types import MappingProxyType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ml_pipes.errors import SelectorIndexError, SelectorRuntimeError
from ml_pipes.selector import SelectedField, Selector
from ml_pipes.tensor import TensorRegistry

Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024 # the untyped kind is what is tested


class Slots:
    __slots__ = ("size",)


class Colour(enum.Enum):
    RED = 1


@dataclass(frozen=True)
class Frozen:
    size: int = 1


class Guarded:
    """Its one property takes positive numbers; another cannot be set."""

    size = property(lambda self: self._size)

    @property
    def level(self) -> int:
        return self._level

    @level.setter
    def level(self, level: int) -> None:
        if level < 0:
            raise AttributeError("inside the setter")
        self._level = level


def write(value: Any, path: Any, new: Any, **options: Any) -> Any:
    Selector.from_input(path).select_field(value).set(new, **options)
    return value


@pytest.mark.parametrize(
    "path", ["size", "meta.size", ("meta", "size"), "rows[1]", "rows[-1].size", "meta.new"]
)
def test_what_is_written_is_what_is_read(path: Any) -> None:
    value = SimpleNamespace(size=1, meta={"size": 1}, rows=[SimpleNamespace(size=1), SimpleNamespace(size=1)])

    write(value, path, "new")

    assert Selector.from_input(path).select_value(value) == "new"


def test_keys_indices_attributes_slots_setters_and_registries_are_written_to() -> None:
    assert write({"a": 1}, "a", 2) == {"a": 2}
    assert write({}, "a", 2) == {"a": 2}
    assert write({0: 1}, 0, 2) == {0: 2}
    assert write([1, 2], -1, 3) == [1, 3]
    assert write(Slots(), "size", 3).size == 3
    assert write(Guarded(), "level", 3).level == 3
    assert list(write(TensorRegistry(), "boxes", np.zeros(1))) == ["boxes"]
    assert write(np.zeros(2), 0, 5).tolist() == [5, 0]
    assert write(np.zeros(1, dtype=[("x", int)]), "x", 7)["x"].tolist() == [7]


def test_a_field_tells_which_place_it_is() -> None:
    field = Selector.from_input("meta.rows[0]").select_field({}, root_label="current")

    assert isinstance(field, SelectedField)
    assert (field.parent_path, field.field_path) == ("current.meta.rows", "current.meta.rows[0]")
    assert (field.parent_selector, field.field_selection) == (Selector(("meta", "rows")), 0)


def test_the_value_itself_has_no_place() -> None:
    with pytest.raises(ValueError, match="select_field needs a path of at least one part"):
        Selector().select_field({})


@pytest.mark.parametrize(
    ("value", "path", "words"),
    [
        (Frozen(), "size", r"x is a Frozen, which refuses it \(cannot assign to field 'size'\)"),
        ({"a": Frozen()}, "a.size", r"cannot write x\.a\.size: x\.a is a Frozen, which refuses it"),
        (Pair(1, 2), "left", r"x is a Pair of 2, which refuses it \("),
        ((1, 2), 0, "x is a tuple of 2, which cannot be written to"),
        ("text", 0, "x is a str, which cannot be written to"),
        (None, "size", "x is a NoneType, which refuses it"),
        (3, 0, "x is a int, which cannot be written to"),
        (Slots(), "weight", "x is a Slots, which refuses it"),
        (Guarded(), "size", "x is a Guarded, whose property size has no setter"),
        (MappingProxyType({"a": 1}), "a", "x is a mappingproxy of 1, which cannot be written to"),
        (np.broadcast_to(1, (2,)), 0, "x is a ndarray, which is read-only"),
    ],
)
def test_what_cannot_be_written_to_says_so_and_names_a_way_out(value: Any, path: Any, words: str) -> None:
    with pytest.raises(SelectorRuntimeError, match=f"{words}.*; name another place, or make a new value"):
        write(value, path, 5)


def test_a_refusal_keeps_its_cause_and_names_the_place() -> None:
    with pytest.raises(SelectorRuntimeError, match=r"^Step: cannot write x\.size: ") as caught:
        write(Frozen(), "size", 5, error_prefix="Step")

    assert isinstance(caught.value.__cause__, AttributeError)
    assert (caught.value.selector, caught.value.path) == (Selector(("size",)), "x.size")


def test_an_index_out_of_range_is_an_index_error() -> None:
    with pytest.raises(
        SelectorIndexError, match=r"cannot write x\[2\]: x is a list of 2, and has no index 2"
    ):
        write([1, 2], 2, 5)


def test_an_error_inside_a_setter_is_no_refusal() -> None:
    with pytest.raises(AttributeError, match=r"^inside the setter$"):
        write(Guarded(), "level", -1)


def test_a_missing_way_is_an_error_unless_mappings_are_to_be_made() -> None:
    with pytest.raises(SelectorRuntimeError, match=r"Step: cannot resolve x\.meta: x is a dict of 0"):
        write({}, "meta.size", 1, error_prefix="Step")

    assert write({}, "meta.size.w", 1, create_missing_mappings=True) == {"meta": {"size": {"w": 1}}}
    assert write([{"a": 1}], "[0].b.c", 1, create_missing_mappings=True) == [{"a": 1, "b": {"c": 1}}]
    assert write({"a": {}}, "a.b", 1, create_missing_mappings=True) == {"a": {"b": 1}}


@pytest.mark.parametrize(
    ("value", "path"), [({}, "rows[0]"), ({}, "meta.rows[0].size"), ({}, "[0].size"), ({"a": None}, "a.b.c")]
)
def test_no_mapping_is_made_where_another_thing_is_missing(value: Any, path: str) -> None:
    before = dict(value)

    with pytest.raises(SelectorRuntimeError, match="cannot resolve x"):
        write(value, path, 1, create_missing_mappings=True)

    assert value == before


def test_no_mapping_is_made_in_an_object_or_past_the_end_of_a_list() -> None:
    with pytest.raises(SelectorRuntimeError, match="has no key or attribute 'meta'"):
        write(SimpleNamespace(), "meta.size", 1, create_missing_mappings=True)
    with pytest.raises(SelectorIndexError, match="has no index 3"):
        write([1], "[3].size", 1, create_missing_mappings=True)
