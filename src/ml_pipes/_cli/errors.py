"""What a command raises when its user can mend it: shown as one line, without a traceback.

Knows nothing of any command.
"""

from __future__ import annotations

__all__ = ["CommandError"]


class CommandError(Exception):
    """The user's mistake, in words that say the way out."""
