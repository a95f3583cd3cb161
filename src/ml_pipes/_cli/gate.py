"""``ml-pipes gate``: is it good enough? An answer that a program can act on.

Knows options, and what is printed. Knows nothing of how anything is measured or judged.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.interrupts import INTERRUPTED
from ml_pipes._cli.needs import needing
from ml_pipes._cli.options import add_command
from ml_pipes._cli.outputs import check_outputs, write_json
from ml_pipes._cli.sides import add_sides, is_saved, load_any, load_result, measured, opened

if TYPE_CHECKING:
    from ml_pipes.benchmark.gate import GateResult

__all__ = ["add_parser", "run"]

# Neither a wrong condition nor a pipeline that breaks must look like a condition that is not kept.
_MISTAKE = 2
_EPILOG = """conditions:
  "p99 not worse than 5 %"     than A's; of any percentile, mean, throughput
  "p50 <= 12 ms"               s, ms, us
  "throughput >= 100 /s"
  "errors <= 0", "errors <= 1 %"

examples:
  ml-pipes gate old.py new.py "p50 not worse than 2 %" "errors <= 0" --input photo.jpg
  ml-pipes gate main.json branch.json "p99 not worse than 5 %"
  ml-pipes gate branch.json "p99 <= 80 ms" "throughput >= 20 /s" --undecided fail

exit status: 0 all conditions are kept, 1 one is not, 2 wrong usage or a mistake that the message says how to
mend, 3 none is broken but on some nothing could be decided (more blocks or calls would help), 130 Ctrl-C"""


def add_parser(commands: Any) -> None:
    """Add the command and its arguments."""
    parser = add_command(
        commands, "gate", "hold conditions against a pipeline, for a program to act on", epilog=_EPILOG
    )
    parser.add_argument(
        "what",
        nargs="+",
        metavar="A | B | CONDITION",
        help="the baseline, the candidate, and conditions. Two pipelines (MODULE[:FN], FILE.py[:FN]; "
        "B left out: A with other arguments) are measured in turn; two saved results are taken as they are; "
        "one saved result or comparison is held to what it says",
    )
    add_sides(parser)
    parser.add_argument(
        "--confidence", type=_confidence, default=0.95, metavar="C", help="of what is decided; default: 0.95"
    )
    parser.add_argument(
        "--undecided",
        choices=("undecided", "fail", "pass"),
        default="undecided",
        help="what a condition counts as on which nothing was decided",
    )
    parser.add_argument(
        "--json", metavar="FILE", help="the verdicts as JSON; - for standard output, instead of text"
    )
    parser.set_defaults(run=run, mistake=_MISTAKE)


def run(arguments: argparse.Namespace) -> int:
    """Measure or load, judge, print.

    Returns:
        The exit status.

    Raises:
        CommandError: something is missing or does not fit.
    """
    check_outputs(json_file=arguments.json)
    with needing("benchmark"):
        import ml_pipes.benchmark.gate  # noqa: F401 - before anything of the user's is imported
    conditions, statistics = _sorted_out(arguments)
    is_interrupted, table = False, ""
    if is_saved(arguments):
        candidate, baseline = _loaded(arguments)
    else:
        baseline = None
        with contextlib.redirect_stdout(sys.stderr), opened(arguments) as sides:
            candidate, is_interrupted = measured(sides, arguments, statistics)
        table = f"{candidate.to_table()}\n\n"
    result = _judged(candidate, conditions, baseline, arguments)
    if arguments.json != "-":
        print(f"{table}{result.to_table()}")
    if arguments.json:
        write_json(arguments.json, result.to_dict())
    return INTERRUPTED if is_interrupted else result.exit_code


def _sorted_out(arguments: argparse.Namespace) -> tuple[list[str], list[str]]:
    """The conditions and their statistics; what is compared goes to ``a`` and ``b``."""
    from ml_pipes.benchmark.conditions import parse_condition

    for text in arguments.input or ():
        if _is_condition(text):
            raise CommandError(f"--input {text!r} looks like a condition; write conditions before --input")
    conditions = [text for text in arguments.what if _is_condition(text)]
    names = [text for text in arguments.what if not _is_condition(text)]
    try:
        parsed = [parse_condition(text) for text in conditions]
    except ValueError as error:
        raise CommandError(str(error)) from error
    if not parsed:
        raise CommandError('there is no condition; give at least one, such as "p99 not worse than 5 %"')
    if not 1 <= len(names) <= 2:
        got = ", ".join(names) or "none"
        raise CommandError(f"give what is judged, or a baseline and a candidate, and conditions; got {got}")
    arguments.a, arguments.b = names[0], names[1] if len(names) > 1 else None
    statistics = dict.fromkeys(each.statistic for each in parsed if each.statistic != "errors")
    return conditions, list(statistics) or ["p50"]


def _is_condition(text: str) -> bool:
    if Path(text).is_file():
        return False
    return " " in text.strip() or any(
        sign in text for sign in "<>\N{LESS-THAN OR EQUAL TO}\N{GREATER-THAN OR EQUAL TO}"
    )


def _loaded(arguments: argparse.Namespace) -> tuple[Any, Any]:
    if arguments.b is None:
        return load_any(arguments.a), None
    return load_result(arguments.b), load_result(arguments.a)


def _judged(
    candidate: Any, conditions: Sequence[str], baseline: Any, arguments: argparse.Namespace
) -> GateResult:
    from ml_pipes.benchmark.gate import gate

    try:
        return gate(
            candidate,
            conditions,
            baseline=baseline,
            confidence=arguments.confidence,
            undecided=arguments.undecided,
        )
    except ValueError as error:
        if "baseline=" not in str(error):
            raise CommandError(str(error)) from error
        raise CommandError(
            f"{arguments.a} is one measurement, and a condition with 'not worse than' needs something to "
            "compare it with; give the baseline before it: ml-pipes gate BASELINE.json "
            f"{arguments.a} ..."
        ) from error


def _confidence(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.5 < value < 1.0:
        raise argparse.ArgumentTypeError(f"must be above 0.5 and below 1, such as 0.95, got {text}")
    return value
