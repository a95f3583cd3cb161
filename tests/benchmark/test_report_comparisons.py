"""Comparisons on the page of a report: in words, in a table, and drawn."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from ml_pipes.benchmark import ClosedLoop, Samples
from ml_pipes.benchmark.comparison import ComparisonResult, Round
from ml_pipes.benchmark.report import report_page
from ml_pipes.benchmark.report.comparison_figures import comparison_sections
from ml_pipes.benchmark.report.comparisons import versus_of


def block(*latency_ms: float, **more: Any) -> Samples:
    ends_s = np.cumsum(latency_ms) / 1e3
    starts_s = ends_s - np.array(latency_ms) / 1e3
    until_s = float(ends_s[-1]) + 1e-9
    return Samples(starts_s, starts_s, ends_s, np.zeros(len(ends_s)), since_s=0.0, until_s=until_s, **more)


def compared(factor: float, rounds: int = 12, **more: Any) -> ComparisonResult:
    """B takes ``factor`` times as long as A."""
    random = np.random.default_rng(3)
    made = []
    for at in range(rounds):
        latency_ms = random.uniform(9.0, 11.0, 20)
        made.append(
            Round(block(*latency_ms), block(*latency_ms[::-1] * factor), candidate_first=bool(at % 2))
        )
    return ComparisonResult(**{"labels": ("old", "new"), "rounds": tuple(made), "seed": 7, **more})


def test_a_comparison_is_told_in_words() -> None:
    versus = versus_of(1, compared(0.5))

    assert versus.title == "new against old"
    assert (versus.finding.state, versus.finding.word) == ("valid", "FASTER")
    assert versus.finding.text.startswith("new against old: p50 -50.0 % (between -5")
    assert versus.finding.text.endswith("with 95% confidence)")
    assert dict(versus.facts)["rounds"] == "12, in random order (seed 7)"
    assert dict(versus.facts)["calls"] == "240 each side"


def test_what_is_slower_or_not_different_is_called_so() -> None:
    slower, same = versus_of(1, compared(2.0)).finding, versus_of(1, compared(1.0)).finding

    assert (slower.state, slower.word) == ("invalid", "SLOWER")
    assert (same.state, same.word) == ("open", "NO DIFFERENCE FOUND")
    assert "would have seen" in same.text


def test_a_comparison_that_must_not_be_trusted_says_why() -> None:
    bad = compared(0.5)
    rounds = (Round(block(10.0, invalid=("late: by 5 ms",)), block(10.0), candidate_first=False), *bad.rounds)

    finding = versus_of(1, ComparisonResult(labels=("old", "new"), rounds=rounds)).finding

    assert (finding.state, finding.word) == ("invalid", "INVALID")
    assert finding.reasons == (("new", ("old: late (1 of 13 blocks)",)),)


def test_a_comparison_without_a_round_tells_nothing_and_breaks_nothing() -> None:
    empty = ComparisonResult(labels=("a", "b"), rounds=())

    assert versus_of(1, empty).finding.word == "TOO LITTLE TO TELL"
    assert comparison_sections(empty, "c") == []
    assert "no round was measured" in report_page(empty)


def test_the_table_has_a_line_per_statistic() -> None:
    lines = versus_of(1, compared(0.5)).lines

    assert [line[0] for line in lines] == ["p50, ms", "p99, ms", "mean, ms", "throughput, per s"]
    assert lines[0][3] == "-50.0 %"
    assert lines[0][6] == "faster"


def test_the_figure_of_changes_has_the_ratios_and_their_ends() -> None:
    comparison = compared(0.5)

    changes = comparison_sections(comparison, "c")[0].figure

    ratio = comparison.figures[0].ratio
    (trace, *_) = changes.data
    assert trace.x[0] == pytest.approx((ratio.value - 1.0) * 100.0)
    assert trace.x[0] + trace.error_x.array[0] == pytest.approx((ratio.high - 1.0) * 100.0)
    assert trace.x[0] - trace.error_x.arrayminus[0] == pytest.approx((ratio.low - 1.0) * 100.0)
    assert list(changes.layout.yaxis.ticktext) == ["p50", "p99", "mean", "throughput"]


def test_an_interval_without_an_end_is_drawn_without_it() -> None:
    few = compared(0.5, rounds=2)

    changes = comparison_sections(few, "c")[0].figure

    assert math.isinf(few.figures[0].ratio.half_width)
    assert all(
        math.isfinite(number) for trace in changes.data for number in (trace.error_x.array[0], trace.x[0])
    )


def test_rounds_are_the_medians_of_the_blocks() -> None:
    rounds = (Round(block(10.0, 20.0, 30.0), block(5.0), candidate_first=False),) * 2

    sections = comparison_sections(ComparisonResult(labels=("a", "b"), rounds=rounds), "c")

    traces = next(section.figure.data for section in sections if section.key == "c-rounds")
    assert [trace.name for trace in traces] == ["a", "b"]
    assert [list(trace.y) for trace in traces] == [pytest.approx([20.0, 20.0]), pytest.approx([5.0, 5.0])]


def test_a_page_of_comparisons_has_their_parts_and_no_table_of_results() -> None:
    evil = "<img src=x onerror=alert(1)></script>"
    comparisons = [compared(0.5), compared(1.5, labels=("old", evil), environment={"cpu": {"model": "EPYC"}})]

    page = report_page(comparisons, "Two")

    for key in ("comparison-1", "comparison-2", "comparison-2-changes", "comparison-2-rounds"):
        assert f'<section id="{key}"' in page
    assert '<section id="results"' not in page
    assert "EPYC" in page
    assert "2 comparisons" in page
    assert "<img" not in page.replace(max(page.split("<script>"), key=len), "")
    assert "&lt;img src=x" in page


def test_results_and_comparisons_share_a_page() -> None:
    from ml_pipes.benchmark import BenchmarkResult, InvocationStat

    total = InvocationStat.from_seconds("total", [0.01], (0.5,))
    result = BenchmarkResult("r", {}, total, [], workload=ClosedLoop(1))

    page = report_page([result, compared(0.5)])

    assert '<section id="results"' in page
    assert '<section id="comparison-1"' in page
