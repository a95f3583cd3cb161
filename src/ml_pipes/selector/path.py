"""A path's text and its parts.

Knows how a path is written. Knows nothing of the values it leads into.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

__all__ = ["SelectorInput", "SelectorPart", "parse_path", "render_path"]

SelectorPart: TypeAlias = str | int
SelectorInput: TypeAlias = str | int | tuple["SelectorInput", ...]

_TOKEN = re.compile(
    r"""
    \[ \s* (?P<index> -?\d+ ) \s* \]            # [0], [-1]
    | \. (?P<after_dot> [^.\[\]]+ )             # .name
    | (?P<name> [^.\[\]]+ )                     # a name at the start, or right after an index
    """,
    re.VERBOSE,
)
_NUMBER = re.compile(r"-?\d+")


def parse_path(path: SelectorInput) -> tuple[SelectorPart, ...]:
    """The parts of a path: names are ``str``, indices are ``int``.

    ``"a.b[0]"``, ``("a", "b", 0)`` and ``("a", ("b", 0))`` are one path; a token
    of digits in a text is an index.

    Raises:
        TypeError: a part is no ``str``, ``int`` or tuple of them.
        ValueError: the path has no part, or its text cannot be read.
    """
    parts = tuple(_parts(path))
    if not parts:
        raise ValueError("a path needs at least one part, such as 'boxes' or 0")
    return parts


def render_path(parts: Sequence[SelectorPart], root_label: str = "x") -> str:
    """The path as Python would write it, from a value named ``root_label``."""
    return root_label + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)


def _parts(path: SelectorInput) -> list[SelectorPart]:
    if isinstance(path, bool):
        raise TypeError(f"a path's part must be a name or an index, got {path!r}")
    if isinstance(path, int):
        return [path]
    if isinstance(path, str):
        return _text_parts(path)
    if isinstance(path, tuple):
        return [part for inner in path for part in _parts(inner)]
    raise TypeError(f"a path's part must be a str, an int or a tuple of them, got {path!r}")


def _text_parts(text: str) -> list[SelectorPart]:
    parts: list[SelectorPart] = []
    at = 0
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None or (token["name"] is not None and parts):
            raise ValueError(f"cannot read the path {text!r} from {text[at:]!r} on; write it like 'a.b[0]'")
        word = token["index"] or token["after_dot"] or token["name"]
        parts.append(int(word) if _NUMBER.fullmatch(word) else word)
        at = token.end()
    if not parts:
        raise ValueError("a path's text must not be empty")
    return parts
