"""The command line's grammar: which commands there are.

Knows the commands by name. Knows nothing of what they do.
"""

from __future__ import annotations

import argparse

import ml_pipes
from ml_pipes._cli import benchmark, compare, completion, demo, gate, info, run, trace
from ml_pipes._cli.options import STATUSES, CommandParser, Help

__all__ = ["make_parser"]

_COMMANDS = (demo, run, benchmark, compare, gate, trace, info)


def make_parser() -> argparse.ArgumentParser:
    """A parser whose result has ``run``, to be called with that result; it may give an exit status."""
    parser = argparse.ArgumentParser(
        prog="ml-pipes",
        description="Inference as a plain list of small steps.",
        epilog=f"{STATUSES}. ml-pipes COMMAND --help has examples.",
        formatter_class=Help,
    )
    parser.add_argument("--version", action="version", version=f"ml-pipes {ml_pipes.__version__}")
    parser.set_defaults(mistake=1)  # the exit status of a mistake; a command may say another
    commands = parser.add_subparsers(
        title="commands", required=True, metavar="COMMAND", parser_class=CommandParser
    )
    for command in _COMMANDS:
        command.add_parser(commands)
    completion.add_parser(commands, make_parser)
    return parser
