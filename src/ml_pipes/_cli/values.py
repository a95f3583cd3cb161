"""Values as they are written on a command line: ``size=640x480``, ``threshold=0.5,0.7``.

Knows text. Knows nothing of what the values are for.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from ml_pipes._cli.errors import CommandError

__all__ = ["WRITTEN", "axes", "config", "configs", "parse_value"]

WRITTEN: Final = (
    "640x480 is the tuple (640, 480); numbers, true, false and none are what they say; "
    "all else is text, and what stands in quotes of its own always: --arg \"size='640x480'\""
)

_SIZE = re.compile(r"[0-9]+(?:x[0-9]+)+")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_WORDS: Final[dict[str, Any]] = {"true": True, "false": False, "none": None}
# Commas between values, not those inside quotes.
_PART = re.compile(r"""(?:'[^']*'|"[^"]*"|[^,'"]|['"])+""")


def parse_value(text: str) -> Any:
    """The value that a text stands for.

    In this order: quoted text, without its quotes; ``640x480``, a tuple of whole numbers; a whole number;
    a number; ``true``, ``false`` and ``none``, in capitals or not; the text itself.
    """
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    if _SIZE.fullmatch(text):
        return tuple(int(side) for side in text.split("x"))
    if _WHOLE.fullmatch(text):
        return int(text)
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        # Python takes 1_5 for a number, who writes names does not.
        return text if "_" in text else float(text)
    except ValueError:
        return text


def config(pairs: Sequence[str], flag: str) -> dict[str, Any]:
    """``KEY=VALUE`` given once or several times, as a configuration.

    Raises:
        CommandError: one has no ``=`` or no key, or a key comes twice.
    """
    return {key: parse_value(value) for key, value in _keyed(pairs, flag, "KEY=VALUE").items()}


def axes(pairs: Sequence[str], flag: str) -> dict[str, list[Any]]:
    """``KEY=V1,V2`` given once or several times, as keys and the values of each.

    Raises:
        CommandError: one has no ``=``, no key or an empty value, or a key comes twice.
    """
    found: dict[str, list[Any]] = {}
    for key, value in _keyed(pairs, flag, "KEY=V1,V2").items():
        parts = _PART.findall(value)
        if len(parts) != _commas(value) + 1:
            raise CommandError(f"{flag} {key}={value}: a value is missing; write {flag} {key}=V1,V2")
        found[key] = [parse_value(part.strip()) for part in parts]
    return found


def configs(texts: Sequence[str], flag: str) -> list[dict[str, Any]]:
    """Configurations in JSON: an object or a list of objects, or the path of a file that holds such.

    Raises:
        CommandError: it is neither.
    """
    found: list[dict[str, Any]] = []
    for text in texts:
        written, place = text, flag
        if not text.lstrip().startswith(("{", "[")):
            written, place = _read(text, flag), f"{flag} {text}"
        try:
            data = json.loads(written)
        except json.JSONDecodeError as error:
            raise CommandError(f"{place} is not JSON: {error}") from error
        several = data if isinstance(data, list) else [data]
        if not several or not all(isinstance(one, dict) for one in several):
            raise CommandError(
                f'{place} must be an object such as {{"size": 640}}, or a list of such objects'
            )
        found.extend(several)
    return found


def _keyed(pairs: Sequence[str], flag: str, form: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            raise CommandError(f"{flag} {pair}: write it as {flag} {form}")
        if key in found:
            raise CommandError(f"{flag} {key} is given twice")
        found[key] = value
    return found


def _commas(text: str) -> int:
    return re.sub(r"""'[^']*'|"[^"]*\"""", "", text).count(",")


def _read(path: str, flag: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise CommandError(
            f"{flag} {path} is neither JSON, which begins with {{ or [, nor a file that can be read: {why}"
        ) from error
