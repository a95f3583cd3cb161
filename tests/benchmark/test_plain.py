"""Any value can be saved."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from enum import Enum
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pytest

from ml_pipes.benchmark.plain import plain, text


class _Mode(Enum):
    FAST = "fast"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (2.5, 2.5),
        (float("nan"), None),
        (float("inf"), None),
        ("a", "a"),
        (PurePosixPath("a/b"), "a/b"),
        ((640, 480), [640, 480]),
        ({2, 1}, [1, 2]),
        ({1: PurePosixPath("a")}, {"1": "a"}),
        (np.float32(0.5), 0.5),
        (np.float64("nan"), None),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.array([[1, 2]]), [[1, 2]]),
        (_Mode.FAST, "fast"),
        (abs, "abs"),
        (datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        ([{"a": (PurePosixPath("b"),)}], [{"a": ["b"]}]),
    ],
)
def test_a_value_becomes_one_that_json_holds(value: Any, expected: Any) -> None:
    made = plain(value)

    assert made == expected
    assert json.loads(json.dumps(made, allow_nan=False)) == expected


def test_a_function_and_a_mode_are_shown_by_name() -> None:
    assert (text(abs), text(_Mode.FAST), text(PurePosixPath("a/b")), text(0.5)) == (
        "abs",
        "FAST",
        "a/b",
        "0.5",
    )
