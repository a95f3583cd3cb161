"""What an operator is: configuration that can be shown, and one call.

Knows how arguments were given to a constructor. Knows nothing of pipelines.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

__all__ = [
    "Operator",
    "OperatorArgument",
    "OperatorDescription",
    "get_operator_argument_entries",
    "get_operator_constructor_signature",
    "get_operator_name",
]

_ARGUMENTS = "_operator_arguments_"
_LONGEST_VALUE = 80
_NO_ROOM = (
    "Operator: {} has no room for captured constructor args; leave __slots__ (or slots=True) out, "
    "or add '__dict__' to it"
)

OperatorT = TypeVar("OperatorT", bound=type)


def Operator(cls: OperatorT) -> OperatorT:
    """Make a class an operator: it remembers its constructor's arguments and can show them.

    Adds ``describe()`` and ``__repr__`` where the class has none of its own. A
    subclass, decorated or not, shows the arguments it was made with itself.

    Raises:
        TypeError: the class has ``__slots__`` and no ``__dict__``, so there is no
            room for the captured constructor args.
    """
    kind: Any = cls  # the class gains what its type does not say
    if not getattr(kind, "__dictoffset__", 0):
        raise TypeError(_NO_ROOM.format(kind.__name__))
    if not getattr(kind.__new__, _ARGUMENTS, False):
        kind.__new__ = _remembering_new(kind)
    if "__signature__" not in _names_of(kind):
        kind.__signature__ = _ConstructorSignature()
    if "describe" not in _names_of(kind):
        kind.describe = _describe
    if kind.__repr__ is object.__repr__:
        kind.__repr__ = _render
    return cls


@dataclass(frozen=True)
class OperatorArgument:
    """One constructor argument: its value, and whether it was passed or left at its default."""

    name: str
    value: Any
    kind: inspect._ParameterKind
    source: Literal["passed", "default"] = "passed"
    passed_by_keyword: bool = False

    @property
    def is_passed(self) -> bool:
        """The caller gave it."""
        return self.source == "passed"

    @property
    def is_default(self) -> bool:
        """The caller left it out."""
        return self.source == "default"

    @staticmethod
    def to_dict(arguments: Iterable[OperatorArgument]) -> dict[str, Any]:
        """Name -> value, in the order of the signature."""
        return {argument.name: argument.value for argument in arguments}

    def render(self, *, verbose: bool = False) -> str:
        """As it would be written in a call; a long value is cut unless ``verbose``."""
        # A function as its name: its repr is an address.
        is_function = inspect.isroutine(self.value) or inspect.isclass(self.value)
        text = str(self.value.__name__) if is_function else _repr(self.value)
        if not verbose:
            text = " ".join(text.split()) if "\n" in text else text
            text = text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"
        return f"{self.name}={text}" if self.passed_by_keyword or self.is_default else text


@dataclass(frozen=True)
class OperatorDescription:
    """An operator's name and arguments, ready to be shown."""

    name: str
    arguments: tuple[OperatorArgument, ...] = field(default_factory=tuple)
    constructor_signature: inspect.Signature | None = None
    bare_callable: bool = False

    @classmethod
    def from_operator(cls, operator: Any) -> OperatorDescription:
        """Describe any step of a pipeline: an operator, a function, another callable object."""
        return cls(
            name=get_operator_name(operator),
            arguments=get_operator_argument_entries(operator),
            constructor_signature=get_operator_constructor_signature(operator),
            bare_callable=inspect.isroutine(operator) or inspect.isclass(operator),
        )

    @property
    def passed_args(self) -> dict[str, Any]:
        """The arguments that the caller gave."""
        return OperatorArgument.to_dict(a for a in self.arguments if a.is_passed)

    @property
    def default_args(self) -> dict[str, Any]:
        """The arguments that the caller left out."""
        return OperatorArgument.to_dict(a for a in self.arguments if a.is_default)

    @property
    def all_args(self) -> dict[str, Any]:
        """All arguments."""
        return OperatorArgument.to_dict(self.arguments)

    def render(self, *, show_defaults: bool = False, verbose: bool = False) -> str:
        """``Name(arguments)``; a bare function is its name alone."""
        if self.bare_callable:
            return self.name
        shown = [a for a in self.arguments if a.is_passed or show_defaults]
        return f"{self.name}({', '.join(a.render(verbose=verbose) for a in shown)})"

    def __repr__(self) -> str:
        return self.render()


def get_operator_name(operator: Any) -> str:
    """A function's or a class's ``__name__``, else the name of the object's class."""
    if inspect.isroutine(operator) or inspect.isclass(operator):
        # A partial is a routine from Python 3.14 on, and has no name.
        return str(getattr(operator, "__name__", type(operator).__name__))
    return type(operator).__name__


def get_operator_constructor_signature(operator: Any) -> inspect.Signature | None:
    """The signature that the operator was made by, or None for a bare callable."""
    if not hasattr(type(operator), "describe") or type(operator).__init__ is object.__init__:
        return None
    return inspect.signature(type(operator))


def get_operator_argument_entries(operator: Any) -> tuple[OperatorArgument, ...]:
    """The operator's constructor arguments in the order of its signature; () for a bare callable."""
    given = getattr(operator, "__dict__", {}).get(_ARGUMENTS)
    signature = get_operator_constructor_signature(operator)
    if given is None or signature is None:
        return ()
    args, kwargs = given
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:  # made past its constructor, as a copy with a state of its own is
        return ()
    passed = set(bound.arguments)
    by_keyword = set(kwargs)
    bound.apply_defaults()
    entries: list[OperatorArgument] = []
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            entries += [OperatorArgument(name, item, kind) for item in value]
        elif kind is inspect.Parameter.VAR_KEYWORD:
            entries += [
                OperatorArgument(key, item, kind, passed_by_keyword=True) for key, item in value.items()
            ]
        else:
            source: Literal["passed", "default"] = "passed" if name in passed else "default"
            entries.append(OperatorArgument(name, value, kind, source, name in by_keyword))
    return tuple(entries)


class _ConstructorSignature:
    """What ``inspect.signature`` gives for the class: its constructor's, although ``__new__`` takes all."""

    def __get__(self, instance: Any, owner: type) -> inspect.Signature:
        if instance is not None:
            raise AttributeError("__signature__")  # an instance is called by its __call__
        if owner.__init__ is object.__init__:  # type: ignore[misc] # asks which __init__ it is
            return inspect.Signature()
        signature = inspect.signature(owner.__init__)  # type: ignore[misc] # as above
        return signature.replace(parameters=list(signature.parameters.values())[1:])


def _remembering_new(cls: type) -> Callable[..., Any]:
    """A ``__new__`` that keeps the arguments; it sees those of the class that is really being made."""
    made_by: Any = cls.__new__

    def __new__(kind: Any, /, *args: Any, **kwargs: Any) -> Any:
        if made_by is object.__new__:
            if kind.__init__ is object.__init__ and (args or kwargs):
                raise TypeError(f"{kind.__name__}() takes no arguments")
            instance = made_by(kind)
        else:
            instance = made_by(kind, *args, **kwargs)
        try:
            instance.__dict__[_ARGUMENTS] = (args, kwargs)
        except AttributeError:
            raise TypeError(_NO_ROOM.format(kind.__name__)) from None
        return instance

    setattr(__new__, _ARGUMENTS, True)
    return __new__


def _repr(value: Any) -> str:
    """The value's own repr; its type where that fails: showing a pipeline must not."""
    try:
        return repr(value)
    except Exception:  # noqa: BLE001 # whatever it is
        return f"<{type(value).__name__}>"


def _names_of(cls: type) -> set[str]:
    return {name for base in cls.__mro__ for name in vars(base)}


def _describe(self: Any) -> OperatorDescription:
    """The operator's name and the arguments it was made with."""
    return OperatorDescription.from_operator(self)


def _render(self: Any) -> str:
    return _describe(self).render()
