"""Files that commands write.

Knows JSON, pages and messages. Knows nothing of what is in them.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from typing import Any

from ml_pipes._cli.errors import CommandError

__all__ = ["check_page", "save_page", "write_json"]


def write_json(path: str, data: Any) -> None:
    """Write it, or print it where the path is ``-``.

    Raises:
        CommandError: it cannot be written.
    """
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)
    if path == "-":
        print(text)
        return
    try:
        Path(path).write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror}") from error


def check_page(path: str | None) -> None:
    """Find out before anything is measured whether a page can be made.

    Raises:
        CommandError: a package is missing, or the path is no page's.
    """
    if path is None:
        return
    if Path(path).suffix.lower() not in {".html", ".htm"}:
        raise CommandError(f"--html {path}: the name must end in .html")
    for package in ("jinja2", "plotly"):
        if importlib.util.find_spec(package) is None:
            raise CommandError(f'--html needs {package}; install it with: pip install "ml-pipes[benchmark]"')


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
