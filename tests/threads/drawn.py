"""How random trees are drawn: every part that fits, with every option that the library has.

What comes out of a tree must not depend on who calls at the same time. So where
one member's failure would fail a whole batch, the body either cannot fail, or
hands each failure on as that member's result, or the batch is isolated.
Knows trees and Hypothesis. Knows nothing of threads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from hypothesis import strategies as st
from tests.threads.steps import Add, DropIf, Linger, Mod, MulMod, RaiseIf, Rows, Split, Sum
from tests.threads.trees import (
    BATCH_OPTIONS,
    SCATTER_OPTIONS,
    Batched,
    Embedded,
    Kept,
    Many,
    Over,
    Part,
    Seq,
    Tree,
)

__all__ = ["trees"]

Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]

_SMALL = st.integers(0, 9)
_TIMEOUTS = st.sampled_from([0.0, 0.0005, 0.001, 0.002])
_POLICIES = st.sampled_from(["auto", "greedy", "full"])


@dataclass(frozen=True)
class _Rules:
    """What may happen in a sequence, and how many regions deep it may still go."""

    levels: int
    raises: bool = True
    drops: bool = True

    def deeper(self) -> _Rules:
        return replace(self, levels=self.levels - 1)

    def total(self) -> _Rules:
        """Every value comes out."""
        return replace(self, levels=self.levels - 1, raises=False, drops=False)


@st.composite
def trees(draw: Draw, levels: int = 3) -> Tree:
    """Trees that take an int, with regions in regions up to ``levels`` deep."""
    seq, _ = _seq(draw, 0, _Rules(levels), most=4)
    return Tree(seq)


def _seq(draw: Draw, depth: int, rules: _Rules, *, most: int = 3, same: bool = False) -> tuple[Seq, int]:
    """Parts that take a value of this depth (0: an int, 1: a list of ints), and the depth they give."""
    parts: list[Part] = []
    now = depth
    for _ in range(draw(st.integers(1, most))):
        part, now = _part(draw, now, rules)
        parts.append(part)
    if same and now != depth:
        parts.append(Sum())
        parts += [_one_deeper(at) for at in range(depth)]
        now = depth
    return Seq(tuple(parts)), now


def _one_deeper(depth: int) -> Part:
    """Makes lists of the ints in a value of this depth."""
    return Split(2, 1) if depth == 0 else Over(Seq((_one_deeper(depth - 1),)))


def _part(draw: Draw, depth: int, rules: _Rules) -> tuple[Part, int]:
    kinds: list[Callable[[Draw, int, _Rules], tuple[Part, int]]] = [_plain if depth == 0 else _sum]
    if depth == 0:
        kinds += [_split, _split]
    if rules.levels > 0:
        kinds += [_batched, _kept, _embedded]
        kinds += [_over, _over, _over] * (depth > 0)
        kinds += [_many, _many] * (depth > 0 and "many" in BATCH_OPTIONS)
    return draw(st.sampled_from(kinds))(draw, depth, rules)  # type: ignore[no-any-return] # one of the kinds


def _plain(draw: Draw, depth: int, rules: _Rules) -> tuple[Part, int]:
    kinds: list[Callable[[], Part]] = [
        lambda: Add(draw(_SMALL)),
        Linger,
        lambda: MulMod(draw(st.integers(1, 9)), draw(st.integers(10, 999))),
    ]
    modulus = st.integers(2, 9)
    if rules.drops:
        kinds += [lambda: DropIf(draw(modulus), draw(st.integers(0, 1)))] * 2
    if rules.raises:
        kinds += [lambda: RaiseIf(draw(_SMALL), draw(modulus), draw(st.integers(0, 1)))] * 3
    return draw(st.sampled_from(kinds))(), depth


def _split(draw: Draw, depth: int, rules: _Rules) -> tuple[Part, int]:
    return Split(draw(st.integers(0, 4)), draw(st.integers(1, 3))), depth + 1


def _sum(draw: Draw, depth: int, rules: _Rules) -> tuple[Part, int]:
    return Sum(), 0


def _kept(draw: Draw, depth: int, rules: _Rules) -> tuple[Part, int]:
    inner, _ = _seq(draw, depth, rules.deeper())
    return Kept(draw(st.sampled_from("ab")), inner, draw(_SMALL)), 0


def _embedded(draw: Draw, depth: int, rules: _Rules) -> tuple[Part, int]:
    times = draw(st.integers(1, 2))
    inner, after = _seq(draw, depth, rules.deeper(), same=times > 1)
    return Embedded(inner, times), after


def _over(draw: Draw, depth: int, rules: _Rules) -> tuple[Part, int]:
    workers = draw(st.integers(0, 4))
    on_error = "raise"
    if workers and "on_error" in SCATTER_OPTIONS:
        on_error = draw(st.sampled_from(["raise", "return", "drop"]))
    # What a region of items does with an item that fails or drops is its own affair.
    inside = replace(rules.deeper(), raises=rules.raises or on_error != "raise", drops=True)
    inner, after = _seq(draw, depth - 1, inside)
    if on_error == "return":  # an error becomes an int, so the other items have to be ints
        inner, after = Seq((*inner.parts, Sum())), 0
    return Over(inner, workers, on_error), after + 1


def _batched(draw: Draw, depth: int, rules: _Rules) -> tuple[Part, int]:
    size, options = _batch_options(draw)
    can_fail = rules.raises and rules.drops
    guarded = can_fail and draw(st.booleans())
    isolated = rules.raises and ("on_error", "isolate") in options
    inside = rules.deeper() if guarded else replace(rules.total(), raises=isolated)
    inner, after = _seq(draw, depth, inside)
    return Batched(inner, size, draw(_TIMEOUTS), draw(st.integers(0, 3)), guarded, options), after


def _many(draw: Draw, depth: int, rules: _Rules) -> tuple[Part, int]:
    size, options = _batch_options(draw)
    # Of a list's several failures the first is raised where its items run in order.
    in_order = not {"key", "max_concurrency", "rows"} & dict(options).keys()
    guarded = rules.drops and draw(st.booleans())
    isolated = ("on_error", "isolate") in options
    inside = rules.deeper() if guarded else rules.total()
    raises = rules.raises and in_order and (guarded or isolated)
    inner, after = _seq(draw, depth - 1, replace(inside, raises=raises))
    return Many(inner, size, draw(_TIMEOUTS), draw(st.integers(0, 3)), guarded, options), after + 1


def _batch_options(draw: Draw) -> tuple[int, tuple[tuple[str, Any], ...]]:
    """A size, and some of the options that the library's Batch has."""
    size = draw(st.integers(1, 4))
    choices: dict[str, st.SearchStrategy[Any]] = {
        "policy": _POLICIES,
        "max_concurrency": st.integers(1, 3),
        "max_waiting": st.just(10_000),  # so many that nobody is refused: who would be is a matter of time
        "on_error": st.sampled_from(["share", "isolate"]),
        "rows": st.just(Rows(size)),
        "key": st.builds(Mod, st.integers(1, 3)),
    }
    there = sorted(BATCH_OPTIONS & choices.keys())
    names = draw(st.lists(st.sampled_from(there), unique=True)) if there else []
    return size, tuple((name, draw(choices[name])) for name in sorted(names))
