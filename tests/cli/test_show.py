"""Results for a reader, and as JSON."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pytest

from ml_pipes import SHORT_CIRCUIT
from ml_pipes._cli.plain import to_json
from ml_pipes._cli.show import to_text
from ml_pipes.tensor import TensorPayload, TensorRegistry


@dataclass
class Found:
    """A record of a user's."""

    name: str
    boxes: Any


class Pair(NamedTuple):
    """Another."""

    left: int
    right: int


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (None, "None"),
        ("some\ntext", "some\ntext"),
        (b"abc", "3 bytes"),
        (SHORT_CIRCUIT, "SHORT_CIRCUIT: a step dropped the input"),
        (np.arange(3), "array int64 3, 0 1 2"),
        (np.float32([[0.5]]), "array float32 1x1, 0.5"),
        (np.zeros((0, 4)), "array float64 0x4, empty"),
        (np.full(20, 2.0), "array float64 20, 2 to 2, mean 2"),
        (np.array([np.nan, *range(19)]), "array float64 20, 0 to 18, mean 9, 1 NaN"),
        (np.full(20, np.nan), "array float64 20, all NaN"),
        (np.full(20, True), "array bool 20, True to True, mean 1"),
        (np.full(20, "a"), "array <U1 20, 20 values"),
        (
            TensorPayload(np.zeros((1, 3, 4, 4)), "NCHW", "x"),
            "TensorPayload NCHW x: float64 1x3x4x4, 0 to 0, mean 0",
        ),
        ([], "list of 0"),
        ({}, "dict of 0"),
        ([1, "a"], "list of 2: 1, 'a'"),
        (iter([1, 2]), "items of 2: 1, 2"),
        ((1, None), "tuple of 2:\n  0: 1\n  1: None"),
        ([None] * 21, "\n".join(["list of 21:", *(f"  {at}: None" for at in range(20)), "  and 1 more"])),
        ({"a": {"b": 1}}, "dict of 1:\n  a: dict of 1:\n    b: 1"),
        (["a", ("x\ny", None)], "list of 2:\n  0: a\n  1: tuple of 2:\n    0: 'x\\ny'\n    1: None"),
        (Found("cat", np.arange(2)), "Found:\n  name: cat\n  boxes: array int64 2, 0 1"),
        (Pair(1, 2), "Pair:\n  left: 1\n  right: 2"),
        (TensorRegistry({}), "TensorRegistry, empty"),
    ],
)
def test_a_value_is_shown_in_a_few_lines(value: Any, text: str) -> None:
    assert to_text(value) == text


def test_a_registry_is_a_table_and_rows_that_belong_together_are_another() -> None:
    registry = TensorRegistry({
        "boxes": np.arange(16.0).reshape(4, 4),
        "scores": np.array([0.9, 0.8, 0.7, 0.6]),
        "heatmap": np.zeros((1, 20)),
    })  # fmt: skip

    assert to_text(registry).splitlines() == [
        "name     dtype    shape  values",
        "boxes    float64  4x4    0 to 15, mean 7.5",
        "scores   float64  4      0.9 0.8 0.7 0.6",
        "heatmap  float64  1x20   0 to 0, mean 0",
        "",
        "row        boxes  scores",
        "  0      0 1 2 3     0.9",
        "  1      4 5 6 7     0.8",
        "  2    8 9 10 11     0.7",
        "  3  12 13 14 15     0.6",
    ]


def test_only_the_first_rows_are_shown() -> None:
    registry = TensorRegistry({"a": np.arange(25), "b": np.arange(25)})

    lines = to_text(registry).splitlines()

    assert lines[-2:] == [" 19  19  19", "and 5 more"]


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (np.arange(4).reshape(2, 2), [[0, 1], [2, 3]]),
        (np.array([1.0, np.nan, np.inf]), [1.0, None, None]),
        (np.float32(0.5), 0.5),
        (float("nan"), None),
        (b"abc", {"bytes": 3}),
        (SHORT_CIRCUIT, {"short_circuit": True}),
        (Found("cat", (1, 2)), {"name": "cat", "boxes": [1, 2]}),
        ({3: iter("ab")}, {"3": ["a", "b"]}),
        (TensorRegistry({"a": np.arange(2)}), {"a": [0, 1]}),
        (range(2), "range(0, 2)"),
        (
            np.full((2, 6000), 3.0),
            {"dtype": "float64", "shape": [2, 6000], "min": 3.0, "max": 3.0, "mean": 3.0},
        ),
        (np.full(20_000, "a"), {"dtype": "<U1", "shape": [20_000]}),
    ],
)
def test_a_value_becomes_what_json_can_hold(value: Any, plain: Any) -> None:
    found = to_json(value)

    assert found == plain
    json.dumps(found, allow_nan=False)
