"""The door from a shell: ``ml-pipes`` and ``python -m ml_pipes``.

Knows how a command ends: what is printed, and the exit status. Knows nothing of any command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.interrupts import INTERRUPTED

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it did its work, 1 for a mistake of the user's, 130 for Ctrl-C.

    A command may say another status. Arguments that cannot be parsed end the process with 2, as
    argparse does.
    """
    try:
        try:
            status = _command(argv)
        finally:
            # Here and not when Python ends, which would complain in its own words.
            if sys.stdout is not None:
                sys.stdout.flush()
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # Who read the output has read enough, as ``| head`` does.
        _drop_output()
        return 1
    except OSError as error:
        # Commands say which file they could not use; what has no file is the output, as on a full disk.
        if error.filename is not None:
            raise
        _drop_output()
        print(f"error: the output cannot be written: {error.strerror}", file=sys.stderr)
        return 1
    return status


def _command(argv: Sequence[str] | None) -> int:
    # Imported here, for Ctrl-C while Python still reads files is Ctrl-C too.
    from ml_pipes._cli.parser import make_parser

    arguments = make_parser().parse_args(argv)
    return arguments.run(arguments) or 0


def _drop_output() -> None:
    """Let what is left to print go nowhere: Python would try again when it ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
