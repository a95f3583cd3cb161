"""Filter, FilterNotNull, DropNull, Distinct, DistinctBy, Take, TakeWhile."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.errors import SelectorIndexError, SelectorRuntimeError, StepInputError
from ml_pipes.standard import (
    CollectItems,
    Distinct,
    DistinctBy,
    DropNull,
    Filter,
    FilterNotNull,
    PerItem,
    Take,
    TakeWhile,
)


class Source:
    """Numbers from 0 on; knows how many were drawn, and whether it was closed."""

    def __init__(self, count: int = 10, closing: Exception | None = None) -> None:
        self.drawn = 0
        self.closed = 0
        self._count = count
        self._closing = closing

    def __iter__(self) -> Source:
        return self

    def __next__(self) -> int:
        if self.drawn == self._count:
            raise StopIteration
        self.drawn += 1
        return self.drawn - 1

    def close(self) -> None:
        self.closed += 1
        if self._closing is not None:
            raise self._closing


class Broken:
    @property
    def size(self) -> int:
        raise AttributeError("inside the property")


def is_even(value: int) -> bool:
    return value % 2 == 0


def is_small(value: int) -> bool:
    return value < 3


def test_filter_lets_the_value_itself_pass_or_ends_the_run() -> None:
    value = [2]
    pipeline = Pipeline([Filter(is_even, source=0), DropNull()])

    assert pipeline(value) is value
    assert pipeline([1]) is SHORT_CIRCUIT


def test_filter_drops_items_in_a_region() -> None:
    assert Pipeline([PerItem(), Filter(is_even), CollectItems()])(range(5)) == [0, 2, 4]


@pytest.mark.parametrize("predicate", [bool, len, np.any, lambda value: value or None])
def test_a_predicate_gives_anything_that_is_true_or_false(predicate: Any) -> None:
    assert Filter(predicate)([1]) == [1]
    assert Filter(predicate)([]) is SHORT_CIRCUIT


def test_filter_of_a_missing_source_is_an_error() -> None:
    with pytest.raises(
        SelectorRuntimeError, match=r"Filter: source: cannot resolve current\.size: current is"
    ):
        Filter(bool, source="size")({"a": 1})
    with pytest.raises(SelectorIndexError, match=r"Filter: source: cannot resolve current\[1\]"):
        Filter(bool, source=1)([1])


@pytest.mark.parametrize(
    ("value", "passes"),
    [
        ({"a": {"b": 0}}, True),
        ({"a": {"b": ""}}, True),
        ({"a": {"b": None}}, False),
        ({"a": {}}, False),
        ({"a": None}, False),
        ({}, False),
        (SimpleNamespace(a=SimpleNamespace(b=False)), True),
        (None, False),
    ],
)
def test_filter_not_null_asks_for_something_at_its_source(value: Any, passes: bool) -> None:
    assert FilterNotNull(source="a.b")(value) is (value if passes else SHORT_CIRCUIT)


def test_a_missing_index_is_nothing_too() -> None:
    assert FilterNotNull(source=1)([1]) is SHORT_CIRCUIT


def test_an_error_inside_a_property_is_not_a_missing_value() -> None:
    with pytest.raises(AttributeError, match="inside the property"):
        FilterNotNull(source="size")(Broken())
    with pytest.raises(AttributeError, match="inside the property"):
        Filter(bool, source="size")(Broken())


def test_drop_null_drops_none_alone() -> None:
    values = [0, None, "", [], False, None, 1]

    assert Pipeline([PerItem(), DropNull(), CollectItems()])(values) == [0, "", [], False, 1]
    assert Pipeline([DropNull()])(None) is SHORT_CIRCUIT


def test_the_first_item_of_each_key_stays_in_order() -> None:
    assert DistinctBy(str.lower)(["b", "A", "a", "B", "c"]) == ["b", "A", "c"]
    assert Distinct(source="id")([{"id": 1, "n": 0}, {"id": 2}, {"id": 1, "n": 1}]) == [
        {"id": 1, "n": 0},
        {"id": 2},
    ]
    assert DistinctBy(abs)(iter([])) == []
    assert DistinctBy(lambda value: value)([None, None, 0, False]) == [None, 0]


def test_a_key_that_cannot_be_hashed_is_named_and_the_source_closed() -> None:
    source = Source()

    with pytest.raises(
        StepInputError,
        match=r"DistinctBy: the key of item 1 is a list that cannot be hashed \(unhashable type: .*\); give",
    ):
        DistinctBy(lambda value: [value] if value else 0)(source)

    assert (source.drawn, source.closed) == (2, 1)
    with pytest.raises(StepInputError, match="Distinct: the key of item 0 is a tuple that cannot be hashed"):
        Distinct(source=0)([[([],)]])


def test_distinct_of_a_missing_source_is_an_error() -> None:
    with pytest.raises(
        SelectorRuntimeError, match=r"Distinct: source: cannot resolve item\.id: item is a dict"
    ):
        Distinct(source="id")([{"id": 1}, {}])


@pytest.mark.parametrize(
    ("count", "taken"), [(0, []), (2, [0, 1]), ("3", [0, 1, 2]), (" 1 ", [0]), (np.int64(1), [0]), ("0", [])]
)
def test_take_draws_as_many_items_as_it_keeps_and_closes_the_source(count: Any, taken: list[int]) -> None:
    source = Source()

    assert Take(count)(source) == taken
    assert (source.drawn, source.closed) == (len(taken), 1)


def test_take_of_fewer_items_gives_what_there_is() -> None:
    assert Take(5)([1, 2]) == [1, 2]
    assert Take("9" * 30)(range(2)) == [0, 1]
    assert Take(2)(itertools.count()) == [0, 1]


@pytest.mark.parametrize("count", [-1, "-1"])
def test_a_negative_count_is_refused(count: Any) -> None:
    with pytest.raises(ValueError, match="Take: count must be a whole number, 0 or more, got -1"):
        Take(count)


@pytest.mark.parametrize("count", ["", "three", "1.5", "1_0", "²"])
def test_a_text_that_is_no_count_is_refused(count: str) -> None:
    with pytest.raises(ValueError, match=f"0 or more, or such a number as text, got {count!r}"):
        Take(count)


@pytest.mark.parametrize("count", [1.5, None, True, [1]])
def test_a_count_of_another_kind_is_refused(count: Any) -> None:
    with pytest.raises(TypeError, match="Take: count must be a whole number, 0 or more, got"):
        Take(count)


def test_take_while_keeps_what_comes_before_the_first_that_fails() -> None:
    source = Source()

    assert TakeWhile(is_small)(source) == [0, 1, 2]
    assert (source.drawn, source.closed) == (4, 1)
    assert TakeWhile(is_small)([3, 0]) == []
    assert TakeWhile(is_small)([1, 0]) == [1, 0]


@pytest.mark.parametrize("error", [ZeroDivisionError("at 1"), StopIteration("at 1"), KeyboardInterrupt()])
def test_the_error_of_a_predicate_goes_on_and_the_source_is_closed(error: BaseException) -> None:
    def predicate(value: int) -> bool:
        if value:
            raise error
        return True

    source = Source(closing=OSError("could not close the camera"))

    with pytest.raises(type(error)) as caught:
        TakeWhile(predicate)(source)

    assert caught.value is error
    assert (source.drawn, source.closed) == (2, 1)


def test_an_error_of_the_source_closes_it_too() -> None:
    closed: list[bool] = []

    def source() -> Iterator[int]:
        try:
            yield 1
            raise ValueError("no more frames")
        finally:
            closed.append(True)

    with pytest.raises(ValueError, match="no more frames"):
        Take(2)(source())

    assert closed == [True]


@pytest.mark.parametrize("step", [Take(0), TakeWhile(is_small), DistinctBy(abs)])
def test_an_error_of_closing_the_source_is_raised_where_there_was_no_other(step: Any) -> None:
    with pytest.raises(OSError, match="could not close the camera"):
        step(Source(closing=OSError("could not close the camera")))


@pytest.mark.parametrize("value", ["text", b"bytes", {"a": 1}, 7, None, np.array(5)])
@pytest.mark.parametrize("step", [Take(1), TakeWhile(bool), DistinctBy(abs), Distinct(source="id")])
def test_what_has_no_items_is_refused(step: Any, value: Any) -> None:
    with pytest.raises(
        StepInputError,
        match=f"{type(step).__name__} requires an item iterable boundary, got {type(value).__name__}",
    ):
        step(value)


@pytest.mark.parametrize(
    ("make", "place"),
    [(Filter, "Filter: predicate"), (TakeWhile, "TakeWhile: predicate"), (DistinctBy, "DistinctBy: fn")],
)
def test_a_function_that_does_not_take_one_value_is_refused(make: Any, place: str) -> None:
    with pytest.raises(TypeError, match=f"{place} cannot be called with one value: function requires 2"):
        make(lambda a, b: a)
    with pytest.raises(TypeError, match=f"{place} uses non-positional parameters"):
        make(lambda *values: values)
    with pytest.raises(TypeError, match=f"{place} must be a callable of one value, got 'size'"):
        make("size")


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda path: Filter(bool, source=path), "Filter: source"),
        (lambda path: FilterNotNull(source=path), "FilterNotNull: source"),
        (lambda path: Distinct(source=path), "Distinct: source"),
    ],
)
def test_a_source_that_is_no_path_is_refused(make: Any, place: str) -> None:
    with pytest.raises(ValueError, match=f"{place}: a path's text must not be empty"):
        make("")
    with pytest.raises(TypeError, match=f"{place}: a path's part must be a name or an index, got True"):
        make(True)


@pytest.mark.parametrize("make", [FilterNotNull, Distinct])
def test_a_source_that_must_be_given_is_no_none(make: Any) -> None:
    with pytest.raises(TypeError, match=f"{make.__name__}: source must be a path, such as 'meta.size' or 0"):
        make(source=None)


STEPS = [
    (Filter(is_even, source=0), [2, 1], [2, 1]),
    (FilterNotNull(source="a.b"), {"a": 1}, SHORT_CIRCUIT),
    (DropNull(), 0, 0),
    (DistinctBy(abs), [1, -1, 2], [1, 2]),
    (Distinct(source=0), [(1, 2), (1, 3)], [(1, 2)]),
    (Take("2"), range(5), [0, 1]),
    (TakeWhile(is_small), range(5), [0, 1, 2]),
]


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda step: pickle.loads(pickle.dumps(step))])
@pytest.mark.parametrize(("step", "value", "result"), STEPS)
def test_a_copy_does_the_same(step: Any, value: Any, result: Any, twin_of: Any) -> None:
    twin = twin_of(step)

    assert twin(value) == result
    assert repr(twin) == repr(step)


@pytest.mark.parametrize(("step", "value", "result"), STEPS)
def test_one_step_serves_eight_threads(start: Any, step: Any, value: Any, result: Any) -> None:
    futures = [start(lambda: [step(value) for _ in range(200)]) for _ in range(8)]

    assert all(future.result(timeout=30) == [result] * 200 for future in futures)


def test_the_steps_show_how_they_were_made() -> None:
    assert [repr(step) for step, _, _ in STEPS] == [
        "Filter(is_even, source=0)",
        "FilterNotNull(source='a.b')",
        "DropNull()",
        "DistinctBy(abs)",
        "Distinct(source=0)",
        "Take('2')",
        "TakeWhile(is_small)",
    ]
