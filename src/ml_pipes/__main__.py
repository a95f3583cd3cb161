"""The door from a shell: ``ml-pipes`` and ``python -m ml_pipes``.

Knows how a command ends: what is printed, and the exit status. Knows nothing of any command.
"""

from __future__ import annotations

import io
import os
import sys
import traceback
from argparse import Namespace
from collections.abc import Sequence

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.interrupts import INTERRUPTED

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it did its work, 1 for a mistake of the user's, 130 for Ctrl-C.

    A command may say other statuses. Arguments that cannot be parsed end the process with 2, as
    argparse does.
    """
    _print_whatever_comes()
    mistake = 1
    try:
        try:
            arguments = _parsed(argv)
            mistake = arguments.mistake
            status = _run(arguments)
        finally:
            # Here and not when Python ends, which would complain in its own words.
            if sys.stdout is not None:
                sys.stdout.flush()
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return mistake
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and _is_of_output(error):
            _drop_output()
            # Who read the output has read enough, as ``| head`` does.
            if not isinstance(error, BrokenPipeError):
                print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
            return mistake
        if mistake == 1:
            raise  # Python prints it, and ends with 1
        traceback.print_exc()
        return mistake
    return status


def _print_whatever_comes() -> None:
    """A label that the terminal has no letters for must not cost what was measured."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _parsed(argv: Sequence[str] | None) -> Namespace:
    # Imported here, for Ctrl-C while Python still reads files is Ctrl-C too.
    from ml_pipes._cli.parser import make_parser

    return make_parser().parse_args(argv)


def _run(arguments: Namespace) -> int:
    try:
        status: int | None = arguments.run(arguments)
    except SystemExit as error:
        # The status is what the command found out; sys.exit(0) in a module must not pass a gate.
        raise CommandError(
            f"the code that was to be run ended itself: sys.exit({error.code!r}); "
            'let a module do that only under if __name__ == "__main__"'
        ) from error
    return status or 0


def _is_of_output(error: OSError) -> bool:
    """Of what is printed; pipelines, and what makes their inputs, raise errors of this kind too."""
    if error.filename is not None or sys.stdout is None:
        return False
    try:
        # What did not fit is lost, and says nothing any more: only one more letter tells.
        print(flush=True)
    except OSError:
        return True
    return False


def _drop_output() -> None:
    """Let what is left to print go nowhere: Python would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
