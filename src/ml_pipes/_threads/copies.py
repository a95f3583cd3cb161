"""One error for several callers: each gets a copy of its own.

An exception object that is raised in several threads mixes their tracebacks and
grows with each raise. Knows nothing of who the callers are.
"""

from __future__ import annotations

import copy

from ml_pipes.errors import RegionError

__all__ = ["own_copy"]


def own_copy(error: BaseException) -> BaseException:
    """A copy with the same type, arguments, attributes and notes, no traceback, and ``error`` as its cause.

    An exception that cannot be copied gives a :class:`RegionError` that quotes it.
    """
    twin = _copied(error) or _rebuilt(error)
    if twin is None:
        twin = RegionError(f"{type(error).__name__}: {error}")
    notes = error.__dict__.get("__notes__")
    if notes is not None:
        twin.__dict__["__notes__"] = list(notes)
    for name, value in (("__traceback__", None), ("__context__", None), ("__cause__", error)):
        _set(twin, name, value)
    return twin


def _copied(error: BaseException) -> BaseException | None:
    """By the exception's own recipe; None when that fails or gives something else."""
    try:
        twin = copy.copy(error)
        same = twin is not error and type(twin) is type(error) and str(twin) == str(error)
    except Exception:  # a class whose constructor takes other arguments than it hands to its base
        return None
    return twin if same else None


def _rebuilt(error: BaseException) -> BaseException | None:
    """Without running the constructor."""
    try:
        twin = type(error).__new__(type(error), *error.args)
        _set(twin, "args", error.args)
        twin.__dict__.update(error.__dict__)
        same = str(twin) == str(error)
    except Exception:
        return None
    return twin if same else None


def _set(error: BaseException, name: str, value: object) -> None:
    """By the base's own hand: an exception class may refuse attributes (a frozen dataclass does)."""
    BaseException.__setattr__(error, name, value)
