"""What a step costs: our driver against a bare loop over the same callables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bench.timing import Timing, interleave
from ml_pipes.collectors import CaptureCollector
from ml_pipes.core import Operator, Pipeline
from ml_pipes.standard import Pick, Recall, Store

__all__ = ["context_rows", "step_rows"]


def _same(value: Any) -> Any:
    return value


@Operator
class _Same:
    """An operator that returns what it gets."""

    def __call__(self, value: Any) -> Any:
        return value


def step_rows() -> list[dict[str, Any]]:
    """Per number of steps and kind of callable: the bare loop, the pipeline, the traced pipeline."""
    rows = []
    for count in (1, 10, 50):
        for kind, step in (("function", _same), ("operator", _Same())):
            timings = interleave(_candidates([step] * count))
            rows.append(_step_row(count, kind, timings))
    return rows


def _candidates(steps: list[Callable[[Any], Any]]) -> dict[str, Callable[[], object]]:
    plain: Pipeline[Any, Any] = Pipeline(steps)
    traced: Pipeline[Any, Any] = Pipeline(steps)
    traced.set_tracing(CaptureCollector())

    def bare() -> object:
        value: Any = 1
        for step in steps:
            value = step(value)
        return value

    return {"bare": bare, "plain": lambda: plain(1), "traced": lambda: traced(1)}


def _step_row(count: int, kind: str, timings: dict[str, Timing]) -> dict[str, Any]:
    ratio, low, high = timings["plain"].over(timings["bare"])
    return {
        "steps": count,
        "of": kind,
        "bare, ns": timings["bare"].median_s / count * 1e9,
        "ours, ns": timings["plain"].median_s / count * 1e9,
        "ratio": ratio,
        "p10": low,
        "p90": high,
        "recorder, +ns": timings["traced"].minus(timings["plain"]) / count * 1e9,
    }


def context_rows() -> list[dict[str, Any]]:
    """Nanoseconds that Store, Recall and Pick add to a pipeline of ten no-op steps."""
    base = [_same] * 10
    pipelines: dict[str, Pipeline[Any, Any]] = {
        "none": Pipeline(base),
        "Store": Pipeline([*base, Store("kept")]),
        "Store + Recall + Pick": Pipeline([*base, Store("kept"), Recall("kept"), Pick(0)]),
        "Store(source='0')": Pipeline([*base, Store("kept", source="0")]),
    }
    timings = interleave({name: partial(pipeline, (1, 2)) for name, pipeline in pipelines.items()})
    return [
        {"steps": name, "adds, ns": timing.minus(timings["none"]) * 1e9}
        for name, timing in timings.items()
        if name != "none"
    ]
