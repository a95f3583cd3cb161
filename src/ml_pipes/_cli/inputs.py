"""What a command gives to a pipeline: files, or what a factory makes.

Knows files, factories and what first steps take. Knows nothing of what is done with them.
"""

from __future__ import annotations

import argparse
import inspect
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.targets import Data, Target, data_in, find_data
from ml_pipes.context import ContextOp
from ml_pipes.factory import InputFn
from ml_pipes.pipeline import Embed, Pipeline
from ml_pipes.region import RegionCloser, RegionOpener

__all__ = ["FILES", "chosen_data", "file_inputs", "file_labels", "one_input", "prepared_values"]

FILES = (
    "files as inputs; the pipeline is given what its first step is annotated to take: the path, "
    "the file's bytes, or for an ImagePayload the decoded picture. They win over a data factory"
)


def chosen_data(arguments: argparse.Namespace, target: Target, flags: Mapping[str, Any]) -> Data | None:
    """The factory of the inputs; None where files are given.

    Args:
        arguments: with ``input`` and ``data``.
        target: whose module has the factory, where no other is named.
        flags: those that only a factory can use -> whether they are given.

    Raises:
        CommandError: there are neither files nor a factory.
    """
    if arguments.input:
        given = [flag for flag, is_given in flags.items() if is_given]
        if given:
            raise CommandError(
                f"{given[0]} is for a data factory, and --input wins over it; leave one of them out"
            )
        for path in map(Path, arguments.input):
            if path.is_dir():
                raise CommandError(f"--input {path} is a folder, not a file; name its files: {path}/*")
            if not path.is_file():
                raise CommandError(f"--input {path}: there is no such file")
        return None
    data = find_data(arguments.data) if arguments.data else data_in(target.module, target.name.split(":")[0])
    if data is None:
        raise CommandError(
            f"there are no inputs: {target.name.partition(':')[0]} has no @data_factory; "
            "give files with --input, or a DATA_MODULE[:FN]"
        )
    return data


def file_labels(files: Sequence[str]) -> list[str]:
    """A file's name each, or the whole path where names are not enough."""
    names = [Path(file).name for file in files]
    labels = names if len(set(names)) == len(names) else [str(Path(file)) for file in files]
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise CommandError(f"--input {twice} is given twice")
    return labels


def file_inputs(files: Sequence[str], pipeline: Pipeline[Any, Any]) -> list[InputFn]:
    """A function for each file that reads it and gives it as the pipeline takes it.

    Raises:
        CommandError: the pipeline takes no files; from a function: the file cannot be read.
    """
    read = _reader(pipeline)
    return [_giving(label, file, read) for label, file in zip(file_labels(files), files, strict=True)]


def one_input(give: InputFn, name: str) -> tuple[str, Any]:
    """The label and the value of the next input.

    Args:
        give: the function.
        name: of what made it, for messages.

    Raises:
        CommandError: it gives something else.
        Exception: what it raised.
    """
    made: Any = give()
    if not isinstance(made, tuple) or len(made) != 4:
        what = f"{len(made)} values" if isinstance(made, tuple) else f"a {type(made).__name__}"
        raise CommandError(
            f"{name}: an InputFn gives the 4 values (id, value, tag, meta), this one gave {what}"
        )
    return str(made[0]), made[1]


def prepared_values(give: InputFn, name: str, calls: int | None = None) -> list[Any]:
    """The values of inputs that are given in turn, made now.

    Args:
        give: the function.
        name: of what made it, for messages.
        calls: how many are needed at most.

    Raises:
        CommandError: it gives something else, or nothing.
        Exception: what it raised.
    """
    from ml_pipes.benchmark.inputs import prepared

    try:
        return [one.value for one in prepared(give, calls)]
    except (TypeError, ValueError) as error:
        # Of the check, not of the function itself.
        if "InputFn g" not in str(error):
            raise
        raise CommandError(f"{name}: {error}") from error


def _giving(label: str, file: str, read: Callable[[Path], Any]) -> InputFn:
    return lambda: (label, _read(read, file), None, None)


def _read(read: Callable[[Path], Any], file: str) -> Any:
    try:
        return read(Path(file))
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise CommandError(f"--input {file}: {why}") from error


def _reader(pipeline: Pipeline[Any, Any]) -> Callable[[Path], Any]:
    """How the pipeline's first step wants a file."""
    step, is_batched = _first_step(pipeline.operators)
    wanted = _taken_by(step)
    if is_batched:
        wanted = next(iter(typing.get_args(wanted)), Any)
    kinds = [kind for kind in _members(wanted) if kind is not type(None)]
    if any(kind in {Any, object, Path, os.PathLike} for kind in kinds):
        return lambda path: path
    if any(kind in {bytes, bytearray, memoryview} for kind in kinds):
        return Path.read_bytes
    if str in kinds:
        return str
    if any(getattr(kind, "__name__", "") == "ImagePayload" for kind in kinds):
        return _picture
    names = " or ".join(getattr(kind, "__name__", str(kind)) for kind in kinds)
    raise CommandError(
        f"--input gives files, and the pipeline begins with {_name(step)}, which takes {names}; "
        "begin it with a step that takes a path or bytes, or give the values with a @data_factory"
    )


def _first_step(operators: Sequence[Any], *, is_batched: bool = False) -> tuple[Any, bool]:
    """The first that takes the value itself, or in a list with those of other callers.

    What stores the value, or opens or closes a batch of it, passes it on.
    """
    for operator in operators:
        if isinstance(operator, Embed):
            return _first_step(operator.pipeline.operators, is_batched=is_batched)
        if isinstance(operator, RegionOpener) and type(operator).__name__ == "Batch":
            is_batched = True
        elif isinstance(operator, RegionCloser):
            is_batched = False
        elif not isinstance(operator, ContextOp):
            return operator, is_batched
    return None, False


def _taken_by(step: Any) -> Any:
    """The annotation of its first parameter; Any where there is none that can be read."""
    is_plain = inspect.isfunction(step) or inspect.isclass(step)
    function = step if is_plain else getattr(type(step), "__call__", None)  # noqa: B004 - its annotations
    try:
        hints = typing.get_type_hints(function)
        names = [name for name in inspect.signature(function).parameters if name != "self"]  # type: ignore[arg-type] # else it raises
    except (NameError, TypeError, ValueError, AttributeError):
        return Any
    return hints.get(names[0], Any) if names else Any


def _members(hint: Any) -> list[Any]:
    """What a union is of; a type variable counts as Any, a generic as what it is of."""
    if isinstance(hint, typing.TypeVar):
        return [Any]
    if typing.get_origin(hint) in {typing.Union, types.UnionType}:
        return [member for part in typing.get_args(hint) for member in _members(part)]
    return [typing.get_origin(hint) or hint]


def _name(step: Any) -> str:
    return str(getattr(step, "__name__", type(step).__name__))


def _picture(path: Path) -> Any:
    from ml_pipes.vision import Decode

    return Decode()(path.read_bytes())
