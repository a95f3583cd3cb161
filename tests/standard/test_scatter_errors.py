"""What becomes of an item that fails in a Scatter: raised, returned or dropped."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator
from typing import Any

import pytest

from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import Embed, Pipeline
from ml_pipes.standard import Batch, Filter, Gather, LazyPerItem, Scatter, StreamItems, UnBatch


def inverse(value: int) -> float:
    return 1 / value


@pytest.mark.parametrize("choice", ["ignore", "", "RAISE"])
def test_what_becomes_of_a_failure_is_one_of_three(choice: Any) -> None:
    with pytest.raises(
        ValueError, match=f"Scatter: on_error must be 'raise', 'return' or 'drop', got '{choice}'"
    ):
        Scatter(2, on_error=choice)


@pytest.mark.parametrize("choice", [None, True, 3, ["raise"]])
def test_what_becomes_of_a_failure_is_a_text(choice: Any) -> None:
    with pytest.raises(TypeError, match="Scatter: on_error must be 'raise', 'return' or 'drop', got"):
        Scatter(2, on_error=choice)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_returned_failure_stands_at_its_items_place_and_all_items_run(workers: int) -> None:
    broken, seen = OSError("broken"), list[int]()

    def step(value: int) -> int:
        seen.append(value)
        if value == 3:
            raise broken
        return value * 10

    results = Pipeline([Scatter(workers, on_error="return"), step, Gather()])([1, 2, 3, 4, 5])

    assert results == [10, 20, broken, 40, 50]
    assert results[2] is broken
    assert sorted(seen) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_a_dropped_failure_leaves_no_gap_and_all_items_run(workers: int) -> None:
    seen: list[int] = []
    pipeline = Pipeline[Any, Any](
        [Scatter(workers, on_error="drop"), lambda value: seen.append(value) or value, inverse, Gather()]
    )

    assert pipeline([0, 1, 0, 2, 0]) == [1.0, 0.5]
    assert sorted(seen) == [0, 0, 0, 1, 2]


@pytest.mark.parametrize("workers", [1, 3])
def test_a_returned_failure_says_where_it_came_from_as_a_raised_one_does(workers: int) -> None:
    step = Embed(Pipeline([inverse]))
    with pytest.raises(ZeroDivisionError) as raised:
        Pipeline([Scatter(workers), step, Gather()])([1, 2, 3, 0])

    results = Pipeline([Scatter(workers, on_error="return"), step, Gather()])([1, 2, 3, 0])

    assert raised.value.__notes__ == ["in step 0:inverse, in 1:Embed, item 3 of 0:Scatter"]
    assert results[3].__notes__ == raised.value.__notes__


def test_a_returned_failure_that_a_later_step_raises_keeps_its_note_and_says_that_too() -> None:
    def first(results: list[Any]) -> Any:
        raise results[0]

    with pytest.raises(ZeroDivisionError) as caught:
        Pipeline([Scatter(on_error="return"), inverse, Gather(), first])([0])

    assert caught.value.__notes__ == ["in step 1:inverse, item 0 of 0:Scatter, in 3:first"]


@pytest.mark.parametrize(
    ("outer", "inner", "results"),
    [
        ("return", "drop", [[1.0], [], [0.5]]),
        ("drop", "raise", [[0.5]]),
        ("drop", "drop", [[1.0], [], [0.5]]),
    ],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_each_of_two_regions_decides_for_itself(
    outer: Any, inner: Any, results: list[Any], workers: int
) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(workers, on_error=outer), Scatter(workers, on_error=inner), inverse, Gather(), Gather()]
    )

    assert pipeline([[1, 0], [0], [2]]) == results


@pytest.mark.parametrize("workers", [1, 3])
def test_a_failure_that_the_inner_region_raises_is_one_item_of_the_outer(workers: int) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(workers, on_error="return"), Scatter(workers), inverse, Gather(), Gather()]
    )

    good, bad = pipeline([[1, 2], [4, 0]])

    assert good == [1.0, 0.5]
    assert isinstance(bad, ZeroDivisionError)
    assert bad.__notes__ == ["in step 2:inverse, item 1 of 1:Scatter, item 1 of 0:Scatter"]


def test_a_batch_that_fails_gives_each_item_an_error_of_its_own() -> None:
    def model(items: list[int]) -> list[int]:
        raise OSError("no model")

    first, second = Pipeline(
        [Scatter(2, on_error="return"), Batch(2, timeout=60.0, policy="full"), model, UnBatch(), Gather()]
    )([1, 2])

    assert first is not second
    assert (str(first), first.__notes__) == (
        "no model",
        ["in step 2:model, in 1:Batch, item 0 of 0:Scatter"],
    )
    assert (str(second), second.__notes__) == (
        "no model",
        ["in step 2:model, in 1:Batch, item 1 of 0:Scatter"],
    )


@pytest.mark.parametrize(("choice", "kept"), [("return", 20), ("drop", 10)])
@pytest.mark.parametrize("workers", [1, 4])
def test_a_source_is_drawn_to_its_end_past_all_failures_and_closed(
    choice: Any, kept: int, workers: int
) -> None:
    closed: list[bool] = []

    def source() -> Iterator[int]:
        try:
            yield from [0, 1] * 10
        finally:
            closed.append(True)

    results = Pipeline([Scatter(workers, on_error=choice), inverse, Gather()])(source())

    assert len(results) == kept
    assert closed == [True]


@pytest.mark.parametrize("choice", ["raise", "return", "drop"])
@pytest.mark.parametrize("workers", [1, 4])
def test_a_failure_of_the_source_is_raised_whatever_becomes_of_an_items(choice: Any, workers: int) -> None:
    def source() -> Iterator[int]:
        yield from (1, 2)
        raise OSError("no more frames")

    with pytest.raises(OSError, match="no more frames") as caught:
        Pipeline([Scatter(workers, on_error=choice), inverse, Gather()])(source())

    assert caught.value.__notes__ == ["in step 0:Scatter"]


@pytest.mark.parametrize("choice", ["return", "drop"])
def test_a_failure_inside_a_stream_is_one_of_the_source(choice: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [LazyPerItem(), inverse, StreamItems(), Scatter(2, on_error=choice), abs, Gather()]
    )

    with pytest.raises(ZeroDivisionError) as caught:
        pipeline([1, 0, 2])

    assert caught.value.__notes__ == ["in step 1:inverse, item 1 of 0:LazyPerItem, in 3:Scatter"]


@pytest.mark.parametrize("choice", ["return", "drop"])
def test_a_source_that_fails_to_close_is_raised_after_items_that_failed(choice: Any) -> None:
    def source() -> Iterator[int]:
        try:
            yield from (1, 0)
        finally:
            raise OSError("could not close the camera")

    with pytest.raises(OSError, match="could not close the camera"):
        Pipeline([Scatter(2, on_error=choice), inverse, Gather()])(source())


@pytest.mark.parametrize("choice", ["raise", "return", "drop"])
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_an_interrupt_is_raised_whatever_becomes_of_a_failure(
    choice: Any, workers: int, kind: type[BaseException]
) -> None:
    def step(value: int) -> float:
        if value == 2:
            raise kind
        return 1 / value

    with pytest.raises(kind):
        Pipeline([Scatter(workers, on_error=choice), step, Gather()])([1, 2, 3])


def test_a_step_that_raises_stop_iteration_is_a_failure_like_others() -> None:
    pipeline = Pipeline[Any, Any]([Scatter(2, on_error="return"), lambda value: next(iter(value)), Gather()])

    one, none, two = pipeline([[1], [], [2]])

    assert (one, type(none), two) == (1, StopIteration, 2)


@pytest.mark.parametrize("choice", ["raise", "return", "drop"])
def test_an_item_that_short_circuits_is_dropped_whatever_becomes_of_a_failure(choice: Any) -> None:
    pipeline = Pipeline[Any, Any]([Scatter(2, on_error=choice), Filter(lambda value: value > 2), Gather()])

    assert pipeline([1, 2, 3, 4]) == [3, 4]


def test_an_exception_that_is_a_result_is_a_result() -> None:
    value = OSError("an item")

    for choice in ("raise", "return", "drop"):
        assert Pipeline([Scatter(2, on_error=choice), lambda item: item, Gather()])([value]) == [value]
    assert not hasattr(value, "__notes__")


@pytest.mark.parametrize("workers", [1, 2])
def test_a_returned_failure_without_its_traceback_holds_no_item(workers: int) -> None:
    class Item:
        pass

    def step(_: Item) -> None:
        raise OSError

    def call() -> tuple[list[weakref.ref[Item]], list[OSError]]:
        items = [Item(), Item()]
        errors = Pipeline[Any, Any]([Scatter(workers, on_error="return"), step, Gather()])(items)
        return [weakref.ref(item) for item in items], [error.with_traceback(None) for error in errors]

    gone, errors = call()
    gc.collect()

    assert [type(error) for error in errors] == [OSError, OSError]
    assert [item() for item in gone] == [None, None]


def test_a_dropped_failure_holds_nothing() -> None:
    class Item:
        pass

    def step(_: Item) -> None:
        raise OSError

    item = Item()
    gone = weakref.ref(item)
    pipeline: Pipeline[Any, Any] = Pipeline([Scatter(on_error="drop"), step, Gather()])

    assert pipeline([item]) == []
    del item

    assert gone() is None


@pytest.mark.parametrize(
    ("choice", "attributes"),
    [
        ("return", {"seen": 5, "emitted": 4, "dropped": 1, "failed": 2}),
        ("drop", {"seen": 5, "emitted": 2, "dropped": 3, "failed": 2}),
    ],
)
@pytest.mark.parametrize("workers", [1, 3])
def test_a_trace_tells_of_each_failure_that_was_not_raised(
    choice: Any, attributes: dict[str, int], workers: int
) -> None:
    collector = CaptureCollector()
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(workers, on_error=choice), Filter(lambda value: value < 3), inverse, Gather()]
    )
    pipeline.set_tracing(collector)

    results = pipeline([1, 0, 3, 0, 2])

    assert collector.last_trace is not None
    (region,) = collector.last_trace.spans
    assert not region.error
    assert region.attributes == attributes
    assert len(results) == attributes["emitted"]
    assert [run.item for run in region.runs] == [0, 1, 2, 3, 4]
    assert [run.spans[-1].error for run in region.runs] == [False, True, False, True, False]


def test_the_operator_shows_how_it_was_made() -> None:
    assert repr(Scatter(2, on_error="drop")) == "Scatter(2, on_error='drop')"
    assert repr(Scatter()) == "Scatter()"
