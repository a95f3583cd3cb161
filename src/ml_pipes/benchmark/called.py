"""What is called while something is measured, and the first error that came of it.

Knows a function of one input. Knows nothing of figures.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["Called"]


class Called:
    """The function, called as it is; its first error is kept, to be raised where no call succeeds."""

    def __init__(self, call: Callable[[Any], Any]) -> None:
        self._call = call
        self._first_error: Exception | SystemExit | None = None

    def __call__(self, value: Any) -> Any:
        try:
            return self._call(value)
        except (Exception, SystemExit) as error:
            if self._first_error is None:
                self._first_error = error
            raise

    def raise_first_error(self, note: str) -> None:
        """Raise the first error, with a note; nothing where none came."""
        if self._first_error is not None:
            self._first_error.add_note(note)
            raise self._first_error
