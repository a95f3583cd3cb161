"""How far a sweep is, on a terminal and elsewhere."""

from __future__ import annotations

import sys
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from ml_pipes.benchmark.progress import BarProgress, LineProgress, SweepProgress, progress_for
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.stat import InvocationStat


def _result(error: str | None = None) -> BenchmarkResult:
    return BenchmarkResult(
        "[a]|model:b", {}, InvocationStat.from_seconds("total", [1.0], ()), [], error=error
    )


def test_nothing_is_shown_unless_wanted_and_lines_where_there_is_no_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert type(progress_for(3, verbose=False)) is SweepProgress
    assert type(progress_for(3, verbose=True)) is LineProgress

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert type(progress_for(3, verbose=True)) is BarProgress


def test_without_rich_there_are_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setitem(sys.modules, "rich.progress", None)

    assert type(progress_for(3, verbose=True)) is LineProgress


def test_the_bar_shows_failures_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    with BarProgress(2) as bar:
        bar.begin("[a]|model:b")
        bar.tell(5, 10, 1.0)
        bar.tell(5, None, 1.0)
        bar.end(_result("ValueError: [bad]"), is_new=True)
        bar.end(_result(), is_new=False)

    assert bar.ended == 2
    assert "[a]|model:b: ValueError: [bad]" in capsys.readouterr().err


@pytest.mark.stress
def test_a_bar_that_several_threads_move_ends(start: Callable[..., Future[Any]]) -> None:
    for _ in range(50):
        with BarProgress(8) as bar:
            for future in [start(bar.tell, at, 8, 0.0) for at in range(8)]:
                future.result(10)
            bar.end(_result(), is_new=True)

    assert bar.ended == 1
