"""Fan-out: ``Scatter`` against an executor, against a plain call, and around a ``Batch``.

Knows the public operators. Knows nothing of how workers are kept.
Each round runs every candidate once, in random order; ratios are made round by round.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from bench.load import Options, SleepingModel, shown
from bench.policies import batch_steps, policy_title
from ml_pipes.core import Pipeline
from ml_pipes.standard import Gather, Scatter

__all__ = ["fan_out_rows"]

_WORKERS = 4
_ITEMS = 64
_GPU = (0.004, 0.00025)


def fan_out_rows(options: Options) -> list[dict[str, Any]]:
    """Sixty-four no-ops, one item, and items that meet in a ``Batch`` inside."""
    rounds = 15 if options.quick else 60
    return [*_no_op_rows(rounds), _one_item_row(rounds), *_batch_rows(8 if options.quick else 25)]


def _same(value: Any) -> Any:
    return value


def _no_op_rows(rounds: int) -> list[dict[str, Any]]:
    items = list(range(_ITEMS))
    pipeline: Pipeline[list[int], list[int]] = Pipeline([Scatter(_WORKERS), _same, Gather()])
    with ThreadPoolExecutor(_WORKERS) as pool:
        calls: dict[str, Callable[[], object]] = {
            "ours": lambda: pipeline(items),
            "theirs": lambda: list(pool.map(_same, items)),
        }
        assert calls["ours"]() == calls["theirs"]() == items
        samples = _rounds(calls, rounds, repeat=20)
    pipeline.close()
    return [
        _row(
            f"Scatter({_WORKERS}) of {_ITEMS} no-ops / ThreadPoolExecutor.map, us per item, {kind}",
            [sample[at] / _ITEMS * 1e6 for sample in samples["ours"]],
            [sample[at] / _ITEMS * 1e6 for sample in samples["theirs"]],
            most=1.0,
        )
        for at, kind in enumerate(("time", "CPU of the process"))
    ]


def _one_item_row(rounds: int) -> dict[str, Any]:
    items = [7]
    pipeline: Pipeline[list[int], list[int]] = Pipeline([Scatter(_WORKERS), _same, Gather()])
    plain = partial(_same, 7)
    samples = _rounds({"ours": lambda: pipeline(items), "theirs": plain}, rounds, repeat=1000)
    pipeline.close()
    ours = [sample[0] * 1e6 for sample in samples["ours"]]
    theirs = [sample[0] * 1e6 for sample in samples["theirs"]]
    added = [mine - yours for mine, yours in zip(ours, theirs, strict=True)]
    row = _row(f"Scatter({_WORKERS}) of 1 no-op / the function itself, us", ours, theirs, most=0.0)
    return {**row, "goal": "<= 5 us more", "met": statistics.median(added) <= 5.0}


def _batch_rows(rounds: int) -> list[dict[str, Any]]:
    """Items that a scatter brings into a batch: four at a time, and the last alone where one is left over."""
    rows = []
    for count in (16, 17):
        model = SleepingModel(*_GPU)
        inner = batch_steps("auto", [model], size=8, timeout_s=0.05)
        pipeline: Pipeline[list[int], list[int]] = Pipeline([Scatter(_WORKERS), *inner, Gather()])
        items = list(range(count))
        groups = [items[at : at + _WORKERS] for at in range(0, count, _WORKERS)]
        calls: dict[str, Callable[[], object]] = {
            "ours": partial(pipeline, items),
            "theirs": partial(_one_after_another, SleepingModel(*_GPU), groups),
        }
        assert calls["ours"]() == items
        samples = _rounds(calls, rounds, repeat=1)
        pipeline.close()
        what = f"Scatter({_WORKERS}) around Batch(8), {count} items, {policy_title('auto')}"
        rows.append(
            _row(
                f"{what} / {' + '.join(str(len(group)) for group in groups)} without waits, ms",
                [sample[0] * 1e3 for sample in samples["ours"]],
                [sample[0] * 1e3 for sample in samples["theirs"]],
                most=1.1,
            )
        )
    return rows


def _one_after_another(model: SleepingModel, groups: Sequence[list[int]]) -> None:
    for group in groups:
        model(group)


def _rounds(
    calls: dict[str, Callable[[], object]], rounds: int, *, repeat: int
) -> dict[str, list[tuple[float, float]]]:
    """Seconds per call and CPU seconds of the process per call, a pair per round."""
    order = random.Random(0)
    samples: dict[str, list[tuple[float, float]]] = {name: [] for name in calls}
    for step in shown(range(rounds + 1), "fan-out"):
        for name in order.sample(list(calls), len(calls)):
            wall_s, cpu_s = time.perf_counter(), time.process_time()
            for _ in range(repeat):
                calls[name]()
            spent = (time.perf_counter() - wall_s) / repeat, (time.process_time() - cpu_s) / repeat
            # The first round warms up: threads are made, and a policy learns.
            if step:
                samples[name].append(spent)
    return samples


def _row(what: str, ours: list[float], theirs: list[float], *, most: float) -> dict[str, Any]:
    ratios = [mine / yours for mine, yours in zip(ours, theirs, strict=True)]
    deciles = statistics.quantiles(ratios, n=10, method="inclusive")
    return {
        "what": what,
        "ours": statistics.median(ours),
        "theirs": statistics.median(theirs),
        "ratio": statistics.median(ratios),
        "p10": deciles[0],
        "p90": deciles[-1],
        "goal": f"<= {most}",
        "met": statistics.median(ratios) <= most,
    }
