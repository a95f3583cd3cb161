"""Functions and paths given to operators, checked when the operators are built.

Knows signatures and how paths are written. Knows nothing of what they are for.
"""

from __future__ import annotations

import functools
import inspect
from types import FunctionType, MethodType
from typing import Any

from ml_pipes.selector import Selector

__all__ = ["check_makes", "check_path", "check_takes_one"]

_POSITIONAL = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}


def check_takes_one(place: str, fn: Any) -> None:
    """It can be called with one value, by position; further positional parameters have defaults.

    What is not written in Python (``str``, ``len``, ``np.sqrt``) is accepted where
    it has no signature that can be read, and may have options by keyword: what is
    shown of it differs between versions.

    Raises:
        TypeError: it cannot.
    """
    parameters = _parameters(place, fn, "of one value")
    if parameters is None:
        return
    way_out = f"; wrap it: lambda value: {_name(fn)}(value)"
    others = [
        parameter
        for parameter in parameters
        if parameter.kind not in _POSITIONAL and not (_is_native(fn) and _is_option(parameter))
    ]
    if others:
        raise TypeError(
            f"{place} uses non-positional parameters ({', '.join(map(str, others))}), and it is given "
            f"one value by position{way_out}"
        )
    positional = [parameter for parameter in parameters if parameter.kind in _POSITIONAL]
    required = [parameter.name for parameter in positional if parameter.default is parameter.empty]
    if not positional or len(required) > 1:
        wants = f"requires {len(required)} ({', '.join(required)})" if positional else "takes none"
        raise TypeError(f"{place} cannot be called with one value: {_name(fn)} {wants}{way_out}")


def check_makes(place: str, factory: Any) -> None:
    """It can be called without arguments.

    Raises:
        TypeError: it cannot.
    """
    required = [
        parameter.name
        for parameter in _parameters(place, factory, "without parameters") or ()
        if parameter.default is parameter.empty
        and parameter.kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    ]
    if required:
        raise TypeError(
            f"{place} must be callable without arguments: {_name(factory)} requires {', '.join(required)}; "
            f"wrap it: lambda: {_name(factory)}(...)"
        )


def check_path(place: str, path: Any) -> Selector:
    """A path that can be read, of at least one part.

    Raises:
        TypeError: it is no path.
        ValueError: its text cannot be read.
    """
    if path is None:
        raise TypeError(f"{place} must be a path, such as 'meta.size' or 0, got None")
    try:
        return Selector.from_input(path)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{place}: {error}") from None


def _parameters(place: str, fn: Any, kind: str) -> list[inspect.Parameter] | None:
    """The parameters of a callable, or None where they cannot be read."""
    if not callable(fn):
        raise TypeError(f"{place} must be a callable {kind}, got {fn!r}")
    if type(fn).__name__ == "ufunc":  # before its signature, which not every version of NumPy shows
        return _ufunc_parameters(fn)
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):
        return None
    takes_all = any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in parameters)
    return None if takes_all and _is_native(fn) else parameters  # (*args, **kwargs) says nothing


def _ufunc_parameters(fn: Any) -> list[inspect.Parameter]:
    names = ["x"] if fn.nin == 1 else [f"x{at}" for at in range(1, fn.nin + 1)]
    return [inspect.Parameter(name, inspect.Parameter.POSITIONAL_ONLY) for name in names]


def _is_native(fn: Any) -> bool:
    """A function or class that is not written in Python."""
    if isinstance(fn, functools.partial):
        return _is_native(fn.func)
    if isinstance(fn, FunctionType | MethodType):
        return False
    owner, names = (fn, ("__new__", "__init__")) if isinstance(fn, type) else (type(fn), ("__call__",))
    return not any(isinstance(getattr(owner, name), FunctionType) for name in names)


def _is_option(parameter: inspect.Parameter) -> bool:
    is_keyword = parameter.kind is inspect.Parameter.KEYWORD_ONLY
    return is_keyword and parameter.default is not parameter.empty


def _name(fn: Any) -> str:
    """What the way out calls it."""
    name = getattr(fn, "__name__", "")
    return name if name.isidentifier() else "function"
