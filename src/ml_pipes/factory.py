"""From a configuration to a pipeline, or to what makes its inputs.

A factory is a callable whose keyword arguments are checked by name before it
is called, and its result after. Knows pipelines as a type. Knows nothing of
what is done with them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, Self, TypeAlias, TypeVar

from ml_pipes.pipeline import Pipeline

__all__ = [
    "DataFactory",
    "DataFactoryLike",
    "Factory",
    "InputFn",
    "PipelineFactory",
    "PipelineFactoryLike",
    "data_factory",
    "pipeline_factory",
]

InputT = TypeVar("InputT")
OutputT = TypeVar("OutputT")
FactoryOutputT = TypeVar("FactoryOutputT")

# Gives (id, value, tag, meta): what it is, what the pipeline takes, a group it belongs to, more about it.
InputFn: TypeAlias = Callable[[], tuple[Any, Any, Any, Any]]

_BY_KEYWORD = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Factory(Generic[FactoryOutputT]):
    """A callable with a checked keyword configuration and a checked result.

    Args:
        source: what is called; its parameters are the keys of the configuration.

    Raises:
        TypeError: ``source`` is not callable, or is a factory already, with other decorators between or not.
    """

    _decorator: ClassVar[str] = "factory"
    _wanted: ClassVar[str] = "something"

    def __init__(self, source: Callable[..., FactoryOutputT]) -> None:
        if not callable(source):
            raise TypeError(f"{type(self).__name__} takes a callable, got a {type(source).__name__}")
        if (inner := _factory_within(source)) is not None:
            raise _not_outermost(inner, _name(source))
        functools.update_wrapper(self, source)
        self._source = source

    def __call__(self, *args: Any, **kwargs: Any) -> FactoryOutputT:
        """Call the source.

        Raises:
            TypeError: it returned something of another kind.
        """
        made = self._source(*args, **kwargs)
        if not self._fits(made):
            raise TypeError(
                f"{_name(self._source)}: a @{self._decorator} must return {self._wanted}, "
                f"got a {type(made).__name__}"
            )
        return made

    def build(self, config: Mapping[str, Any]) -> FactoryOutputT:
        """Check the configuration, and call the source with it.

        Raises:
            TypeError: as of :meth:`validate_config` and of the call.
        """
        self.validate_config(config, name=_name(self._source))
        return self(**config)

    def validate_config(self, config: Mapping[str, Any], *, name: str = "factory") -> None:
        """Check the configuration's keys against the source's parameters, before anything is made.

        Args:
            config: what the source would be called with.
            name: what the message calls the factory.

        Raises:
            TypeError: a key that the source does not take, or one that it needs is missing.
        """
        parameters = _parameters(self._source)
        if parameters is None:
            return
        known = [each.name for each in parameters if each.kind in _BY_KEYWORD]
        takes_any = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in parameters)
        takes = f"it takes {', '.join(known) if known else 'no keys'}"
        unknown = [key for key in config if key not in known]
        if unknown and not takes_any:
            raise TypeError(f"{name}: unknown config key {_quoted(unknown)}; {takes}")
        needed = [
            each.name
            for each in parameters
            if each.default is inspect.Parameter.empty and each.kind in _BY_KEYWORD
        ]
        if missing := [key for key in needed if key not in config]:
            raise TypeError(f"{name}: missing config key {_quoted(missing)}; {takes}")
        if unnamed := [each.name for each in parameters if _cannot_be_given(each)]:
            raise TypeError(
                f"{name}: parameter {_quoted(unnamed)} is positional-only, and a config is given by keyword; "
                "take the '/' out of its signature"
            )

    @classmethod
    def from_callable(cls, source: Callable[..., FactoryOutputT]) -> Self:
        """The callable as a factory of this kind.

        Raises:
            TypeError: as of the constructor.
        """
        return cls(source)

    @classmethod
    def ensure_factory(cls, source: Callable[..., FactoryOutputT] | Factory[FactoryOutputT]) -> Self:
        """The factory itself, or the callable as one.

        Raises:
            TypeError: it is a factory of another kind, or nothing that can be called.
        """
        if isinstance(source, cls):
            return source
        if isinstance(source, Factory):
            raise TypeError(
                f"{_name(source)} is a {type(source).__name__}, and a {cls.__name__} is needed here; "
                f"decorate it with @{cls._decorator}"
            )
        return cls.from_callable(source)

    @classmethod
    def discover(cls, module: Any, explicit_fn: Any = None) -> Self | None:
        """The one factory of this kind in a module.

        Those that the module itself defines come before those that it imported.

        Args:
            module: where to look.
            explicit_fn: an object of the module that was asked for: it is the answer, or the answer is None
                if it is no factory of this kind.

        Raises:
            ValueError: there are several.
            TypeError: another decorator was put around a factory of this kind.
        """
        if explicit_fn is not None:
            _refuse_wrapped(cls, explicit_fn, getattr(explicit_fn, "__name__", "it"))
            return explicit_fn if isinstance(explicit_fn, cls) else None
        found: dict[str, Self] = {}
        for name, value in vars(module).items():
            _refuse_wrapped(cls, value, name)
            if isinstance(value, cls) and not any(value is other for other in found.values()):
                found[name] = value
        home = getattr(module, "__name__", None)
        own = {name: each for name, each in found.items() if getattr(each, "__module__", None) == home}
        found = own or found
        if len(found) > 1:
            raise ValueError(
                f"{home or module!r}: multiple @{cls._decorator} functions: {', '.join(found)}; "
                f"say which one is meant, as {home}:{next(iter(found))}"
            )
        return next(iter(found.values()), None)

    def _fits(self, made: Any) -> bool:  # noqa: ARG002 # the kinds below look at it
        return True

    def __repr__(self) -> str:
        return f"{type(self).__name__}({_name(self._source)})"


class PipelineFactory(Factory[Pipeline[InputT, OutputT]]):
    """Makes pipelines; the result of its source must be a :class:`~ml_pipes.core.Pipeline`."""

    _decorator = "pipeline_factory"
    _wanted = "a Pipeline"

    def _fits(self, made: Any) -> bool:
        return isinstance(made, Pipeline)


class DataFactory(Factory[InputFn]):
    """Makes what gives inputs; the result of its source must be callable, an ``InputFn``."""

    _decorator = "data_factory"
    _wanted = "a callable InputFn, () -> (id, value, tag, meta)"

    def _fits(self, made: Any) -> bool:
        return callable(made)


PipelineFactoryLike: TypeAlias = Callable[..., Pipeline[Any, Any]] | PipelineFactory[Any, Any]
DataFactoryLike: TypeAlias = Callable[..., InputFn] | DataFactory


def pipeline_factory(fn: Callable[..., Pipeline[InputT, OutputT]]) -> PipelineFactory[InputT, OutputT]:
    """Mark a function as the one that makes a module's pipeline; it must be the outermost decorator.

    Raises:
        TypeError: ``fn`` is not callable, or is a factory already.
    """
    return PipelineFactory.from_callable(fn)


def data_factory(fn: Callable[..., InputFn]) -> DataFactory:
    """Mark a function as the one that makes a module's inputs; it must be the outermost decorator.

    Raises:
        TypeError: ``fn`` is not callable, or is a factory already.
    """
    return DataFactory.from_callable(fn)


def _factory_within(source: Any) -> Factory[Any] | None:
    """The factory that this is, or that a decorator which keeps ``__wrapped__`` was put around."""
    seen: list[Any] = []
    while source is not None and not any(source is each for each in seen):
        if isinstance(source, Factory):
            return source
        seen.append(source)
        # Of the object itself: one that answers to any name, such as a mock, wraps nothing.
        source = getattr(source, "__dict__", {}).get("__wrapped__")
    return None


def _refuse_wrapped(cls: type[Factory[Any]], value: Any, name: str) -> None:
    if isinstance(value, Factory) or not callable(value):
        return
    inner = _factory_within(value)
    if isinstance(inner, cls):
        raise _not_outermost(inner, name)


def _not_outermost(inner: Factory[Any], name: str) -> TypeError:
    return TypeError(
        f"{name}: @{inner._decorator} must be the outermost decorator; "  # noqa: SLF001 - of its own module
        "write it above the others, and once"
    )


def _parameters(source: Callable[..., Any]) -> list[inspect.Parameter] | None:
    """None for a builtin that does not tell."""
    try:
        return list(inspect.signature(source).parameters.values())
    except (TypeError, ValueError):
        return None


def _cannot_be_given(parameter: inspect.Parameter) -> bool:
    return (
        parameter.kind is inspect.Parameter.POSITIONAL_ONLY and parameter.default is inspect.Parameter.empty
    )


def _name(source: Any) -> str:
    return str(getattr(source, "__qualname__", None) or type(source).__name__)


def _quoted(names: list[str]) -> str:
    return ", ".join(repr(name) for name in names)
