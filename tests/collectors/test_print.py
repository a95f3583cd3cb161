"""The collector that prints each trace."""

from __future__ import annotations

import re

import pytest

from ml_pipes.collectors import PrintCollector
from ml_pipes.core import Pipeline
from ml_pipes.standard import CollectItems, PerItem
from ml_pipes.tracing import InvocationTrace, StepSpan


def test_a_line_per_step_with_milliseconds_and_share_then_the_total(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = InvocationTrace([StepSpan("0:a", 0.0, 0.001), StepSpan("1:b", 0.0, 0.003, error=True)], 0.004)

    PrintCollector().print_trace(trace)

    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines == ["0:a 1.000 ms 25.0%", "1:b (error) 3.000 ms 75.0%", "total 4.000 ms"]


def test_the_steps_of_a_region_stand_indented_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = Pipeline[list[int], list[int]]([PerItem(), abs, CollectItems()])
    pipeline.set_tracing(PrintCollector())

    pipeline([1, -2])

    assert re.match(r"0:PerItem .*\n  1:abs .*\ntotal ", capsys.readouterr().out)


def test_before_the_first_trace_it_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    PrintCollector().print_trace()

    assert capsys.readouterr().out == "no trace yet\n"
