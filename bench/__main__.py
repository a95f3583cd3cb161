"""``python -m bench [SECTION ...] [--json PATH] [--quick] [--compare]``: measurements, as tables and JSON."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

from rich.console import Console
from rich.table import Table

from bench.batching import closed_rows, cost_rows, free_rows, open_rows
from bench.end_to_end import end_to_end_rows, share_rows
from bench.engine import context_rows, step_rows
from bench.fanout import fan_out_rows
from bench.imports import import_row
from bench.load import Options
from bench.operators import operator_rows
from bench.pages import page_rows
from bench.real_models import model_cost_rows, real_model_rows
from bench.runtimes import runtime_rows
from bench.simulated import habit_rows, linear_rows, loop_rows, poisson_rows, published_rows, stopped_rows
from bench.tracing import broken_rows, memory_rows, off_rows, span_rows

Measure: TypeAlias = Callable[[Options], list[dict[str, Any]]]

# Section -> its tables: title and goal, and what measures it.
_SECTIONS: dict[str, list[tuple[str, Measure]]] = {
    "engine": [
        (
            "A no-op step, bare loop against pipeline; goal: ratio <= 2 at 10 and 50, recorder <= 1,000",
            lambda _: step_rows(),
        ),
        ("What steps on the context add to a call", lambda _: context_rows()),
    ],
    "imports": [
        (
            "import ml_pipes.core over a bare interpreter; goal: <= 60 ms, nothing heavy",
            lambda _: [import_row()],
        ),
    ],
    "simulate": [
        (
            "Simulated: callers in a loop, gaps of 0.5 +- 0.25 ms, batches of any size; rows per second",
            lambda _: published_rows(),
        ),
        ("Simulated: callers in a loop, Batch(8, timeout=0.005)", lambda _: loop_rows()),
        (
            "Simulated: Poisson arrivals at shares of the most that can be served; goal: auto <= greedy",
            lambda _: poisson_rows(),
        ),
        ("Simulated: linear cost, 2 ms per row; goal: auto >= 0.98 of greedy", lambda _: linear_rows()),
        (
            "Simulated: half of 8 callers stop; what the rows of a batch waited, together",
            lambda _: stopped_rows(),
        ),
        ("Simulated: callers and costs that are harder to foresee", lambda _: habit_rows()),
    ],
    "closed": [
        ("The sleeping models of the next tables, alone in a loop", cost_rows),
        ("Batch(8), callers in a loop; ideal: callers that come back at once, and no overhead", closed_rows),
    ],
    "open": [
        (
            "Batch(8), Poisson arrivals, latency from the intended arrival over that of an ideal server",
            open_rows,
        ),
    ],
    "free": [("Batch(8) of a model that returns at once", free_rows)],
    "fanout": [("Fan-out", fan_out_rows)],
    "operators": [
        ("Steps against code written by hand, ms of CPU on one thread", operator_rows),
        ("320n on a photograph, two callers, one thread each in both runtimes", end_to_end_rows),
        ("Where the time of a photograph goes, one caller", share_rows),
    ],
    "tracing": [
        ("Tracing switched off, a call of one step", lambda _: off_rows()),
        ("Collectors, over the same pipeline untraced", span_rows),
        ("Calls of 1 ms of work, with collectors that are of no use", broken_rows),
        ("Memory over a million traced calls of three steps", memory_rows),
    ],
    "models": [
        ("The models of the next table, one caller, by rows per run", model_cost_rows),
        ("Real models, Batch(8, timeout=0.005) by policy, and without Batch", real_model_rows),
    ],
    "runtimes": [("Models alone by runtime; one caller has all CPUs, several have one each", runtime_rows)],
    "pages": [("Text of pages, our steps against the models' own package", page_rows)],
}


def main() -> None:
    """Run and print the measurements."""
    arguments = _parser().parse_args()
    # A file or a pipe has no width of its own, and the tables are wide.
    console = Console(width=None if sys.stdout.isatty() else 260)
    machine = {"python": platform.python_version(), "machine": platform.machine(), "cpus": os.cpu_count()}
    console.print(f"Python {machine['python']}, {machine['machine']}, {machine['cpus']} CPUs")
    options = Options(quick=arguments.quick, compare=arguments.compare)
    results: dict[str, Any] = {"machine": machine}
    for section in arguments.sections or _SECTIONS:
        for title, measure in _SECTIONS[section]:
            began_at, others_s = time.perf_counter(), _others_s()
            rows = results[title] = measure(options)
            took_s, others_s = time.perf_counter() - began_at, _others_s() - others_s
            notes = f"{took_s:.0f} s; other processes kept {max(0.0, others_s / took_s):.2f} CPUs busy"
            console.print(f"\n[bold]{title}[/bold] ({notes})", soft_wrap=True)
            if rows:
                console.print(_table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=2))


def _others_s() -> float:
    """CPU seconds of all other processes of the machine since it started; 0 where that cannot be read.

    What others take is missing here: figures from a busy machine are not to be trusted.
    """
    try:
        fields = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()[1:]
    except OSError:
        return 0.0
    user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
    busy_s = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    times = os.times()
    return busy_s - (times.user + times.system + times.children_user + times.children_system)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure ml-pipes on this machine.")
    parser.add_argument(
        "sections",
        nargs="*",
        metavar="SECTION",
        type=_section,
        help=f"what to measure, all of it when left out: {', '.join(_SECTIONS)}",
    )
    parser.add_argument("--json", type=Path, help="write the figures there too")
    parser.add_argument("--quick", action="store_true", help="a rough look, in a minute")
    parser.add_argument(
        "--compare", action="store_true", help="other batching policies too; not with --quick"
    )
    return parser


def _section(name: str) -> str:
    if name not in _SECTIONS:
        raise argparse.ArgumentTypeError(f"there is no section {name!r}; there are {', '.join(_SECTIONS)}")
    return name


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table()
    for name in rows[0]:
        table.add_column(name, justify="right")
    for row in rows:
        table.add_row(*map(_shown, row.values()))
    return table


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "NO"
    return f"{value:,.2f}" if isinstance(value, float) else str(value)


if __name__ == "__main__":
    main()
