"""What several commands ask for in the same way.

Knows argparse. Knows nothing of what the commands do.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from typing import Any

from ml_pipes._cli.inputs import FILES
from ml_pipes._cli.values import WRITTEN

__all__ = [
    "STATUSES",
    "CommandParser",
    "Help",
    "add_command",
    "add_config",
    "add_inputs",
    "add_target",
    "number",
    "whole",
]

STATUSES = "exit status: 0 done, 1 a mistake that the message says how to mend, 2 wrong usage, 130 Ctrl-C"


def add_command(
    commands: Any, name: str, words: str, more: str = "", epilog: str = ""
) -> argparse.ArgumentParser:
    """A command whose help ends with examples as they are written here.

    Args:
        commands: argparse's.
        name: of the command.
        words: what it does, in a line.
        more: and in more lines.
        epilog: examples, and what its exit status says.
    """
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=words,
        description=f"{words[0].upper()}{words[1:]}.{' ' if more else ''}{more}",
        epilog=epilog,
        formatter_class=Help,
        allow_abbrev=False,
    )
    return parser


def add_target(parser: argparse.ArgumentParser) -> None:
    """The pipeline."""
    parser.add_argument(
        "pipeline",
        metavar="MODULE[:FN]",
        help="the pipeline: a module or a file.py, and in it a function that makes it, or a Pipeline; "
        "without FN, the one @pipeline_factory",
    )


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """What it is given."""
    parser.add_argument(
        "data",
        nargs="?",
        metavar="DATA_MODULE[:FN]",
        help="what makes the inputs; without FN, the one @data_factory; "
        "without any, that of the pipeline's module",
    )
    parser.add_argument("--input", nargs="+", action="extend", metavar="PATH", help=FILES)


def add_config(group: Any, flag: str = "--arg", of: str = "the pipeline's function") -> None:
    """Arguments for a factory."""
    values = f". {WRITTEN}" if flag == "--arg" else ""
    group.add_argument(
        flag,
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=f"an argument of {of}, as often as there are{values}",
    )


def whole(least: int) -> Callable[[str], int]:
    """A whole number, ``least`` or more."""

    def convert(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number, {least} or more, got {text}")
        return int(text)

    return convert


def number(unit: str) -> Callable[[str], float]:
    """A number above 0; the unit is for the message."""

    def convert(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value > 0):
            raise argparse.ArgumentTypeError(f"must be {unit}, above 0, got {text}")
        return value

    return convert


class CommandParser(argparse.ArgumentParser):
    """Takes options between the positional arguments too, which argparse does only when it is asked."""

    _is_asked = False

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse's, which calls this for a command, and again from within."""
        if self._is_asked:
            return super().parse_known_args(args, namespace)
        self._is_asked = True
        try:
            found, unknown = self.parse_known_intermixed_args(args, namespace)
        finally:
            self._is_asked = False
        if unknown:
            # Here and not by whom it is called, who would show his own usage.
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, []


class Help(argparse.HelpFormatter):
    """Fills what describes, keeps the lines of what gives examples."""

    def __init__(self, prog: str, **settings: Any) -> None:
        super().__init__(prog, **{"max_help_position": 28, **settings})
        # argparse leaves the indent of commands out of account, and breaks the lines of the longest.
        self._action_max_length = 16

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if "\n" in text:
            return "\n".join(indent + line for line in text.splitlines())
        return super()._fill_text(text, width, indent)
