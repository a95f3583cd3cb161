"""``ml-pipes compare``: is B faster than A?

Knows options, and what is printed. Knows nothing of how anything is compared.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import sys
from pathlib import Path
from typing import Any

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.interrupts import INTERRUPTED
from ml_pipes._cli.needs import needing
from ml_pipes._cli.options import STATUSES, add_command
from ml_pipes._cli.sides import add_sides, is_saved, load_result, measured, opened

__all__ = ["add_parser", "run", "save_comparison", "statistic"]

_EPILOG = f"""examples:
  ml-pipes compare old.py new.py --input photo.jpg
  ml-pipes compare faces.py --arg-a size=640x640 --arg-b size=320x320
  ml-pipes compare results/before.json results/after.json          of `ml-pipes benchmark --save`

Pipelines are measured in turn, so that what the machine does meanwhile meets both; saved results were not,
and their difference has in it whatever changed in between.
{STATUSES}"""

_CAVEAT = (
    "These were measured one after the other, and whatever else changed in between is in the difference; "
    "compare the pipelines themselves to leave it out."
)


def add_parser(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "compare", "find out whether one pipeline is faster than another", epilog=_EPILOG
    )
    add_sides(parser)
    parser.add_argument(
        "--statistics",
        nargs="+",
        type=statistic,
        metavar="S",
        help="p50 and the like, mean, throughput; the first decides; default: p50 p99 mean throughput",
    )
    parser.add_argument("--json", metavar="FILE", help="save the comparison, with each call of each block")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare, and print.

    Returns:
        The exit status.

    Raises:
        CommandError: something is missing or does not fit.
    """
    with needing("benchmark"):
        import ml_pipes.benchmark.compare  # noqa: F401 - before anything of the user's is imported
    if is_saved(arguments):
        print(_of_saved(arguments))
        return 0
    with contextlib.redirect_stdout(sys.stderr), opened(arguments) as sides:
        result, is_interrupted = measured(sides, arguments, arguments.statistics)
    print(result.to_table())
    if arguments.json:
        save_comparison(result, arguments.json)
    return INTERRUPTED if is_interrupted else 0


def statistic(text: str) -> str:
    """``p50``, ``p99.9``, ``mean``, ``throughput``; for argparse."""
    if text in {"mean", "throughput"} or (re.fullmatch(r"p\d+(\.\d+)?", text) and float(text[1:]) <= 100):
        return text
    raise argparse.ArgumentTypeError(f"must be p50 or another percentile, mean or throughput, got {text}")


def save_comparison(result: Any, path: str) -> None:
    """Write it; CommandError where that cannot be done."""
    try:
        result.save(Path(path))
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error


def _of_saved(arguments: argparse.Namespace) -> str:
    if arguments.json:
        raise CommandError("--json is for pipelines that are measured; two saved results are saved already")
    if arguments.b is not None:
        table = load_result(arguments.a).diff(load_result(arguments.b)).to_table()
        return f"{table}\n{_CAVEAT}"
    from ml_pipes.benchmark.comparison import ComparisonResult

    try:
        return ComparisonResult.load(arguments.a).to_table()
    except (ValueError, OSError) as error:
        raise CommandError(f"{error}; to compare two benchmarks, give both files") from error
