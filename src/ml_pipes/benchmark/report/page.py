"""The page: its head, its table and its figures, put together.

Knows what the parts of the page are. Knows nothing of how each is made.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from ml_pipes.benchmark.report.cells import table_of
from ml_pipes.benchmark.report.facts import environment_facts, load_facts
from ml_pipes.benchmark.report.rows import Row, rows_of
from ml_pipes.benchmark.report.verdicts import errors_by_type, notes, verdict
from ml_pipes.benchmark.result import BenchmarkResult

if TYPE_CHECKING:
    from ml_pipes.benchmark.report.canvas import Section

__all__ = ["Results", "Timeline", "report_page", "save_report"]

_TITLE: Final = "ml-pipes benchmark"


class Timeline(Protocol):
    """What a page of its own can be had from, such as a ``TimelineCollector``."""

    def to_html(self, title: str) -> str:
        """The page."""


Results: TypeAlias = BenchmarkResult | Iterable[BenchmarkResult]


def save_report(
    results: Results, path: str | Path, title: str = _TITLE, *, timeline: Timeline | str | None = None
) -> Path:
    """Write the page, whole or not at all; folders on the way are made.

    Args:
        results: what was measured, one or several.
        path: the file; one that is there is replaced.
        title: of the page.
        timeline: see :func:`report_page`.

    Returns:
        the path.

    Raises:
        ImportError: Jinja2 or Plotly is missing.
        TypeError: something among the results is none.
        ValueError: there is no result.
        OSError: it cannot be written.
    """
    target = Path(path)
    text = report_page(results, title, timeline=timeline)
    target.parent.mkdir(parents=True, exist_ok=True)
    unfinished = target.with_name(f".{target.name}.unfinished")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(target)
    return target


def report_page(results: Results, title: str = _TITLE, *, timeline: Timeline | str | None = None) -> str:
    """One page of HTML, of some 5 MB, that needs no other file and no network.

    A part of it is there when a result has something for it: results that were loaded from files of any
    age will do. Labels and messages are shown as they are, whatever is in them.

    Args:
        results: what was measured, one or several.
        title: of the page.
        timeline: a collector of which the timeline is shown too, or a page of HTML; it is shown in a frame
            of its own that can reach nothing else.

    Raises:
        ImportError: Jinja2 or Plotly is missing.
        TypeError: something among the results is none.
        ValueError: there is no result.
    """
    rows = rows_of(_listed(results))
    template = _template()
    columns, lines = table_of(rows)
    page: str = template.render(
        title=title,
        written=dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        rows=rows,
        verdict=verdict(rows),
        facts=[*load_facts(rows), *environment_facts(rows)],
        errors=errors_by_type(rows),
        notes=notes(rows),
        columns=columns,
        lines=lines,
        has_best=any(cell.is_best for line in lines for cell in line),
        sections=[(section, _json(section.figure)) for section in _sections(rows)],
        timeline=timeline if isinstance(timeline, str | None) else timeline.to_html(title),
        plotly_js=_plotly_js(),
    )
    return page


def _listed(results: Results) -> list[BenchmarkResult]:
    if isinstance(results, BenchmarkResult):
        return [results]
    is_text = isinstance(results, str | bytes)  # such as a path
    listed: list[Any] = list(results) if isinstance(results, Iterable) and not is_text else [results]
    for one in listed:
        if not isinstance(one, BenchmarkResult):
            raise TypeError(
                f"a report is of BenchmarkResults, got a {type(one).__name__}; "
                "BenchmarkResult.load reads one from a file"
            )
    if not listed:
        raise ValueError("a report needs a result, got none")
    return listed


def _template() -> Any:
    try:
        from jinja2 import Environment, StrictUndefined
    except ModuleNotFoundError as missing:
        raise ImportError(
            'a report needs jinja2; install it with: pip install "ml-pipes[benchmark]"', name="jinja2"
        ) from missing
    return Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    ).from_string(files(__package__).joinpath("page.html").read_text(encoding="utf-8"))


def _sections(rows: Sequence[Row]) -> list[Section]:
    try:
        import plotly  # type: ignore[import-untyped] # noqa: F401 # it comes without types, and is heavy
    except ModuleNotFoundError as missing:
        raise ImportError(
            'a report needs plotly; install it with: pip install "ml-pipes[benchmark]"', name="plotly"
        ) from missing
    from ml_pipes.benchmark.report.batches import size_section, wait_section
    from ml_pipes.benchmark.report.busy import busy_section
    from ml_pipes.benchmark.report.curves import percentile_section, throughput_section
    from ml_pipes.benchmark.report.steps import step_section
    from ml_pipes.benchmark.report.times import time_section

    made = (
        throughput_section(rows),
        percentile_section(rows),
        time_section(rows),
        step_section(rows),
        size_section(rows),
        wait_section(rows),
        busy_section(rows),
    )
    return [section for section in made if section is not None]


def _json(figure: Any) -> Any:
    """The figure as JSON that may stand in a ``<script>``: nothing in it can end one."""
    from markupsafe import Markup

    text = json.dumps(json.loads(figure.to_json()), allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704 - made safe above


def _plotly_js() -> Any:
    """Plotly's own script."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs  # type: ignore[import-untyped] # it comes without types

    # It is a part of the package, not of the results.
    return Markup(get_plotlyjs())  # noqa: S704 - as said
