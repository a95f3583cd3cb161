"""What a command works on: the pipeline that ``MODULE[:FN]`` names, and what gives it inputs.

Knows factories, pipelines and messages. Knows nothing of what is done with them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import ml_pipes
import ml_pipes.factory
from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.modules import find_attribute, import_module, names_of, place_of, split
from ml_pipes.errors import PipelineError
from ml_pipes.factory import DataFactory, Factory, InputFn, PipelineFactory
from ml_pipes.pipeline import Pipeline

__all__ = ["Data", "Target", "data_in", "find_data", "find_target"]


_HOME = Path(ml_pipes.__file__).parent


@dataclass(frozen=True)
class Target:
    """A pipeline, or what makes it.

    Attributes:
        name: as the user gave it.
        module: that it is of.
        source: the pipeline, or its factory.
    """

    name: str
    module: ModuleType
    source: Pipeline[Any, Any] | PipelineFactory[Any, Any]

    @property
    def factory(self) -> PipelineFactory[Any, Any] | None:
        """The factory; None for a pipeline that is made already."""
        return None if isinstance(self.source, Pipeline) else self.source

    def check(self, config: Mapping[str, Any], flag: str) -> None:
        """Refuse a configuration that the factory does not take.

        Raises:
            CommandError: as said.
        """
        if isinstance(self.source, Pipeline):
            if config:
                raise CommandError(
                    f"{flag} {next(iter(config))}: {self.name} is a pipeline that is made already and takes "
                    "no config; name a function that makes it"
                )
            return
        _check(self.source, config, self.name, flag)

    def build(self, config: Mapping[str, Any], flag: str = "--arg") -> Pipeline[Any, Any]:
        """The pipeline.

        Raises:
            CommandError: the configuration does not fit; ml-pipes refused what was built; a package or a file
                is missing.
            Exception: what the factory's own code raised.
        """
        self.check(config, flag)
        if isinstance(self.source, Pipeline):
            return self.source
        built: Pipeline[Any, Any] = _build(self.source, config, self.module)
        return built


@dataclass(frozen=True)
class Data:
    """What makes inputs.

    Attributes:
        name: as the user gave it.
        module: that it is of.
        factory: makes the function that gives them.
    """

    name: str
    module: ModuleType
    factory: DataFactory

    def check(self, config: Mapping[str, Any], flag: str) -> None:
        """Refuse a configuration that the factory does not take, with CommandError."""
        _check(self.factory, config, self.name, flag)

    def build(self, config: Mapping[str, Any], flag: str = "--data-arg") -> InputFn:
        """The function that gives inputs; raises as :meth:`Target.build`."""
        self.check(config, flag)
        built: InputFn = _build(self.factory, config, self.module)
        return built


def find_target(text: str) -> Target:
    """The pipeline that ``MODULE[:FN]`` names.

    Raises:
        CommandError: there is none.
        Exception: what the module's own code raised.
    """
    name, path = split(text)
    module = import_module(name)
    if path is None:
        found = _discovered(PipelineFactory, module, name)
        if found is None:
            raise CommandError(_nothing(name, names_of(module), "pipeline_factory"))
        return Target(text, module, found)
    value = find_attribute(module, path, name)
    if isinstance(value, Pipeline):
        return Target(text, module, value)
    return Target(text, module, _ensured(PipelineFactory, value, text))


def find_data(text: str) -> Data:
    """The factory of inputs that ``MODULE[:FN]`` names; raises as :func:`find_target`."""
    name, path = split(text)
    module = import_module(name)
    if path is not None:
        return Data(text, module, _ensured(DataFactory, find_attribute(module, path, name), text))
    found = data_in(module, name)
    if found is None:
        raise CommandError(_nothing(name, names_of(module), "data_factory"))
    return found


def data_in(module: ModuleType, name: str) -> Data | None:
    """The module's one ``@data_factory``, or None; of several, CommandError."""
    found = _discovered(DataFactory, module, name)
    return None if found is None else Data(name, module, found)


def _discovered(kind: type[Any], module: ModuleType, name: str) -> Any:
    try:
        return kind.discover(module)
    except ValueError as error:
        # As the user wrote it, not as the module is called.
        home = module.__name__
        words = (
            str(error).removeprefix(f"{home!r}: ").removeprefix(f"{home}: ").replace(f"{home}:", f"{name}:")
        )
        raise CommandError(f"{name}: {words}") from error
    except TypeError as error:
        raise CommandError(f"{name}: {error}") from error


def _ensured(kind: type[Any], value: Any, name: str) -> Any:
    if not callable(value) or isinstance(value, Pipeline):
        raise CommandError(f"{name} is a {type(value).__name__}; name a function{_or_pipeline(kind)}")
    try:
        return kind.ensure_factory(value)
    except TypeError as error:
        raise CommandError(f"{name}: {error}") from error


def _or_pipeline(kind: type[Any]) -> str:
    return " that makes a pipeline, or a Pipeline" if kind is PipelineFactory else " that makes an InputFn"


def _nothing(name: str, there: list[str], decorator: str) -> str:
    if not there:
        return f"{name} has no @{decorator}"
    return f"{name} has no @{decorator}; decorate one, or name what is meant: {name}:{there[0]}" + (
        f" (it has {', '.join(there)})" if len(there) > 1 else ""
    )


def _check(factory: Factory[Any], config: Mapping[str, Any], name: str, flag: str) -> None:
    try:
        factory.validate_config(config, name=name)
    except TypeError as error:
        words = str(error)
        way_out = f"; give it with {flag} KEY=VALUE" if "missing" in words else ""
        raise CommandError(f"{words}{way_out}") from error


def _build(factory: Factory[Any], config: Mapping[str, Any], module: ModuleType) -> Any:
    try:
        return factory(**config)
    except (PipelineError, ImportError, FileNotFoundError) as error:
        raise CommandError(f"{place_of(error, module)}: {error}") from error
    except (TypeError, ValueError) as error:
        where = _raised_in(error)
        if where == Path(ml_pipes.factory.__file__):
            raise CommandError(f"{module.__name__}.{error}") from error
        if not where.is_relative_to(_HOME):
            raise
        # What one of our operators refuses; all else is the user's code.
        given = "".join(f", with {key}={value!r}" for key, value in config.items())
        raise CommandError(f"{place_of(error, module)}: {error}{given}") from error


def _raised_in(error: BaseException) -> Path:
    """The file of the line that raised it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return Path(trace.tb_frame.f_code.co_filename if trace is not None else "")
