"""What was measured as files of JSON: written whole or not at all, and read with words for what is wrong.

Knows files and JSON. Knows nothing of what is in them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["read_json", "write_json"]

MadeT = TypeVar("MadeT")


def write_json(path: str | Path, data: Mapping[str, Any], indent: int | None = None) -> None:
    """Write it, and the folders on the way; a file that is there is replaced.

    Raises:
        ValueError: it holds NaN or an infinity, which JSON does not have.
        OSError: it cannot be written.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, indent=indent, allow_nan=False, ensure_ascii=False)
    # What is broken off while it writes must not leave half a result behind.
    unfinished = target.with_name(f".{target.name}.unfinished")
    # A label of bytes that are no UTF-8 has lone surrogates, which are written as JSON's own escapes.
    unfinished.write_text(text + "\n", encoding="utf-8", errors="backslashreplace")
    unfinished.replace(target)


def read_json(path: str | Path, what: str, made_of: Callable[[Any], MadeT]) -> MadeT:
    """What ``made_of`` makes of a file.

    Args:
        path: the file.
        what: is to be in it, for the message.
        made_of: raises ValueError for what it cannot use.

    Raises:
        ValueError: no JSON, or what ``made_of`` raised; it names the file.
        OSError: it cannot be read.
    """
    try:
        return made_of(json.loads(Path(path).read_text(encoding="utf-8")))
    except ValueError as cause:  # of JSON and of UTF-8 too
        is_ours = type(cause) is ValueError
        said = str(cause) if is_ours else f"this is no {what}, it is not JSON: {cause}"
        raise ValueError(f"{path}: {said}") from cause
