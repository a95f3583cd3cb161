"""Dynamic batching against the ideal: callers in a loop, callers on a timetable, and a model that is free.

Knows the public ``Batch`` and a model that sleeps. Knows nothing of how callers wait.
Every configuration runs in short blocks among those of all others, in random order, so that a slow moment
hits all alike; each has one pipeline for all of its blocks, so that what it has learned stays with it.
The sleeping model's own cost is measured between the blocks, alone in a bare loop: a sleep overshoots.
"""

from __future__ import annotations

import math
import random
import statistics
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from bench.load import Closed, Open, Options, SleepingModel, closed_block, median, open_block, shown
from bench.policies import COMPARED, Served, batching, is_there, policy_title
from bench.simulate import Costs, ideal_closed, ideal_open, linear_costs, percentile, poisson_arrivals

__all__ = ["closed_rows", "cost_rows", "free_rows", "open_rows"]

_SIZE = 8
# Seconds per run and per row.
_SHAPES = {"gpu": (0.004, 0.00025), "cpu": (0.0002, 0.002)}
_CALLERS = (1, 2, 4, 8, 16, 32, 64)
_LOADS = (0.1, 0.5, 0.8, 0.95)
_SWEEPS_PER_ROUND = 4
# Enough for a policy to have seen a few runs.
_WARM_S = 0.12


@dataclass
class _Place:
    """One configuration: its pipeline, and what its blocks gave."""

    shape: str
    policy: str
    timeout_s: float
    callers: int = 0
    load: float = 0.0
    closed: list[Closed] = field(default_factory=list)
    opened: list[tuple[tuple[float, ...], Open]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = SleepingModel(*_SHAPES.get(self.shape, (0.0, 0.0)))
        self.call: Served = batching(self.policy, [self.model], size=_SIZE, timeout_s=self.timeout_s)


class _Calibration:
    """What the sleeping models take by themselves, seconds, by shape and rows."""

    def __init__(self) -> None:
        self._took_s: dict[tuple[str, int], list[float]] = defaultdict(list)

    def sweep(self) -> None:
        """Run each shape and size a few times in turn."""
        for _ in range(_SWEEPS_PER_ROUND):
            for shape, (launch_s, row_s) in _SHAPES.items():
                model = SleepingModel(launch_s, row_s)
                for rows in range(1, _SIZE + 1):
                    model([None] * rows)
                for run in model.runs:
                    self._took_s[shape, run.rows].append(run.took_s)

    def costs(self, shape: str) -> Costs:
        """The median of each size."""
        return [statistics.median(self._took_s[shape, rows]) for rows in range(1, _SIZE + 1)]

    def tail(self, shape: str) -> float:
        """The 99th percentile over the median, of all sizes together: what no batcher can mend."""
        return percentile(
            [
                took_s / median_s
                for rows, median_s in enumerate(self.costs(shape), 1)
                for took_s in self._took_s[shape, rows]
            ],
            99,
        )


def cost_rows(options: Options) -> list[dict[str, Any]]:
    """Nominal and measured cost of the sleeping models, called directly in a loop."""
    calibration = _Calibration()
    for _ in shown(range(2 if options.quick else 5), "cost of the sleeping models"):
        calibration.sweep()
    rows = []
    for shape, (launch_s, row_s) in _SHAPES.items():
        nominal, measured = linear_costs(launch_s, row_s, _SIZE), calibration.costs(shape)
        row: dict[str, Any] = {"shape": shape}
        for size in (1, 2, 4, 8):
            row[f"{size}: nominal, ms"] = nominal[size - 1] * 1e3
            row[f"{size}: measured, ms"] = measured[size - 1] * 1e3
        rows.append({**row, "p99 / median": calibration.tail(shape)})
    return rows


def closed_rows(options: Options) -> list[dict[str, Any]]:
    """Callers that loop: throughput and 99th percentile against the ideal."""
    callers = (1, 2, 8, 64) if options.quick else _CALLERS
    timeouts_s = (0.005,) if options.quick else (0.005, 0.05)
    places = [
        _Place(shape, policy, timeout_s, callers=count)
        for shape in _SHAPES
        for timeout_s in timeouts_s
        for count in callers
        for policy in _policies(options)
        if policy != "none" or timeout_s == timeouts_s[0]
    ]
    calibration = _Calibration()
    rounds, block_s = (2, 0.3) if options.quick else (5, 0.33)
    for place in _mixed(places, rounds, "callers in a loop", calibration):
        items = [object() for _ in range(place.callers)]
        place.closed.append(closed_block(place.call, items, warm_s=_WARM_S, block_s=block_s))
    return [_closed_row(place, calibration) for place in places]


def _closed_row(place: _Place, calibration: _Calibration) -> dict[str, Any]:
    costs = calibration.costs(place.shape)
    ideal = ideal_closed(place.callers, costs)
    nominal = ideal_closed(place.callers, linear_costs(*_SHAPES[place.shape], _SIZE))
    ideal_p99_s = percentile(ideal.latencies_s, 99)
    rates = [block.rows_per_s(place.model.runs) for block in place.closed]
    tails = [percentile(block.latencies_s or [math.nan], 99) / ideal_p99_s for block in place.closed]
    runs = [run for block in place.closed for run in block.runs(place.model.runs)]
    of_ideal = median(rates) / ideal.throughput_per_s * 100
    tail = median(tails)
    return {
        **_head(place),
        "callers": place.callers,
        "per s": median(rates),
        "% of ideal": of_ideal,
        "lowest": min(rates) / ideal.throughput_per_s * 100,
        "highest": max(rates) / ideal.throughput_per_s * 100,
        "% of nominal": median(rates) / nominal.throughput_per_s * 100,
        "p99 x ideal": tail,
        "worst block": max(tails),
        "rows per run": statistics.fmean(run.rows for run in runs),
        "run x alone": statistics.fmean(run.took_s / costs[run.rows - 1] for run in runs),
        "goal": ">= 95 %, p99 <= 1.3",
        "met": of_ideal >= 95.0 and tail <= 1.3,
    }


def open_rows(options: Options) -> list[dict[str, Any]]:
    """Poisson arrivals: latency from the intended arrival against the ideal for the same arrivals.

    "From call" is the same with each arrival put where its call was made: what is left without the
    generator's lag, which is a thread's wake-up and grows when other processes want the CPUs.

    A load is a part of the nominal capacity. The sleep's overshoot makes it a little more of what the
    model can do here, which is shown too: near saturation that little counts.
    """
    loads = (0.1, 0.8) if options.quick else _LOADS
    places = [
        _Place(shape, policy, 0.05, load=load)
        for shape in _SHAPES
        for load in loads
        for policy in _policies(options)
        if policy != "none"
    ]
    calibration = _Calibration()
    rounds = 2 if options.quick else 3
    warmed: set[int] = set()
    for place in _mixed(places, rounds, "callers on a timetable", calibration):
        if id(place) not in warmed:
            closed_block(place.call, [object() for _ in range(_SIZE)], warm_s=0.0, block_s=2 * _WARM_S)
            warmed.add(id(place))
        arrivals = _timetable(place, len(place.opened), options)
        place.opened.append((arrivals, open_block(place.call, arrivals)))
    return [_open_row(place, calibration) for place in places]


def _timetable(place: _Place, block: int, options: Options) -> tuple[float, ...]:
    """The arrivals of a block: the same for every policy."""
    launch_s, row_s = _SHAPES[place.shape]
    capacity = _SIZE / (launch_s + row_s * _SIZE)
    # Few come at a low load, and at a high one it takes long until the queue is as it will stay.
    seconds = 1.5 if options.quick else 3.2 if place.load in {_LOADS[0], _LOADS[-1]} else 2.2
    seed = random.Random(f"{place.shape} {place.load} {block}").randrange(1 << 30)
    return poisson_arrivals(place.load * capacity, seconds, seed)


def _open_row(place: _Place, calibration: _Calibration) -> dict[str, Any]:
    costs = calibration.costs(place.shape)
    limit = 1.5 if place.load > 0.8 else 1.15
    nominal = linear_costs(*_SHAPES[place.shape], _SIZE)
    lags_s = [lag_s for _, block in place.opened for lag_s in block.lags_s]
    row: dict[str, Any] = {
        **_head(place),
        "load, %": place.load * 100,
        "of measured, %": place.load * costs[-1] / nominal[-1] * 100,
        "arrivals": len(lags_s),
    }
    worst = 0.0
    for per_cent in (50, 99):
        ideals_s, multiples = _against_ideal(place.opened, costs, per_cent)
        late = [_from_the_call(arrivals, block) for arrivals, block in place.opened]
        row[f"ideal p{per_cent}, ms"] = statistics.median(ideals_s) * 1e3
        row[f"p{per_cent} x"] = multiple = statistics.median(multiples)
        row[f"p{per_cent} blocks"] = f"{min(multiples):.2f}-{max(multiples):.2f}"
        row[f"p{per_cent} x from call"] = statistics.median(_against_ideal(late, costs, per_cent)[1])
        worst = max(worst, multiple / limit)
    return {
        **row,
        "lag p50, ms": percentile(lags_s, 50) * 1e3,
        "lag p99, ms": percentile(lags_s, 99) * 1e3,
        "goal": f"<= {limit}",
        "met": worst <= 1.0,
    }


def _against_ideal(
    blocks: list[tuple[tuple[float, ...], Open]], costs: Costs, per_cent: float
) -> tuple[list[float], list[float]]:
    """Of each block: the ideal server's percentile, seconds, and ours as a multiple of it."""
    ideals_s = [percentile(ideal_open(arrivals, costs).latencies_s, per_cent) for arrivals, _ in blocks]
    ours_s = [percentile(block.latencies_s, per_cent) for _, block in blocks]
    return ideals_s, [mine / best for mine, best in zip(ours_s, ideals_s, strict=True)]


def _from_the_call(arrivals: tuple[float, ...], block: Open) -> tuple[tuple[float, ...], Open]:
    """The block as if each call had been meant for when it was made: what the generator's lag adds."""
    called_at = sorted(at + lag_s for at, lag_s in zip(arrivals, block.lags_s, strict=True))
    latencies_s = [
        latency_s - lag_s for latency_s, lag_s in zip(block.latencies_s, block.lags_s, strict=True)
    ]
    return tuple(called_at), Open(latencies_s, block.lags_s)


def free_rows(options: Options) -> list[dict[str, Any]]:
    """A model that returns at once: CPU of the whole process per request, microseconds."""
    places = [
        _Place("free", policy, 0.05, callers=count) for count in (8, 16, 64) for policy in _policies(options)
    ]
    rounds, block_s = (3, 0.3) if options.quick else (5, 0.4)
    for place in _mixed(places, rounds, "a model that is free"):
        items = [object() for _ in range(place.callers)]
        place.closed.append(closed_block(place.call, items, warm_s=_WARM_S, block_s=block_s, timed=False))
    return [_free_row(place) for place in places]


def _free_row(place: _Place) -> dict[str, Any]:
    served = [sum(run.rows for run in block.runs(place.model.runs)) for block in place.closed]
    spent_us = [
        block.cpu_s / (rows or math.nan) * 1e6 for block, rows in zip(place.closed, served, strict=True)
    ]
    runs = [run.rows for block in place.closed for run in block.runs(place.model.runs)]
    return {
        **_head(place),
        "callers": place.callers,
        "CPU, us per request": median(spent_us),
        "lowest": min(spent_us),
        "highest": max(spent_us),
        "rows per run": statistics.fmean(runs),
        "goal": "<= 25",
        "met": median(spent_us) <= 25.0,
    }


def _mixed(
    places: list[_Place], rounds: int, title: str, calibration: _Calibration | None = None
) -> Iterable[_Place]:
    """Each place once a round, in an order of the round's own; closes all of them at the end."""
    order = random.Random(0)
    steps: list[_Place | None] = []
    for _ in range(rounds):
        steps += [None, *order.sample(places, len(places))]
    for step in shown(steps, title):
        if step is not None:
            yield step
        elif calibration is not None:
            calibration.sweep()
    for place in places:
        place.call.close()


def _policies(options: Options) -> tuple[str, ...]:
    if not options.compare or options.quick:
        return COMPARED[:1]
    return tuple(policy for policy in COMPARED if policy == "auto" or is_there(policy))


def _head(place: _Place) -> dict[str, Any]:
    return {
        "shape": place.shape,
        "policy": policy_title(place.policy),
        "timeout, ms": place.timeout_s * 1e3,
    }
