"""The figures of a report show the results' own numbers, and no peak is lost where points are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ml_pipes.benchmark import BenchmarkResult, ClosedLoop, InvocationStat, OpenLoop, RegionStat, Samples
from ml_pipes.benchmark.report.batches import size_section, wait_section
from ml_pipes.benchmark.report.busy import busy_section
from ml_pipes.benchmark.report.canvas import colors, shown, size_axis
from ml_pipes.benchmark.report.cells import table_of
from ml_pipes.benchmark.report.curves import percentile_section, throughput_section
from ml_pipes.benchmark.report.groups import groups_of
from ml_pipes.benchmark.report.rows import Row, rows_of
from ml_pipes.benchmark.report.steps import step_section
from ml_pipes.benchmark.report.thinning import percentile_points, thinned
from ml_pipes.benchmark.report.times import time_section
from ml_pipes.benchmark.report.words import (
    NOTHING,
    decimals_for,
    number,
    numbered,
    shortened,
    span,
    with_unit,
)


def stat(label: str, *times_ms: float, children: Any = ()) -> InvocationStat:
    return InvocationStat.from_seconds(label, np.array(times_ms) / 1e3, (0.5, 0.95, 0.99), children)


def calls(latency_ms: Any, **more: Any) -> Samples:
    ends_s = np.cumsum(np.asarray(latency_ms, dtype=float)) / 1e3
    starts_s = ends_s - np.asarray(latency_ms, dtype=float) / 1e3
    failed = more.pop("failed", np.zeros(len(ends_s), dtype=bool))
    return Samples(starts_s, starts_s, ends_s, failed, since_s=0.0, until_s=float(ends_s[-1]) + 1e-9, **more)


def result(label: str, latency_ms: Any = (10.0, 20.0), callers: int = 1, **more: Any) -> BenchmarkResult:
    samples = calls(latency_ms)
    parts = {"workload": ClosedLoop(callers), "samples": samples, "operators": [], "metadata": {}, **more}
    total = InvocationStat.from_seconds("total", samples.latency_s, (0.5, 0.95, 0.99))
    return BenchmarkResult(label, parts.pop("metadata"), total, parts.pop("operators"), **parts)


def one(*results: BenchmarkResult) -> list[Row]:
    return rows_of(results)


# --- percentiles


def test_a_percentile_point_stands_where_one_call_in_so_many_took_as_long() -> None:
    x, y = percentile_points([40.0, 10.0, 30.0, 20.0])

    assert x.tolist() == [1.0, 4 / 3, 2.0, 4.0]
    assert y.tolist() == [10.0, 20.0, 30.0, 40.0]


def test_of_no_calls_there_are_no_points_and_of_one_there_is_one() -> None:
    none, single = percentile_points([]), percentile_points([7.0])

    assert [part.tolist() for part in none] == [[], []]
    assert [part.tolist() for part in single] == [[1.0], [7.0]]


def test_many_percentile_points_are_thinned_evenly_on_the_axis_and_keep_the_rarest() -> None:
    values = np.arange(1.0, 1_000_001.0)

    x, y = percentile_points(values, 400)

    assert len(x) <= 400
    assert (x[0], y[0]) == (1.0, 1.0)
    assert (x[-1], y[-1]) == (1_000_000.0, 1_000_000.0)
    assert (x[-2], y[-2]) == (500_000.0, 999_999.0)
    assert np.diff(np.log(x)).max() < 0.8
    assert (np.diff(y) > 0).all()


def test_the_percentile_figure_is_of_the_calls_on_a_logarithmic_axis() -> None:
    section = percentile_section(one(result("a", [10.0, 20.0, 30.0, 40.0])))

    assert section is not None
    (trace,) = section.figure.data
    assert list(trace.x) == [1.0, 4 / 3, 2.0, 4.0]
    assert list(trace.y) == pytest.approx([10.0, 20.0, 30.0, 40.0])
    assert section.figure.layout.xaxis.type == "log"
    assert list(section.figure.layout.xaxis.ticktext) == ["0", "50", "75"]


# --- thinning


def test_few_values_are_all_kept() -> None:
    assert thinned([3.0, 1.0, 2.0], 3).tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(5))
def test_thinning_keeps_the_greatest_and_the_least_of_every_stretch(seed: int) -> None:
    values = np.random.default_rng(seed).exponential(1.0, 10_000)
    values[seed * 1000 + 7] = 99.0

    kept = thinned(values, 300)

    assert len(kept) <= 300
    assert (np.diff(kept) > 0).all()
    assert values[kept].max() == 99.0
    assert values[kept].min() == values.min()
    for start in range(0, 10_000, 100):
        stretch = values[start : start + 100]
        assert {start + stretch.argmax(), start + stretch.argmin()} <= set(kept.tolist())


def test_a_thinned_figure_of_time_says_so_and_keeps_the_slowest_call() -> None:
    latency_ms = np.full(20_000, 1.0)
    latency_ms[12_345] = 500.0

    section = time_section(one(result("a", latency_ms)))

    assert section is not None
    (trace,) = section.figure.data
    assert len(trace.y) <= 4_000
    assert max(trace.y) == pytest.approx(500.0)
    assert f"Drawn are {len(trace.y):,} of 20,000 calls" in section.reading


def test_a_figure_of_time_shows_each_call_when_it_was_due_and_failures_apart() -> None:
    mixed = result("a", samples=calls([10.0, 20.0, 30.0], failed=np.array([False, True, False])))

    section = time_section(one(mixed))

    assert section is not None
    good, bad = section.figure.data
    assert (list(good.x), list(good.y)) == ([0.0, 0.03], pytest.approx([10.0, 30.0]))
    assert (list(bad.x), list(bad.y)) == ([0.01], pytest.approx([20.0]))
    assert "Red crosses failed." in section.reading
    assert "Drawn are" not in section.reading


# --- throughput


def test_a_curve_joins_results_that_differ_in_callers_from_few_to_many() -> None:
    four, single = result("batch:4|callers:4", [40.0], 4), result("batch:4|callers:1", [10.0], 1)

    section = throughput_section(one(four, single))

    assert section is not None
    p50, p99 = section.figure.data
    throughputs = [single.throughput_per_s, four.throughput_per_s]
    assert list(p50.x) == list(p99.x) == throughputs
    assert list(p99.y) == [single.total.percentiles[0.99], four.total.percentiles[0.99]]
    assert list(p50.y) == [single.total.percentiles[0.5], four.total.percentiles[0.5]]
    assert list(p99.text) == ["1", "4"]


def test_nothing_is_joined_where_no_results_differ_only_in_load() -> None:
    assert throughput_section(one(result("a", callers=1), result("b", callers=2))) is None


@pytest.mark.parametrize(
    ("labels", "groups"),
    [
        (("callers:2", "callers:4"), 1),
        (("2 callers", "4 callers"), 1),
        (("same", "same"), 1),
        (("batch:2|callers:2", "batch:2|callers:4"), 1),
        (("batch:2|callers:2", "batch:4|callers:4"), 2),
        (("batch:2", "batch:4"), 1),
        (("v2", "v4"), 2),
    ],
)
def test_labels_that_differ_by_the_loads_own_number_are_of_one_group(
    labels: tuple[str, str], groups: int
) -> None:
    rows = one(result(labels[0], callers=2), result(labels[1], callers=4))

    assert len(groups_of(rows)) == groups


def test_metadata_tells_groups_apart_unless_it_is_how_much_was_asked() -> None:
    rows = one(
        result("p", callers=1, metadata={"model": "s", "callers": 1}),
        result("p", callers=2, metadata={"model": "s", "callers": 2}),
        result("p", callers=2, metadata={"model": "l", "callers": 2}),
    )

    assert [[row.number for row in group.rows] for group in groups_of(rows)] == [[1, 2], [3]]


def test_loads_of_two_kinds_are_never_joined() -> None:
    rows = one(result("p"), result("p", workload=OpenLoop(10.0)))

    assert len(groups_of(rows)) == 2


# --- steps


def test_steps_stand_one_after_another_with_their_means_and_what_is_left() -> None:
    steps = [stat("0:a", 2.0), stat("1:b", 3.0)]

    section = step_section(one(result("r", [10.0, 10.0], operators=steps)))

    assert section is not None
    first, second, left = section.figure.data
    assert [(trace.base[0], trace.x[0]) for trace in (first, second)] == [(0.0, 2.0), (2.0, 3.0)]
    assert (left.base[0], left.x[0]) == (5.0, pytest.approx(5.0))
    assert left.name == "outside of the steps"
    assert "mean 2.00 ms, 20.0% of a call" in first.hovertext[0]
    assert "p50 2.00 ms<br>p99 2.00 ms<br>runs: 1" in first.hovertext[0]


def test_steps_of_a_region_stand_inside_it_and_never_stick_out() -> None:
    inside = [stat("2:x", 1.0), stat("3:y", 2.0)]
    wide = [stat("2:x", 6.0), stat("3:y", 2.0)]
    rows = one(
        result("fits", operators=[stat("0:a", 1.0), stat("1:Batch", 4.0, children=inside)]),
        result("not", operators=[stat("1:Batch", 4.0, children=wide)]),
    )

    section = step_section(rows)

    assert section is not None
    x, y = (next(trace for trace in section.figure.data if trace.name == name) for name in "xy")
    assert list(zip(x.y, x.base, x.x, strict=True)) == [(0, 1.0, 1.0), (1, 0.0, 3.0)]
    assert list(zip(y.y, y.base, y.x, strict=True)) == [(0, 2.0, 2.0), (1, 3.0, 1.0)]
    assert "mean 6.00 ms" in x.hovertext[1]


def test_the_same_step_has_one_colour_whatever_its_number_is() -> None:
    rows = one(
        result("a", operators=[stat("0:Infer", 5.0), stat("1:Infer", 1.0)]),
        result("b", operators=[stat("0:Batch", 6.0, children=[stat("1:Infer", 5.0)])]),
    )

    section = step_section(rows)

    assert section is not None
    infers = {trace.marker.color for trace in section.figure.data if trace.name == "Infer"}
    assert len(infers) == 1
    assert {trace.name for trace in section.figure.data} >= {"Infer", "Infer (2)", "Batch"}


# --- batches and hardware


def test_batch_sizes_are_shares_of_the_batches() -> None:
    region = RegionStat("1:Batch", {1: 1, 4: 3}, stat("wait", 1.0, 3.0))

    sizes, waits = (of(one(result("a", regions=[region]))) for of in (size_section, wait_section))

    assert sizes is not None
    assert waits is not None
    (histogram,) = sizes.figure.data
    assert (list(histogram.x), list(histogram.y)) == ([1, 4], [25.0, 75.0])
    assert waits.figure.data[0].x[0] == pytest.approx(2.0)
    assert [trace.name for trace in waits.figure.data] == ["mean", "p50", "p95", "p99"]
    assert waits.figure.data[3].x[0] == pytest.approx(region.wait.percentiles[0.99])


def test_what_was_busy_is_per_cent_of_the_cpus_that_may_be_used() -> None:
    busy = result(
        "a",
        hardware={"process_cpus": 1.0, "models": {"busy_share": 0.25, "mean_concurrency": 1.5}},
        environment={"cpu": {"cores": 64, "affinity": [0, 1]}},
    )

    section = busy_section(one(busy))

    assert section is not None
    shown_values = {trace.name: trace.x[0] for trace in section.figure.data}
    assert shown_values == {
        "a model ran": 25.0,
        "CPU, this process": 50.0,
        "models running at a time, mean": 1.5,
    }


def test_cpus_are_counted_where_it_is_not_known_how_many_there_are() -> None:
    section = busy_section(one(result("a", hardware={"process_cpus": 1.5, "gpus": []})))

    assert section is not None
    assert {trace.name: trace.x[0] for trace in section.figure.data} == {"CPUs busy, this process": 1.5}


def test_results_of_the_same_label_keep_places_of_their_own() -> None:
    twins = one(*(result("twin", operators=[stat("0:a", 1.0)]) for _ in range(2)))

    section = step_section(twins)

    assert section is not None
    assert list(section.figure.data[0].y) == [0, 1]
    assert list(section.figure.layout.yaxis.ticktext) == ["1 · twin", "2 · twin"]


def test_there_is_no_figure_without_data() -> None:
    nothing = one(BenchmarkResult("x", {}, stat("total"), []))
    made = (throughput_section, percentile_section, time_section, step_section)

    assert [of(nothing) for of in (*made, size_section, wait_section, busy_section)] == [None] * 7


# --- the table, and words


def test_the_table_has_the_results_numbers_and_marks_the_best() -> None:
    rows = one(result("slow", [20.0, 20.0], 2), result("fast", [10.0, 10.0], 1))

    columns, lines = table_of(rows)

    titles = [column.title for column in columns]
    assert titles == [
        "#",
        "result",
        "load",
        "throughput",
        "p50",
        "p95",
        "p99",
        "mean ± sd",
        "calls",
        "errors",
    ]
    assert [cell.text for cell in lines[1][3:5]] == ["100.0", "10.0"]
    assert [[cell.is_best for cell in line[3:8]] for line in lines] == [[False] * 5, [True] * 5]
    assert lines[0][4].value == pytest.approx(20.0)


def test_percentiles_that_were_not_reported_are_those_of_the_calls() -> None:
    asked = result("a", list(range(1, 102)))
    asked.total = InvocationStat("total", 101, 51.0, 1.0, 1.0, 101.0, {0.5: 50.0})

    (row,) = one(asked)

    assert (row.p50_ms, row.p95_ms, row.p99_ms) == pytest.approx((50.0, 96.0, 100.0))


def test_a_number_has_three_digits_and_a_dash_where_there_is_none() -> None:
    assert [with_unit(value, "ms") for value in (0.01234, 1.5, 12.34, 1234.5)] == [
        "0.0123 ms",
        "1.50 ms",
        "12.3 ms",
        "1,234 ms",
    ]
    assert number(None, 2) == number(float("nan"), 2) == NOTHING
    assert decimals_for([None, float("inf"), 0.0]) == 0


def test_words_are_short() -> None:
    assert shortened("a" * 10 + "b" * 10, 9) == "aaaa…bbbb"
    assert numbered([1, 2, 3]) == "1, 2, 3"
    assert numbered(list(range(1, 13))) == "1, 2, 3, 4, 5, 6, 7, 8 and 4 more"
    assert (span([5.0, 5.0], "calls"), span([0.5, 1.25], "CPUs")) == ("5 calls", "0.50 to 1.25 CPUs")


def test_plotlys_own_markup_is_shown_as_text() -> None:
    assert shown("<b>&lt;\n $x$") == "&lt;b&gt;&amp;lt; $x$"


def test_an_axis_is_logarithmic_only_where_sizes_differ_much() -> None:
    wide = size_axis([1.0, 100.0, float("nan")])

    assert size_axis([1.0, 10.0]) == {"rangemode": "tozero"}
    assert wide["ticktext"] == ["1", "2", "5", "10", "20", "50", "100"]


def test_there_are_as_many_colours_as_asked_for() -> None:
    assert [len(set(colors(count))) for count in (1, 8, 60)] == [1, 8, 60]
