"""Is a batch what its items are one by one? Asked of a model with random data.

Knows a session and arrays. Knows nothing of how the model was made.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes.onnx.errors import ModelBatchError
from ml_pipes.onnx.session import ModelSession, Port

__all__ = ["verify_batch"]

_ITEMS = 3
_UNKNOWN_SIDE = 64

Array = npt.NDArray[Any]


def verify_batch(
    model: bytes, name: str, declared: Mapping[str, tuple[int | None, ...]], tolerance: float
) -> None:
    """Run three random items together and one by one, and compare.

    Sides that are free now have their declared length, or 64 where none was. Free
    sides other than the batch are run once more at double length. A model whose
    batch is not free is only run; an input without a batch is the same for all.

    Raises:
        ModelBatchError: the batch differs, or the model does not run.
    """
    session = ModelSession(model, ("CPUExecutionProvider",), 1, arena=False)
    batched = [port.name for port in session.inputs if _is_free(port, 0)]
    rng = np.random.default_rng(0)
    for stretch in (1, 2) if _has_free_sides(session) else (1,):
        shapes = {port.name: _shape(port, declared.get(port.name, ()), stretch) for port in session.inputs}
        same = _item(session, shapes, rng)
        fresh = [_item(session, shapes, rng) for _ in range(_ITEMS if batched else 1)]
        items = [{**same, **{key: item[key] for key in batched}} for item in fresh]
        singles = [_run(session, item, name) for item in items]
        if not batched:
            continue
        together = _run(session, {**same, **_joined(items, batched)}, name)
        for port, batch, *rows in zip(session.outputs, together, *singles, strict=True):
            _compare(name, port.name, batch, rows, tolerance)


def _joined(items: list[dict[str, Array]], names: list[str]) -> dict[str, Array]:
    return {name: np.concatenate([item[name] for item in items]) for name in names}


def _compare(model: str, output: str, batch: Array, rows: list[Array], tolerance: float) -> None:
    one_by_one = np.concatenate(rows) if rows[0].ndim else np.stack(rows)
    if batch.shape != one_by_one.shape:
        raise ModelBatchError(
            f"free_axes: {model} does not take a batch: for {len(rows)} items output {output!r} is "
            f"{batch.shape}, but one item gives {rows[0].shape}; a step inside has the old size as a "
            "constant, or the batch is not the first axis"
        )
    if len(rows[0]) != 1:
        raise ModelBatchError(
            f"free_axes: {model} does not take a batch: one item gives {len(rows[0])} rows of "
            f"output {output!r} {rows[0].shape}, so rows of a batch could not be told apart"
        )
    if batch.dtype.kind not in "fc":
        same = bool(np.array_equal(batch, one_by_one))
        worst = "other values"
    else:
        largest = max(1.0, float(np.abs(one_by_one[np.isfinite(one_by_one)]).max(initial=0.0)))
        differs = (batch != one_by_one) & ~(np.isnan(batch) & np.isnan(one_by_one))
        difference = float(np.abs(batch[differs] - one_by_one[differs]).max(initial=0.0)) / largest
        same, worst = difference <= tolerance, f"a difference of {difference:.3g} (allowed: {tolerance:g})"
    if not same:
        raise ModelBatchError(
            f"free_axes: {model} mixes the items of a batch: output {output!r} of {len(rows)} items together "
            f"has {worst} from the items one by one"
        )


def _run(session: ModelSession, feeds: dict[str, Array], model: str) -> list[Array]:
    try:
        return session.run(feeds)
    except Exception as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in feeds.items())
        raise ModelBatchError(
            f"free_axes: {model} does not run with {shapes}; a step inside needs the declared size: {error}"
        ) from error


def _item(
    session: ModelSession, shapes: Mapping[str, tuple[int, ...]], rng: np.random.Generator
) -> dict[str, Array]:
    return {port.name: _random(port, shapes[port.name], rng) for port in session.inputs}


def _random(port: Port, shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    if port.dtype == "str":
        return np.full(shape, "a", dtype=object)
    kind = np.dtype(port.dtype)
    # 0 and 1 are the only numbers that any table of a model has.
    return (rng.random(shape) if kind.kind == "f" else rng.integers(0, 2, shape)).astype(kind)


def _shape(port: Port, declared: tuple[int | None, ...], stretch: int) -> tuple[int, ...]:
    sides: list[int] = []
    for axis, side in enumerate(port.shape or ()):
        if isinstance(side, int):
            sides.append(side)
        elif axis == 0:
            sides.append(1)
        else:
            sides.append((declared[axis] or _UNKNOWN_SIDE) * stretch)
    return tuple(sides)


def _is_free(port: Port, axis: int) -> bool:
    return bool(port.shape) and len(port.shape or ()) > axis and not isinstance((port.shape or ())[axis], int)


def _has_free_sides(session: ModelSession) -> bool:
    return any(_is_free(port, axis) for port in session.inputs for axis in range(1, len(port.shape or ())))
