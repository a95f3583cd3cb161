"""Inputs are made before a measurement, each once."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from ml_pipes.benchmark.inputs import prepared


def test_the_same_input_is_made_until_it_comes_again() -> None:
    made = []

    def give() -> tuple[Any, Any, Any, Any]:
        made.append(None)
        return ("a.jpg", b"...", "tag", {"width": 3})

    [one] = prepared(give)

    assert len(made) == 2
    assert (one.id, one.value, one.tag, one.meta) == ("a.jpg", b"...", "tag", {"width": 3})
    assert one.to_dict() == {"id": "a.jpg", "tag": "tag", "meta": {"width": 3}}


def test_inputs_that_take_turns_are_each_made_once() -> None:
    ids = itertools.cycle("abc")

    given = prepared(lambda: (next(ids), 1, "", {}))

    assert [one.id for one in given] == ["a", "b", "c"]


def test_no_more_are_made_than_calls_need_and_no_more_than_32() -> None:
    ids = itertools.count()

    assert len(prepared(lambda: (next(ids), 1, "", {}), calls=5)) == 5
    assert len(prepared(lambda: (next(ids), 1, "", {}))) == 32


def test_one_that_has_no_more_gives_as_many_as_there_are() -> None:
    ids = iter("ab")

    assert len(prepared(lambda: (next(ids), 1, "", {}))) == 2


def test_one_that_gives_nothing_is_refused() -> None:
    nothing = iter(())

    with pytest.raises(ValueError, match="the InputFn gave nothing"):
        prepared(lambda: next(nothing))


@pytest.mark.parametrize(
    ("made", "what"),
    [(("a", 1), "this one gave 2 values"), ([1, 2, 3, 4], "a list instead of a tuple"), (3, "gave a int")],
)
def test_one_that_gives_something_else_is_refused(made: Any, what: str) -> None:
    with pytest.raises(TypeError, match=rf"4 values \(id, value, tag, meta\), .*{what}"):
        prepared(lambda: made)
