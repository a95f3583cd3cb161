"""What a command raises when its user can mend it: shown as one line, without a traceback.

Knows nothing of any command.
"""

from __future__ import annotations

__all__ = ["CommandError"]


class CommandError(Exception):
    """The user's mistake, in words that say the way out.

    Args:
        words: the message.
        status: what the command ends with; 1 unless that has another meaning there.
    """

    def __init__(self, words: str, status: int = 1) -> None:
        super().__init__(words)
        self.status = status
