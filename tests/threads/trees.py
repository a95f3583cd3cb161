"""Trees of nested regions as data: the pipeline of a tree, what it must give, and the code it is written as.

A tree says twice what it does: as a pipeline, and as plain recursion over one
value (``expect``), which knows no threads, no batches and no other callers.
Knows operators. Knows nothing of how trees are drawn or called.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.threads.steps import AtMost, Combine, Guarded, Guilty, Outcome, Reveal, Settle, Value, outcome_of

from ml_pipes.control import SHORT_CIRCUIT
from ml_pipes.core import Embed, Pipeline
from ml_pipes.region import RegionCloser, RegionOpener
from ml_pipes.standard import Batch, CollectItems, Gather, PerItem, Recall, Scatter, Store, UnBatch

__all__ = [
    "BATCH_OPTIONS",
    "SCATTER_OPTIONS",
    "Batched",
    "Embedded",
    "Kept",
    "Many",
    "Over",
    "Part",
    "Seq",
    "Tree",
]

BATCH_OPTIONS = frozenset(inspect.signature(Batch).parameters)
SCATTER_OPTIONS = frozenset(inspect.signature(Scatter).parameters)


class Node:
    """A part of a tree that is more than one step."""

    def steps(self, made: Made) -> list[Any]:
        """The steps that it stands for."""
        raise NotImplementedError

    def expect(self, value: Value, kept: dict[str, Value]) -> Value:
        """What comes out for ``value``: a value, ``SHORT_CIRCUIT``, or Guilty is raised.

        ``kept`` holds what the run has stored.
        """
        raise NotImplementedError


Part: TypeAlias = Node | Callable[[Value], Value]


# --- regions ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Seq:
    """Parts, one after the other, in one context."""

    parts: tuple[Part, ...]

    def steps(self, made: Made) -> list[Any]:
        parts = [part.steps(made) if isinstance(part, Node) else [part] for part in self.parts]
        return [step for steps in parts for step in steps]

    def expect(self, value: Value, kept: dict[str, Value]) -> Value:
        for part in self.parts:
            value = part.expect(value, kept) if isinstance(part, Node) else part(value)
            if value is SHORT_CIRCUIT:
                break
        return value

    def run(self, value: Value) -> Value:
        """As a run of its own, with a fresh context."""
        return self.expect(value, {})


@dataclass(frozen=True)
class Over(Node):
    """``inner`` for each item: by PerItem when ``workers`` is 0, else by a Scatter."""

    inner: Seq
    workers: int = 0
    on_error: str = "raise"

    def steps(self, made: Made) -> list[Any]:
        settle = [Settle()] if self.on_error == "return" else []
        return [*_around(self.inner.steps(made), self.workers, self.on_error), *settle]

    def expect(self, value: Value, kept: dict[str, Value]) -> Value:
        results: list[Any] = []
        for item in value:
            try:
                results.append(self.inner.run(item))
            except Guilty as error:
                if self.on_error == "raise":
                    raise
                results.append(error if self.on_error == "return" else SHORT_CIRCUIT)
        kept_items = [result for result in results if result is not SHORT_CIRCUIT]
        return Settle()(kept_items) if self.on_error == "return" else kept_items


@dataclass(frozen=True)
class Kept(Node):
    """The value is put aside around ``inner``, and recalled after it."""

    name: str
    inner: Seq
    k: int

    def steps(self, made: Made) -> list[Any]:
        return [Store(self.name), *self.inner.steps(made), Recall(self.name), Combine(self.k)]

    def expect(self, value: Value, kept: dict[str, Value]) -> Value:
        kept[self.name] = value
        result = self.inner.expect(value, kept)
        return result if result is SHORT_CIRCUIT else Combine(self.k)(result, kept[self.name])


@dataclass(frozen=True)
class Embedded(Node):
    """``inner`` as a pipeline of its own; all equal ones of a tree, and all ``times``, are one pipeline."""

    inner: Seq
    times: int = 1

    def steps(self, made: Made) -> list[Any]:
        return [Embed(made.pipeline(self.inner)) for _ in range(self.times)]

    def expect(self, value: Value, kept: dict[str, Value]) -> Value:
        for _ in range(self.times):
            value = value if value is SHORT_CIRCUIT else self.inner.run(value)
        return value


@dataclass(frozen=True)
class Batched(Node):
    """``inner`` for each member of a batch; ``guarded`` where it may fail or drop, each for itself."""

    inner: Seq
    size: int
    timeout: float
    workers: int = 0
    guarded: bool = False
    options: tuple[tuple[str, Any], ...] = ()

    def steps(self, made: Made) -> list[Any]:
        return _batch(self, dict(self.options), made)

    def expect(self, value: Value, kept: dict[str, Value]) -> Value:
        return self.inner.run(value)


@dataclass(frozen=True)
class Many(Node):
    """Each caller brings a list; the body sees the items of all, ``size`` at most.

    ``guarded`` where the items may fail or drop, each for itself.
    """

    inner: Seq
    size: int
    timeout: float
    workers: int = 0
    guarded: bool = False
    options: tuple[tuple[str, Any], ...] = ()

    def steps(self, made: Made) -> list[Any]:
        options = {"many": True, **dict(self.options)}
        return _batch(self, options, made)

    def expect(self, value: Value, kept: dict[str, Value]) -> Value:
        results = [self.inner.run(item) for item in value]
        return [result for result in results if result is not SHORT_CIRCUIT]


def _batch(node: Batched | Many, options: dict[str, Any], made: Made) -> list[Any]:
    inner = [Guarded(made.pipeline(node.inner))] if node.guarded else node.inner.steps(made)
    return [
        Batch(node.size, node.timeout, **options),
        AtMost(node.size, options.get("rows")),
        *_around(inner, node.workers),
        *([Reveal()] if node.guarded else []),
        UnBatch(),
    ]


def _around(inner: list[Any], workers: int, on_error: str = "raise") -> list[Any]:
    if workers == 0:
        return [PerItem(), *inner, CollectItems()]
    options: dict[str, Any] = {} if on_error == "raise" else {"on_error": on_error}
    return [Scatter(workers, **options), *inner, Gather()]


# --- the whole -------------------------------------------------------------------------------


@dataclass
class Made:
    """The pipelines of one building of a tree: equal embedded parts are one pipeline."""

    pipelines: dict[Seq, Pipeline[Any, Any]] = field(default_factory=dict)

    def pipeline(self, inner: Seq) -> Pipeline[Any, Any]:
        if inner not in self.pipelines:
            steps = inner.steps(self)  # first: what it embeds comes before it
            self.pipelines[inner] = Pipeline(steps)
        return self.pipelines[inner]


@dataclass(frozen=True, repr=False)
class Tree:
    """A whole tree; its repr is the code that makes its pipeline."""

    root: Seq

    def build(self) -> list[Pipeline[Any, Any]]:
        """New pipelines: those that are embedded, and, last, the whole one."""
        made = Made()
        whole = Pipeline(self.root.steps(made))
        return [*made.pipelines.values(), whole]

    def expect(self, value: Value) -> Outcome:
        """How a call with ``value`` must end.

        Raises:
            ValueError: the tree has parts that do not fit together.
        """
        outcome = outcome_of(lambda: self.root.run(value))
        if outcome[0] == "unexpected":
            raise ValueError(f"the tree itself is wrong for {value}: {outcome[1]}\n{self}")
        return outcome

    def __repr__(self) -> str:
        pipelines = self.build()
        names = {id(p): f"p{at}" for at, p in enumerate(pipelines[:-1], 1)} | {id(pipelines[-1]): "tree"}
        return "\n".join(line for pipeline in pipelines for line in _code(pipeline, names))


def _code(pipeline: Pipeline[Any, Any], names: dict[int, str]) -> Iterator[str]:
    yield f"{names[id(pipeline)]} = Pipeline(["
    depth = 1
    for step in pipeline.operators:
        depth -= isinstance(step, RegionCloser)
        inner = getattr(step, "pipeline", None)
        code = repr(step) if inner is None else f"{type(step).__name__}({names[id(inner)]})"
        yield f"{'    ' * depth}{code},"
        depth += isinstance(step, RegionOpener)
    yield "])"
