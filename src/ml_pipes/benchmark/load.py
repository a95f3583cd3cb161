"""What is asked of a pipeline while it is measured: how many calls at once, or when they come.

Knows numbers. Knows nothing of threads, or of what is called.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from math import inf
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np

__all__ = ["ClosedLoop", "Load", "Offline", "OpenLoop", "Queries", "load_from_dict"]

_CHUNK = 1024  # gaps drawn at a time


class Load(ABC):
    """A pattern of calls.

    Attributes:
        kind: its name in files.
        sees_stalls: a stall of the target shows in the latency of every call that it held up.
    """

    kind: ClassVar[str]
    sees_stalls: ClassVar[bool] = False

    def to_dict(self) -> dict[str, Any]:
        """Its kind and its numbers, for JSON."""
        return {"kind": self.kind, **asdict(self)}  # type: ignore[call-overload] # each kind is a dataclass

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class ClosedLoop(Load):
    """Each of ``callers`` calls again as soon as its call has returned.

    It asks for what the target can give, and no more: while the target stands still nobody
    asks, so a stall is seen by ``callers`` calls only (coordinated omission).

    Attributes:
        callers: calls at a time.

    Raises:
        ValueError: a number that cannot be.
    """

    callers: int = 1
    kind: ClassVar[str] = "closed"

    def __post_init__(self) -> None:
        _at_least_one("ClosedLoop", "callers", self.callers)

    def __str__(self) -> str:
        return "one caller in a loop" if self.callers == 1 else f"{self.callers} callers, each in a loop"


@dataclass(frozen=True)
class Queries(Load):
    """One caller in a loop; its query is several calls at once, and lasts as long as the slowest of them.

    Attributes:
        samples_per_query: calls that start together.

    Raises:
        ValueError: a number that cannot be.
    """

    samples_per_query: int = 8
    kind: ClassVar[str] = "queries"

    def __post_init__(self) -> None:
        _at_least_one("Queries", "samples_per_query", self.samples_per_query)

    def __str__(self) -> str:
        return f"queries of {self.samples_per_query} calls at once, one after another"


@dataclass(frozen=True)
class OpenLoop(Load):
    """Calls come at a rate, whatever became of those before; a latency counts from the time a call was due.

    Attributes:
        rate_per_s: calls per second, on average.
        arrivals: ``"poisson"``: independent of each other, with gaps drawn from an exponential
            distribution; ``"constant"``: evenly spaced.
        seed: of the gaps; the same seed gives the same times.
        max_in_flight: calls at a time; those that are due beyond wait, which their latency shows.

    Raises:
        ValueError: a number or a word that cannot be.
    """

    rate_per_s: float
    arrivals: Literal["poisson", "constant"] = "poisson"
    seed: int = 0
    max_in_flight: int = 256
    kind: ClassVar[str] = "open"
    sees_stalls: ClassVar[bool] = True

    def __post_init__(self) -> None:
        rate: object = self.rate_per_s
        if isinstance(rate, bool) or not isinstance(rate, Real) or not 0.0 < float(rate) < inf:
            raise ValueError(
                f"OpenLoop: rate_per_s must be calls per second, above 0, got {self.rate_per_s!r}"
            )
        if self.arrivals not in {"poisson", "constant"}:
            raise ValueError(f'OpenLoop: arrivals must be "poisson" or "constant", got {self.arrivals!r}')
        _at_least_one("OpenLoop", "max_in_flight", self.max_in_flight)

    def offsets_s(self) -> Iterator[float]:
        """When the calls are due, seconds from the start, without end; the first is due at 0."""
        if self.arrivals == "constant":
            return (index / self.rate_per_s for index in itertools.count())
        return self._poisson_s()

    def _poisson_s(self) -> Iterator[float]:
        random = np.random.default_rng(self.seed)
        at_s = 0.0
        while True:
            for gap_s in random.exponential(1.0 / self.rate_per_s, _CHUNK).tolist():
                yield at_s
                at_s += gap_s

    def __str__(self) -> str:
        return (
            f"{self.rate_per_s:g} calls/s, {self.arrivals} arrivals, {self.max_in_flight} at a time at most"
        )


@dataclass(frozen=True)
class Offline(Load):
    """All calls are due at once, and are worked off as fast as the target can.

    Attributes:
        max_in_flight: calls at a time.

    Raises:
        ValueError: a number that cannot be.
    """

    max_in_flight: int = 32
    kind: ClassVar[str] = "offline"
    sees_stalls: ClassVar[bool] = True

    def __post_init__(self) -> None:
        _at_least_one("Offline", "max_in_flight", self.max_in_flight)

    def __str__(self) -> str:
        return f"all calls at once, {self.max_in_flight} at a time"


_KINDS: dict[str, type[Load]] = {kind.kind: kind for kind in (ClosedLoop, Queries, OpenLoop, Offline)}


def load_from_dict(data: dict[str, Any]) -> Load:
    """The load that :meth:`Load.to_dict` wrote; keys that it does not know are left out.

    Raises:
        ValueError: a kind that is not known.
    """
    kind = _KINDS.get(data.get("kind", ""))
    if kind is None:
        raise ValueError(f"a load's kind must be one of {', '.join(_KINDS)}, got {data.get('kind')!r}")
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type] # each kind is a dataclass
    return kind(**{name: value for name, value in data.items() if name in known})


def _at_least_one(place: str, name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ValueError(f"{place}: {name} must be a whole number, 1 or more, got {value!r}")
