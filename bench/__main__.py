"""``python -m bench [--json PATH]``: every measurement, printed as tables and, on request, as JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.engine import context_rows, step_rows
from bench.imports import import_row


def main() -> None:
    """Run and print the measurements."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure ml-pipes on this machine.")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    arguments = parser.parse_args()
    console = Console()
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    console.print(f"Python {machine['python']}, {machine['machine']}, {machine['cpus']} CPUs")
    results: dict[str, Any] = {"machine": machine}
    for title, measure in (
        (
            "A no-op step, bare loop against pipeline; goal: ratio <= 2 at 10 and 50, recorder <= 1,000",
            step_rows,
        ),
        ("What steps on the context add to a call", context_rows),
        (
            "import ml_pipes.core over a bare interpreter; goal: <= 60 ms, nothing heavy",
            lambda: [import_row()],
        ),
    ):
        rows = measure()
        results[title] = rows
        console.print(f"\n[bold]{title}[/bold]", soft_wrap=True)
        console.print(_table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2))


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table()
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(
            *(f"{value:,.2f}" if isinstance(value, float) else str(value) for value in row.values())
        )
    return table


if __name__ == "__main__":
    main()
