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

from ml_pipes.benchmark.comparison import ComparisonResult
from ml_pipes.benchmark.report.cells import table_of
from ml_pipes.benchmark.report.comparisons import Versus, versus_of
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


Results: TypeAlias = BenchmarkResult | ComparisonResult | Iterable[BenchmarkResult | ComparisonResult]
# A section, and its figure as JSON.
_Drawn: TypeAlias = "tuple[Section, Any]"


def save_report(
    results: Results, path: str | Path, title: str = _TITLE, *, timeline: Timeline | str | None = None
) -> Path:
    """Write the page, whole or not at all; folders on the way are made.

    Args:
        results: what was measured or compared, one or several.
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
    # A label of bytes that are no UTF-8 has lone surrogates.
    unfinished.write_text(text, encoding="utf-8", errors="replace")
    unfinished.replace(target)
    return target


def report_page(results: Results, title: str = _TITLE, *, timeline: Timeline | str | None = None) -> str:
    """One page of HTML, of some 5 MB, that needs no other file and no network.

    A part of it is there when a result has something for it: results that were loaded from files of any
    age will do. Labels and messages are shown as they are, whatever is in them.

    Args:
        results: what was measured or compared, one or several.
        title: of the page.
        timeline: a collector of which the timeline is shown too, or a page of HTML; it is shown in a frame
            of its own that can reach nothing else.

    Raises:
        ImportError: Jinja2 or Plotly is missing.
        TypeError: something among the results is none.
        ValueError: there is no result.
    """
    measured, compared = _sorted_out(results)
    rows, versus = rows_of(measured), [versus_of(at, each) for at, each in enumerate(compared, 1)]
    template = _template()
    columns, lines = table_of(rows)
    drawn, drawn_of_comparisons = _drawn(rows, compared, versus)
    page: str = template.render(
        title=title,
        written=dt.datetime.now(dt.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        rows=rows,
        verdict=verdict(rows) if rows else None,
        facts=[*load_facts(rows), *environment_facts(rows, [each.environment for each in compared])],
        errors=errors_by_type(rows),
        notes=notes(rows),
        columns=columns,
        lines=lines,
        has_best=any(cell.is_best for line in lines for cell in line),
        sections=drawn,
        comparisons=list(zip(versus, drawn_of_comparisons, strict=True)),
        timeline=timeline if isinstance(timeline, str | None) else timeline.to_html(title),
        plotly_js=_plotly_js(),
    )
    return page


def _sorted_out(results: Results) -> tuple[list[BenchmarkResult], list[ComparisonResult]]:
    """What was measured, and what was compared."""
    is_one = isinstance(results, BenchmarkResult | ComparisonResult | str | bytes)
    listed: list[Any] = list(results) if isinstance(results, Iterable) and not is_one else [results]
    for one in listed:
        if not isinstance(one, BenchmarkResult | ComparisonResult):
            raise TypeError(
                f"a report is of BenchmarkResults and ComparisonResults, got a {type(one).__name__}; "
                "BenchmarkResult.load reads one from a file"
            )
    if not listed:
        raise ValueError("a report needs a result, got none")
    return (
        [one for one in listed if isinstance(one, BenchmarkResult)],
        [one for one in listed if isinstance(one, ComparisonResult)],
    )


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


def _drawn(
    rows: Sequence[Row], compared: Sequence[ComparisonResult], versus: Sequence[Versus]
) -> tuple[list[_Drawn], list[list[_Drawn]]]:
    """The figures of the results, and those of each comparison."""
    try:
        import plotly  # type: ignore[import-untyped] # noqa: F401 # it comes without types, and is heavy
    except ModuleNotFoundError as missing:
        raise ImportError(
            'a report needs plotly; install it with: pip install "ml-pipes[benchmark]"', name="plotly"
        ) from missing
    from ml_pipes.benchmark.report.comparison_figures import comparison_sections
    from ml_pipes.benchmark.report.figures import result_sections

    return (
        _with_json(result_sections(rows)),
        [
            _with_json(comparison_sections(comparison, each.key))
            for comparison, each in zip(compared, versus, strict=True)
        ],
    )


def _with_json(sections: Sequence[Section]) -> list[_Drawn]:
    return [(section, _json(section.figure)) for section in sections]


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
