"""The command line's grammar: which commands there are.

Knows the commands by name. Knows nothing of what they do.
"""

from __future__ import annotations

import argparse

import ml_pipes
from ml_pipes._cli import benchmark, demo, run

__all__ = ["make_parser"]

_COMMANDS = (demo, run, benchmark)


def make_parser() -> argparse.ArgumentParser:
    """A parser whose result has ``run``, to be called with that result; it may give an exit status."""
    parser = argparse.ArgumentParser(prog="ml-pipes", description="Inference as a plain list of small steps.")
    parser.add_argument("--version", action="version", version=f"ml-pipes {ml_pipes.__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(commands)
    return parser
