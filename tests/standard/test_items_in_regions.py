"""The data operators in each place they may stand: alone, in a region of items, in a batch, after a region.

One law for the regions of items: a step does to each item what it does to a call's
value alone, and what ends the call drops the item.
"""

from __future__ import annotations

import copy
import itertools
from dataclasses import dataclass, field
from typing import Any

import pytest

from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import SHORT_CIRCUIT, Embed, Pipeline
from ml_pipes.errors import BatchSizeError, SelectorRuntimeError
from ml_pipes.standard import (
    Batch,
    CollectItems,
    Distinct,
    DistinctBy,
    DropNull,
    Filter,
    FilterNotNull,
    Gather,
    LazyPerItem,
    Map,
    MapNotNull,
    MapValue,
    PerItem,
    Recall,
    Scatter,
    Store,
    StreamItems,
    Take,
    TakeWhile,
    UnBatch,
    WrapMappingInObject,
)


@dataclass
class State:
    payload: dict[str, int] = field(default_factory=dict)


def double(value: Any) -> Any:
    return value * 2


def is_small(value: int) -> bool:
    return value < 3


REGIONS: dict[str, list[Any]] = {
    "PerItem": [PerItem(), CollectItems()],
    "LazyPerItem": [LazyPerItem(), StreamItems()],
    "Scatter, one worker": [Scatter(1), Gather()],
    "Scatter": [Scatter(3), Gather()],
    "Scatter, failures returned": [Scatter(3, on_error="return"), Gather()],
    "Scatter, failures dropped": [Scatter(3, on_error="drop"), Gather()],
}

# step, items, what goes on after the region
ITEMS: list[tuple[Any, list[Any], list[Any]]] = [
    (Map(double), [1, 0, "a"], [2, 0, "aa"]),
    (Map(len), [(1, 2), (), "abc"], [2, 0, 3]),
    (Map(lambda value: None), [1, 2], [None, None]),
    (MapNotNull({1: "one", 0: 0}.get), [1, 2, 0], ["one", 0]),
    (MapValue(double, source="n"), [{"n": 1}, None, {"n": 0}], [{"n": 2}, None, {"n": 0}]),
    (
        MapValue(lambda n: n or SHORT_CIRCUIT, source="n", target="meta.n"),
        [{"n": 1}, {"n": 0}],
        [{"n": 1, "meta": {"n": 1}}],
    ),
    (
        WrapMappingInObject(target="payload", state_factory=State),
        [{"a": 1}, None, 3, {}],
        [State({"a": 1}), State({})],
    ),
    (Filter(is_small), [1, 5, 2], [1, 2]),
    (Filter(bool), [0, "", None, [], 7], [7]),
    (Filter(is_small, source="n"), [{"n": 1}, {"n": 5}], [{"n": 1}]),
    (FilterNotNull(source="n"), [{"n": 0}, {"n": None}, {}, None], [{"n": 0}]),
    (DropNull(), [0, None, "", [], False], [0, "", [], False]),
    # What was seen, and how many were taken, is of one item's own items: the next item begins anew.
    (Distinct(source="id"), [[{"id": 1}, {"id": 1}], [{"id": 1}], []], [[{"id": 1}], [{"id": 1}], []]),
    (DistinctBy(abs), [[1, -1, 2], [-1, 1], []], [[1, 2], [-1], []]),
    (Take(2), [[1, 2, 3], [4], [], range(9)], [[1, 2], [4], [], [0, 1]]),
    (Take(0), [[1], [2, 3]], [[], []]),
    (TakeWhile(is_small), [[1, 5, 2], [5], [1, 2]], [[1], [], [1, 2]]),
]


@pytest.mark.parametrize(("step", "items", "results"), ITEMS)
@pytest.mark.parametrize("region", REGIONS)
def test_in_a_region_a_step_does_to_each_item_what_it_does_alone(
    region: str, step: Any, items: list[Any], results: list[Any]
) -> None:
    opener, closer = REGIONS[region]
    pipeline: Pipeline[Any, Any] = Pipeline([opener, step, closer])
    alone = [Pipeline[Any, Any]([step])(item) for item in copy.deepcopy(items)]

    in_region = list(pipeline(copy.deepcopy(items)))
    once_more = list(pipeline(copy.deepcopy(items)))

    assert in_region == once_more == results
    assert [result for result in alone if result is not SHORT_CIRCUIT] == results


@pytest.mark.parametrize(
    ("step", "value"),
    [
        (MapNotNull({}.get), 1),
        (MapValue(lambda _: SHORT_CIRCUIT, source="n"), {"n": 1}),
        (WrapMappingInObject(target="payload", state_factory=State), None),
        (Filter(is_small), 5),
        (Filter(is_small, source="n"), {"n": 5}),
        (FilterNotNull(source="n"), {"m": 1}),
        (DropNull(), None),
    ],
)
def test_outside_of_regions_what_is_dropped_ends_the_call_and_no_later_step_runs(
    step: Any, value: Any
) -> None:
    seen: list[Any] = []

    assert Pipeline([step, seen.append])(value) is SHORT_CIRCUIT
    assert Pipeline([Embed(Pipeline([step])), seen.append])(value) is SHORT_CIRCUIT
    assert seen == []


@pytest.mark.parametrize("region", REGIONS)
def test_no_step_of_the_region_runs_for_an_item_after_it_was_dropped(region: str) -> None:
    opener, closer = REGIONS[region]
    seen: list[int] = []
    note = Map(lambda value: seen.append(value) or value)

    results = list(Pipeline([opener, Embed(Pipeline([Filter(is_small)])), note, closer])(range(6)))

    assert results == [0, 1, 2]
    assert sorted(seen) == [0, 1, 2]


@pytest.mark.parametrize("region", REGIONS)
def test_steps_after_the_region_see_a_list_without_gaps(region: str) -> None:
    opener, closer = REGIONS[region]
    odd = Filter(lambda value: value % 2)

    def after(*steps: Any) -> Any:
        return Pipeline([opener, odd, closer, *steps])([1, 2, 3, 4, 5, 3])

    assert after(Take(2)) == [1, 3]
    assert after(TakeWhile(is_small)) == [1]
    assert after(DistinctBy(lambda value: value)) == [1, 3, 5]
    assert after(list, Filter(len)) == [1, 3, 5, 3]
    assert after(list, Map(len)) == 4


@pytest.mark.parametrize("region", REGIONS)
def test_a_region_whose_items_are_all_dropped_gives_no_items_and_the_call_goes_on(region: str) -> None:
    opener, closer = REGIONS[region]

    assert Pipeline([opener, DropNull(), closer, list, Map(len)])([None, None]) == 0
    assert Pipeline([opener, DropNull(), closer, list, Filter(len)])([None, None]) is SHORT_CIRCUIT


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(REGIONS, REGIONS)))
def test_in_nested_regions_an_item_is_dropped_from_its_own_region_alone(outer: str, inner: str) -> None:
    opener, closer = REGIONS[outer]
    inner_opener, inner_closer = REGIONS[inner]

    pipeline: Pipeline[Any, Any] = Pipeline(
        [opener, inner_opener, Filter(is_small), inner_closer, list, Filter(bool), closer]
    )

    assert list(pipeline([[1, 5, 2], [5], [], [0]])) == [[1, 2], [0]]


@pytest.mark.parametrize("region", REGIONS)
def test_a_dropped_item_takes_its_stored_values_with_it(region: str) -> None:
    opener, closer = REGIONS[region]

    results = list(Pipeline([opener, Store("n"), Filter(is_small), Recall("n"), closer])([1, 5, 2]))

    assert results == [(1, 1), (2, 2)]


@pytest.mark.parametrize("region", ["PerItem", "LazyPerItem", "Scatter, one worker", "Scatter"])
def test_an_error_of_a_step_is_no_drop(region: str) -> None:
    opener, closer = REGIONS[region]

    with pytest.raises(SelectorRuntimeError) as caught:
        list(Pipeline([opener, Filter(is_small, source="n"), closer])([{"n": 1}, {"m": 1}]))

    assert caught.value.__notes__ == [f"in step 1:Filter, item 1 of 0:{type(opener).__name__}"]


@pytest.mark.parametrize("region", [name for name in REGIONS if name != "LazyPerItem"])
def test_a_trace_counts_what_was_seen_emitted_and_dropped(region: str) -> None:
    opener, closer = REGIONS[region]
    collector = CaptureCollector()
    pipeline: Pipeline[Any, Any] = Pipeline([opener, Filter(is_small), DropNull(), closer])
    pipeline.set_tracing(collector)

    pipeline([1, 5, 2, 7])

    assert collector.last_trace is not None
    (span,) = collector.last_trace.spans
    assert span.attributes == {"seen": 4, "emitted": 2, "dropped": 2}
    assert span.child_trace is not None
    assert {s.label: s.attributes for s in span.child_trace.spans} == {
        "1:Filter": {"dropped": 2},
        "2:DropNull": {},
    }


# A batch's body sees one list of its callers' values: step, value of each of two callers, what each gets.
BATCHES: list[tuple[Any, Any, Any]] = [
    (Map(lambda values: [value * 2 for value in values]), 7, 14),
    (MapNotNull(lambda values: [value + 1 for value in values]), 7, 8),
    (MapNotNull(lambda values: None), 7, SHORT_CIRCUIT),
    (Filter(len), 7, 7),
    (Filter(lambda values: len(values) > 2), 7, SHORT_CIRCUIT),
    (Filter(bool, source=1), 0, SHORT_CIRCUIT),
    (FilterNotNull(source=1), 7, 7),
    (FilterNotNull(source=2), 7, SHORT_CIRCUIT),
    (DropNull(), None, None),
    (WrapMappingInObject(target="payload", state_factory=State), {"a": 1}, SHORT_CIRCUIT),
    (Take(2), 7, 7),
    (TakeWhile(bool), 7, 7),
]


@pytest.mark.parametrize(("step", "value", "result"), BATCHES)
def test_in_a_batch_a_step_sees_the_list_and_a_drop_is_for_every_caller(
    start: Any, step: Any, value: Any, result: Any
) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2, timeout=60.0, policy="full"), step, UnBatch()])

    callers = [start(pipeline, value) for _ in range(2)]

    got = [caller.result(timeout=10) for caller in callers]
    assert got == [result, result]


def test_in_a_batch_map_value_writes_into_the_list_of_the_batch() -> None:
    assert Pipeline([Batch(1, timeout=0.0), MapValue(double, source=0), UnBatch()])(7) == 14


@pytest.mark.parametrize(
    "step", [Map(double), Take(1), TakeWhile(lambda _: False), DistinctBy(lambda _: 0), Distinct(source="n")]
)
def test_in_a_batch_a_list_of_another_length_is_an_error_for_every_caller(start: Any, step: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Batch(2, timeout=60.0, policy="full"), step, UnBatch()])

    callers = [start(pipeline, {"n": 1}) for _ in range(2)]

    errors = [caller.exception(timeout=10) for caller in callers]
    assert [type(error) for error in errors] == [BatchSizeError, BatchSizeError]
    assert errors[0] is not errors[1]


def test_in_a_batch_items_are_dropped_by_a_region_inside_and_then_are_too_few(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(2, timeout=60.0, policy="full"), PerItem(), Filter(is_small), CollectItems(), UnBatch()]
    )

    callers = [start(pipeline, value) for value in (1, 5)]

    assert [type(caller.exception(timeout=10)) for caller in callers] == [BatchSizeError] * 2


def test_an_item_that_is_dropped_before_a_batch_leaves_it_to_the_others() -> None:
    seen: list[int] = []

    def model(values: list[int]) -> list[int]:
        seen.extend(values)
        return [value * 10 for value in values]

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(2), Filter(is_small), Batch(2, timeout=0.0), model, UnBatch(), DropNull(), Gather()]
    )

    assert pipeline([1, 5, 2, 7]) == [10, 20]
    assert sorted(seen) == [1, 2]


def test_after_a_stream_take_draws_until_it_has_enough_results() -> None:
    drawn: list[int] = []
    source = (drawn.append(value) or value for value in itertools.count())
    odd = Filter(lambda value: value % 2)

    assert Pipeline([LazyPerItem(), odd, StreamItems(), Take(2)])(source) == [1, 3]
    assert drawn == [0, 1, 2, 3]
