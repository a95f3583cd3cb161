"""What a list of operators becomes, and which lists are refused."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from ml_pipes._engine.plan import Kind, make_plan
from ml_pipes.core import Operator, Pipeline, RegionCloser, RegionOpener
from ml_pipes.errors import PipelineValidationError, SignatureError, StructureError
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Scatter, Store, UnBatch


def double(value: int) -> int:
    return value * 2


def test_labels_count_over_the_whole_list_closers_too() -> None:
    plan = make_plan(
        [double, PerItem(), double, CollectItems(), functools.partial(double), lambda value: value]
    )

    body = plan.steps[1].body
    assert [step.label for step in plan.steps] == ["0:double", "1:PerItem", "4:partial", "5:<lambda>"]
    assert body is not None
    assert [step.label for step in body.steps] == ["2:double"]


def test_each_kind_of_step_is_known_before_any_call() -> None:
    plan = make_plan([double, lambda a, b: a, Store("kept"), PerItem(), CollectItems()])

    assert [step.kind for step in plan.steps] == [Kind.CALL, Kind.SPREAD, Kind.CONTEXT, Kind.REGION]


def test_a_default_does_not_shorten_the_count_of_parameters() -> None:
    assert make_plan([lambda a, b=1: a]).steps[0].arity == 2


def test_a_bound_method_does_not_count_its_self() -> None:
    assert make_plan([[].append]).steps[0].arity == 1


@pytest.mark.parametrize(
    ("operators", "words"),
    [
        ([double, Batch(2)], "1:Batch has no matching UnBatch; add UnBatch()"),
        ([Scatter(2), double], "0:Scatter has no matching Gather"),
        ([double, UnBatch()], "1:UnBatch has no matching opener"),
        ([Scatter(2), UnBatch()], "0:Scatter must be closed with Gather, not 1:UnBatch"),
        ([Scatter(2), Batch(2), Gather(), UnBatch()], "1:Batch must be closed with UnBatch, not 2:Gather"),
        ([PerItem(), CollectItems(), CollectItems()], "2:CollectItems has no matching opener"),
    ],
)
def test_a_region_that_is_not_opened_and_closed_rightly_is_refused(operators: list[Any], words: str) -> None:
    with pytest.raises(StructureError, match=words) as caught:
        Pipeline(operators)

    assert isinstance(caught.value, ValueError | PipelineValidationError)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (3, r"0:int must define __call__"),
        (lambda: 1, r"0:<lambda> takes no parameter"),
        (lambda *values: 1, r"0:<lambda> takes variadic positional parameters \(\*values\)"),
        (
            lambda value, **more: 1,
            r"takes non-positional parameters \(more\).* chains operators by argument position",
        ),
        (lambda value, *, scale: 1, r"takes non-positional parameters \(scale\)"),
        (Scatter, r"0:Scatter is the class, not an operator; write Scatter\(\.\.\.\)"),
        (
            functools.partial(double, value=2),
            r"non-positional parameters \(value\).*wrap it: lambda value: step",
        ),
        (str, r"0:str has no signature that can be read; wrap it: lambda value: str\(value\)"),
    ],
)
def test_a_step_that_cannot_be_called_by_position_is_refused(step: Any, words: str) -> None:
    with pytest.raises(SignatureError, match=words) as caught:
        Pipeline([step])

    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)


def test_an_opener_without_a_closing_type_is_refused() -> None:
    class Lost(RegionOpener[Any, Any]):
        pass

    with pytest.raises(StructureError, match="0:Lost must name its closing_type, a subclass of RegionCloser"):
        Pipeline([Lost()])


def test_an_opener_that_does_not_say_how_it_runs_is_refused() -> None:
    class Idle(RegionOpener[Any, Any]):
        closing_type = Gather

    with pytest.raises(SignatureError, match=r"Idle must implement run\(value, body\)"):
        Pipeline([Idle(), Gather()])


def test_an_opener_of_the_older_form_works_and_shows_its_own_name() -> None:
    class EndTwice(RegionCloser):
        pass

    @Operator
    class Twice(RegionOpener[Any, Any]):
        closing_type = EndTwice

        def run_region(self, current: Any, label: str, execute_region: Any, trace: Any, cfg: Any) -> Any:
            child = trace.child_trace(batch_size=1)
            once, child = execute_region(current, child)
            twice, _ = execute_region(once, child)
            return label, twice

    pipeline: Pipeline[Any, Any] = Pipeline([Twice(), double, EndTwice()])

    assert pipeline(3) == ("0:Twice", 12)
    assert repr(pipeline) == "Pipeline([\n  Twice(),\n  double,\n  EndTwice(),\n])"
