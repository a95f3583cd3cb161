"""One error for several callers: each gets a copy of its own.

An exception object that is raised in several threads mixes their tracebacks and
grows with each raise. Knows nothing of who the callers are.
"""

from __future__ import annotations

import contextlib
import copy
from types import MemberDescriptorType

from ml_pipes.errors import RegionError

__all__ = ["own_copy"]


def own_copy(error: BaseException) -> BaseException:
    """A copy with the same type, arguments, attributes and notes, no traceback, and ``error`` as its cause.

    The class's constructor is not run again where that can be avoided. An exception
    that cannot be copied gives a :class:`RegionError` that quotes it.
    """
    words = _words(error)
    twin = _rebuilt(error, words) or _copied(error, words)
    if twin is None:
        twin = RegionError(f"{type(error).__name__}: {words}")
    notes = error.__dict__.get("__notes__")
    if isinstance(notes, list):
        twin.__dict__["__notes__"] = list(notes)
    for name, value in (("__traceback__", None), ("__context__", None), ("__cause__", error)):
        _set(twin, name, value)
    return twin


def _rebuilt(error: BaseException, words: str) -> BaseException | None:
    """Without running the constructor; None when that fails or gives something else."""
    kind = type(error)
    try:
        twin = kind.__new__(kind, *error.args)
        _set(twin, "args", error.args)
        twin.__dict__.update(error.__dict__)
        for name in _members(kind):
            # Some have no value, some cannot be set and were set by __new__.
            with contextlib.suppress(AttributeError, TypeError):
                _set(twin, name, getattr(error, name))
    except Exception:
        return None
    return twin if type(twin) is kind and _words(twin) == words else None


def _copied(error: BaseException, words: str) -> BaseException | None:
    """By the exception's own recipe; None when that fails or gives something else."""
    try:
        twin = copy.copy(error)
    except Exception:  # a class whose constructor takes other arguments than it hands to its base
        return None
    return twin if twin is not error and type(twin) is type(error) and _words(twin) == words else None


def _members(kind: type[BaseException]) -> set[str]:
    """The attributes that are kept outside ``__dict__``: slots, and those of the builtin exceptions."""
    return {
        name
        for base in kind.__mro__
        for name, value in vars(base).items()
        if isinstance(value, MemberDescriptorType) and not name.startswith("__")
    }


def _words(error: BaseException) -> str:
    """The error as text, also where its class cannot make one."""
    try:
        return str(error)
    except Exception:
        return f"(its own text failed; arguments: {len(error.args)})"


def _set(error: BaseException, name: str, value: object) -> None:
    """By the base's own hand: an exception class may refuse attributes (a frozen dataclass does)."""
    BaseException.__setattr__(error, name, value)
