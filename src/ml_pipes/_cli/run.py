"""``ml-pipes run``: a pipeline on a few inputs, and what came of each.

Knows how a pipeline and its inputs are found. Knows nothing of how results look.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from collections.abc import Iterable
from typing import Any, TextIO

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.inputs import chosen_data, file_inputs, one_input
from ml_pipes._cli.options import STATUSES, add_command, add_config, add_inputs, add_target
from ml_pipes._cli.outputs import has_unicode
from ml_pipes._cli.plain import to_json
from ml_pipes._cli.show import to_text
from ml_pipes._cli.targets import find_target
from ml_pipes._cli.values import config
from ml_pipes.errors import DecodeError
from ml_pipes.pipeline import Pipeline

__all__ = ["add_parser", "run"]

_EPILOG = f"""examples:
  ml-pipes run faces.py --input photo.jpg              the file's @pipeline_factory, on a photograph
  ml-pipes run faces.py:make --arg size=640x480 --input *.jpg
  ml-pipes run shop.vision:detector shop.data --data-arg split=test --json

With a data factory, the pipeline is run on its first input. What the pipeline raises keeps its traceback.
{STATUSES}"""


def add_parser(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = add_command(commands, "run", "run a pipeline and print what comes out", epilog=_EPILOG)
    add_target(parser)
    add_inputs(parser)
    add_config(parser)
    add_config(parser, "--data-arg", "the data's function")
    parser.add_argument(
        "--json",
        action="store_true",
        help="print a list with an object per input, input and result; arrays of more than 10,000 numbers "
        "are described",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Run the pipeline on each input, and print.

    Raises:
        CommandError: something is missing or does not fit.
        Exception: what the pipeline raised.
    """
    with contextlib.ExitStack() as stack:
        out = sys.stdout
        if arguments.json:  # what the pipeline prints meanwhile is no JSON
            stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        _run(arguments, out)


def _run(arguments: argparse.Namespace, out: TextIO) -> None:
    args, data_args = config(arguments.arg, "--arg"), config(arguments.data_arg, "--data-arg")
    target = find_target(arguments.pipeline)
    target.check(args, "--arg")
    data = chosen_data(arguments, target, {"--data-arg": data_args})
    give = None if data is None else data.build(data_args)
    with target.build(args) as pipeline:
        if data is None or give is None:
            fns, name = file_inputs(arguments.input, pipeline), "--input"
        else:
            fns, name = [give], data.name
        # Read when its turn comes: there may be more files than memory.
        inputs = (one_input(each, name) for each in fns)
        if arguments.json:
            _print_json(pipeline, inputs, out)
        else:
            _print(pipeline, inputs, is_named=len(fns) > 1)


def _print_json(pipeline: Pipeline[Any, Any], inputs: Iterable[tuple[str, Any]], out: TextIO) -> None:
    results = [
        {"input": label, "result": to_json(_result(pipeline, label, value))} for label, value in inputs
    ]
    # A line per result: arrays are long enough as they are.
    lines = (json.dumps(result, ensure_ascii=not has_unicode(out), allow_nan=False) for result in results)
    print("[\n" + ",\n".join(lines) + "\n]", file=out)


def _print(pipeline: Pipeline[Any, Any], inputs: Iterable[tuple[str, Any]], *, is_named: bool) -> None:
    for at, (label, value) in enumerate(inputs):
        text = to_text(_result(pipeline, label, value))
        if is_named:
            text = f"{label}:\n{text}"
        # Each as soon as it is there.
        print(f"\n{text}" if at else text, flush=True)


def _result(pipeline: Pipeline[Any, Any], label: str, value: Any) -> Any:
    try:
        return pipeline(value)
    except DecodeError as error:
        # Of all that a pipeline may raise, the one that says that the file is the wrong one.
        raise CommandError(f"{label}: {error}") from error
