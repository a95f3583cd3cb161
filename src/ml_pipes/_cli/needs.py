"""Packages that a command needs and that may be missing.

Knows imports and messages. Knows nothing of any command.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.interrupts import ending_at_once

__all__ = ["needing"]


@contextmanager
def needing(extra: str) -> Iterator[None]:
    """Around imports of our own: what is missing is said in a line, and how to install it.

    Args:
        extra: that brings what these imports need.
    """
    try:
        with ending_at_once():
            yield
    except ModuleNotFoundError as missing:
        name = str(missing.name).partition(".")[0]
        way_out = f'install it with: pip install "ml-pipes[{extra}]"'
        words = str(missing) if "pip install" in str(missing) else f"this needs {name}; {way_out}"
        raise CommandError(words) from missing
    except ImportError as missing:
        raise CommandError(str(missing)) from missing
