"""How a value goes from step to step."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest

from ml_pipes.core import SHORT_CIRCUIT, Embed, Pipeline, RegionCloser, RegionOpener
from ml_pipes.errors import StepInputError
from ml_pipes.standard import CollectItems, Gather, PerItem, Pick, Recall, Scatter, Store


class Point(NamedTuple):
    x: int
    y: int


def add(a: int, b: int) -> int:
    return a + b


def test_a_step_of_one_parameter_gets_the_whole_value_a_tuple_too() -> None:
    assert Pipeline([lambda value: value])((1, 2)) == (1, 2)


def test_a_tuple_is_spread_over_a_step_of_as_many_parameters() -> None:
    assert Pipeline([add])((1, 2)) == 3
    assert Pipeline([add])(Point(1, 2)) == 3


@pytest.mark.parametrize(
    ("value", "came"),
    [
        (7, "one int came"),
        ([1, 2], "one list came"),
        ((1, 2, 3), "a tuple of 3 came"),
        ((1,), "a tuple of 1 came"),
    ],
)
def test_a_step_of_two_parameters_refuses_everything_but_a_tuple_of_two(value: Any, came: str) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([add])

    with pytest.raises(
        StepInputError, match=rf"Pipeline step 0:add expects 2 positional arguments.*{came}"
    ) as caught:
        pipeline(value)

    assert isinstance(caught.value, TypeError)
    assert f"but got current={value!r}" in str(caught.value)


def test_a_long_value_is_cut_in_the_message() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([add])

    with pytest.raises(StepInputError) as caught:
        pipeline("x" * 10_000)

    assert len(str(caught.value)) < 400


def test_a_default_does_not_make_a_parameter_optional() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([lambda a, b=2: a + b])

    with pytest.raises(
        StepInputError, match=r"expects 2 positional arguments.*b counts too, default or not: wrap the step"
    ):
        pipeline(1)


def test_a_value_whose_own_repr_fails_is_still_refused_with_our_words() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    pipeline: Pipeline[Any, Any] = Pipeline([lambda value: value, add])

    with pytest.raises(StepInputError, match=r"1:add expects 2 .* the step before must give .* one Shy came"):
        pipeline(Shy())


def test_an_exception_object_kept_and_raised_in_ever_other_places_does_not_grow_for_ever() -> None:
    error = ValueError("kept")

    def one(_: Any) -> Any:
        raise error

    def two(_: Any) -> Any:
        raise error

    for _ in range(100):
        for step in (one, two):
            with pytest.raises(ValueError, match="kept"):
                Pipeline([step])(1)

    assert len(error.__notes__[0]) < 400


@pytest.mark.parametrize("notes", [[1, "mine"], None, "text"])
def test_what_others_keep_as_notes_is_left_alone(notes: Any) -> None:
    def fail(_: Any) -> Any:
        error = ValueError("bad")
        error.__notes__ = notes
        raise error

    try:
        Pipeline([fail])(1)
    except ValueError as error:  # pytest.raises() reads the notes itself, and stumbles over these
        kept = error.__notes__

    assert kept == ([1, "mine", "in step 0:fail"] if isinstance(notes, list) else notes)


def test_an_empty_pipeline_returns_what_it_got() -> None:
    value = object()

    assert Pipeline([])(value) is value


def test_a_short_circuit_ends_the_call_and_is_its_result() -> None:
    seen: list[Any] = []

    result = Pipeline([lambda value: SHORT_CIRCUIT, seen.append])(1)

    assert result is SHORT_CIRCUIT
    assert seen == []


def test_a_short_circuit_of_an_embedded_pipeline_ends_the_outer_call() -> None:
    seen: list[Any] = []
    inner: Pipeline[Any, Any] = Pipeline([lambda value: SHORT_CIRCUIT])

    assert Pipeline([Embed(inner), seen.append])(1) is SHORT_CIRCUIT
    assert seen == []


def test_none_is_a_value_like_any_other() -> None:
    assert Pipeline([lambda value: None, lambda value: value is None])(1) is True


def test_each_call_has_a_fresh_context() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([lambda value: value, Recall("kept")])
    storing: Pipeline[Any, Any] = Pipeline([Store("kept"), Embed(pipeline)])

    with pytest.raises(KeyError, match=r"'kept' was not stored before this step; stored: \(none\)"):
        storing(1)


@pytest.mark.parametrize(("opener", "closer"), [(PerItem(), CollectItems()), (Scatter(2), Gather())])
def test_what_was_stored_before_a_region_is_not_seen_in_it_and_is_there_after_it(
    opener: RegionOpener[Any, Any], closer: RegionCloser
) -> None:
    outside: Pipeline[Any, Any] = Pipeline([Store("kept"), opener, closer, Recall("kept"), Pick(1)])
    inside: Pipeline[Any, Any] = Pipeline([Store("kept"), opener, Recall("kept"), closer])
    after: Pipeline[Any, Any] = Pipeline([opener, Store("kept"), closer, Recall("kept")])

    assert outside([1, 2]) == [1, 2]
    with pytest.raises(KeyError, match="kept"):
        inside([1, 2])
    with pytest.raises(KeyError, match="kept"):
        after([1, 2])


def test_an_exception_keeps_its_identity_and_gains_one_note() -> None:
    error = ValueError("bad")

    def fail(_: Any) -> Any:
        raise error

    with pytest.raises(ValueError, match="bad") as caught:
        Pipeline([lambda value: value, fail])(1)

    assert caught.value is error
    assert error.__notes__ == ["in step 1:fail"]


def test_the_note_names_the_step_that_failed_whatever_kind_of_step_it_is() -> None:
    for steps, note in (
        ([Pick(0)], "in step 0:Pick"),
        ([add], "in step 0:add"),
        ([Store("kept"), Recall("other")], "in step 1:Recall"),
        ([lambda value: value, lambda value: value, lambda value: 1 // 0], "in step 2:<lambda>"),
    ):
        pipeline: Pipeline[Any, Any] = Pipeline(steps)

        with pytest.raises((TypeError, KeyError, ZeroDivisionError)) as caught:
            pipeline(1)

        assert caught.value.__notes__ == [note]


def test_the_note_says_which_item_of_which_regions() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scatter(2), PerItem(), lambda value: 10 // value, CollectItems(), Gather()]
    )

    with pytest.raises(ZeroDivisionError) as caught:
        pipeline([[1, 2], [5, 5, 0]])

    assert caught.value.__notes__ == ["in step 2:<lambda>, item 2 of 1:PerItem, item 1 of 0:Scatter"]


def test_the_note_leads_through_embedded_pipelines() -> None:
    inner: Pipeline[Any, Any] = Pipeline([lambda value: 10 // value])

    with pytest.raises(ZeroDivisionError) as caught:
        Pipeline([lambda value: value, Embed(inner)])(0)

    assert caught.value.__notes__ == ["in step 0:<lambda>, in 1:Embed"]


def test_an_exception_object_raised_again_and_again_does_not_grow() -> None:
    error = ValueError("always the same")

    def fail(_: Any) -> Any:
        raise error

    pipeline: Pipeline[Any, Any] = Pipeline([PerItem(), fail, CollectItems()])
    for _ in range(5):
        with pytest.raises(ValueError, match="always the same"):
            pipeline([1])

    assert error.__notes__ == ["in step 1:fail, item 0 of 0:PerItem"]


def test_notes_of_the_users_own_stay() -> None:
    def fail(_: Any) -> Any:
        error = ValueError("bad")
        error.add_note("look at the cable")
        raise error

    with pytest.raises(ValueError, match="bad") as caught:
        Pipeline([fail])(1)

    assert caught.value.__notes__ == ["look at the cable", "in step 0:fail"]


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError])
def test_what_is_no_exception_passes_with_a_note_too(kind: type[BaseException]) -> None:
    def fail(_: Any) -> Any:
        raise kind

    with pytest.raises(kind) as caught:
        Pipeline([fail])(1)

    assert caught.value.__notes__ == ["in step 0:fail"]


def test_eight_threads_with_different_values_get_what_one_thread_gets(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Store("x"), lambda x: x + 1, Recall("x"), lambda a, b: (a, b)])

    futures = [
        start(lambda thread=thread: [pipeline(thread * 50 + n) for n in range(50)]) for thread in range(8)
    ]

    assert [pair for future in futures for pair in future.result(timeout=30)] == [
        (n + 1, n) for n in range(400)
    ]
