"""Fast suppression keeps what the definition keeps, whatever is tied, wanted, tiny or huge, in any dtype."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.tensor.types import Array
from ml_pipes.vision._suppress import survivors


def _plainly(corners: Array, scores: Array, classes: Array, iou: float) -> list[int]:
    """The definition: the best that is left stays, and takes away what it overlaps in its class."""
    x1, y1, x2, y2 = corners
    areas = np.maximum(x2 - x1, 0) * np.maximum(y2 - y1, 0)
    order = np.array(sorted(range(len(scores)), key=lambda at: (-float(scores[at]), at)), np.int64)
    kept = []
    while order.size:
        best, others = order[0], order[1:]
        kept.append(int(best))
        width = np.minimum(x2[best], x2[others]) - np.maximum(x1[best], x1[others])
        height = np.minimum(y2[best], y2[others]) - np.maximum(y1[best], y1[others])
        inside = np.maximum(width, 0) * np.maximum(height, 0)
        union = areas[best] + areas[others] - inside
        too_much = (inside > 0) & (inside >= iou * union) & (classes[others] == classes[best])
        order = others[~too_much]
    return kept


def _heaps(rng: np.random.Generator, many: int, heaps: int, jitter: int) -> Array:
    """Whole numbers, so that overlaps are exact; heaps lie 60 apart."""
    heap = rng.integers(0, heaps, many)
    corners = np.stack([heap % 20, heap // 20]) * 60 + rng.integers(0, jitter + 1, (2, many))
    return np.concatenate([corners, corners + rng.integers(32, 41, (2, many))]).astype(np.float64)


@given(
    st.integers(0, 2**32 - 1),
    st.integers(2, 130),
    st.sampled_from([1, 2, 5]),
    st.sampled_from([1, 3, 40]),
    st.sampled_from([0.0, 0.25, 0.5, 1.0]),
)
def test_a_few_boxes_stay_as_the_definition_says(
    seed: int, many: int, kinds: int, heaps: int, iou: float
) -> None:
    rng = np.random.default_rng(seed)
    corners, classes = _heaps(rng, many, heaps, 8), rng.integers(0, kinds, many)
    scores = (rng.integers(1, 9, many) / 8).astype(np.float32)

    kept = survivors(corners, scores, classes, iou, many)

    assert kept.tolist() == _plainly(corners, scores, classes, iou)


@pytest.mark.parametrize("heaps", [1, 12, 250, 1500])
@pytest.mark.parametrize("most", [0, 1, 250, 251, 5000])
@pytest.mark.parametrize("kinds", [1, 3, 80])
def test_the_best_that_stay_are_the_same_however_many_are_wanted(heaps: int, most: int, kinds: int) -> None:
    rng = np.random.default_rng(heaps)
    corners, classes = _heaps(rng, 5000, heaps, 4), rng.integers(0, kinds, 5000)
    scores = rng.permutation(np.linspace(0, 1, 5000))

    kept = survivors(corners, scores, classes, 0.5, most)

    expected = _plainly(corners, scores, classes, 0.5)
    assert len(kept) >= min(most, len(expected))
    assert kept[:most].tolist() == expected[:most]


@pytest.mark.parametrize("steps", [1, 2, 7, 1000])
@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "int64", "uint8", "bool"])
def test_tied_scores_of_any_dtype_rank_by_index(steps: int, dtype: str) -> None:
    rng = np.random.default_rng(7)
    corners, classes = _heaps(rng, 4500, 200, 4), np.zeros(4500, np.int64)
    scores = rng.integers(0, steps, 4500)
    scores = (scores / steps).astype(dtype) if dtype.startswith("float") else scores.astype(dtype)

    kept = survivors(corners, scores, classes, 0.5, 20)

    assert kept[:20].tolist() == _plainly(corners, scores, classes, 0.5)[:20]


@pytest.mark.parametrize(
    ("dtype", "classes"),
    [
        ("int64", [-(2**63), 0, 2**63 - 1]),
        ("int8", [-128, 0, 127]),
        ("uint16", [0, 300, 65535]),
        ("uint64", [0, 65536, 2**64 - 1]),
        ("float32", [-1.5, 0.0, 2.5]),
    ],
)
def test_classes_are_told_apart_at_both_ends_of_their_dtype(dtype: str, classes: list[float]) -> None:
    rng = np.random.default_rng(8)
    corners, scores = _heaps(rng, 3000, 60, 4), rng.random(3000)
    of = rng.integers(0, 3, 3000)

    kept = survivors(corners, scores, np.array(classes, dtype)[of], 0.5, 3000)

    assert kept.tolist() == _plainly(corners, scores, of, 0.5)


def test_scores_of_both_zeros_are_tied() -> None:
    corners, classes = np.tile([[0.0], [0.0], [9.0], [9.0]], 3000), np.zeros(3000, np.int64)
    scores = np.where(np.arange(3000) % 2 == 0, -0.0, 0.0)

    kept = survivors(corners, scores, classes, 0.5, 10)

    assert kept.tolist() == [0]


def test_without_boxes_there_is_nothing_to_keep() -> None:
    kept = survivors(np.zeros((4, 0)), np.zeros(0), np.zeros(0), 0.5, 10)

    assert kept.shape == (0,)


@pytest.mark.parametrize("most", [300, 301, 12000])
@pytest.mark.parametrize("kinds", [1, 3])
def test_of_12000_boxes_the_best_or_all_that_stay_are_the_same(most: int, kinds: int) -> None:
    rng = np.random.default_rng(9)
    corners, classes = _heaps(rng, 12000, 300, 4), rng.integers(0, kinds, 12000)
    scores = rng.permutation(np.linspace(0, 1, 12000, dtype=np.float32))

    kept = survivors(corners, scores, classes, 0.5, most)

    expected = _plainly(corners, scores, classes, 0.5)
    assert len(expected) >= 300
    assert kept[:most].tolist() == expected[:most]


@pytest.mark.parametrize("kinds", [1, 3, 20])
def test_where_most_stay_and_all_are_wanted_the_same_stay(kinds: int) -> None:
    rng = np.random.default_rng(10)
    starts = rng.integers(0, 3000, (2, 5000))
    corners = np.concatenate([starts, starts + rng.integers(10, 64, (2, 5000))]).astype(np.float64)
    scores, classes = rng.permutation(np.linspace(0, 1, 5000)), rng.integers(0, kinds, 5000)

    kept = survivors(corners, scores, classes, 0.25, 5000)

    expected = _plainly(corners, scores, classes, 0.25)
    assert 3000 < len(expected) < 5000
    assert kept.tolist() == expected
