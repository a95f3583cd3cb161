"""Results as text."""

from __future__ import annotations

import pytest

from ml_pipes.benchmark.stat import InvocationStat
from ml_pipes.benchmark.tables import comparison_table, diff_table, percentile_name, stat_table


def _stat(label: str, *times_s: float, children: tuple[InvocationStat, ...] = ()) -> InvocationStat:
    return InvocationStat.from_seconds(label, times_s, (0.5, 0.999), children)


_TOTAL = _stat("total", 0.010, 0.012)
_OPERATORS = [_stat("0:Decode", 0.004), _stat("1:Scatter", 0.006, children=(_stat("0:Infer", 0.0025),))]


@pytest.mark.parametrize(
    ("p", "name"),
    [(0.5, "p50"), (0.95, "p95"), (0.999, "p99.9"), (0.9999999, "p99.99999"), (1.0, "p100"), (0, "p0")],
)
def test_a_percentile_is_named_with_each_digit_that_was_given(p: float, name: str) -> None:
    assert percentile_name(p) == name


def test_the_table_has_a_line_for_the_whole_and_one_per_step() -> None:
    table = stat_table(_TOTAL, _OPERATORS, expand_regions=True)

    assert table.splitlines() == [
        "operator       mean       p50     p99.9    stddev       min       max",
        "---------------------------------------------------------------------",
        "total         11.00     11.00     12.00      1.41     10.00     12.00",
        "0:Decode       4.00      4.00      4.00      0.00      4.00      4.00",
        "1:Scatter      6.00      6.00      6.00      0.00      6.00      6.00",
        "  0:Infer      2.50      2.50      2.50      0.00      2.50      2.50",
        "---------------------------------------------------------------------",
        "runs: 2  (all values in ms)",
    ]


def test_collapsed_regions_are_marked_and_explained() -> None:
    table = stat_table(_TOTAL, _OPERATORS, expand_regions=False)

    assert "0:Infer" not in table
    assert "\n1:Scatter* " in table
    assert table.splitlines()[-1] == "* Child spans are collapsed"


def test_without_regions_nothing_is_said_of_them() -> None:
    table = stat_table(_TOTAL, _OPERATORS[:1], expand_regions=False)

    assert "*" not in table


def test_a_step_that_did_not_run_has_dashes() -> None:
    table = stat_table(_stat("total"), [], expand_regions=True)

    assert table.splitlines()[2].split() == ["total", *"------"]
    assert table.splitlines()[-1] == "runs: 0  (all values in ms)"


def test_the_comparison_has_a_line_per_result_and_a_column_of_means_each() -> None:
    table = comparison_table(
        [("size:640", _TOTAL, _OPERATORS), ("size:320", _stat("total", 0.005), [_stat("0:Decode", 0.003)])],
        expand_regions=True,
    )

    assert table.splitlines() == [
        "result            mean       p50     p99.9    stddev       min       max      runs",
        "----------------------------------------------------------------------------------",
        "[1] size:640     11.00     11.00     12.00      1.41     10.00     12.00         2",
        "[2] size:320      5.00      5.00      5.00      0.00      5.00      5.00         1",
        "",
        "operator        [1]       [2]",
        "-----------------------------",
        "0:Decode       4.00      3.00",
        "1:Scatter      6.00         -",
        "  0:Infer      2.50         -",
        "",
        "(all values in ms)",
    ]


def test_a_comparison_marks_collapsed_regions_too() -> None:
    table = comparison_table([("a", _TOTAL, _OPERATORS)], expand_regions=False)

    assert "1:Scatter*" in table
    assert "0:Infer" not in table
    assert table.splitlines()[-1] == "* Child spans are collapsed"


def test_nothing_can_be_compared_too() -> None:
    assert comparison_table([], expand_regions=True) == "no results"


def test_differences_stand_beside_the_means() -> None:
    table = diff_table(
        ("before", "after"),
        (_stat("total", 0.010), _stat("total", 0.008)),
        ([_stat("0:Decode", 0.004)], [_stat("0:Decode", 0.003), _stat("1:Resize", 0.001)]),
    )

    assert table.splitlines() == [
        "baseline:  before",
        "candidate: after",
        "",
        "operator  baseline candidate     delta   delta %      dp50    dp99.9",
        "--------------------------------------------------------------------",
        "total        10.00      8.00     -2.00    -20.0%     -2.00     -2.00",
        "0:Decode      4.00      3.00     -1.00    -25.0%     -1.00     -1.00",
        "1:Resize         -      1.00 only in candidate",
        "--------------------------------------------------------------------",
        "runs: 1 and 1  (all values in ms)",
    ]
