"""The door from a shell: ``ml-pipes`` and ``python -m ml_pipes``.

Knows how a command ends: what is printed, and the exit status. Knows nothing of any command.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.parser import make_parser

__all__ = ["main"]

_INTERRUPTED = 130


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; 0 when it did its work, 1 for a mistake of the user's, 130 for Ctrl-C.

    Arguments that cannot be parsed end the process with 2, as argparse does.
    """
    arguments = make_parser().parse_args(argv)
    try:
        arguments.run(arguments)
        sys.stdout.flush()
    except CommandError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # Who read the output has read enough, as ``| head`` does; Python would complain when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
