"""Rounds of blocks of calls: one block of each side, in an order that is drawn anew for each round.

Knows functions, inputs, loads and time. Knows nothing of what is made of the figures, save how narrow an
interval is.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from ml_pipes._threads.clock import Clock
from ml_pipes.benchmark.called import Called
from ml_pipes.benchmark.comparison import ComparisonResult, EndedBy, Round
from ml_pipes.benchmark.environment import environment
from ml_pipes.benchmark.heap import old_set_aside
from ml_pipes.benchmark.load import ClosedLoop, Load, Offline, OpenLoop, Queries
from ml_pipes.benchmark.measure import Call, Progress, measure
from ml_pipes.benchmark.ratios import StatisticName, block_of, fraction_of, paired_ratio
from ml_pipes.benchmark.samples import Samples
from ml_pipes.benchmark.sequential import sequential

__all__ = ["ONE_CALLER", "Session", "Settings", "Side"]

ONE_CALLER: Final = ClosedLoop(1)
_WARMUP_S = 0.5
_BLOCK_S = 0.2
_MOST_CALLS = 1000
# Blocks are planned for this share of the time there is; a machine may become slower meanwhile.
_PLANNED = 0.8
# Rounds before the interval's width is looked at, and how many more, in proportion, before the next look.
_FIRST_LOOK = 20
_NEXT_LOOK = 1.1


@dataclass(frozen=True)
class Settings:
    """What is asked of a comparison; see :func:`~ml_pipes.benchmark.compare.compare`.

    Raises:
        ValueError: a number that cannot be, or two that exclude each other.
    """

    blocks: int
    block_calls: int | None
    block_s: float | None
    load: Load
    warmup: int | None
    statistics: tuple[StatisticName, ...]
    confidence: float
    seed: int | None
    max_s: float
    until: float | None

    def __post_init__(self) -> None:
        for name, least in [("blocks", 1), ("block_calls", 1), ("warmup", 0)]:
            _check_whole(name, getattr(self, name), least)
        for name in ("block_s", "max_s", "until"):
            value = getattr(self, name)
            if value is not None and not value > 0.0:
                raise ValueError(f"compare: {name} must be above 0, got {value!r}")
        if not 0.0 < self.confidence < 1.0:
            raise ValueError(f"compare: confidence must be above 0 and below 1, got {self.confidence!r}")
        if not self.statistics:
            raise ValueError('compare: statistics is empty; give at least one, such as "p50"')
        for statistic in self.statistics:
            fraction_of(statistic)
        if self.block_calls is not None and self.block_s is not None:
            raise ValueError("compare: a block has a number of calls or seconds; give block_calls or block_s")
        if isinstance(self.load, Offline) and self.block_s is not None:
            raise ValueError("compare: Offline works off a number of calls; give block_calls=, not block_s=")
        if self.warmup == 0 and self.block_calls is None and self.block_s is None:
            raise ValueError("compare: without a warm-up nothing tells how long a call is; give block_calls=")


class Side(Called):
    """What is called, its blocks of calls, and the first error that came of it.

    Args:
        call: a pipeline or another function of one input.
        label: what it is called.

    Attributes:
        warmup: calls before the first block.
        call_s: how long a call takes, under the load, seconds.
        blocks: what was measured.

    Raises:
        TypeError: it cannot be called.
    """

    def __init__(self, call: Call, label: str) -> None:
        if not callable(call):
            raise TypeError(f"compare: {label} must be a pipeline or a function, got a {type(call).__name__}")
        super().__init__(call)
        self.label = label
        self.warmup = 0
        self.call_s = 0.0
        self.blocks: list[Samples] = []

    def check(self, samples: Samples) -> None:
        """Raise where nothing can be compared."""
        if not len(samples.latency_s):
            failed = sum(samples.errors.values())
            self.raise_first_error(
                f"in a comparison: none of the first {failed} calls of {self.label} succeeded"
            )


@dataclass
class Session:
    """One comparison.

    Attributes:
        sides: the baseline and the candidates.
        given: gives the input of an index.
        settings: what is asked for.
        progress: told after each round.
        clock: tells the time.
        orders: of each round, the sides in the order of their blocks.
    """

    sides: list[Side]
    given: Callable[[int], Any]
    settings: Settings
    progress: Progress | None
    clock: Clock
    orders: list[list[int]] = field(default_factory=list)

    def results(self) -> list[ComparisonResult]:
        """Measure; of each candidate, what came of it."""
        settings = self.settings
        seed = secrets.randbits(32) if settings.seed is None else settings.seed
        about = environment()
        began_s = self.clock.now()
        try:
            with old_set_aside():
                self._warm_up()
                block_calls = self._block_calls(began_s)
                ended_by = self._rounds(np.random.default_rng(seed), began_s, block_calls, seed)
        except KeyboardInterrupt:
            ended_by = "interrupt"
        whole = min(len(side.blocks) for side in self.sides)
        if not whole:
            raise KeyboardInterrupt
        for side in self.sides:
            del side.blocks[whole:]
        elapsed_s = self.clock.now() - began_s
        return [self._result(at, seed, ended_by, elapsed_s, about) for at in range(1, len(self.sides))]

    def _result(
        self, at: int, seed: int, ended_by: EndedBy, elapsed_s: float, about: dict[str, Any]
    ) -> ComparisonResult:
        baseline, candidate, settings = self.sides[0], self.sides[at], self.settings
        rounds = zip(baseline.blocks, candidate.blocks, self.orders, strict=False)
        return ComparisonResult(
            labels=(baseline.label, candidate.label),
            rounds=tuple(Round(a, b, order.index(at) < order.index(0)) for a, b, order in rounds),
            statistics=settings.statistics,
            confidence=settings.confidence,
            seed=seed,
            workload=settings.load,
            candidates=len(self.sides) - 1,
            until=settings.until,
            ended_by=ended_by,
            elapsed_s=elapsed_s,
            warmup=(baseline.warmup, candidate.warmup),
            environment=about,
        )

    def _warm_up(self) -> None:
        settings = self.settings
        for side in self.sides:
            if settings.warmup == 0:
                continue
            if settings.warmup is None and not isinstance(settings.load, Offline):
                # What is done once, at the first call, says nothing of how long a call is.
                first = self._measured(side, settings.load, 0, runs=1)
                side.warmup += first.count
                samples = self._measured(
                    side, settings.load, 0, duration_s=min(_WARMUP_S, settings.max_s / 20)
                )
            else:
                runs = settings.warmup or _least_calls(settings.load)
                samples = self._measured(side, settings.load, 0, runs=runs)
            side.check(samples)
            side.warmup += samples.count
            side.call_s = samples.duration_s / max(1, samples.count)

    def _block_calls(self, began_s: float) -> int | None:
        """Calls of a block; None when it goes by seconds."""
        settings = self.settings
        if settings.block_s is not None or settings.block_calls is not None:
            return settings.block_calls
        left_s = settings.max_s * _PLANNED - (self.clock.now() - began_s)
        block_s = min(_BLOCK_S, left_s / (settings.blocks * len(self.sides)))
        slowest_s = max(side.call_s for side in self.sides)
        calls = min(_MOST_CALLS, int(block_s / slowest_s)) if slowest_s > 0.0 else _MOST_CALLS
        return max(calls, _least_calls(settings.load))

    def _rounds(self, random: np.random.Generator, began_s: float, calls: int | None, seed: int) -> EndedBy:
        settings = self.settings
        start, next_look = 0, _FIRST_LOOK
        done = 0
        while settings.until is not None or done < settings.blocks:
            if done and self.clock.now() - began_s >= settings.max_s:
                return "max_s"
            order = random.permutation(len(self.sides)).tolist()
            self.orders.append(order)
            load = _of_round(settings.load, done)
            for at in order:
                self._block(self.sides[at], load, start, calls)
            start += max(len(side.blocks[-1]) for side in self.sides)
            done += 1
            self._tell(done, began_s)
            if settings.until is not None and done >= next_look:
                next_look = int(done * _NEXT_LOOK) + 1
                if self._width(seed) <= settings.until:
                    return "until"
        return "blocks"

    def _block(self, side: Side, load: Load, start: int, calls: int | None) -> None:
        settle = _settling(load, calls)
        samples = self._measured(
            side, load, start - settle, runs=calls, duration_s=self.settings.block_s, warmup=settle
        )
        if not side.blocks:
            side.check(samples)
        side.blocks.append(samples)

    def _measured(
        self,
        side: Side,
        load: Load,
        start: int,
        *,
        runs: int | None = None,
        duration_s: float | None = None,
        warmup: int = 0,
    ) -> Samples:
        given, clock = self.given, self.clock

        def inputs(index: int) -> Any:
            return given(max(0, start + index))

        if load == ONE_CALLER:
            samples = sequential(side, inputs, runs=runs, duration_s=duration_s, warmup=warmup, clock=clock)
        else:
            samples = measure(
                side, inputs, load, runs=runs, duration_s=duration_s, warmup=warmup, limit_s=1e9, clock=clock
            )
        if samples.interrupted:
            raise KeyboardInterrupt
        return samples

    def _width(self, seed: int) -> float:
        """Half the first statistic's interval, of the candidate that is least known."""
        settings = self.settings
        a, *others = [[block_of(samples) for samples in side.blocks] for side in self.sides]
        confidence = 1.0 - (1.0 - settings.confidence) / len(others)
        ratios = [
            paired_ratio(a, b, settings.statistics[0], confidence=confidence, seed=seed) for b in others
        ]
        return max(ratio.half_width if ratio.is_known else float("inf") for ratio in ratios)

    def _tell(self, done: int, began_s: float) -> None:
        if self.progress is not None:
            total = self.settings.blocks if self.settings.until is None else None
            self.progress(done, total, self.clock.now() - began_s)


def _of_round(load: Load, number: int) -> Load:
    """For both sides the same arrivals, and in each round others."""
    return replace(load, seed=load.seed + number) if isinstance(load, OpenLoop) else load


def _least_calls(load: Load) -> int:
    match load:
        case ClosedLoop(callers=1):
            return 1
        case ClosedLoop(callers=callers):
            return 4 * callers
        case Offline(max_in_flight=most):
            return 2 * most
        case _:
            return 1


def _settling(load: Load, calls: int | None) -> int:
    """Calls at a block's beginning that do not count: what the other side left in the caches is theirs."""
    match load:
        case ClosedLoop(callers=1) | Queries():
            return 1 if calls is None or calls >= 10 else 0
        case ClosedLoop(callers=callers):
            return callers
        case _:
            return 0


def _check_whole(name: str, value: int | None, least: int) -> None:
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < least):
        raise ValueError(f"compare: {name} must be a whole number, {least} or more, got {value!r}")
