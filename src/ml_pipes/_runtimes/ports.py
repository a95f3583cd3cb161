"""What a runtime's session looks like from outside: ports, and a run.

Knows names, types and shapes. Knows nothing of payloads or of any runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy.typing as npt

from ml_pipes._runtimes.source import Shape

__all__ = ["Port", "Session", "known_shape"]


@dataclass(frozen=True)
class Port:
    """One input or output of a model.

    Attributes:
        name: as the model has it.
        dtype: as NumPy spells it; ``str`` for text.
        shape: a number for a fixed side, a text for a named one, None for any; None as a whole
            when not even the rank is known. A side that the file names keeps its name, whatever
            the runtime inferred for it.
    """

    name: str
    dtype: str
    shape: Shape | None


class Session(Protocol):
    """A model that was opened, and can be run from any number of threads."""

    @property
    def inputs(self) -> Sequence[Port]:
        """What it takes, in order."""
        ...

    @property
    def outputs(self) -> Sequence[Port]:
        """What it gives, in order."""
        ...

    @property
    def metadata(self) -> dict[str, str]:
        """What its file says of itself, such as ``{"names": "..."}``."""
        ...

    @property
    def usable(self) -> bool:
        """False in a forked child, where the runtime's threads are missing."""
        ...

    def run(self, feeds: dict[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """Every output, in order, each a new array."""
        ...

    def run_on_each(self, feeds: dict[str, npt.NDArray[Any]]) -> list[list[npt.NDArray[Any]]]:
        """The outputs of each of the sessions that calls are shared among, for the same input."""
        ...


def known_shape(inferred: Shape, declared: Shape | None) -> Shape:
    """The sides that a runtime inferred, with the names that the file gave to some of them."""
    if declared is None or len(declared) != len(inferred):
        return inferred
    return tuple(
        said if isinstance(said, str) else found for said, found in zip(declared, inferred, strict=True)
    )
