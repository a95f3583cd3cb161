"""What was measured, raw: one row per call, and the window that the rows are counted in.

Knows times and errors as data. Knows nothing of how they were measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from ml_pipes.benchmark.load import Load, load_from_dict

__all__ = ["Samples"]

_Floats = npt.NDArray[np.float64]
_Bools = npt.NDArray[np.bool_]

_COLUMNS = ("intended_s", "started_s", "ended_s", "lag_s", "failed")
_DIGITS = 9  # of a second, in files


@dataclass(frozen=True, eq=False)
class Samples:
    """The calls of one measurement, as arrays of one length, and the window that counts.

    One rule at the window's edges: a **latency** is of a call that was meant to start in the window
    (``since_s <= intended_s < until_s``), however late it ended; **throughput** is of the calls
    that ended in it (``since_s < ended_s <= until_s``), whenever they started. Calls that did
    neither are not kept.

    Times are seconds of one monotonic clock, ``time.perf_counter`` by default.

    Attributes:
        intended_s: when each call was meant to start; in a closed loop, when it started.
        started_s: when it started.
        ended_s: when it returned or raised.
        failed: it raised.
        lag_s: how late it started although a caller was free: the generator's own fault; 0 by default.
        since_s: the window's start; by default the first call's.
        until_s: the window's end; by default the last call's.
        errors: ``Type: first words`` -> how many of the calls meant to start in the window raised it.
        unfinished: calls meant to start in the window that had not ended when the measurement did.
        warmup: calls before the window.
        interrupted: it was ended by Ctrl-C.
        invalid: why the figures must not be trusted, in words; empty when nothing was found.
        load: what was asked.

    Raises:
        ValueError: the arrays are not of one length.
    """

    intended_s: _Floats
    started_s: _Floats
    ended_s: _Floats
    failed: _Bools
    lag_s: _Floats = field(default_factory=lambda: np.zeros(0))
    since_s: float = math.nan
    until_s: float = math.nan
    errors: Mapping[str, int] = field(default_factory=dict)
    unfinished: int = 0
    warmup: int = 0
    interrupted: bool = False
    invalid: tuple[str, ...] = ()
    load: Load | None = None

    def __post_init__(self) -> None:
        put = object.__setattr__  # the instance is frozen
        if not len(self.lag_s):
            put(self, "lag_s", np.zeros(len(self.intended_s)))
        for name in _COLUMNS:
            kind = np.bool_ if name == "failed" else np.float64
            put(self, name, np.asarray(getattr(self, name), dtype=kind).reshape(-1))
        lengths = {name: len(getattr(self, name)) for name in _COLUMNS}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"Samples: the arrays must be of one length, got {lengths}")
        put(self, "errors", dict(self.errors))
        put(self, "invalid", tuple(self.invalid))
        if math.isnan(self.since_s):
            put(self, "since_s", float(self.intended_s.min()) if len(self) else 0.0)
        if math.isnan(self.until_s):
            put(self, "until_s", float(self.ended_s.max()) if len(self) else self.since_s)

    def __len__(self) -> int:
        return len(self.intended_s)

    @property
    def began(self) -> _Bools:
        """Of each row: the call was meant to start in the window."""
        return (self.since_s <= self.intended_s) & (self.intended_s < self.until_s)

    @property
    def ended(self) -> _Bools:
        """Of each row: the call ended in the window."""
        return (self.since_s < self.ended_s) & (self.ended_s <= self.until_s)

    @property
    def count(self) -> int:
        """Calls that were meant to start in the window and have ended, failed ones too."""
        return int(self.began.sum())

    @property
    def latency_s(self) -> _Floats:
        """Of each success that was meant to start in the window: from then to its end; in order of starts."""
        return self._of_successes(self.ended_s - self.intended_s)

    @property
    def service_s(self) -> _Floats:
        """As :attr:`latency_s`, from the real start."""
        return self._of_successes(self.ended_s - self.started_s)

    @property
    def duration_s(self) -> float:
        """How long the window was."""
        return self.until_s - self.since_s

    @property
    def throughput_per_s(self) -> float:
        """Successes that ended in the window per second of it; NaN for a window without length."""
        successes = int((self.ended & ~self.failed).sum())
        return successes / self.duration_s if self.duration_s > 0.0 else math.nan

    @property
    def error_share(self) -> float:
        """Failed calls, and those that never ended, per call meant to start in the window, 0 to 1."""
        failed = int((self.began & self.failed).sum()) + self.unfinished
        asked = self.count + self.unfinished
        return failed / asked if asked else 0.0

    @property
    def mean_in_flight(self) -> float:
        """How many calls ran at a time, on average over the window; NaN for a window without length."""
        if self.duration_s <= 0.0:
            return math.nan
        inside = np.minimum(self.ended_s, self.until_s) - np.maximum(self.started_s, self.since_s)
        return float(inside.clip(0.0).sum()) / self.duration_s

    @property
    def caveats(self) -> tuple[str, ...]:
        """What these figures cannot tell, in words."""
        if self.load is None or self.load.sees_stalls:
            return ()
        return (
            (
                f"a closed loop ({self.load}) cannot see what a stall does to calls that come on their own: "
                "while the target stands still nobody asks; measure with an OpenLoop for that"
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """For JSON: times as lists, seconds from the window's start; see :meth:`from_dict`."""
        since_s = self.since_s
        data: dict[str, Any] = {
            "duration_s": round(self.duration_s, _DIGITS),
            "started_s": _listed(self.started_s - since_s),
            "ended_s": _listed(self.ended_s - since_s),
            "failed": np.flatnonzero(self.failed).tolist(),
            "errors": dict(self.errors),
            "unfinished": self.unfinished,
            "warmup": self.warmup,
            "interrupted": self.interrupted,
            "invalid": list(self.invalid),
            "load": None if self.load is None else self.load.to_dict(),
        }
        if not np.array_equal(self.intended_s, self.started_s):
            data["intended_s"] = _listed(self.intended_s - since_s)
        if self.lag_s.any():
            data["lag_s"] = _listed(self.lag_s)
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Samples:
        """What :meth:`to_dict` wrote; the window starts at 0. Keys that are not known are left out."""
        failed = np.zeros(len(data["started_s"]), dtype=np.bool_)
        failed[data.get("failed", [])] = True
        load = data.get("load")
        return cls(
            intended_s=data.get("intended_s", data["started_s"]),
            started_s=data["started_s"],
            ended_s=data["ended_s"],
            failed=failed,
            lag_s=data.get("lag_s", np.zeros(len(failed))),
            since_s=0.0,
            until_s=data["duration_s"],
            errors=data.get("errors", {}),
            unfinished=data.get("unfinished", 0),
            warmup=data.get("warmup", 0),
            interrupted=data.get("interrupted", False),
            invalid=tuple(data.get("invalid", ())),
            load=None if load is None else load_from_dict(load),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Samples):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment] # it holds arrays

    def __repr__(self) -> str:
        return f"Samples({self.count} calls in {self.duration_s:.3f} s, {self.throughput_per_s:.4g}/s)"

    def _of_successes(self, values: _Floats) -> _Floats:
        kept = np.flatnonzero(self.began & ~self.failed)
        return values[kept[np.argsort(self.intended_s[kept], kind="stable")]]


def _listed(values: _Floats) -> list[float]:
    return cast("list[float]", np.round(values, _DIGITS).tolist())
