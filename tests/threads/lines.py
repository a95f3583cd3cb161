"""The pipelines that the soak calls: regions in regions, each as a tree that knows what each id must give.

The ids of calls are the values, so an answer of another call is a wrong answer.
About one call in a hundred fails. Knows trees. Knows nothing of who calls them.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.threads.steps import Add, DropIf, Linger, Mod, MulMod, RaiseIf, Rows, Split, Sum
from tests.threads.trees import (
    BATCH_OPTIONS,
    SCATTER_OPTIONS,
    Batched,
    Embedded,
    Kept,
    Many,
    Over,
    Seq,
    Tree,
)

__all__ = ["LINES", "Line"]

_MODEL = MulMod(7, 1_000_003)
_ID = 1_000_003  # an answer is a number below this, and the id times this


@dataclass(frozen=True)
class Line:
    """One kind of pipeline.

    Attributes:
        name: for reports.
        tree: what it does.
        may_close: closing it in the middle gives nobody a wrong answer.
        refusals: names of the library's errors that any call may end with.
    """

    name: str
    tree: Tree
    may_close: bool = True
    refusals: frozenset[str] = frozenset()


def _with_id(*parts: object) -> Tree:
    return Tree(Seq((Kept("id", Seq(parts), _ID),)))  # type: ignore[arg-type] # all are parts


def _lines() -> list[Line]:
    model = Seq((RaiseIf(1, 300, 37), _MODEL))
    in_tile = Seq((Add(1), Batched(model, 8, 0.001, guarded=True)))
    in_embedded = Seq(
        (Split(2, 1), Over(Seq((Batched(Seq((_MODEL,)), 4, 0.0005, 2), RaiseIf(2, 200, 11))), 2))
    )
    in_batch = Seq((Split(2, 1), Over(Seq((Batched(Seq((_MODEL,)), 3, 0.0005),)), 2), Sum()))
    all_fail = Seq((Linger(), RaiseIf(8, 100, 51)))
    lines = [
        Line("scatter", _with_id(Split(3, 100), Over(all_fail, 3))),
        Line("scatter, batch", _with_id(Split(3, 1), Over(in_tile, 2))),
        Line("embed, scatter, batch", _with_id(Embedded(in_embedded), Sum(), Embedded(in_embedded))),
        Line(
            "batch, batch",
            _with_id(
                Batched(Seq((Add(1),)), 8, 0.001),
                RaiseIf(3, 100, 5),
                Batched(Seq((DropIf(50, 7), _MODEL)), 3, 0.0005, guarded=True),
            ),
        ),
        Line("batch in batch", _with_id(Batched(in_batch, 4, 0.001, 2), RaiseIf(4, 1000, 9))),
    ]
    if "on_error" in SCATTER_OPTIONS:
        returned = Over(Seq((RaiseIf(5, 100, 3), Batched(Seq((_MODEL,)), 4, 0.0))), 3, "return")
        # A pipeline that closes is an error too: it would become one item's.
        lines.append(Line("scatter returns", _with_id(Split(3, 1), returned), may_close=False))
    return lines + _newer_lines()


def _newer_lines() -> list[Line]:
    """Those with options that a library may not have yet."""
    lines = []
    model = Seq((_MODEL,))
    some_fail = Seq((RaiseIf(9, 300, 41), DropIf(100, 12), _MODEL))
    if "many" in BATCH_OPTIONS:
        many = Seq((Split(3, 1), Many(model, 8, 0.001), Sum(), RaiseIf(6, 200, 9)))
        lines += [
            Line("many", _with_id(Split(5, 1), Many(model, 4, 0.001))),
            Line("many, some fail", _with_id(Split(3, 1), Many(some_fail, 4, 0.001, guarded=True))),
            Line("scatter, many", _with_id(Split(3, 1), Over(many, 2))),
        ]
    if "on_error" in BATCH_OPTIONS:
        failing = Batched(Seq((RaiseIf(7, 100, 1), _MODEL)), 4, 0.001, options=(("on_error", "isolate"),))
        lines.append(Line("isolated", _with_id(failing)))
    if {"key", "rows", "max_concurrency"} <= BATCH_OPTIONS:
        options = (("key", Mod(2)), ("max_concurrency", 2), ("rows", Rows(3)))
        lines.append(Line("keys and rows", _with_id(Batched(model, 6, 0.001, options=options))))
    if "policy" in BATCH_OPTIONS:
        for policy in ("greedy", "full"):
            batched = Batched(model, 8, 0.001, options=(("policy", policy),))
            lines.append(Line(policy, _with_id(Split(2, 1), Over(Seq((batched,)), 2))))
    if "max_waiting" in BATCH_OPTIONS:
        batched = Batched(model, 2, 0.001, options=(("max_waiting", 3),))
        lines.append(Line("narrow room", _with_id(batched), refusals=frozenset({"QueueFull"})))
    return lines


LINES = tuple(_lines())
