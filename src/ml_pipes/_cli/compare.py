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
from ml_pipes._cli.outputs import check_outputs, save_page, write_json
from ml_pipes._cli.sides import add_sides, is_saved, load_any, load_result, measured, opened

__all__ = ["add_parser", "run", "statistic"]

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
    parser.add_argument(
        "a",
        metavar="A",
        help="the baseline: MODULE[:FN], FILE.py[:FN], or a result that was saved, FILE.json",
    )
    parser.add_argument(
        "b",
        nargs="?",
        metavar="B",
        help="the candidate, as A; left out, it is A with other arguments: --arg-b",
    )
    add_sides(parser)
    parser.add_argument(
        "--statistics",
        nargs="+",
        type=statistic,
        metavar="S",
        help="p50 and the like, mean, throughput; the first decides; default: p50 p99 mean throughput",
    )
    parser.add_argument(
        "--json",
        metavar="FILE",
        help="save the comparison, with each call of each block; - for standard output, instead of the table",
    )
    parser.add_argument("--html", metavar="FILE", help="a page with figures, of some 5 MB")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compare, and print.

    Returns:
        The exit status.

    Raises:
        CommandError: something is missing or does not fit.
    """
    check_outputs(json_file=arguments.json, page=arguments.html)
    with needing("benchmark"):
        import ml_pipes.benchmark.compare  # noqa: F401 - before anything of the user's is imported
    if is_saved(arguments):
        _show_saved(arguments)
        return 0
    with contextlib.redirect_stdout(sys.stderr), opened(arguments) as sides:
        result, is_interrupted = measured(sides, arguments, arguments.statistics)
    if arguments.json == "-":
        write_json("-", result.to_dict())
    else:
        print(result.to_table())
    if arguments.json not in {None, "-"}:
        _save(result, arguments.json)
    if arguments.html:
        save_page(result, arguments.html)
    return INTERRUPTED if is_interrupted else 0


def statistic(text: str) -> str:
    """``p50``, ``p99.9``, ``mean``, ``throughput``; for argparse."""
    if text in {"mean", "throughput"} or (re.fullmatch(r"p\d+(\.\d+)?", text) and float(text[1:]) <= 100):
        return text
    raise argparse.ArgumentTypeError(f"must be p50 or another percentile, mean or throughput, got {text}")


def _save(result: Any, path: str) -> None:
    try:
        result.save(Path(path))
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error


def _show_saved(arguments: argparse.Namespace) -> None:
    from ml_pipes.benchmark import BenchmarkResult

    if arguments.json:
        raise CommandError("--json is for pipelines that are measured; what is saved is saved already")
    if arguments.b is None:
        one = load_any(arguments.a)
        if isinstance(one, BenchmarkResult):
            raise CommandError(f"{arguments.a} is one benchmark; to compare two, give both files")
        print(one.to_table())
        shown: Any = one
    else:
        baseline, candidate = load_result(arguments.a), load_result(arguments.b)
        print(f"{baseline.diff(candidate).to_table()}\n{_CAVEAT}")
        shown = [baseline, candidate]
    if arguments.html:
        save_page(shown, arguments.html)
