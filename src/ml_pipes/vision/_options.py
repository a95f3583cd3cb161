"""What options of steps have in common.

Knows numbers. Knows nothing of pictures.
"""

from __future__ import annotations

import numpy as np

__all__ = ["check_whole"]


def check_whole(owner: str, fewest: int, **options: object) -> None:
    """Raise ValueError for an option that is no whole number of ``fewest`` or more."""
    for name, value in options.items():
        whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
        if not whole or value < fewest:  # type: ignore[operator] # a number, as the line before says
            raise ValueError(f"{owner}: {name} must be a whole number, {fewest} or more, got {value!r}")
