"""The soak, bounded to seconds: every call ends as its id says, and nothing is left behind."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from tests.threads import soak as soaking
from tests.threads.lines import Line
from tests.threads.soak import soak
from tests.threads.steps import Add
from tests.threads.trees import Seq, Tree

from ml_pipes.core import Pipeline

CALLS = 10_000
MOST_BYTES_MORE = 16 << 20


@pytest.fixture
def _threads_take_turns_often() -> Iterator[None]:
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.stress
@pytest.mark.timeout(180)
@pytest.mark.usefixtures("_threads_take_turns_often")
def test_10_000_calls_of_nested_regions_end_as_their_ids_say_while_pipelines_are_closed() -> None:
    report = soak(CALLS, threads=32, seed=1, close_share=0.002)

    assert report.fault_count == 0, report
    assert sum(report.outcomes.values()) == CALLS, report
    # Whether a call is told that its pipeline was closed under it is chance; that some were closed is not.
    assert min(report.outcomes[kind] for kind in ("value", "error", "dropped")) > 0, report
    assert report.closed > 0, report
    assert report.grew_by <= MOST_BYTES_MORE, report


class _Crossed(Tree):
    """Its pipeline gives the answer to another id."""

    def build(self) -> list[Pipeline[Any, Any]]:
        return [Pipeline([Add(2)])]


def test_the_soak_finds_answers_of_other_ids(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line("crossed", _Crossed(Seq((Add(1),))))
    monkeypatch.setattr(soaking, "LINES", (line,))

    report = soak(100, threads=2, close_share=0.0)

    assert report.fault_count == 100
    # The first ones are kept, whichever thread they are of.
    found = re.fullmatch(r"crossed: (\d+) gave \('value', (\d+)\), expected .*", report.faults[0])
    assert found is not None, report
    assert int(found[2]) == int(found[1]) + 2


def test_the_soak_finds_closed_pipelines_that_are_still_held(monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[list[Pipeline[Any, Any]]] = []

    class Holding(Tree):
        def build(self) -> list[Pipeline[Any, Any]]:
            held.append(super().build())
            return held[-1]

    monkeypatch.setattr(soaking, "LINES", (Line("held", Holding(Seq((Add(1),)))),))

    report = soak(200, threads=1, close_share=0.1)

    assert report.fault_count == 1
    assert report.faults[0].startswith("held: ")
    assert report.faults[0].endswith("closed pipelines are still held")
