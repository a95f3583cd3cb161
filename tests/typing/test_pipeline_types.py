"""What a type checker makes of a program that uses pipelines: mypy reads this file, pytest runs it."""

from __future__ import annotations

from typing import Any, assert_type

from ml_pipes import Batch, Embed, Gather, Pick, Pipeline, Recall, Scatter, Select, Store, UnBatch
from ml_pipes.core import SHORT_CIRCUIT, Operator, PipelineDescription, RegionCloser, RegionOpener
from ml_pipes.region import Body


@Operator
class Double:
    def __init__(self, offset: int = 0) -> None:
        self.offset = offset

    def __call__(self, value: int) -> int:
        return value * 2 + self.offset


def lengths(words: list[str]) -> list[int]:
    return [len(word) for word in words]


def test_without_a_word_on_its_ends_a_pipeline_takes_and_gives_anything() -> None:
    pipeline = Pipeline([str.upper, len])

    assert_type(pipeline, Pipeline[Any, Any])
    assert pipeline("ab") == 2


def test_its_ends_can_be_named() -> None:
    named: Pipeline[int, int] = Pipeline([Double(), Double(offset=1)])
    applied = Pipeline[int, int]([Double()])

    assert_type(named(1), int)
    assert_type(applied(1), int)
    assert (named(1), applied(1)) == (5, 2)


def test_joined_pipelines_go_from_the_first_ones_input_to_the_last_ones_output() -> None:
    first = Pipeline[int, int]([Double()])
    second = Pipeline[int, str]([str_of])

    assert_type(first + second, Pipeline[int, str])
    assert_type(first >> second, Pipeline[int, str])
    assert_type(Embed(first), Embed[int, int])
    assert_type(first.extend([Double()]), Pipeline[int, int])
    assert (first >> second)(1) == "4"


def test_an_operator_stays_its_own_class() -> None:
    operator = Double(offset=3)

    assert_type(operator, Double)
    assert_type(operator(1), int)
    assert operator(1) == 5


def test_every_kind_of_step_may_stand_in_a_list() -> None:
    pipeline = Pipeline(
        [
            *(Store("words"), Scatter(2), Batch(2, timeout=0.0), lengths, UnBatch(), Gather()),
            *(Recall("words"), Pick(0), Select(0), Embed(Pipeline([Double()]))),
        ]
    )

    assert pipeline(["abc", "d"]) == 6


def test_a_region_of_ones_own_is_typed_by_what_it_takes_and_gives() -> None:
    class EndTwice(RegionCloser):
        pass

    class Twice(RegionOpener[int, list[int]]):
        closing_type = EndTwice

        def run(self, value: int, body: Body[int, int]) -> list[int]:
            return [body(value), body(value)]

    assert Pipeline([Twice(), Double(), EndTwice()])(1) == [2, 2]


def test_the_rest_has_its_types_too() -> None:
    description = Pipeline([Double()]).describe()

    assert_type(description, PipelineDescription)
    assert SHORT_CIRCUIT is not None


def str_of(value: int) -> str:
    return str(value)
