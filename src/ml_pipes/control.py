"""The sentinel by which a step ends a run or drops an item.

Knows nothing of who looks for it.
"""

from __future__ import annotations

import enum
from typing import Final

__all__ = ["SHORT_CIRCUIT", "ShortCircuit"]


class ShortCircuit(enum.Enum):
    """Type of :data:`SHORT_CIRCUIT`; an enum, so that it stays one object through copy and pickle."""

    SHORT_CIRCUIT = "SHORT_CIRCUIT"

    def __repr__(self) -> str:
        return "SHORT_CIRCUIT"

    __str__ = __repr__


SHORT_CIRCUIT: Final = ShortCircuit.SHORT_CIRCUIT
"""Returned by a step, it ends the run and is its result; in a region of items it drops the item."""
