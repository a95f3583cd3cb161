"""How pipelines are joined, extended, shown and shipped."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import Any

import pytest

from ml_pipes.core import Embed, Inline, Operator, Pipeline, embed, inline
from ml_pipes.errors import SignatureError, StructureError
from ml_pipes.standard import Batch, Pick, Recall, Store, UnBatch


@Operator
class Scale:
    def __init__(self, by: float = 2.0, *, offset: float = 0.0) -> None:
        self.by = by
        self.offset = offset

    def __call__(self, value: float) -> float:
        return value * self.by + self.offset


def increment(value: Any) -> Any:
    return value + 1


def test_operators_are_seen_flat_and_cannot_be_edited_past_extend() -> None:
    inner: Pipeline[Any, Any] = Pipeline([increment, Inline(Pipeline([increment]))])

    pipeline: Pipeline[Any, Any] = Pipeline([Inline(inner), increment])

    assert pipeline.operators == (increment, increment, increment)


def test_extend_adds_in_place_and_returns_the_pipeline() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([increment])

    same = pipeline.extend([increment, Inline(Pipeline([increment]))])

    assert same is pipeline
    assert pipeline(0) == 3


@pytest.mark.parametrize("steps", [[Batch(2)], [increment, UnBatch()], [increment, 3]])
def test_a_refused_extension_leaves_nothing_behind(steps: list[Any]) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([increment])

    with pytest.raises((StructureError, SignatureError)):
        pipeline.extend(steps)

    assert pipeline.operators == (increment,)
    assert pipeline(1) == 2


def test_plus_gives_one_list_with_one_context() -> None:
    joined = Pipeline([Store("kept"), increment]) + Pipeline([Recall("kept")])

    assert joined(1) == (2, 1)
    assert len(joined.operators) == 3


def test_inlined_steps_share_the_context_and_are_taken_as_they_are_now() -> None:
    part: Pipeline[Any, Any] = Pipeline([Store("kept")])
    pipeline: Pipeline[Any, Any] = Pipeline([inline(part), increment, Recall("kept")])

    part.extend([increment])

    assert pipeline(1) == (2, 1)


def test_shift_links_pipelines_that_keep_their_contexts_and_stay_live() -> None:
    first: Pipeline[Any, Any] = Pipeline([Store("kept"), increment])
    second: Pipeline[Any, Any] = Pipeline([increment])

    linked = first >> second >> Pipeline([increment])
    second.extend([increment])

    assert [type(operator) for operator in linked.operators] == [Embed, Embed, Embed]
    assert linked(0) == 4
    with pytest.raises(KeyError):
        (first >> Pipeline([Recall("kept")]))(1)


def test_an_embedded_pipeline_is_seen_as_it_is_at_the_call() -> None:
    inner: Pipeline[Any, Any] = Pipeline([increment])
    pipeline: Pipeline[Any, Any] = Pipeline([embed(inner)])

    inner.extend([increment])

    assert pipeline(0) == 2


@pytest.mark.parametrize("kind", [Embed, Inline])
def test_only_a_pipeline_can_be_embedded_or_inlined(kind: Any) -> None:
    with pytest.raises(TypeError, match=f"{kind.__name__} takes a Pipeline, got a list"):
        kind([increment])


def test_joining_with_something_else_is_a_type_error() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([increment])

    with pytest.raises(TypeError):
        pipeline + [increment]  # type: ignore[operator] # noqa: RUF005 # the refusal is what is tested
    with pytest.raises(TypeError):
        pipeline >> increment  # type: ignore[operator] # the refusal is what is tested


def test_a_pipeline_shows_itself_as_it_was_written() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline(
        [Scale(3), increment, Scale(by=2, offset=1), Pick(0, 1), Batch(4, timeout=0.1), UnBatch()]
    )

    assert repr(pipeline) == (
        "Pipeline([\n"
        "  Scale(3),\n"
        "  increment,\n"
        "  Scale(by=2, offset=1),\n"
        "  Pick(0, 1),\n"
        "  Batch(4, timeout=0.1),\n"
        "  UnBatch(),\n"
        "])"
    )


def test_an_empty_pipeline_shows_as_an_empty_list() -> None:
    assert repr(Pipeline([])) == "Pipeline([])"


def test_describe_prints_and_returns_and_can_show_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Scale(3), increment])

    description = pipeline.describe(show_defaults=True)

    text = "Pipeline([\n  Scale(3, offset=0.0),\n  increment,\n])"
    assert capsys.readouterr().out == text + "\n"
    assert repr(description) == text
    assert description.render() == "Pipeline([\n  Scale(3),\n  increment,\n])"
    assert [step.name for step in description.operators] == ["Scale", "increment"]


def test_describe_leaves_the_showing_to_an_interactive_interpreter(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "ps1", ">>> ", raising=False)

    description = Pipeline([increment]).describe()

    assert capsys.readouterr().out == ""
    assert repr(description) == "Pipeline([\n  increment,\n])"


def test_an_embedded_pipeline_shows_on_one_line_or_in_full_when_verbose() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([Embed(Pipeline([Scale(3)] * 20))])
    description = pipeline.describe()

    assert len(description.render().splitlines()) == 3
    assert description.render().splitlines()[1].endswith("…),")
    assert description.render(verbose=True).splitlines()[2] == "    Scale(3),"


def test_an_unknown_keyword_is_refused() -> None:
    with pytest.raises(TypeError, match="tracing"):
        Pipeline([], tracing=True)  # type: ignore[call-arg] # the refusal is what is tested


@pytest.mark.parametrize("wrong", [increment, None, "steps"])
def test_only_a_list_of_steps_makes_a_pipeline(wrong: Any) -> None:
    with pytest.raises(
        TypeError, match=r"Pipeline takes a list of steps, got a .*; write Pipeline\(\[\.\.\.\]\)"
    ):
        Pipeline(wrong)


def test_extending_from_many_threads_loses_no_step(start: Any) -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([])

    for future in [start(lambda: [pipeline.extend([increment]) for _ in range(50)]) for _ in range(4)]:
        future.result(timeout=20)

    assert len(pipeline.operators) == 200


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_a_subclass_with_a_constructor_of_its_own_copies_with_all_it_has(twin_of: Any) -> None:
    pipeline = Named("mine")

    twin = twin_of(pipeline)

    assert (twin.name, twin(1)) == ("mine", 2)


def test_a_pipeline_that_embeds_itself_shows_and_copies() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([increment])
    pipeline.extend([Embed(pipeline)])

    assert "Embed(Pipeline([...]))" in repr(copy.deepcopy(pipeline))


def test_only_a_collector_can_be_set() -> None:
    pipeline: Pipeline[Any, Any] = Pipeline([increment])

    with pytest.raises(
        TypeError, match="set_tracing takes a TraceCollector or None, got <built-in function print>"
    ):
        pipeline.set_tracing(print)  # type: ignore[arg-type] # the refusal is what is tested


class Named(Pipeline[Any, Any]):
    def __init__(self, name: str) -> None:
        super().__init__([increment])
        self.name = name
