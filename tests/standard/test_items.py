"""PerItem / CollectItems."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.errors import StepInputError
from ml_pipes.standard import CollectItems, Gather, PerItem, Scatter

REGIONS = [(PerItem(), CollectItems(), "PerItem"), (Scatter(2), Gather(), "Scatter")]


@pytest.mark.parametrize(("opener", "closer", "name"), REGIONS)
def test_the_region_runs_for_each_item_of_any_iterable_in_order(opener: Any, closer: Any, name: str) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([opener, lambda value: value * 2, closer])

    assert pipeline([1, 2, 3]) == [2, 4, 6]
    assert pipeline((1, 2)) == [2, 4]
    assert pipeline(range(3)) == [0, 2, 4]
    assert pipeline(value for value in (5, 6)) == [10, 12]
    assert pipeline([]) == []
    assert pipeline(iter(())) == []


@pytest.mark.parametrize("value", ["text", b"bytes", bytearray(b"b"), {"a": 1}, 7, None])
@pytest.mark.parametrize(("opener", "closer", "name"), REGIONS)
def test_what_has_no_items_in_the_sense_of_a_region_is_refused(
    opener: Any, closer: Any, name: str, value: Any
) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([opener, closer])

    with pytest.raises(
        StepInputError, match=f"{name} requires an item iterable boundary, got {type(value).__name__}"
    ):
        pipeline(value)


@pytest.mark.parametrize(("opener", "closer", "name"), REGIONS)
def test_an_item_that_short_circuits_is_dropped(opener: Any, closer: Any, name: str) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([opener, lambda v: SHORT_CIRCUIT if v % 2 else v, closer])

    assert pipeline([1, 2, 3, 4]) == [2, 4]


@pytest.mark.parametrize(("opener", "closer", "name"), REGIONS)
def test_a_tuple_item_is_spread_inside_like_anywhere(opener: Any, closer: Any, name: str) -> None:
    assert Pipeline([opener, lambda a, b: a + b, closer])([(1, 2), (3, 4)]) == [3, 7]


@pytest.mark.parametrize(("opener", "closer", "name"), REGIONS)
def test_the_error_of_an_item_keeps_its_type_and_the_source_is_closed(
    opener: Any, closer: Any, name: str
) -> None:
    closed: list[bool] = []

    def source() -> Iterator[int]:
        try:
            yield from (1, 0, 2)
        finally:
            closed.append(True)

    pipeline: Pipeline[Any, Any] = Pipeline([opener, lambda value: 1 / value, closer])
    with pytest.raises(ZeroDivisionError) as caught:
        pipeline(source())

    assert caught.value.__notes__ == [f"in step 1:<lambda>, item 1 of 0:{name}"]
    assert closed == [True]


@pytest.mark.parametrize(("opener", "closer", "name"), REGIONS)
def test_the_failure_of_an_item_comes_before_one_of_closing_the_source(
    opener: Any, closer: Any, name: str
) -> None:
    def source() -> Iterator[int]:
        try:
            yield from (1, 0, 2)
        finally:
            raise OSError("could not close the camera")

    with pytest.raises(ZeroDivisionError):
        Pipeline([opener, lambda value: 1 / value, closer])(source())


@pytest.mark.parametrize(("opener", "closer", "name"), REGIONS)
def test_an_array_without_axes_has_no_items(opener: Any, closer: Any, name: str) -> None:
    with pytest.raises(StepInputError, match=f"{name} requires an item iterable boundary, got ndarray"):
        Pipeline([opener, closer])(np.array(5))
