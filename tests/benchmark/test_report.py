"""Results as a page: what is on it, what is not, and that nothing in a label gets out of its place."""

from __future__ import annotations

import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ml_pipes.benchmark import BenchmarkResult, ClosedLoop, InvocationStat, OpenLoop, RegionStat, Samples
from ml_pipes.benchmark.report import report_page, save_report
from ml_pipes.benchmark.verdict import Verdict

EVIL = "<img src=x onerror=alert(1)></script><script>alert(2)</script>%{x}&lt;b\u2028"
ALL_SECTIONS = ["throughput", "percentiles", "time", "steps", "sizes", "waits", "busy"]


class Page(HTMLParser):
    """The page's tags, its visible text, and its figures."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.scripts: list[str] = []
        self._inside = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] += data
        elif self._inside != "style":
            self.text += data

    @property
    def sections(self) -> list[str]:
        return [str(attrs["id"]) for tag, attrs in self.tags if tag == "section"]

    @property
    def figures(self) -> list[Any]:
        return [json.loads(script) for script in self.scripts if script.startswith("{")]

    def rows(self) -> int:
        return sum(tag == "tr" for tag, _ in self.tags)


def stat(label: str, *times_ms: float, children: Any = ()) -> InvocationStat:
    return InvocationStat.from_seconds(label, np.array(times_ms) / 1e3, (0.5, 0.95, 0.99), children)


def samples(*latencies_s: float, failed: int = 0, **more: Any) -> Samples:
    """Calls one after another; the last ``failed`` of them failed."""
    ends = np.cumsum(latencies_s)
    starts = ends - np.array(latencies_s)
    bad = np.arange(len(ends)) >= len(ends) - failed
    return Samples(starts, starts, ends, bad, since_s=0.0, until_s=float(ends[-1]), **more)


def result(label: str = "a", callers: int = 1, **more: Any) -> BenchmarkResult:
    body = [stat("3:Infer", 2.0, 4.0)]
    steps = [stat("0:Decode", 1.0, 3.0), stat("1:Batch[wait]", 0.5), stat("1:Batch", 3.0, 5.0, children=body)]
    given = samples(0.010, 0.020, 0.030, load=ClosedLoop(callers))
    parts: dict[str, Any] = {
        "workload": ClosedLoop(callers),
        "samples": given,
        "hardware": {
            "process_cpus": 1.0,
            "foreign_cpus": 0.1,
            "cpu_s_per_item": 0.025,
            "models": {"busy_share": 0.75, "mean_concurrency": 1.5},
            "gpus": [{"name": "H", "busy_share": 0.5}],
        },
        "environment": {"date": "2026-11-30T12:00:00+00:00", "cpu": {"model": "EPYC", "cores": 2}},
        "regions": [RegionStat("1:Batch", {1: 3, 4: 1}, stat("wait", 0.5, 1.5))],
        "verdict": Verdict(valid=True),
        "warmup": 5,
    }
    total = InvocationStat.from_seconds("total", given.latency_s, (0.5, 0.95, 0.99))
    return BenchmarkResult(label, {}, total, steps, **{**parts, **more})


def bare(label: str = "old") -> BenchmarkResult:
    return BenchmarkResult.from_dict(
        {
            "label": label,
            "metadata": {},
            "total": stat("total", 10.0, 20.0).to_dict(),
            "operators": [],
        }
    )


def test_a_page_of_full_results_has_all_parts() -> None:
    page = Page(report_page([result("a", 1), result("a", 2)], "My benchmark"))

    assert page.sections == ["results", *ALL_SECTIONS]
    assert len(page.figures) == 7
    assert "My benchmark" in page.text
    assert page.rows() == 3


def test_a_result_of_an_old_file_has_a_table_and_nothing_else() -> None:
    page = Page(report_page(bare()))

    assert page.sections == ["results"]
    assert page.figures == []
    assert "15.0 ± 7.1" in page.text
    assert "NOT JUDGED" in page.text


def test_a_single_result_has_no_curve_and_no_best() -> None:
    page = Page(report_page(result()))

    assert page.sections == ["results", *ALL_SECTIONS[1:]]
    assert not any("best" in (attrs.get("class") or "") for _, attrs in page.tags)


def test_sixty_results_fit_on_a_page() -> None:
    page = Page(report_page([result(f"size:{number}", callers=1 + number % 4) for number in range(60)]))

    assert page.rows() == 61
    (steps,) = [figure for figure in page.figures if figure["layout"].get("barmode") == "overlay"][:1]
    assert len(steps["layout"]["yaxis"]["ticktext"]) == 60


def test_the_head_says_what_was_measured_and_on_what() -> None:
    page = Page(report_page(result()))

    for words in ("EPYC, 2 cores", "one caller in a loop", "5 calls, in no figure", "2026-11-30 12:00 UTC"):
        assert words in page.text


def test_environments_that_differ_are_told_apart() -> None:
    other = result("b", environment={"cpu": {"model": "Xeon", "cores": 8}})

    page = Page(report_page([result("a"), other]))

    assert "DIFFERS: EPYC, 2 cores (results 1); Xeon, 8 cores (results 2)" in page.text


def test_a_valid_result_is_called_valid() -> None:
    assert "VALID no rule was broken" in Page(report_page(result())).text


def test_an_invalid_result_says_why_and_is_never_the_best() -> None:
    bad = result(
        "bad", verdict=Verdict(False, ("p99 is 9 ms, and must be at most 5 ms",)), samples=samples(1e-6)
    )

    page = Page(report_page([result("good", 1), result("other", 2, samples=samples(0.5)), bad]))

    assert "INVALID of 1 of 3 results the figures must not be trusted" in page.text
    assert "3 · bad: p99 is 9 ms, and must be at most 5 ms" in page.text
    lines = report_page([result("good", 1), result("other", 2, samples=samples(0.5)), bad]).split("<tr>")
    assert "best" in lines[2]
    assert 'best"' not in lines[4].partition("</table>")[0]


def test_a_measurement_that_found_fault_with_itself_is_invalid_without_a_verdict() -> None:
    doubted = result(verdict=None, samples=samples(0.01, invalid=("the generator was late",)))

    assert "the generator was late" in Page(report_page(doubted)).text


def test_a_combination_that_failed_is_in_the_table_and_its_error_in_the_head() -> None:
    nothing = InvocationStat.from_seconds("total", [], (0.5,))
    failed = BenchmarkResult("broken", {}, nothing, [], error="ValueError: no such model")

    page = Page(report_page([result(), failed]))

    assert "there are no figures: ValueError: no such model" in page.text
    assert page.rows() == 3


def test_errors_are_counted_by_type() -> None:
    failing = result("x", samples=samples(0.1, 0.1, 0.1, failed=2, errors={"OSError: gone": 2}))

    page = Page(report_page([result("fine"), failing]))

    assert "errors" in page.sections
    assert "2OSError: gone2" in page.text


def test_what_disturbed_and_what_cannot_be_told_is_noted() -> None:
    loud = result(hardware={"foreign_cpus": 1.5})

    text = Page(report_page(loud)).text

    assert "other programs kept up to 1.5 CPUs busy meanwhile" in text
    assert "cannot see what a stall does" in text


def test_nothing_that_a_label_holds_becomes_a_tag_or_ends_a_script() -> None:
    wait = stat("wait", 1.0, 2.0)
    evil = result(
        EVIL,
        2,
        samples=samples(0.1, 0.2, failed=1, errors={EVIL: 1}, invalid=(EVIL,)),
        environment={"date": EVIL, "cpu": {"model": EVIL}, EVIL: EVIL},
        verdict=Verdict(False, (EVIL,)),
        regions=[RegionStat(EVIL, {2: 1}, wait)],
    )
    evil.operators = [stat(EVIL, 1.0, children=[stat(EVIL, 0.5)])]
    more = result(EVIL, 4, regions=[RegionStat(EVIL + "2", {2: 1}, wait)])
    innocent = [result("a", 2), result("b", 4)]

    page = Page(report_page([evil, more], EVIL, timeline=EVIL))

    usual = Page(report_page(innocent))
    assert {tag for tag, _ in page.tags} - {tag for tag, _ in usual.tags} <= {
        "iframe",
        "ul",
        "li",
        "details",
        "summary",
        "strong",
    }
    assert sum(tag == "script" for tag, _ in page.tags) == len(page.figures) + 2
    assert not any("onerror" in attrs for _, attrs in page.tags)
    assert EVIL.partition("\u2028")[0] in page.text


def test_plotly_is_given_labels_that_it_shows_as_they_are() -> None:
    evil = [result(f"<b>bold</b> {number}", number) for number in (1, 2)]
    for one in evil:
        one.operators = [stat("0:<i>step</i>", 1.0)]

    page = Page(report_page(evil))

    texts = list(strings(page.figures))
    assert any("&lt;b&gt;bold" in text for text in texts)
    assert any("&lt;i&gt;step" in text for text in texts)
    assert not [text for text in texts if re.search(r"<(?!br>|extra>|/extra>)", text)]


def strings(value: Any) -> Any:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from strings(part)


def test_a_page_loads_nothing() -> None:
    text = report_page([result("a", 1), result("b", 2)], timeline="<p>timeline</p>")

    page = Page(text)
    loading = ("src", "href", "srcset", "data", "action", "poster", "background", "ping")
    addresses = [attrs[name] for _, attrs in page.tags for name in loading if name in attrs]
    assert all(str(address).startswith("#") for address in addresses)
    assert not {"link", "object", "embed", "base"} & {tag for tag, _ in page.tags}
    ours = text.replace(max(page.scripts, key=len), "")
    assert "http" not in ours.replace("http-equiv", "")
    assert "url(" not in ours
    assert "@import" not in ours
    policy = next(attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none';")


def test_plotlys_button_that_sends_figures_away_is_taken_out() -> None:
    page = Page(report_page(result()))

    assert 'showSendToCloud: false, plotlyServerURL: ""' in page.scripts[-1]


def test_plotly_is_in_the_page_once() -> None:
    page = Page(report_page([result("a", 1), result("b", 2)]))

    assert sum(len(script) > 1_000_000 for script in page.scripts) == 1


def test_a_timeline_is_shown_in_a_frame_that_can_reach_nothing() -> None:
    class Timeline:
        def to_html(self, title: str) -> str:
            return f'<!DOCTYPE html><p class="x">{title}</p>'

    page = Page(report_page(result(), "T & L", timeline=Timeline()))

    (frame,) = [attrs for tag, attrs in page.tags if tag == "iframe"]
    assert page.sections[-1] == "timeline"
    assert frame["srcdoc"] == '<!DOCTYPE html><p class="x">T & L</p>'
    assert frame["sandbox"] == "allow-scripts"


def test_numbers_that_are_none_leave_gaps_and_no_nan_in_the_page() -> None:
    nan, inf = math.nan, math.inf
    odd = result(
        "odd",
        2,
        samples=samples(0.1, nan, 0.3),
        hardware={"process_cpus": nan, "cpu_s_per_item": inf, "models": {"busy_share": nan}},
    )
    odd.total = InvocationStat("total", 3, nan, inf, nan, inf, {0.5: nan, 0.99: inf})
    odd.operators = [InvocationStat("0:x", 1, nan, nan, nan, nan, {0.5: nan}), stat("1:y", 1.0)]
    odd.regions = [RegionStat("1:y", {}, stat("wait"))]

    page = Page(report_page([odd, result("b", 1)]))

    assert not [script for script in page.scripts[:-2] if "NaN" in script or "Infinity" in script]
    assert "nan" not in page.text.lower().replace("\u00a0", "")


def test_a_report_is_written_whole_into_folders_that_are_made(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "report.html"

    path = save_report(result(), target, title="T")

    assert path == target
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert list(target.parent.iterdir()) == [target]


@pytest.mark.parametrize("wrong", ["results.json", 5, [1], {"label": "x"}])
def test_what_is_no_result_is_refused_with_the_way_out(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"BenchmarkResult\.load reads one from a file"):
        report_page(wrong)


def test_no_result_makes_no_report() -> None:
    with pytest.raises(ValueError, match="a report needs a result, got none"):
        report_page([])


@pytest.mark.parametrize("package", ["jinja2", "plotly"])
def test_a_missing_package_is_named_with_the_way_out(package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, package, None)

    with pytest.raises(
        ImportError, match=rf'needs {package}; install it with: pip install "ml-pipes\[benchmark\]"'
    ):
        report_page(result())


def test_open_loops_and_closed_ones_are_lines_of_their_own() -> None:
    runs = [result("p", 1), result("p", 4)]
    runs += [result("p", workload=OpenLoop(rate), samples=samples(1 / rate)) for rate in (20.0, 10.0)]

    figure = Page(report_page(runs)).figures[0]

    named = {trace["name"]: trace["text"] for trace in figure["data"] if trace.get("showlegend")}
    assert named == {"p, closed loop": ["1", "4"], "p, open loop": ["10", "20"]}
