"""Models that are open at the same time and never run at the same time.

Knows how models share the CPUs. Knows nothing of what is done with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ml_pipes._runtimes import cpu

__all__ = ["apart"]


@contextmanager
def apart() -> Iterator[None]:
    """Let models that are opened inside take CPUs as if no other were open.

    By default a model takes the CPUs that those before it have left. Of two that are compared the second
    would be slower for that alone.
    """
    leases = cpu._leases  # noqa: SLF001 - that room has no door for it
    others = list(leases)
    leases.clear()
    try:
        yield
    finally:
        leases.update(others)
