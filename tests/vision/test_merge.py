"""Boxes that show one thing become one: by their mean, or as SAHI does it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.errors import MissingNameError, StepInputError
from ml_pipes.tensor import TensorRegistry
from ml_pipes.tensor.types import Array
from ml_pipes.vision.boxes import box_ious
from ml_pipes.vision.merge import NMM, box_overlaps, merge_boxes

REFERENCE = json.loads(Path(__file__).with_name("sahi_reference.json").read_text(encoding="utf-8"))
CASES = [(name, way) for name, merged in REFERENCE["merges"].items() for way in merged["results"]]


def _merged(boxes: Any, scores: Any, threshold: float = 0.5, classes: Any = None, **how: Any) -> list[Any]:
    """The merged boxes; all are of one class unless ``classes`` says otherwise."""
    kinds = np.zeros(len(scores), int) if classes is None else np.array(classes)
    found = merge_boxes(np.array(boxes, np.float64), np.array(scores), kinds, threshold, **how)
    return [found.boxes.tolist(), found.kept.tolist()]


def _plain_share(one: list[float], other: list[float], metric: str) -> float:
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    if wide <= 0 or high <= 0:
        return 0.0
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (one, other)]
    return wide * high / (sum(areas) - wide * high if metric == "iou" else min(areas))


def _plainly(
    boxes: Array, scores: Array, classes: Array, threshold: float, merge: str, metric: str
) -> list[Any]:
    """The definition, box by box."""
    rows, merged, kept = boxes.tolist(), [], []
    corners = rows if merge == "union" else [[]] * len(rows)
    left = sorted(range(len(rows)), key=lambda at: (classes[at], -scores[at], corners[at], at))
    while left:
        best, *left = left
        taken = [
            at
            for at in left
            if classes[at] == classes[best]
            and _plain_share(rows[best], rows[at], metric) >= max(threshold, 1e-300)
        ]
        left = [at for at in left if at not in taken]
        box = rows[best]
        if merge == "union":
            for at in taken:
                if _plain_share(box, rows[at], metric) >= max(threshold, 1e-300):
                    box = [*map(min, box[:2], rows[at][:2]), *map(max, box[2:], rows[at][2:])]
        elif taken:
            all_of_it = [best, *taken]
            weights = [scores[at] if scores[all_of_it].sum() > 0 else 1.0 for at in all_of_it]
            sides = zip(*(rows[at] for at in all_of_it), strict=True)
            box = [sum(w * s for w, s in zip(weights, side, strict=True)) / sum(weights) for side in sides]
        merged.append(box)
        kept.append(best)
    return [merged, kept]


def test_the_mean_is_weighted_by_the_scores_and_the_best_row_stays() -> None:
    boxes = [[0, 0, 10, 10], [50, 50, 60, 60], [1, 0, 11, 10]]

    merged = _merged(boxes, [0.25, 0.5, 0.75])

    assert merged == [[[0.75, 0, 10.75, 10], [50, 50, 60, 60]], [2, 1]]


@pytest.mark.parametrize("merge", ["mean", "union"])
@pytest.mark.parametrize("threshold", [0.0, 0.5, 1.0])
def test_identical_boxes_with_identical_scores_give_one_unchanged(merge: str, threshold: float) -> None:
    box = [0.1, 1 / 3, 10.7, 20.9]

    assert _merged([box] * 3, [0.3] * 3, threshold, merge=merge) == [[box], [0]]


def test_scores_that_sum_to_0_give_the_plain_mean() -> None:
    assert _merged([[0, 0, 10, 10], [1, 1, 11, 11]], [0.0, 0.0]) == [[[0.5, 0.5, 10.5, 10.5]], [0]]


def test_an_overlap_that_equals_the_threshold_is_enough() -> None:
    boxes = [[0, 0, 10, 10], [0, 0, 10, 5]]

    assert _merged(boxes, [0.9, 0.8], 0.5)[1] == [0]
    assert _merged(boxes, [0.9, 0.8], 0.500001)[1] == [0, 1]


@pytest.mark.parametrize("merge", ["mean", "union"])
def test_at_threshold_0_boxes_that_do_not_overlap_stay_apart(merge: str) -> None:
    boxes = [[0, 0, 10, 10], [10, 0, 20, 10], [9, 9, 12, 12]]

    assert _merged(boxes, [0.9, 0.8, 0.0], 0.0, merge=merge)[1] == [0, 1]


def test_intersection_over_the_smaller_area_divides_by_that_area() -> None:
    ones, others = np.array([[0, 0, 100, 100]]), np.array([[90, 90, 110, 110]])

    assert box_overlaps(ones, others, "ios").tolist() == [[0.25]]
    assert box_overlaps(ones, others, "iou").tolist() == [[100 / 10300]]


def test_a_part_that_a_tile_cut_off_is_found_by_the_smaller_area() -> None:
    boxes, scores = [[0, 0, 100, 100], [5, 5, 25, 95]], [0.9, 0.8]

    assert _merged(boxes, scores, merge="union")[1] == [0, 1]
    assert _merged(boxes, scores, merge="union", metric="ios") == [[[0, 0, 100, 100]], [0]]


def test_a_box_that_no_longer_overlaps_the_grown_box_enough_is_dropped() -> None:
    boxes = [[0, 0, 10, 10], [4, 0, 18, 10], [-2, 0, 6, 10]]

    # 6/18 and 6/12 of the best box; the grown one is 18 wide, and shares 6 of 20 with the last.
    assert _merged(boxes, [0.9, 0.8, 0.7], 1 / 3, merge="union") == [[[0, 0, 18, 10]], [0]]


def test_by_union_equal_scores_rank_by_corners_and_by_mean_by_index() -> None:
    boxes = [[5, 0, 15, 10], [0, 0, 10, 10]]

    assert _merged(boxes, [0.5, 0.5], 1.0, merge="union")[1] == [1, 0]
    assert _merged(boxes, [0.5, 0.5], 1.0, merge="mean")[1] == [0, 1]


def test_classes_ascend_and_do_not_touch_each_other_unless_asked() -> None:
    boxes, scores, classes = [[0, 0, 10, 10]] * 3, [0.9, 0.5, 0.7], [7, 3, 3]

    assert _merged(boxes, scores, classes=classes)[1] == [2, 0]
    assert _merged(boxes, scores, classes=classes, class_agnostic=True)[1] == [0]


@pytest.mark.parametrize(("name", "way"), CASES)
def test_the_union_is_that_of_sahi(name: str, way: dict[str, Any]) -> None:
    table = np.array(REFERENCE["merges"][name]["rows"])
    boxes, scores, classes = table[:, :4], table[:, 4], table[:, 5].astype(int)
    how = {"metric": way["metric"], "class_agnostic": way["class_agnostic"]}

    merged = merge_boxes(boxes, scores, classes, way["threshold"], merge="union", **how)

    assert merged.kept.tolist() == way["kept"]
    np.testing.assert_allclose(merged.boxes, way["boxes"], rtol=0, atol=1e-3)
    assert scores[merged.kept].tolist() == way["scores"]
    # Where boxes of two classes have one score, SAHI gives the class of the last, we that of the first.
    if name != "ties" or not way["class_agnostic"]:
        assert classes[merged.kept].tolist() == way["classes"]


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 60),
    st.sampled_from([1, 3]),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.sampled_from(["mean", "union"]),
    st.sampled_from(["iou", "ios"]),
)
def test_what_comes_out_is_what_the_definition_says(
    seed: int, many: int, kinds: int, threshold: float, merge: Any, metric: Any
) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 40, (many, 2))
    boxes = np.concatenate([corners, corners + rng.integers(0, 25, (many, 2))], axis=1).astype(np.float64)
    scores, classes = rng.integers(0, 9, many) / 8, rng.integers(0, kinds, many)

    merged = merge_boxes(boxes, scores, classes, threshold, merge=merge, metric=metric)

    expected_boxes, expected_kept = _plainly(boxes, scores, classes, threshold, merge, metric)
    assert merged.kept.tolist() == expected_kept
    np.testing.assert_allclose(merged.boxes, np.reshape(expected_boxes, (-1, 4)), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("merge", ["mean", "union"])
def test_many_boxes_are_merged_as_the_definition_says(merge: Any) -> None:
    rng = np.random.default_rng(1)
    corners = rng.integers(0, 600, (700, 2))
    boxes = np.concatenate([corners, corners + rng.integers(1, 60, (700, 2))], axis=1).astype(np.float64)
    scores, classes = rng.integers(1, 99, 700) / 100, rng.integers(0, 2, 700)

    merged = merge_boxes(boxes, scores, classes, 0.3, merge=merge)

    expected_boxes, expected_kept = _plainly(boxes, scores, classes, 0.3, merge, "iou")
    assert merged.kept.tolist() == expected_kept
    np.testing.assert_allclose(merged.boxes, expected_boxes, rtol=1e-12)


@pytest.mark.parametrize("merge", ["mean", "union"])
@pytest.mark.parametrize("metric", ["iou", "ios"])
def test_boxes_without_area_or_numbers_or_end_merge_with_none_that_they_should_not(
    merge: str, metric: str
) -> None:
    boxes = [
        [5, 5, 5, 5],
        [5, 5, 5, 5],
        [9, 9, 1, 1],
        [np.nan, 0, 10, 10],
        [0, 0, 10, 10],
        [0, 0, 10, 10],
        [20, 20, np.inf, np.inf],
        [20, 20, np.inf, np.inf],
    ]
    scores = [0.9, 0.9, 0.8, 0.95, 0.7, np.nan, 0.5, 0.5]

    merged, kept = _merged(boxes, scores, 0.5, merge=merge, metric=metric)

    assert kept == [0, 1, 2, 4, 6, 3, 5]
    np.testing.assert_array_equal(merged, [boxes[at] for at in kept])


@pytest.mark.parametrize("scores", [[np.inf, 0.5], [np.inf, np.inf], [1e308, 1e308]])
def test_scores_beyond_measure_give_the_plain_mean(scores: list[float]) -> None:
    assert _merged([[0, 0, 10, 10], [1, 1, 11, 11]], scores) == [[[0.5, 0.5, 10.5, 10.5]], [0]]


@pytest.mark.parametrize(
    ("dtype", "mean", "union"),
    [
        ("float16", "float16", "float16"),
        ("float32", "float32", "float32"),
        ("float64", "float64", "float64"),
        ("uint8", "float32", "uint8"),
        ("int64", "float64", "int64"),
    ],
)
@pytest.mark.parametrize("many", [0, 2])
def test_half_pixels_of_integer_boxes_are_kept_and_dtypes_are_as_said(
    dtype: str, mean: str, union: str, many: int
) -> None:
    boxes = np.array([[0, 0, 200, 200], [1, 1, 201, 201]], dtype)[:many]
    scores, classes = np.array([0.5, 0.5], np.float16)[:many], np.zeros(2, np.uint8)[:many]

    found = [merge_boxes(boxes, scores, classes, merge=merge) for merge in ("mean", "union")]

    assert [str(one.boxes.dtype) for one in found] == [mean, union]
    assert [one.boxes.shape for one in found] == [(min(many, 1), 4)] * 2
    assert [one.kept.dtype for one in found] == [np.int64] * 2
    if many:
        assert found[0].boxes.tolist() == [[0.5, 0.5, 200.5, 200.5]]
        assert found[1].boxes.tolist() == [[0, 0, 201, 201]]


@pytest.mark.parametrize("merge", ["mean", "union"])
def test_read_only_inputs_do_and_stay_as_they_are(merge: Any) -> None:
    boxes, scores = np.array([[0, 0, 10, 10], [1, 1, 11, 11.0]]), np.array([0.5, 0.75])
    classes = np.zeros(2)
    for array in (boxes, scores, classes):
        array.flags.writeable = False

    ones, others = (merge_boxes(boxes, scores, classes, merge=merge) for _ in range(2))

    assert ones.boxes.tolist() == others.boxes.tolist()
    assert boxes.tolist() == [[0, 0, 10, 10], [1, 1, 11, 11]]


@given(st.integers(0, 2**32 - 1))
def test_the_overlap_by_union_is_that_of_the_boxes_module(seed: int) -> None:
    rng = np.random.default_rng(seed)
    boxes = rng.integers(0, 20, (12, 4)).astype(np.float32)

    shares = box_overlaps(boxes, boxes, "ios")

    assert np.array_equal(box_overlaps(boxes, boxes), box_ious(boxes, boxes))
    assert (shares >= box_ious(boxes, boxes)).all()
    assert shares.max(initial=0) <= 1


def test_the_operator_keeps_the_best_rows_of_what_is_named_and_leaves_the_rest() -> None:
    registry = TensorRegistry(
        {
            "boxes": np.array([[0, 0, 10, 10], [1, 0, 11, 10], [40, 40, 50, 50]], np.float32),
            "scores": np.array([0.25, 0.75, 0.5], np.float32),
            "classes": np.array([1, 1, 0]),
            "landmarks": np.arange(3)[:, None],
            "other": np.zeros(7),
        }
    )

    merged = NMM("landmarks")(registry)

    assert merged["boxes"].tolist() == [[40, 40, 50, 50], [0.75, 0, 10.75, 10]]
    assert merged["boxes"].dtype == np.float32
    assert merged["scores"].tolist() == [0.5, 0.75]
    assert merged["classes"].tolist() == [0, 1]
    assert merged["landmarks"].tolist() == [[2], [1]]
    assert merged["other"] is registry["other"]
    assert registry["scores"].shape == (3,)


def test_the_operator_hands_its_options_on() -> None:
    registry = TensorRegistry(
        {
            "b": np.array([[0, 0, 100, 100], [5, 5, 25, 101]], np.float32),
            "s": np.array([0.9, 0.8]),
            "c": np.array([1, 2]),
        }
    )
    step = NMM(boxes="b", scores="s", classes="c", merge="union", metric="ios", class_agnostic=True)

    merged = step(registry)

    assert merged["b"].tolist() == [[0, 0, 100, 101]]
    assert merged["c"].tolist() == [1]


def test_what_is_no_registry_or_misses_a_tensor_is_an_error() -> None:
    step = NMM()

    with pytest.raises(StepInputError, match=r"^NMM: wanted a TensorRegistry, got NoneType"):
        step(None)
    with pytest.raises(MissingNameError, match="no tensor 'scores'"):
        step(TensorRegistry({"boxes": np.zeros((0, 4))}))


def test_shapes_that_do_not_belong_together_are_an_error() -> None:
    registry = TensorRegistry(
        {"boxes": np.zeros((1, 4)), "scores": np.ones(1), "classes": np.zeros(1), "more": np.zeros((5, 2))}
    )
    step = NMM("more")

    with pytest.raises(
        ValueError, match=r"NMM: 'more' of shape \(5, 2\) does not have a row for each of the 1"
    ):
        step(registry)
    with pytest.raises(ValueError, match=r"wanted boxes \(N, 4\), .*, got \(2, 5\), \(2,\) and \(2,\)"):
        merge_boxes(np.zeros((2, 5)), np.zeros(2), np.zeros(2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"iou_threshold": 1.5}, "iou_threshold must be 0 to 1, got 1.5"),
        ({"iou_threshold": float("nan")}, "iou_threshold must be 0 to 1, got nan"),
        ({"merge": "max"}, "merge must be one of mean, union, got 'max'"),
        ({"metric": "giou"}, "metric must be one of iou, ios, got 'giou'"),
    ],
)
def test_a_wrong_argument_is_refused_when_built(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^NMM: {message}"):
        NMM(**arguments)
