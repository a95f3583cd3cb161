"""The grammar of conditions: what is read from them, and what is said to those that are none."""

from __future__ import annotations

import re

import pytest

from ml_pipes.benchmark.conditions import Condition, parse_condition


@pytest.mark.parametrize(
    ("text", "statistic", "limit"),
    [
        ("p99 not worse than 5%", "p99", 0.05),
        ("p99 not worse than 5 %", "p99", 0.05),
        ("  P99.9   Not  Worse\tThan  .5 % ", "p99.9", 0.005),
        ("throughput not worse than 3 %", "throughput", 0.03),
        ("mean not worse than 0%", "mean", 0.0),
        ("p50 not worse than 1e1 %", "p50", 0.1),
    ],
)
def test_a_relative_condition_is_read(text: str, statistic: str, limit: float) -> None:
    condition = parse_condition(text)

    assert condition == Condition(text, statistic, "not worse than", pytest.approx(limit), is_share=True)
    assert condition.is_relative


@pytest.mark.parametrize(
    ("text", "statistic", "relation", "limit", "is_share"),
    [
        ("p50 <= 12ms", "p50", "<=", 0.012, False),
        ("p50<12 ms", "p50", "<", 0.012, False),
        ("p95 <= 0.5 s", "p95", "<=", 0.5, False),
        ("mean <= 250us", "mean", "<=", 0.00025, False),
        ("mean <= 250 \N{MICRO SIGN}s", "mean", "<=", 0.00025, False),
        ("mean <= 250 \N{GREEK SMALL LETTER MU}s", "mean", "<=", 0.00025, False),
        ("p50 \N{LESS-THAN OR EQUAL TO} 12 ms", "p50", "<=", 0.012, False),
        ("throughput >= 100/s", "throughput", ">=", 100.0, False),
        ("throughput > 100 per s", "throughput", ">", 100.0, False),
        ("throughput \N{GREATER-THAN OR EQUAL TO} 1e3 /s", "throughput", ">=", 1000.0, False),
        ("errors <= 0", "errors", "<=", 0.0, False),
        ("errors < 0.1 %", "errors", "<", 0.001, True),
    ],
)
def test_an_absolute_condition_is_read(
    text: str, statistic: str, relation: str, limit: float, is_share: bool
) -> None:
    condition = parse_condition(text)

    assert (condition.statistic, condition.relation) == (statistic, relation)
    assert condition.limit == pytest.approx(limit)
    assert condition.is_share == is_share
    assert not condition.is_relative


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "not understood; write one such as"),
        ("fast", "not understood; write one such as"),
        ("p99", "not understood; write one such as"),
        ("p99 better than 5 %", "not understood; write one such as"),
        ("p99 == 5 ms", "not understood; write one such as"),
        ("p99 <= five ms", "not understood; write one such as"),
        ("p99 <= 1,5 ms", "the unit of p99 is"),
        ("p99 not worse than nan %", "not understood"),
        ("p99 not worse than 1e999 %", "1e999 is too large for a limit"),
        ("p99 <= 1e999 s", "1e999 is too large for a limit"),
        ("p99 not worse than 5 % please", "not understood"),
        ("p99 not worse than 5", 'in percent; write "p99 not worse than 5 %"'),
        ("p99 not worse than 5 ms", 'in percent; write "p99 not worse than 5 %"'),
        ("p99 not worse than -5 %", "the limit must be 0 % or more, got -5 %"),
        ("errors not worse than 5 %", 'write "errors <= 0"'),
        ("median <= 5 ms", 'a percentile such as "p50"'),
        ("p100 <= 5 ms", 'a percentile such as "p50"'),
        ("latency not worse than 5 %", "got 'latency'"),
        ("p99 <= 12", '"s", "ms" or "us", got none; write "p99 <= 12 ms"'),
        ("p99 <= 12 min", "got 'min'"),
        ("p99 <= 12 %", 'against a baseline it is "p99 not worse than 12 %"'),
        ("p99 >= 12 ms", 'p99 is better the lower it is; write "p99 <= 12 ms"'),
        ("p99 <= -12 ms", "the limit must be 0 or more, got -12"),
        ("throughput <= 100 /s", 'better the higher it is; write "throughput >= 100 /s"'),
        ("throughput >= 100", 'is "/s", got none; write "throughput >= 100 /s"'),
        ("errors >= 1", 'better the lower it is; write "errors <= 1"'),
        ("errors <= 1 ms", "or none for a number of calls, got 'ms'"),
    ],
)
def test_what_is_no_condition_is_refused_with_what_would_be_one(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        parse_condition(text)

    assert str(caught.value).startswith(f"condition {text!r}: ")


@pytest.mark.parametrize(
    ("text", "below", "at", "above"),
    [
        ("p50 <= 1 s", True, True, False),
        ("p50 < 1 s", True, False, False),
        ("throughput >= 1 /s", False, True, True),
        ("throughput > 1 /s", False, False, True),
    ],
)
def test_a_limit_is_kept_as_it_is_written(text: str, below: bool, at: bool, above: bool) -> None:
    condition = parse_condition(text)

    assert [condition.holds(value) for value in (0.5, 1.0, 1.5)] == [below, at, above]
    assert not condition.holds(float("nan"))
