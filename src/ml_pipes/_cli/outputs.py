"""Files that commands write.

Knows JSON, pages and messages. Knows nothing of what is in them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any, TextIO

from ml_pipes._cli.errors import CommandError

__all__ = ["check_outputs", "has_unicode", "save_page", "write_json"]


def has_unicode(out: TextIO) -> bool:
    """Whether all letters can be printed there; else JSON has to escape them in its own way."""
    return out.encoding.lower().startswith("utf")


def write_json(path: str, data: Any) -> None:
    """Write it, or print it where the path is ``-``.

    Raises:
        CommandError: it cannot be written.
    """
    text = json.dumps(
        data, indent=2, ensure_ascii=path == "-" and not has_unicode(sys.stdout), allow_nan=False
    )
    if path == "-":
        print(text)
        return
    try:
        # Text of bytes that are no UTF-8 has lone surrogates, which are written as JSON's own escapes.
        Path(path).write_text(f"{text}\n", encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error


def check_outputs(*, json_file: str | None = None, page: str | None = None) -> None:
    """Find out before anything is measured whether the files can be written.

    Args:
        json_file: of ``--json``; ``-`` is none.
        page: of ``--html``.

    Raises:
        CommandError: there is no such folder, a package is missing, or the path is no page's.
    """
    if page is not None:
        _check_file("--html", page)
        if Path(page).suffix.lower() not in {".html", ".htm"}:
            raise CommandError(f"--html {page}: the name must end in .html")
        for package in ("jinja2", "plotly"):
            if importlib.util.find_spec(package) is None:
                raise CommandError(
                    f'--html needs {package}; install it with: pip install "ml-pipes[benchmark]"'
                )
    if json_file is not None and json_file != "-":
        _check_file("--json", json_file)


def _check_file(flag: str, path: str) -> None:
    if Path(path).is_dir():
        raise CommandError(f"{flag} {path} is a folder; give the path of a file")
    if not Path(path).parent.is_dir():
        raise CommandError(f"{flag} {path}: there is no folder {Path(path).parent}")


def save_page(results: Any, path: str) -> None:
    """Write results as a page.

    Raises:
        CommandError: it cannot be written.
    """
    from ml_pipes.benchmark.report import save_report

    try:
        save_report(results, path)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error
    print(f"written: {path}; open it in a browser", file=sys.stderr)
