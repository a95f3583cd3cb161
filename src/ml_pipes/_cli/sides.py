"""Two pipelines to be measured side by side: two names, or one name with two configurations.

Knows how pipelines and inputs are found. Knows nothing of how they are compared.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.inputs import chosen_data, file_inputs, prepared_values
from ml_pipes._cli.interrupts import Interrupt, noting_interrupts
from ml_pipes._cli.loads import add_load, load_of
from ml_pipes._cli.options import add_config, number, whole
from ml_pipes._cli.targets import Target, find_target
from ml_pipes._cli.values import config
from ml_pipes._runtimes.cpu import opened_alone
from ml_pipes.pipeline import Pipeline

if TYPE_CHECKING:
    from ml_pipes.benchmark import BenchmarkResult, InputFn
    from ml_pipes.benchmark.comparison import ComparisonResult
    from ml_pipes.benchmark.measure import Progress

__all__ = ["Sides", "add_sides", "is_saved", "load_any", "load_result", "measured", "opened"]

_DEFAULT_STATISTICS = ("p50", "p99", "mean", "throughput")


@dataclass(frozen=True)
class Sides:
    """What is compared.

    Attributes:
        pipelines: the baseline and the candidate.
        labels: of both.
        input_fns: give the inputs, the same to both, one after another.
        data: what they are of, for messages.
    """

    pipelines: tuple[Pipeline[Any, Any], Pipeline[Any, Any]]
    labels: tuple[str, str]
    input_fns: Sequence[InputFn]
    data: str

    def values(self) -> list[Any]:
        """The inputs."""
        return [value for give in self.input_fns for value in prepared_values(give, self.data)]


def add_sides(parser: argparse.ArgumentParser) -> None:
    """Their inputs and their arguments, and how they are measured."""
    group = parser.add_argument_group("what is measured, where A and B are pipelines")
    group.add_argument(
        "--data", metavar="DATA", help="what makes the inputs, MODULE[:FN]; default: that of A's module"
    )
    group.add_argument("--input", nargs="+", action="extend", metavar="PATH", help="files as inputs")
    add_config(group)
    add_config(group, "--arg-a", "A's function alone")
    add_config(group, "--arg-b", "B's function alone")
    add_config(group, "--data-arg", "the data's function")
    group = parser.add_argument_group("how: a block of calls of each in turn, in random order")
    group.add_argument("--blocks", type=whole(2), default=30, metavar="N", help="of each; default: 30")
    group.add_argument(
        "--block-calls", type=whole(1), metavar="N", help="calls of a block; default: some 0.2 s"
    )
    group.add_argument(
        "--until",
        type=number("percent"),
        metavar="P",
        help="go on until the first figure is known to plus and minus P %%, or for --max-seconds",
    )
    group.add_argument(
        "--max-seconds", type=number("seconds"), default=60.0, metavar="S", help="for all of it; default: 60"
    )
    group.add_argument(
        "--warmup", type=whole(1), metavar="N", help="calls of each before; default: half a second"
    )
    group.add_argument(
        "--seed", type=whole(0), metavar="N", help="of the order; drawn by default, and printed"
    )
    add_load(parser)


def is_saved(arguments: argparse.Namespace) -> bool:
    """A and B are files of results.

    Raises:
        CommandError: only one of them is.
    """
    names = [name for name in (arguments.a, arguments.b) if name is not None]
    saved = [name for name in names if name.lower().endswith(".json")]
    if saved and len(saved) < len(names):
        (other,) = set(names) - set(saved)
        raise CommandError(f"{saved[0]} is a saved result and {other} a pipeline; give two of the same kind")
    return bool(saved)


def load_result(path: str) -> BenchmarkResult:
    """A result that was saved.

    Raises:
        CommandError: the file holds none, or cannot be read.
    """
    from ml_pipes.benchmark import BenchmarkResult

    if not Path(path).is_file():
        raise CommandError(f"there is no file {path}")
    try:
        return BenchmarkResult.load(path)
    except ValueError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}") from error


def load_any(path: str) -> BenchmarkResult | ComparisonResult:
    """A result or a comparison that was saved; raises as :func:`load_result`."""
    from ml_pipes.benchmark.comparison import ComparisonResult

    try:
        data = json.loads(Path(path).read_text("utf-8"))
    except (OSError, ValueError):
        return load_result(path)  # which says what is wrong
    if not isinstance(data, dict) or data.get("kind") != "comparison":
        return load_result(path)
    try:
        return ComparisonResult.from_dict(data)
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error


@contextmanager
def opened(arguments: argparse.Namespace) -> Iterator[Sides]:
    """The two pipelines, made, and closed again.

    Raises:
        CommandError: something is missing or does not fit.
    """
    args = [config(arguments.arg, "--arg")] * 2
    own = [config(arguments.arg_a, "--arg-a"), config(arguments.arg_b, "--arg-b")]
    args = [{**both, **one} for both, one in zip(args, own, strict=True)]
    data_args = config(arguments.data_arg, "--data-arg")
    if arguments.b is None and args[0] == args[1]:
        raise CommandError(
            f"what is {arguments.a} to be compared with? Give a second pipeline, or other arguments for it "
            "with --arg-b KEY=VALUE"
        )
    first = find_target(arguments.a)
    targets = [first, first if arguments.b is None else find_target(arguments.b)]
    for target, each, flag in zip(targets, args, ("--arg-a", "--arg-b"), strict=True):
        target.check(each, flag)
    data = chosen_data(arguments, first, {"--data-arg": data_args, "--data": arguments.data})
    give = None if data is None else data.build(data_args)
    with ExitStack() as stack:
        a = stack.enter_context(targets[0].build(args[0], "--arg-a"))
        with opened_alone():
            b = stack.enter_context(targets[1].build(args[1], "--arg-b"))
        fns = _of_files(arguments.input, a, b) if give is None else [give]
        yield Sides((a, b), _labels(targets, own), fns, "--input" if data is None else data.name)


def measured(
    sides: Sides, arguments: argparse.Namespace, statistics: Sequence[str] | None
) -> tuple[Any, bool]:
    """The comparison, and whether Ctrl-C ended it.

    Raises:
        CommandError: an argument that cannot be; the calls of a side all fail.
        KeyboardInterrupt: nothing was measured yet.
    """
    from ml_pipes.benchmark.compare import compare
    from ml_pipes.benchmark.progress import progress_for

    load: Mapping[str, Any] = {} if (asked := load_of(arguments)) is None else {"load": asked}
    with noting_interrupts() as interrupt, progress_for(1, verbose=sys.stderr.isatty()) as progress:
        progress.begin(f"{sides.labels[1]} against {sides.labels[0]}")
        try:
            result = compare(
                *sides.pipelines,
                inputs=sides.values(),
                labels=sides.labels,
                blocks=arguments.blocks,
                block_calls=arguments.block_calls,
                warmup=arguments.warmup,
                statistics=tuple(statistics or _DEFAULT_STATISTICS),
                seed=arguments.seed,
                max_s=arguments.max_seconds,
                until=None if arguments.until is None else arguments.until / 100,
                progress=_ended_by(interrupt, progress.tell),
                **load,
            )
        except KeyboardInterrupt:
            print("interrupted before a round was whole", file=sys.stderr)
            raise
        except Exception as error:
            notes = getattr(error, "__notes__", ())
            if not any("in a comparison" in note for note in notes):
                raise
            raise CommandError("\n".join([f"{type(error).__name__}: {error}", *notes])) from error
    return result, interrupt.came or result.ended_by == "interrupt"


def _ended_by(interrupt: Interrupt, tell: Progress) -> Progress:
    """What tells how far it is, and ends it where somebody else caught Ctrl-C, as a bare except does."""

    def told(done: int, total: int | None, elapsed_s: float) -> None:
        if interrupt.came:
            raise KeyboardInterrupt
        tell(done, total, elapsed_s)

    return told


def _of_files(files: Sequence[str], a: Pipeline[Any, Any], b: Pipeline[Any, Any]) -> list[InputFn]:
    given, other = file_inputs(files, a), file_inputs(files, b)
    kinds = [type(fns[0]()[1]).__name__ for fns in (given, other)]
    if kinds[0] != kinds[1]:
        raise CommandError(
            f"--input: A takes a file as {kinds[0]}, and B as {kinds[1]}, but both are given the same; "
            "give the values with a @data_factory"
        )
    return given


def _labels(targets: Sequence[Target], own: Sequence[Mapping[str, Any]]) -> tuple[str, str]:
    """The names, or what tells one name's two configurations apart."""
    from ml_pipes.benchmark.space import config_label

    names = [target.name for target in targets]
    if names[0] == names[1]:
        names = [config_label(config) or name for config, name in zip(own, names, strict=True)]
    if names[0] == names[1]:
        names = [f"{name} ({side})" for name, side in zip(names, "AB", strict=True)]
    return names[0], names[1]
