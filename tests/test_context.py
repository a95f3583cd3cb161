"""The named values of one run."""

from __future__ import annotations

from typing import Any

import pytest

from ml_pipes.context import Context, ContextOp
from ml_pipes.core import Pipeline


def test_storing_gives_a_new_context_and_leaves_the_old_one() -> None:
    empty = Context()

    one = empty.store("a", 1)
    two = one.with_values(b=2).merge({"c": 3})

    assert empty.as_dict() == {}
    assert one.as_dict() == {"a": 1}
    assert two == Context({"a": 1, "b": 2, "c": 3})


def test_what_the_context_was_made_of_can_change_without_it() -> None:
    values = {"a": 1}
    context = Context(values)

    values["a"] = 2
    context.as_dict()["a"] = 3

    assert context.load("a") == 1


def test_a_missing_name_is_a_key_error_that_lists_what_is_there() -> None:
    with pytest.raises(KeyError, match="'b' was not stored before this step; stored: 'a'"):
        Context({"a": 1}).load("b")
    assert Context().get("b") is None
    assert Context().get("b", 4) == 4


def test_a_step_of_ones_own_can_read_and_write_the_context() -> None:
    class Count(ContextOp[Any, Any]):
        def apply(self, current: Any, context: Context) -> tuple[Any, Context]:
            count = context.get("count", 0) + 1
            return (current, count), context.store("count", count)

    assert Pipeline([Count(), lambda a, _: a, Count()])("x") == ("x", 2)


def test_a_context_shows_its_values() -> None:
    assert repr(Context({"a": 1})) == "Context({'a': 1})"
