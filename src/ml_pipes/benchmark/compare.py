"""Pipelines or functions measured side by side: a block of calls of each in turn, in random order.

Knows functions, inputs, loads and time. Knows nothing of what is made of the figures.

Measured one after the other, two sides differ by what the machine did in between. So they are measured
in rounds: in each, one block of calls of every side, in an order that is drawn anew for each round. What
is slower for a while is slower for both, what drifts drifts through both, and by the draw the odds of
the rest are known. (T. Kalibera and R. Jones, "Rigorous benchmarking in reasonable time", ISMM 2013,
https://doi.org/10.1145/2464157.2464160, on what must be repeated; for what is made of it see
:mod:`~ml_pipes.benchmark.ratios`.)

Garbage is treated alike: before each block, of either side, all of it is collected, outside of any
call's time; in the blocks Python's collector works as it does in the program that compares. With many
objects alive that takes some tenths of a second per block, which ``max_s`` counts.

To see what a comparison can find on a machine, compare a thing with itself: at 95 %, one in twenty finds
a difference, and what the others would have seen is what there is to be had.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ml_pipes._threads.clock import CLOCK, Clock
from ml_pipes.benchmark.comparison import ComparisonResult
from ml_pipes.benchmark.inputs import prepared
from ml_pipes.benchmark.interleaved import ONE_CALLER, Session, Settings, Side
from ml_pipes.benchmark.load import Load
from ml_pipes.benchmark.measure import Call, Inputs, Progress, input_at
from ml_pipes.benchmark.ratios import StatisticName
from ml_pipes.factory import InputFn

__all__ = ["compare", "compare_all"]

_STATISTICS: Final = ("p50", "p99", "mean", "throughput")


def compare(
    baseline: Call,
    candidate: Call,
    inputs: Inputs = None,
    *,
    input_fn: InputFn | None = None,
    labels: tuple[str, str] = ("A", "B"),
    blocks: int = 30,
    block_calls: int | None = None,
    block_s: float | None = None,
    load: Load = ONE_CALLER,
    warmup: int | None = None,
    statistics: Sequence[StatisticName] = _STATISTICS,
    confidence: float = 0.95,
    seed: int | None = None,
    max_s: float = 60.0,
    progress: Progress | None = None,
    until: float | None = None,
    clock: Clock = CLOCK,
) -> ComparisonResult:
    """Find out whether one pipeline is faster than another.

    Both are given the same inputs: the calls of a round begin with the same one. What a call raises is
    counted, and its time is in no figure. Ctrl-C ends it, and the rounds that are whole are given back.
    A block is not cut short: a call that never returns is waited for.

    Models share the CPUs of their process: open those of either side within
    :func:`ml_pipes.onnx.opened_alone`, or the second has only what the first has left.

    Args:
        baseline: A, a pipeline or another function of one input.
        candidate: B.
        inputs: a callable that gives the input for an index; a list or tuple, which is cycled; or one value.
        input_fn: gives ``(id, value, tag, meta)``, instead of ``inputs``.
        labels: of A and B.
        blocks: how many of each; with ``until``, only their size is planned by it.
        block_calls: calls that count in a block; by default as many as take 0.2 s, at most 1000, and fewer
            where all blocks would take longer than ``max_s``.
        block_s: seconds that a block lasts, instead of a number of calls.
        load: who calls in a block. One caller calls on this thread.
        warmup: calls of each side before the first round; by default as many as take half a second. A block
            begins with one more call that does not count, where it has ten or more, and with several
            callers with one of each.
        statistics: ``"p50"`` and other percentiles, ``"mean"``, ``"throughput"``; the first one decides.
        confidence: of the intervals, 0 to 1: of a hundred comparisons of a thing with itself, at 0.95 five
            find a difference.
        seed: of the order; drawn, and told in the result, by default.
        max_s: no round begins after so many seconds.
        progress: called after each round: ``(rounds done, of how many, elapsed_s)``; None for how many with
            ``until``.
        until: go on until the first statistic's interval is so narrow, 0.02 for plus and minus 2 %, 20 rounds
            at least; or until ``max_s``. To stop on seeing it costs little: simulated, an interval at 95 %
            held 94.5 % of the time (Y. S. Chow and H. Robbins, "On the asymptotic theory of fixed-width
            sequential confidence intervals for the mean", Annals of Mathematical Statistics 36, 1965).
        clock: tells the time.

    Raises:
        TypeError: what is to be compared cannot be called.
        ValueError: an argument that cannot be.
        KeyboardInterrupt: no round was whole yet.
        Exception: what the calls of a side raised, where none succeeded at first; what the inputs raised.
    """
    settings = Settings(
        blocks, block_calls, block_s, load, warmup, tuple(statistics), confidence, seed, max_s, until
    )
    sides = [Side(baseline, labels[0]), Side(candidate, labels[1])]
    return Session(sides, _given(inputs, input_fn), settings, progress, clock).results()[0]


def compare_all(
    baseline: Call,
    candidates: Mapping[str, Call],
    inputs: Inputs = None,
    *,
    input_fn: InputFn | None = None,
    label: str = "A",
    blocks: int = 30,
    block_calls: int | None = None,
    block_s: float | None = None,
    load: Load = ONE_CALLER,
    warmup: int | None = None,
    statistics: Sequence[StatisticName] = _STATISTICS,
    confidence: float = 0.95,
    seed: int | None = None,
    max_s: float = 120.0,
    progress: Progress | None = None,
    until: float | None = None,
    clock: Clock = CLOCK,
) -> dict[str, ComparisonResult]:
    """Compare several candidates with one baseline, each round with a block of every one of them.

    The error is shared out: the verdicts hold all together with ``confidence`` (Bonferroni).

    Args:
        baseline: A.
        candidates: label -> pipeline or function.
        inputs: as for :func:`compare`, and so all that is not named here.
        input_fn: as there.
        label: of A.
        blocks: as there.
        block_calls: as there.
        block_s: as there.
        load: as there.
        warmup: as there.
        statistics: as there.
        confidence: as there.
        seed: as there.
        max_s: as there.
        progress: as there.
        until: as there; of the widest of the candidates' intervals.
        clock: as there.

    Returns:
        label -> its comparison with A.

    Raises:
        TypeError: what is to be compared cannot be called.
        ValueError: an argument that cannot be.
        KeyboardInterrupt: no round was whole yet.
        Exception: as there.
    """
    if not candidates:
        raise ValueError("compare_all: candidates is empty; give at least one, label -> pipeline")
    settings = Settings(
        blocks, block_calls, block_s, load, warmup, tuple(statistics), confidence, seed, max_s, until
    )
    sides = [Side(baseline, label), *(Side(call, name) for name, call in candidates.items())]
    results = Session(sides, _given(inputs, input_fn), settings, progress, clock).results()
    return dict(zip(candidates, results, strict=True))


def _given(inputs: Inputs, input_fn: InputFn | None) -> Callable[[int], Any]:
    if input_fn is None:
        return input_at(inputs)
    if inputs is not None:
        raise ValueError("compare: the inputs come from inputs or from input_fn; give one of them")
    values = [one.value for one in prepared(input_fn)]
    return lambda index: values[index % len(values)]
