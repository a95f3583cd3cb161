"""Is a batch what its items are one by one? Asked of a model with random data.

Knows a session and arrays. Knows nothing of how the model was made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes._runtimes.ports import Port, Session
from ml_pipes._runtimes.source import Shape
from ml_pipes.errors import ModelBatchError

__all__ = ["verify_batch"]

_ITEMS = 3
_UNKNOWN_SIDE = 64
# Beside shares from 0 to 1, what numbers models take: pixels, and pixels about their mean.
_RANGES = ((0, 255), (-1, 1))
# Wider whole numbers are rows of tables, or sizes.
_PIXEL_BYTES = 2

Array = npt.NDArray[Any]


def verify_batch(session: Session, name: str, declared: Mapping[str, Shape | None], tolerance: float) -> None:
    """Run three random items together and one by one, and compare; then one among others.

    Sides that are free now have their declared length, or 64 where none was. Free
    sides other than the batch are run once more at double length. A model whose
    batch is not free is only run; an input without a batch is the same for all.

    Raises:
        ModelBatchError: the batch differs, or the model does not run.
        ValueError: an input declares no shape, so nothing can be made up for it.
    """
    unknown = [port.name for port in session.inputs if port.shape is None]
    if unknown:
        raise ValueError(
            f"free_axes: {name} declares no shape for {', '.join(unknown)}, so it cannot be verified; "
            "verify it yourself and give verify=False"
        )
    batched = [port.name for port in session.inputs if _is_free(port, 0)]
    rng = np.random.default_rng(0)
    for stretch in (1, 2) if _has_free_sides(session) else (1,):
        shapes = {port.name: _sides(port, declared.get(port.name) or (), stretch) for port in session.inputs}
        trial = _Trial(session, name, shapes, batched, rng, tolerance)
        trial.together_and_one_by_one()
        if batched and stretch == 1:
            for low, high in _RANGES:
                trial.among_others(low, high)


@dataclass(frozen=True)
class _Trial:
    """One model with one set of sizes."""

    session: Session
    name: str
    shapes: Mapping[str, tuple[int, ...]]
    batched: Sequence[str]
    rng: np.random.Generator
    tolerance: float

    def together_and_one_by_one(self) -> None:
        """Three items as a batch must be what they are alone."""
        same = self._item(0, 1)
        items = [self._own(same, 0, 1) for _ in range(_ITEMS if self.batched else 1)]
        singles = [_run(self.session, item, self.name) for item in items]
        if not self.batched:
            return
        together = _run(self.session, self._joined(items), self.name)
        for port, batch, *rows in zip(self.session.outputs, together, *singles, strict=True):
            _check_rows(self.name, port.name, batch, rows)
            one_by_one = np.concatenate(rows) if rows[0].ndim else np.stack(rows)
            _compare(self.name, port.name, batch, one_by_one, self.tolerance)

    def among_others(self, low: int, high: int) -> None:
        """An item must stay what it is when those before and after it are others.

        Both batches have one shape, so they round alike however large the numbers
        are. Numbers that the model cannot take prove nothing, and are passed over.
        """
        same = self._item(low, high)
        before, middle, after, *others = (self._own(same, low, high) for _ in range(_ITEMS + 2))
        try:
            one = self.session.run(self._joined([before, middle, after]))
            two = self.session.run(self._joined([others[0], middle, others[1]]))
        except Exception:  # noqa: BLE001 # whatever the runtime raises; sizes were proved to run before
            return
        for port, first, second in zip(self.session.outputs, one, two, strict=True):
            # Where the number of rows hangs on the numbers, a row is no item.
            _check_rows(self.name, port.name, first, [second[at : at + 1] for at in range(_ITEMS)])
            _compare(self.name, port.name, first[1:2], second[1:2], self.tolerance)

    def _item(self, low: int, high: int) -> dict[str, Array]:
        ports = self.session.inputs
        return {port.name: _random(port, self.shapes[port.name], self.rng, low, high) for port in ports}

    def _own(self, same: dict[str, Array], low: int, high: int) -> dict[str, Array]:
        item = self._item(low, high)
        return {**same, **{name: item[name] for name in self.batched}}

    def _joined(self, items: Sequence[dict[str, Array]]) -> dict[str, Array]:
        parts = {name: np.concatenate([item[name] for item in items]) for name in self.batched}
        return {**items[0], **parts}


def _check_rows(model: str, output: str, batch: Array, rows: Sequence[Array]) -> None:
    one_by_one = (sum(len(row) for row in rows), *rows[0].shape[1:]) if rows[0].ndim else (len(rows),)
    if batch.shape != one_by_one:
        raise ModelBatchError(
            f"free_axes: {model} does not take a batch: for {len(rows)} items output {output!r} is "
            f"{batch.shape}, but one item gives {rows[0].shape}; a step inside has the old size as a "
            "constant, or the batch is not the first axis"
        )
    if rows[0].ndim and len(rows[0]) != 1:
        raise ModelBatchError(
            f"free_axes: {model} does not take a batch: one item gives {len(rows[0])} rows of "
            f"output {output!r} {rows[0].shape}, so rows of a batch could not be told apart"
        )


def _compare(model: str, output: str, batch: Array, expected: Array, tolerance: float) -> None:
    if batch.dtype.kind not in "fc":
        same = bool(np.array_equal(batch, expected))
        worst = "other values"
    else:
        allowed = max(tolerance, 4 * float(np.finfo(batch.dtype).eps))
        difference = _difference(batch, expected)
        same, worst = difference <= allowed, f"a difference of {difference:.3g} (allowed: {allowed:g})"
    if not same:
        raise ModelBatchError(
            f"free_axes: {model} mixes the items of a batch: output {output!r} of {_ITEMS} items together "
            f"has {worst} from the items one by one, or beside others"
        )


def _difference(one: Array, other: Array) -> float:
    """The largest difference, as a part of the largest value of both: a small output has small ones."""
    differs = (one != other) & ~(np.isnan(one) & np.isnan(other))
    if not differs.any():
        return 0.0
    values = np.stack([one, other]).astype(np.complex128 if one.dtype.kind == "c" else np.float64)
    if not np.isfinite(values[:, differs]).all():
        return float("inf")
    largest = float(np.abs(values[np.isfinite(values)]).max())
    return float(np.abs(values[0, differs] - values[1, differs]).max()) / largest


def _run(session: Session, feeds: dict[str, Array], model: str) -> list[Array]:
    try:
        return session.run(feeds)
    except Exception as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in feeds.items())
        raise ModelBatchError(
            f"free_axes: {model} does not run with {shapes}; a step inside needs the declared size: {error}"
        ) from error


def _random(port: Port, shape: tuple[int, ...], rng: np.random.Generator, low: int, high: int) -> Array:
    if port.dtype == "str":
        return rng.choice(np.array(["a", "b", "c"], object), shape)
    kind = np.dtype(port.dtype)
    if kind.kind == "f":
        return rng.uniform(low, high, shape).astype(kind)
    if kind.kind == "b" or kind.itemsize > _PIXEL_BYTES:
        # 0 and 1 are the only numbers that any table of a model has.
        return rng.integers(0, 2, shape).astype(kind)
    limits = np.iinfo(kind)
    numbers: Array = rng.integers(max(low, limits.min), min(high, limits.max), shape, endpoint=True)
    return numbers.astype(kind)


def _sides(port: Port, declared: Shape, stretch: int) -> tuple[int, ...]:
    sides: list[int] = []
    for axis, side in enumerate(port.shape or ()):
        if isinstance(side, int):
            sides.append(side)
        elif axis == 0:
            sides.append(1)
        else:
            was = declared[axis]
            sides.append((was if isinstance(was, int) and was else _UNKNOWN_SIDE) * stretch)
    return tuple(sides)


def _is_free(port: Port, axis: int) -> bool:
    return bool(port.shape) and len(port.shape or ()) > axis and not isinstance((port.shape or ())[axis], int)


def _has_free_sides(session: Session) -> bool:
    return any(_is_free(port, axis) for port in session.inputs for axis in range(1, len(port.shape or ())))
