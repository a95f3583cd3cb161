"""The rules of when a batch leaves, in simulated time: what they give if threads and wake-ups cost nothing.

Knows the simulated region and which questions to ask it. Knows nothing of real time: every figure here is the
same on any machine, at any load. What threads cost is measured by the sections ``closed`` and ``open``.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from bench.simulate import (
    Costs,
    Departed,
    Gaps,
    Outcome,
    evenly,
    ideal_closed,
    ideal_open,
    linear_costs,
    percentile,
    poisson_arrivals,
    run_closed,
    run_open,
)
from ml_pipes._threads.departure import POLICIES, Departure

__all__ = [
    "habit_rows",
    "linear_rows",
    "loop_rows",
    "poisson_rows",
    "published_rows",
    "stopped_rows",
]

_SIZE = 8
_TIMEOUT_S = 0.005
_SEED = 1
# Seconds per launch and per row.
_SHAPES = {"gpu": (0.004, 0.00025), "cpu": (0.0002, 0.002)}
_CALLERS = (1, 2, 4, 8, 12, 16, 32, 64)
_LOADS = (0.1, 0.5, 0.8, 0.95)
# Enough for a 99th percentile, and for what is learned to be learned.
_ARRIVALS = 5000
_SHORT_GAPS, _USUAL_GAPS = evenly(0.0, 0.0001), evenly(0.00025, 0.00075)
_GAPS: dict[str, Gaps] = {"0": evenly(0.0, 0.0), "0.05 +- 0.05": _SHORT_GAPS, "0.5 +- 0.25": _USUAL_GAPS}

# Costs per launch and row, seconds; callers; rows per second by policy: a study of these rules before there
# was this library. Its batches are of any size, its timer is 5 ms.
_PUBLISHED: list[tuple[tuple[float, float], int, dict[str, int]]] = [
    ((0.005, 0.0002), 1, {"full": 93, "greedy": 175, "auto": 175}),
    ((0.005, 0.0002), 2, {"full": 185, "greedy": 192, "auto": 334}),
    ((0.005, 0.0002), 8, {"full": 672, "greedy": 690, "auto": 1096}),
    ((0.005, 0.0002), 32, {"full": 1920, "greedy": 1950, "auto": 2636}),
    ((0.0005, 0.004), 1, {"full": 100, "greedy": 200, "auto": 200}),
    ((0.0005, 0.004), 8, {"full": 212, "greedy": 242, "auto": 242}),
]


def published_rows() -> list[dict[str, Any]]:
    """Callers in a loop and batches of any size: rows per second beside those of an earlier simulation."""
    rows = []
    for (launch_s, row_s), callers, published in _PUBLISHED:
        row: dict[str, Any] = {"launch, ms": launch_s * 1e3, "row, ms": row_s * 1e3, "callers": callers}
        costs = linear_costs(launch_s, row_s, 64)
        for policy, per_s in published.items():
            outcome = _closed(policy, callers, costs, seconds=10.0)
            row[policy] = round(outcome.throughput_per_s)
            row[f"{policy}, published"] = per_s
        rows.append(row)
    return rows


def loop_rows() -> list[dict[str, Any]]:
    """Callers in a loop: throughput and 99th percentile against callers that come back at once."""
    rows = []
    for shape, (launch_s, row_s) in _SHAPES.items():
        costs = linear_costs(launch_s, row_s, _SIZE)
        for title, gaps in _GAPS.items():
            for callers in _CALLERS:
                ideal = ideal_closed(callers, costs)
                row: dict[str, Any] = {"shape": shape, "gap, ms": title, "callers": callers}
                for policy in POLICIES:
                    outcome = _closed(policy, callers, costs, gaps=gaps)
                    row[f"{policy}, % of ideal"] = outcome.throughput_per_s / ideal.throughput_per_s * 100
                    row[f"{policy}, p99 x ideal"] = _ratio(outcome, ideal, 99)
                rows.append(row)
    return rows


def poisson_rows() -> list[dict[str, Any]]:
    """Poisson arrivals: latencies as multiples of a server's that takes all who wait whenever it is free."""
    rows = []
    for shape, (launch_s, row_s) in _SHAPES.items():
        costs = linear_costs(launch_s, row_s, _SIZE)
        for threads in (None, 64, 16, 8):
            for load in _LOADS:
                rate_per_s = load * _SIZE / costs[-1]
                arrivals = poisson_arrivals(rate_per_s, _ARRIVALS / rate_per_s, seed=_SEED)
                ideal = ideal_open(arrivals, costs)
                row: dict[str, Any] = {"shape": shape, "threads": threads or "any", "load": load}
                for policy in ("greedy", "auto"):
                    outcome = run_open(_departure(policy, _SIZE), arrivals, costs, threads=threads)
                    for per_cent in (50, 99):
                        row[f"{policy}, p{per_cent} x ideal"] = _ratio(outcome, ideal, per_cent)
                    if policy == "auto":
                        row["waited, ms per row"] = _waited_s(outcome.batches) / len(arrivals) * 1e3
                rows.append(row)
    return rows


def linear_rows() -> list[dict[str, Any]]:
    """Where a launch costs nothing, waiting gives nothing: rows per second over those of greedy."""
    rows = []
    for title, launch_s in {"none": 0.0, "0.2 ms": 0.0002}.items():
        costs = linear_costs(launch_s, 0.002, _SIZE)
        for callers in _CALLERS:
            row: dict[str, Any] = {"launch": title, "callers": callers}
            for gap, gaps in _GAPS.items():
                auto = _closed("auto", callers, costs, gaps=gaps)
                greedy = _closed("greedy", callers, costs, gaps=gaps)
                row[f"gap {gap} ms: auto / greedy"] = auto.throughput_per_s / greedy.throughput_per_s
            rows.append(row)
    return rows


def stopped_rows() -> list[dict[str, Any]]:
    """Half of 8 callers stop after a second: what the rows of each batch waited after that, together."""
    rows = []
    for shape, (launch_s, row_s) in _SHAPES.items():
        costs = linear_costs(launch_s, row_s, _SIZE)
        for title, gaps in _GAPS.items():
            outcome = _closed("auto", 8, costs, gaps=_stopping(gaps, range(4, 8), 1.0))
            after = [batch for batch in outcome.batches if batch.at_s >= 1.0]
            row: dict[str, Any] = {"shape": shape, "gap, ms": title}
            for count, batch in enumerate(after[:5], 1):
                row[f"batch {count}, ms"] = batch.waited_s * 1e3
            row["later, mean ms"] = _waited_s(after[5:]) / len(after[5:]) * 1e3
            always = _closed("auto", 4, costs, gaps=gaps).batches[10:]
            row["4 callers from the start, mean ms"] = _waited_s(always) / len(always) * 1e3
            rows.append(row)
    return rows


def habit_rows() -> list[dict[str, Any]]:
    """Callers that are harder to foresee, and a model whose cost changes: auto beside greedy."""
    rows = []
    for shape, (launch_s, row_s) in _SHAPES.items():
        costs = linear_costs(launch_s, row_s, _SIZE)
        # At the end of what is not counted: learning anew is.
        tenfold, tenth = (0.2, [each * 10 for each in costs]), (0.2, [each / 10 for each in costs])
        cases: list[tuple[str, Gaps, tuple[float, Costs] | None]] = [
            ("half after 0.1 ms, half after 30 ms", _halves(0.0001, 0.03), None),
            ("0.1 ms, of which 2 % are 2 ms", _now_and_then(0.0001, 0.002, 0.02), None),
            ("0.1 ms, of which 20 % are 2 ms", _now_and_then(0.0001, 0.002, 0.2), None),
            ("exponential, 0.5 ms on average", _exponential(0.0005), None),
            ("exponential, 5 ms on average", _exponential(0.005), None),
            ("0.05 +- 0.05 ms; runs come to cost ten times as much", _SHORT_GAPS, tenfold),
            ("0.05 +- 0.05 ms; runs come to cost a tenth", _SHORT_GAPS, tenth),
        ]
        for title, gaps, changes in cases:
            for callers in (2, 8, 16):
                row: dict[str, Any] = {"shape": shape, "callers come back after": title, "callers": callers}
                for policy in ("greedy", "auto"):
                    outcome = _closed(policy, callers, costs, gaps=gaps, changes=changes)
                    row[f"{policy}, per s"] = round(outcome.throughput_per_s)
                    row[f"{policy}, p99, ms"] = percentile(outcome.latencies_s, 99) * 1e3
                row["auto / greedy"] = row["auto, per s"] / row["greedy, per s"]
                rows.append(row)
    return rows


def _departure(policy: str, size: int) -> Departure:
    (known,) = (each for each in POLICIES if each == policy)
    return Departure(size, _TIMEOUT_S, known)


def _closed(
    policy: str,
    callers: int,
    costs: Costs,
    *,
    seconds: float = 2.0,
    gaps: Gaps = _USUAL_GAPS,
    changes: tuple[float, Costs] | None = None,
) -> Outcome:
    departure = _departure(policy, len(costs))
    return run_closed(departure, callers, costs, seconds=seconds, seed=_SEED, gaps=gaps, changes=changes)


def _ratio(outcome: Outcome, ideal: Outcome, per_cent: float) -> float:
    return percentile(outcome.latencies_s, per_cent) / percentile(ideal.latencies_s, per_cent)


def _waited_s(batches: Sequence[Departed]) -> float:
    return sum(batch.waited_s for batch in batches)


def _stopping(gaps: Gaps, who: Sequence[int], at_s: float) -> Gaps:
    """As ``gaps``, but some callers do not come back any more from a time on, seconds."""
    return lambda draw, caller, now: None if caller in who and now >= at_s else gaps(draw, caller, now)


def _exponential(mean_s: float) -> Gaps:
    """Nothing can be told from the time that is past."""
    return lambda draw, _caller, _now: draw.expovariate(1.0 / mean_s)


def _halves(even_s: float, odd_s: float) -> Gaps:
    """Every other caller comes back late; each gap varies by a tenth."""
    return lambda draw, caller, _now: (odd_s if caller % 2 else even_s) * draw.uniform(0.9, 1.1)


def _now_and_then(usually_s: float, seldom_s: float, share: float) -> Gaps:
    """A share of the gaps, drawn by chance, is longer."""

    def gap_s(draw: random.Random, _caller: int, _now: float) -> float:
        return (seldom_s if draw.random() < share else usually_s) * draw.uniform(0.9, 1.1)

    return gap_s
