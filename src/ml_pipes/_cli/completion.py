"""``ml-pipes completion``: a script with which a shell completes commands, options and files.

Knows parsers. Knows nothing of what the commands do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

from ml_pipes._cli.needs import needing
from ml_pipes._cli.options import STATUSES, add_command

__all__ = ["add_parser"]

_SHELLS = ("bash", "zsh", "tcsh", "fish")
_FOLDERS = {"DIR"}
_FILES = {
    "PATH",
    "FILE",
    "PHOTO",
    "MODULE[:FN]",
    "DATA_MODULE[:FN]",
    "JSON",
    "DATA",
    "A",
    "B",
    "A | B | CONDITION",
}
_EPILOG = f"""examples:
  ml-pipes completion bash > ~/.local/share/bash-completion/completions/ml-pipes
  ml-pipes completion zsh > ~/.zfunc/_ml-pipes          with fpath+=~/.zfunc before compinit in ~/.zshrc
  ml-pipes completion fish > ~/.config/fish/completions/ml-pipes.fish
  ml-pipes completion tcsh > ~/.ml-pipes.tcsh           with source ~/.ml-pipes.tcsh in ~/.tcshrc

{STATUSES}"""


def add_parser(commands: Any, make_parser: Callable[[], argparse.ArgumentParser]) -> None:
    """Add the command.

    Args:
        commands: argparse's.
        make_parser: makes the parser of all commands.
    """
    parser = add_command(
        commands, "completion", "print a script with which a shell completes what is typed", epilog=_EPILOG
    )
    parser.add_argument("shell", choices=_SHELLS)
    parser.set_defaults(run=lambda arguments: _print(arguments.shell, make_parser()))


def _print(shell: str, parser: argparse.ArgumentParser) -> None:
    with needing("benchmark"):
        import shtab
    for action in _actions(parser):
        names = {action.metavar} if isinstance(action.metavar, str) else set()
        if names & (_FILES | _FOLDERS):
            action.complete = shtab.DIRECTORY if names & _FOLDERS else shtab.FILE  # type: ignore[attr-defined] # what shtab reads
    print(shtab.complete(parser, shell))


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Of all commands."""
    for action in parser._actions:  # noqa: SLF001 - argparse shows them in no other way
        yield action
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for command in action.choices.values():
                yield from _actions(command)
