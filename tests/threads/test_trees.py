"""Random trees of nested regions, called by several at once: each gets what plain recursion says."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from tests.threads import steps, trees
from tests.threads.callers import at_once, busy, left_after_close, our_threads
from tests.threads.drawn import trees as drawn_trees
from tests.threads.steps import Add, Guilty, Linger, Outcome, RaiseIf, Split, Sum, outcome_of
from tests.threads.trees import Batched, Embedded, Kept, Over, Seq, Tree

from ml_pipes.core import Pipeline
from ml_pipes.standard import Batch, CollectItems, PerItem, UnBatch

HANGS_AFTER_S = 15.0
ROUNDS = 3
HAS_DEADLINES = hasattr(Pipeline, "call")
# 60 by default, and more where a profile asks for more.
EXAMPLES = settings().max_examples * 3 // 5

callers = st.lists(
    st.tuples(st.integers(0, 50), st.sampled_from([None, None, 60.0, 0.001] if HAS_DEADLINES else [None])),
    min_size=1,
    max_size=8,
)
in_earnest = settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(autouse=True, scope="module")
def _threads_take_turns_often() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(usual)


def called(pipeline: Any, value: Any, deadline_s: float | None) -> Callable[[], Outcome]:
    if deadline_s is None:
        return partial(outcome_of, partial(pipeline, value))
    return partial(outcome_of, partial(pipeline.call, value, deadline=deadline_s))


def is_right(tree: Tree, value: int, deadline_s: float | None, outcome: Outcome) -> bool:
    if outcome == tree.expect(value):
        return True
    is_late = outcome[0] == "unexpected" and outcome[1].startswith("DeadlineExceeded")
    return is_late and deadline_s is not None and deadline_s < 1.0


def check(tree: Tree, calls: list[tuple[int, float | None]]) -> None:
    """Several callers at once, several times: the outcomes, and what is left behind."""
    before = our_threads()
    pipelines = tree.build()

    todo = [called(pipelines[-1], *call) for call in calls] * ROUNDS
    rounds = [todo[at : at + len(calls)] for at in range(0, len(todo), len(calls))]
    outcomes = [outcome for calls_ in rounds for outcome in at_once(calls_, HANGS_AFTER_S, tree)]

    wrong = [
        f"{call} gave {outcome}, expected {tree.expect(call[0])}"
        for call, outcome in zip(calls * ROUNDS, outcomes, strict=True)
        if not is_right(tree, *call, outcome)
    ]
    assert not wrong, f"{wrong}\n{tree}"
    assert not [line for pipeline in pipelines for line in busy(pipeline)], tree
    assert not left_after_close(pipelines, before), tree


@pytest.mark.stress
@pytest.mark.timeout(240)
@in_earnest
@given(drawn_trees(), callers)
def test_callers_of_a_random_tree_each_get_what_plain_recursion_says(
    tree: Tree, calls: list[tuple[int, float | None]]
) -> None:
    note(repr(tree))

    check(tree, calls)


@settings(max_examples=EXAMPLES, suppress_health_check=[HealthCheck.too_slow])
@given(drawn_trees(), st.integers(0, 50))
def test_the_code_that_a_tree_is_shown_as_makes_a_pipeline_that_gives_the_same(
    tree: Tree, value: int
) -> None:
    names: dict[str, Any] = {**vars(steps), **vars(trees)}

    exec(repr(tree), names)  # noqa: S102 - the text is made here
    outcome = outcome_of(lambda: names["tree"](value))

    assert outcome == tree.expect(value)


@pytest.mark.parametrize(
    ("tree", "value", "outcome"),
    [
        (Tree(Seq((Split(3, 10), Over(Seq((RaiseIf(7, 10, 1),)), 2)))), 1, ("error", 7, 1)),
        (Tree(Seq((Split(3, 10), Over(Seq((RaiseIf(7, 20, 11),)), 2)))), 1, ("error", 7, 11)),
        (Tree(Seq((Split(3, 10), Over(Seq((steps.DropIf(20, 11),)), 2), Sum()))), 1, ("value", 22)),
        (Tree(Seq((Split(0, 1), Over(Seq((Split(2, 1),)), 2)))), 1, ("value", [])),
        (Tree(Seq((Kept("a", Seq((Add(1),)), 10), Embedded(Seq((Add(1),)), 2)))), 5, ("value", 58)),
        (Tree(Seq((Batched(Seq((RaiseIf(3, 2, 0),)), 4, 0.0, guarded=True),))), 4, ("error", 3, 4)),
        (Tree(Seq((Embedded(Seq((steps.DropIf(2, 0),)), 2), Add(1)))), 4, ("dropped",)),
    ],
    ids=["first fails", "second fails", "one drops", "no items", "kept, embedded twice", "batched", "ends"],
)
def test_plain_recursion_says_what_is_known_by_hand(tree: Tree, value: int, outcome: Outcome) -> None:
    expected = tree.expect(value)
    given_by_pipeline = outcome_of(lambda: tree.build()[-1](value))

    assert expected == outcome
    assert given_by_pipeline == outcome


def test_of_several_items_that_fail_at_once_the_first_is_raised() -> None:
    tree = Tree(Seq((Split(4, 100), Over(Seq((Linger(), RaiseIf(1, 100, 0))), 4))))

    check(tree, [(value, None) for value in (0, 100, 200, 1)])

    assert tree.expect(200) == ("error", 1, 200)


@pytest.mark.parametrize("workers", [1, 2])
def test_scatter_in_scatter_in_scatter_around_batch_gives_nested_lists(workers: int) -> None:
    innermost = Seq((Batched(Seq((Add(1),)), 3, 0.001, workers), Split(2, 1)))
    middle = Seq((Split(2, 10), Over(innermost, workers)))
    tree = Tree(Seq((Split(2, 100), Over(middle, workers))))

    check(tree, [(value, None) for value in range(8)])

    assert tree.expect(0) == ("value", [[[1, 2], [11, 12]], [[101, 102], [111, 112]]])


@pytest.mark.stress
@pytest.mark.timeout(240)
@in_earnest
@given(st.lists(st.integers(0, 30), min_size=1, max_size=8), st.integers(1, 4), st.sampled_from([0.0, 0.002]))
def test_an_error_of_a_batch_s_body_is_shared_by_its_members_and_by_nobody_else(
    values: list[int], size: int, timeout_s: float
) -> None:
    batches: list[list[tuple[int, int]]] = []

    def seen(batch: list[tuple[int, int]]) -> list[int]:
        batches.append(batch)
        return [value for _, value in batch]

    pipeline: Pipeline[Any, Any] = Pipeline(
        [Batch(size, timeout_s), seen, PerItem(), RaiseIf(1, 4, 3), Add(1), CollectItems(), UnBatch()]
    )
    outcomes = at_once(
        [called(pipeline, (at, value), None) for at, value in enumerate(values)],
        HANGS_AFTER_S,
        pipeline,
    )

    assert sorted(at for batch in batches for at, _ in batch) == list(range(len(values)))
    for batch in batches:
        guilty = [Guilty(1, value) for _, value in batch if value % 4 == 3][:1]
        for at, value in batch:
            assert outcomes[at] == (("error", 1, guilty[0].value) if guilty else ("value", value + 1))
