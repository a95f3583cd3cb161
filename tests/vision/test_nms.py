"""Suppression is exact: ties by index, NaN harmless, classes apart, one class or many alike."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.tensor import TensorRegistry
from ml_pipes.tensor.types import Array
from ml_pipes.vision import NMS
from ml_pipes.vision.boxes import box_ious
from ml_pipes.vision.nms import nms


def _kept(boxes: object, scores: object, iou: float, conf: float = 0.0, classes: object = None) -> list[int]:
    """The kept indices; all boxes are of one class unless ``classes`` says otherwise."""
    scores = np.array(scores, np.float32)
    kinds = np.zeros(len(scores), int) if classes is None else np.array(classes)
    return nms(np.array(boxes, np.float64).reshape(-1, 4), scores, kinds, conf, iou).tolist()


def _plainly(boxes: Array, scores: Array, classes: Array, iou: float) -> list[int]:
    """The definition, pair by pair."""
    ious = box_ious(boxes, boxes)
    too_much = (ious >= iou) & (ious > 0) & (classes == classes[:, None])
    kept, gone = [], np.zeros(len(scores), bool)
    for at in sorted(range(len(scores)), key=lambda at: (-scores[at], at)):
        if not gone[at]:
            kept.append(at)
            gone |= too_much[at]
    return kept


def test_boxes_that_overlap_a_better_one_go() -> None:
    boxes = [
        [28, 1322, 346.25, 1798],
        [195, 352, 241, 431],
        [194, 352, 241, 431],
        [1160, 545, 1260, 690],
        [1160, 545, 1260, 690],
    ]

    assert _kept(boxes, [0.6792, 0.6021, 0.583, 0.5601, 0.5391], 0.2) == [0, 1, 3]


@pytest.mark.parametrize(("threshold", "expected"), [(0, [0, 2]), (0.1, [0, 1])])
def test_at_threshold_0_only_what_overlaps_goes(threshold: float, expected: list[int]) -> None:
    boxes = [[2748, 618, 2830, 659], [2690, 642, 2749, 681], [2690, 639, 2746, 681]]

    assert _kept(boxes, [1, 1, 0.5], threshold) == expected


def test_an_overlap_that_equals_the_threshold_is_too_much() -> None:
    boxes = [[0, 0, 10, 10], [0, 0, 10, 5]]

    assert _kept(boxes, [0.9, 0.8], 0.5) == [0]
    assert _kept(boxes, [0.9, 0.8], 0.500001) == [0, 1]


@pytest.mark.parametrize("many", [2, 5])
def test_of_identical_boxes_with_identical_scores_the_first_stays(many: int) -> None:
    assert _kept([[10, 10, 20, 20]] * many, [0.5] * many, 0.5) == [0]
    assert _kept([[10, 10, 20, 20]] * many, [0.5] * many, 1.0) == [0]


def test_the_scores_decide_and_not_the_order() -> None:
    boxes = [[10, 10, 20, 20], [12, 12, 22, 21]]

    assert _kept(boxes, [0.3, 0.9], 0.5) == [1]
    assert _kept(boxes, [0.9, 0.3], 0.5) == [0]


@pytest.mark.parametrize("dtype", ["float64", "int64", "int32", "uint32"])
def test_far_from_the_origin_the_same_boxes_stay(dtype: str) -> None:
    rng = np.random.default_rng(0)
    corners = rng.integers(0, 200, (60, 2))
    boxes = np.concatenate([corners, corners + rng.integers(10, 60, (60, 2))], axis=1)
    scores, classes = rng.random(60), np.zeros(60, int)

    near = nms(boxes, scores, classes, 0.0, 0.3)
    shift = 2_052_576.25 if dtype == "float64" else 2_052_576
    far = nms((boxes + shift).astype(dtype), scores, classes, 0.0, 0.3)

    assert 1 < len(near) < 60
    np.testing.assert_array_equal(near, far)


def test_small_unsigned_boxes_do_not_wrap() -> None:
    boxes = np.array([[0, 0, 200, 200], [10, 10, 200, 200], [210, 210, 255, 255]], np.uint8)

    assert nms(boxes, np.array([0.9, 0.8, 0.7]), np.zeros(3, int)).tolist() == [0, 2]


def test_when_no_score_is_high_enough_nothing_stays_and_shapes_and_dtypes_do() -> None:
    registry = TensorRegistry(
        {
            "boxes": np.array([[0, 0, 9, 9], [20, 20, 29, 29]], np.float32),
            "scores": np.array([0.10, 0.15], np.float32),
            "classes": np.zeros(2, np.int32),
        }
    )

    result = NMS(conf_threshold=0.5, kept_as="kept")(registry)

    assert [result[name].shape for name in ("boxes", "scores", "classes", "kept")] == [
        (0, 4),
        (0,),
        (0,),
        (0,),
    ]
    assert [result[name].dtype for name in ("boxes", "scores", "classes", "kept")] == [
        np.float32,
        np.float32,
        np.int32,
        np.int64,
    ]


def test_no_boxes_stay_no_boxes() -> None:
    kept = nms(np.zeros((0, 4), np.float32), np.zeros(0, np.float32), np.zeros(0, np.int64))

    assert kept.shape == (0,)
    assert kept.dtype == np.int64


def test_a_score_that_equals_the_threshold_counts() -> None:
    assert _kept([[0, 0, 9, 9]], [0.25], 0.45, conf=0.25) == [0]


@pytest.mark.parametrize("classes", [[0, 0, 0, 0], [0, 1, 0, 1]])
def test_nan_boxes_and_scores_delete_nobody_and_rank_last(classes: list[int]) -> None:
    boxes = [[np.nan, 0, 10, 10], [0, 0, 10, 10], [0, 0, 10, 10], [50, 50, 60, 60]]

    kept = _kept(boxes, [0.99, 0.9, np.nan, 0.8], 0.5, classes=classes)

    assert kept == [1, 3, 0]


@pytest.mark.parametrize("classes", [[0, 0, 0, 0], [0, 1, 0, 1]])
def test_boxes_without_area_or_end_raise_no_warning_and_suppress_none(classes: list[int]) -> None:
    boxes = [[5, 5, 5, 5], [5, 5, 5, 5], [9, 9, 1, 1], [-np.inf, -np.inf, np.inf, np.inf]]

    assert sorted(_kept(boxes, [0.9, 0.8, 0.7, 0.6], 0.0, classes=classes)) == [0, 1, 2, 3]


def test_classes_do_not_touch_each_other_even_with_negative_coordinates() -> None:
    boxes = [[-10, -10, 10, 10]] * 4

    assert _kept(boxes, [0.6, 0.7, 0.8, 0.9], 0.5, classes=[1, 0, 1, 0]) == [3, 2]


@pytest.mark.parametrize("kinds", [1, 2])
def test_the_best_of_all_classes_stay_when_there_are_too_many(kinds: int) -> None:
    at = np.arange(10) * 20.0
    boxes = np.stack([at, at, at + 10, at + 10], axis=1)
    scores = np.array([0.5, 0.9, 0.3, 0.8, 0.4, 0.7, 0.6, 0.35, 0.45, 0.55])

    kept = nms(boxes, scores, np.arange(10) % kinds, max_detections=3)

    assert kept.tolist() == [1, 3, 5]
    assert nms(boxes, scores, np.arange(10) % kinds, max_detections=0).tolist() == []


@given(
    st.integers(0, 2**32 - 1),
    st.integers(0, 300),
    st.sampled_from([1, 2, 3, 20, 300]),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.sampled_from([0, 1, 5, 1000]),
)
def test_what_stays_is_what_the_definition_says(
    seed: int, many: int, kinds: int, iou: float, most: int
) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 60, (many, 2))
    boxes = np.concatenate([corners, corners + rng.integers(0, 25, (many, 2))], axis=1).astype(np.float32)
    scores, classes = rng.integers(1, 20, many) / 20, rng.integers(0, kinds, many)

    kept = nms(boxes, scores, classes, 0.0, iou, most)

    assert kept.tolist() == _plainly(boxes, scores, classes, iou)[:most]


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from([1, 6, 40]),
    st.sampled_from([0.0, 0.3, 0.5, 1.0]),
    st.sampled_from([1e-160, 1e-3, 1.0, 1e120]),
    st.sampled_from([0.0, 1e3, 1e15]),
)
def test_of_heaps_that_are_tied_touch_or_hold_no_area_and_no_number_the_same_stay_as_by_definition(
    seed: int, kinds: int, iou: float, unit: float, away: float
) -> None:
    rng = np.random.default_rng(seed)
    many = int(rng.integers(2, 400))
    corners = rng.integers(0, 6, (many, 2)) * rng.choice([10, 60]) + rng.integers(0, 3, (many, 2))
    boxes = np.concatenate([corners, corners + rng.integers(-1, 12, (many, 2))], axis=1) * unit + away
    boxes[rng.random(many) < 0.03, rng.integers(0, 4)] = np.nan
    scores, classes = rng.integers(1, 20, many) / 20, rng.integers(0, kinds, many)
    numbers = ~np.isnan(boxes).any(axis=1)

    kept = nms(boxes, scores, classes, 0.0, iou, many)

    at = np.flatnonzero(numbers)
    expected = at[_plainly(boxes[at], scores[at], classes[at], iou)].tolist()
    assert kept[: len(expected)].tolist() == expected
    assert sorted(kept[len(expected) :]) == np.flatnonzero(~numbers).tolist()


@pytest.mark.parametrize(("heaps", "kinds"), [(100, 1), (100, 8), (2000, 1), (2000, 80)])
@pytest.mark.parametrize("iou", [0.0, 0.45, 0.9])
def test_many_boxes_in_heaps_far_from_each_other_stay_as_the_definition_says(
    heaps: int, kinds: int, iou: float
) -> None:
    rng = np.random.default_rng(1)
    many = 6000
    heap = rng.integers(0, heaps, many)
    corners = np.stack([heap % 40, heap // 40], axis=1) * 50 + rng.integers(0, 5, (many, 2))
    boxes = np.concatenate([corners, corners + rng.integers(36, 40, (many, 2))], axis=1)
    scores, classes = rng.integers(1, 500, many) / 500, rng.integers(0, kinds, many)

    kept = nms(boxes, scores, classes, 0.0, iou, many)

    expected: list[int] = []
    for one in range(heaps):
        at = np.flatnonzero(heap == one)
        expected += at[_plainly(boxes[at], scores[at], classes[at], iou)].tolist()
    assert kept.tolist() == sorted(expected, key=lambda at: (-scores[at], at))


def test_of_a_long_chain_of_boxes_each_over_the_next_every_second_stays() -> None:
    chain = np.arange(300) * 20.0
    apart = np.arange(40) * 200.0
    starts = np.concatenate([chain, apart])
    boxes = np.stack([starts, np.zeros(340), starts + 50, np.full(340, 50.0)], axis=1)
    classes = np.concatenate([np.zeros(300, int), np.arange(1, 41)])

    kept = nms(boxes, np.linspace(1, 0.5, 340), classes, 0.0, 0.4, 340)

    assert kept.tolist() == [*range(0, 300, 2), *range(300, 340)]


@pytest.mark.parametrize(("spread", "most"), [(60, 300), (500, 30), (500, 3000), (3000, 300)])
@pytest.mark.parametrize(
    "sizes", [[2200], [1100, 1100], [2199, 1], [1800, *[5] * 80], [220] * 10, [11] * 200]
)
def test_many_boxes_in_any_mixture_of_classes_stay_as_the_definition_says(
    sizes: list[int], spread: int, most: int
) -> None:
    rng = np.random.default_rng(0)
    corners = rng.integers(0, spread, (2200, 2))
    boxes = np.concatenate([corners, corners + rng.integers(0, 50, (2200, 2))], axis=1)
    scores, classes = (
        rng.integers(1, 500, 2200) / 500,
        rng.permutation(np.repeat(np.arange(len(sizes)), sizes)),
    )

    kept = nms(boxes, scores, classes, 0.0, 0.4, most)

    assert kept.tolist() == _plainly(boxes, scores, classes, 0.4)[:most]


@pytest.mark.parametrize("end", [np.inf, 1e200, 1.7e308, 1e100])
@pytest.mark.parametrize("start", [0.0, 0.5, -np.inf])
def test_of_identical_boxes_without_end_one_stays(start: float, end: float) -> None:
    begin = start if np.isinf(start) else start * min(end, 1e307)

    assert _kept([[begin, begin, end, end]] * 3, [0.5, 0.9, 0.5], 0.45) == [1]
    assert box_ious(np.array([[begin, 0, end, end]]), np.array([[begin, 0, end, end]])).tolist() == [[1]]


def test_a_huge_box_beside_others_changes_nothing_for_them() -> None:
    boxes = [[0, 0, 1e120, 1e120], [0, 0, 10, 10], [0, 0, 10, 5], [0, 0, 10, 4]]

    assert _kept(boxes, [0.9, 0.8, 0.7, 0.6], 0.5) == [0, 1, 3]


def test_the_kept_indices_and_aligned_tensors_stay_in_step() -> None:
    registry = TensorRegistry(
        {
            "boxes": np.array([[0, 0, 9, 9], [0, 0, 9, 9], [20, 20, 29, 29]], np.float32),
            "scores": np.array([0.5, 0.9, 0.95], np.float32),
            "classes": np.zeros(3, np.int64),
            "landmarks": np.arange(3, dtype=np.float32)[:, None],
            "other": np.zeros(7),
        }
    )

    result = NMS(kept_as="kept", aligned=("landmarks",))(registry)

    assert result["kept"].tolist() == [2, 1]
    assert result["kept"].dtype == np.int64
    assert result["landmarks"].tolist() == [[2], [1]]
    assert result["boxes"].tolist() == [[20, 20, 29, 29], [0, 0, 9, 9]]
    assert result["other"] is registry["other"]
    assert registry["scores"].shape == (3,)


def test_without_regard_to_classes_a_box_suppresses_other_classes_and_the_classes_go_along() -> None:
    registry = TensorRegistry(
        {
            "boxes": np.array([[0, 0, 9, 9], [0, 0, 9, 9], [20, 20, 29, 29]], np.float32),
            "scores": np.array([0.5, 0.9, 0.95], np.float32),
            "classes": np.array([3, 7, 3], np.int32),
        }
    )

    agnostic, by_class = NMS(class_agnostic=True)(registry), NMS()(registry)

    assert agnostic["boxes"].tolist() == [[20, 20, 29, 29], [0, 0, 9, 9]]
    assert agnostic["classes"].tolist() == [3, 7]
    assert agnostic["classes"].dtype == np.int32
    assert by_class["classes"].tolist() == [3, 7, 3]


@given(st.integers(0, 2**32 - 1), st.integers(0, 120))
def test_without_regard_to_classes_the_same_stay_as_of_one_class(seed: int, many: int) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 60, (many, 2))
    boxes = np.concatenate([corners, corners + rng.integers(0, 25, (many, 2))], axis=1).astype(np.float32)
    scores, classes = rng.integers(1, 20, many) / 20, rng.integers(0, 5, many)
    registry = TensorRegistry({"boxes": boxes, "scores": scores, "classes": classes})

    kept = NMS(kept_as="kept", conf_threshold=0.0, iou_threshold=0.3, class_agnostic=True)(registry)["kept"]

    assert kept.tolist() == _plainly(boxes, scores, np.zeros(many, int), 0.3)


def test_without_regard_to_classes_there_must_still_be_one_each() -> None:
    registry = TensorRegistry({"boxes": np.zeros((2, 4)), "scores": np.ones(2), "classes": np.zeros(3)})
    step = NMS(class_agnostic=True)

    with pytest.raises(ValueError, match=r"got \(2, 4\), \(2,\) and \(3,\)"):
        step(registry)


def test_an_aligned_tensor_with_other_rows_is_an_error() -> None:
    registry = TensorRegistry(
        {"boxes": np.zeros((1, 4)), "scores": np.ones(1), "classes": np.zeros(1), "more": np.zeros((5, 2))}
    )
    step = NMS(aligned=("more",))

    with pytest.raises(
        ValueError, match=r"aligned tensor 'more' of shape \(5, 2\) does not have a row for each of"
    ):
        step(registry)


def test_shapes_that_do_not_belong_together_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"got \(2, 5\), \(2,\) and \(2,\)"):
        nms(np.zeros((2, 5)), np.zeros(2), np.zeros(2))
    with pytest.raises(
        ValueError, match=r"wanted boxes \(N, 4\), scores \(N,\) and classes \(N,\), got \(2, 4\), \(2, 1\)"
    ):
        nms(np.zeros((2, 4)), np.zeros((2, 1)), np.zeros(2))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            {"classes": None},
            r"classes must name a tensor, got None; zeros of \(N,\) make all boxes one class",
        ),
        ({"iou_threshold": 1.5}, "iou_threshold must be 0 to 1, got 1.5"),
        ({"iou_threshold": float("nan")}, "iou_threshold must be 0 to 1, got nan"),
        ({"conf_threshold": float("nan")}, "conf_threshold must be a number, got nan"),
        ({"max_detections": -1}, "max_detections must be a whole number, 0 or more, got -1"),
    ],
)
def test_a_wrong_argument_is_refused_when_built(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        NMS(**arguments)  # type: ignore[arg-type] # the mistakes that are tested


def test_one_aligned_name_without_its_tuple_is_refused_when_built() -> None:
    with pytest.raises(
        TypeError, match=r"aligned must be a tuple of names, got 'landmarks'; write \('landmarks',\)"
    ):
        NMS(aligned="landmarks")


def test_a_number_of_detections_below_none_is_refused_by_the_function_too() -> None:
    one, score = np.array([[0.0, 0.0, 1.0, 1.0]]), np.array([0.9])

    with pytest.raises(ValueError, match="nms: max_detections must be a whole number, 0 or more, got -1"):
        nms(one, score, np.zeros(1), max_detections=-1)
