"""Store, Recall, Pick, Select."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ml_pipes.context import Context
from ml_pipes.core import Pipeline
from ml_pipes.errors import SelectorIndexError, SelectorRuntimeError, StepInputError
from ml_pipes.standard import Pick, Recall, Select, Store


def test_store_keeps_the_value_and_lets_it_pass() -> None:
    value, context = Store("kept").apply("a", Context())

    assert value == "a"
    assert context.load("kept") == "a"


def test_store_with_a_source_keeps_what_is_there() -> None:
    value, context = Store("kept", source=1).apply(("a", "b"), Context())

    assert value == ("a", "b")
    assert context.load("kept") == "b"


def test_a_later_store_overwrites() -> None:
    assert Pipeline([Store("x"), lambda value: value + 1, Store("x"), Recall("x")])(1) == (2, 2)


def test_store_with_a_missing_source_says_which() -> None:
    with pytest.raises(
        SelectorRuntimeError, match=r"Store\('kept'\): cannot resolve current\.size.*has no key or"
    ):
        Store("kept", source="size").apply({"a": 1}, Context())


@pytest.mark.parametrize(
    ("current", "stored", "result"),
    [
        (1, 2, (1, 2)),
        ((1, 2), 3, (1, 2, 3)),
        ([1, 2], 3, ([1, 2], 3)),
        (1, (2, 3), (1, (2, 3))),
        ((), 1, (1,)),
        (None, 1, (None, 1)),
    ],
)
def test_recall_extends_a_tuple_and_wraps_everything_else(current: Any, stored: Any, result: Any) -> None:
    assert Recall("kept").apply(current, Context({"kept": stored}))[0] == result


def test_recall_can_put_the_stored_value_first() -> None:
    assert Recall("kept", prepend=True).apply((1, 2), Context({"kept": 0}))[0] == (0, 1, 2)


def test_recall_of_what_was_never_stored_lists_what_was() -> None:
    with pytest.raises(KeyError, match="'kept' was not stored before this step; stored: 'a', 'b'"):
        Recall("kept").apply(1, Context({"a": 1, "b": 2}))


@pytest.mark.parametrize(
    ("indices", "result"), [((0,), "a"), ((-1,), "c"), ((2, 0), ("c", "a")), ((1, 1), ("b", "b"))]
)
def test_pick_takes_by_position(indices: tuple[int, ...], result: Any) -> None:
    assert Pick(*indices)(("a", "b", "c")) == result


def test_pick_without_an_index_is_refused() -> None:
    with pytest.raises(ValueError, match="Pick needs at least one index"):
        Pick()


@pytest.mark.parametrize("index", ["a", 1.0, True])
def test_pick_by_something_else_than_a_position_is_refused(index: Any) -> None:
    with pytest.raises(TypeError, match="Pick takes integer positions"):
        Pick(index)


@pytest.mark.parametrize("value", [[1, 2], "ab", {0: 1}, None])
def test_pick_from_something_else_than_a_tuple_is_refused(value: Any) -> None:
    with pytest.raises(StepInputError, match=f"Pick takes a tuple, got a {type(value).__name__}"):
        Pick(0)(value)


def test_pick_past_the_end_says_how_long_the_tuple_is() -> None:
    with pytest.raises(IndexError, match=r"Pick\(0, 5\) is out of range for a tuple of 2"):
        Pick(0, 5)((1, 2))


def test_select_walks_names_and_indices() -> None:
    value = {"faces": [SimpleNamespace(size={"w": 4})]}

    assert Select("faces[0].size.w")(value) == 4
    assert Select("faces", 0, "size", "w")(value) == 4
    assert Select(("faces", ("0", "size")), "w")(value) == 4


def test_select_without_a_part_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one part"):
        Select()


def test_select_of_a_missing_name_is_a_type_error_and_no_key_error() -> None:
    with pytest.raises(
        SelectorRuntimeError, match=r"Select: cannot resolve current\.size: current is a dict of 1"
    ):
        Select("size")({"a": 1})


def test_select_of_a_bad_index_is_an_index_error() -> None:
    with pytest.raises(SelectorIndexError, match=r"current\[3\]: current is a list of 2 and has no index 3"):
        Select(3)([1, 2])
