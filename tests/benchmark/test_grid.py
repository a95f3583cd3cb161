"""What a sweep is going to measure, shown before."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from ml_pipes.benchmark.grid import Cell, grid_text, plan_text


def _cells(axes: Mapping[str, Sequence[object]], *filtered: tuple[int, ...]) -> list[Cell]:
    places = itertools.product(*(range(len(values)) for values in axes.values()))
    return [Cell(f"label {at}", at, at not in filtered) for at in places]


def test_two_axes_are_a_grid() -> None:
    axes = {"size": [320, 1280], "batch": [1, 16]}

    assert plan_text(_cells(axes, (1, 1)), axes).splitlines() == [
        "plan: 4 combinations (3 active, 1 filtered)",
        r"size \ batch  1  16",
        "320           x   x",
        "1280          x   -",
    ]


def test_three_axes_are_a_grid_for_each_value_of_the_first() -> None:
    axes = {"n": [1, 2], "size": [320], "batch": [1, 4]}

    assert plan_text(_cells(axes, (1, 0, 0)), axes).splitlines() == [
        "plan: 4 combinations (3 active, 1 filtered)",
        "n: 1",
        r"size \ batch  1  4",
        "320           x  x",
        "",
        "n: 2",
        r"size \ batch  1  4",
        "320           -  x",
    ]


def test_one_axis_or_none_is_a_list_of_what_is_active() -> None:
    axes = {"size": [320, 640, 1280]}

    assert plan_text(_cells(axes, (1,)), axes).splitlines() == [
        "plan: 2 config(s) (1 filtered)",
        "  label (0,)",
        "  label (2,)",
    ]
    assert plan_text([Cell("input", (), is_active=True)], {}) == "plan: 1 config(s)\n  input"
    assert plan_text([Cell("input", (), is_active=False)], {}) == "plan: 0 config(s) (1 filtered)"


def test_a_long_list_is_cut() -> None:
    axes = {"size": range(100)}

    assert grid_text(_cells(axes), axes).splitlines()[-1] == "  and 70 more"
