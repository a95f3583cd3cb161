"""Boxes change their format and come home without a shift."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import (
    ConvertBoxFormat,
    FilterTensorsByScore,
    ImagePayload,
    ProjectBoxes,
    ProjectPoints,
    Resize,
    ResizeTransform,
)
from ml_pipes.vision.boxes import BoxFormat, box_areas, box_ious, convert_boxes, project_boxes, project_points

_FORMATS: tuple[BoxFormat, ...] = ("xyxy", "xywh", "cxcywh")
_SAME: dict[BoxFormat, list[float]] = {
    "xyxy": [10, 20, 30, 60],
    "xywh": [10, 20, 20, 40],
    "cxcywh": [20, 40, 20, 40],
}


@pytest.mark.parametrize("from_", _FORMATS)
@pytest.mark.parametrize("to", _FORMATS)
def test_each_format_is_written_as_each_other(from_: BoxFormat, to: BoxFormat) -> None:
    registry = TensorRegistry({"boxes": np.array([_SAME[from_]], np.float32)})

    converted = ConvertBoxFormat(from_=from_, to=to, as_="other")(registry)

    assert converted["other"].tolist() == [_SAME[to]]
    assert converted["other"].dtype == np.float32
    assert converted["boxes"].tolist() == [_SAME[from_]]
    assert not np.shares_memory(converted["other"], registry["boxes"])


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int32", "int64", "uint64"])
def test_half_pixels_of_integer_boxes_are_kept(dtype: str) -> None:
    converted = convert_boxes(np.array([[10, 10, 5, 5]], dtype), "cxcywh")

    assert converted.tolist() == [[7.5, 7.5, 12.5, 12.5]]


def test_unsigned_boxes_do_not_wrap() -> None:
    assert convert_boxes(np.array([[5, 5, 20, 20]], np.uint8), "cxcywh").tolist() == [[-5, -5, 15, 15]]
    assert convert_boxes(np.array([[30, 30, 10, 10]], np.uint8), "xyxy", "xywh").tolist() == [
        [30, 30, -20, -20]
    ]
    assert convert_boxes(np.array([[250, 250, 20, 20]], np.uint8), "xywh").tolist() == [[250, 250, 270, 270]]


def test_float16_boxes_are_computed_wider_and_stay_float16() -> None:
    converted = convert_boxes(np.array([[1000.5, 1, 601, 2]], np.float16), "cxcywh")

    assert converted.dtype == np.float16
    assert converted.tolist() == [[700, 0, 1301, 2]]


def test_a_batch_of_boxes_and_no_boxes_are_converted() -> None:
    assert convert_boxes(np.zeros((2, 5, 4), np.float32), "xywh").shape == (2, 5, 4)
    assert convert_boxes(np.zeros((0, 4), np.float32), "cxcywh").shape == (0, 4)


def test_boxes_of_another_length_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"ConvertBoxFormat: boxes must be \(N, 4\), got \(2, 5\)"):
        convert_boxes(np.zeros((2, 5)), "xyxy")


def test_an_unknown_format_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="from_ must be one of xyxy, xywh, cxcywh, got 'yxyx'"):
        ConvertBoxFormat(from_="yxyx")  # type: ignore[arg-type] # the mistake that is tested
    with pytest.raises(ValueError, match="to must be one of xyxy, xywh, cxcywh, got 'yxyx'"):
        ConvertBoxFormat(from_="xyxy", to="yxyx")  # type: ignore[arg-type] # the mistake that is tested


def test_areas_of_large_integer_boxes_do_not_wrap_and_inverted_boxes_have_none() -> None:
    boxes = np.array([[0, 0, 50000, 50000], [10, 10, 0, 20], [0, 0, 0, 9]], np.int32)

    assert box_areas(boxes).tolist() == [2.5e9, 0, 0]
    assert box_areas(np.array([[200, 0, 10, 10]], np.uint8)).tolist() == [0]


def test_overlaps_are_intersection_over_union() -> None:
    ious = box_ious(
        np.array([[0, 0, 100, 100]]), np.array([[0, 0, 100, 100], [90, 90, 110, 110], [100, 0, 200, 100]])
    )

    np.testing.assert_allclose(ious, [[1, 100 / 10300, 0]])


def test_boxes_without_area_or_number_overlap_nothing_and_raise_no_warning() -> None:
    odd = np.array([[5, 5, 5, 5], [np.nan, 0, 9, 9], [9, 9, 0, 0], [-np.inf, -np.inf, np.inf, np.inf]])

    ious = box_ious(odd, odd)

    np.testing.assert_array_equal(ious[:3, :3], np.zeros((3, 3)))


@given(
    st.tuples(st.integers(1, 5000), st.integers(1, 5000)),
    st.tuples(st.integers(1, 1500), st.integers(1, 1500)),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["letterbox", "resize"]),
)
def test_boxes_come_back_within_half_a_pixel_of_the_resized_picture(
    shape: tuple[int, int], target: tuple[int, int], center: bool, up: bool, mode: str
) -> None:
    blank = np.broadcast_to(np.zeros((1, 1, 1), np.uint8), (*shape, 1))
    step = Resize(target, mode, interpolation="nearest", center=center, allow_scale_up=up)  # type: ignore[arg-type] # both are modes
    height, width = shape
    boxes = np.array([[0, 0, width, height], [width / 3, height / 7, width / 2, height * 0.9]])

    _, transform = step(ImagePayload(blank))
    (left, top), (content_h, content_w) = transform.pad, transform.content_shape
    # A model sees whole pixels: the box is found on the grid of the resized picture.
    gain = np.array([content_w / width, content_h / height] * 2)
    seen = np.rint(boxes * gain + [left, top, left, top])
    back = project_boxes(seen, transform)

    assert (np.abs(back - boxes) * gain <= 0.51).all()
    np.testing.assert_allclose(back[0], [0, 0, width, height])


def test_a_box_in_the_photograph_that_once_shifted_by_pixels_is_back_where_it_was() -> None:
    blank = np.broadcast_to(np.zeros((1, 1, 1), np.uint8), (1571, 3775, 1))
    _, transform = Resize((1280, 1280))(ImagePayload(blank))
    registry = TensorRegistry({"boxes": np.float32([[0, 373, 1280, 906]])})

    back = ProjectBoxes()(registry, transform)["boxes"]

    np.testing.assert_allclose(back, [[0, 0, 3775, 1571]], atol=1e-3)


def test_boxes_are_cut_at_the_edges_of_the_original_and_none_is_dropped() -> None:
    transform = ResizeTransform((0.5, 0.5), (0.0, 10.0), (100, 200), (70, 100))
    registry = TensorRegistry({"b": np.float32([[-9, -9, 999, 999], [-9, 0, -5, 5], [np.nan, 20, 30, 40]])})

    back = ProjectBoxes("b")(registry, transform)["b"]

    np.testing.assert_array_equal(back, [[0, 0, 200, 100], [0, 0, 0, 0], [np.nan, 20, 60, 60]])


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float16", "float32"), ("uint8", "float32"), ("int32", "float64"), ("float64", "float64")],
)
def test_projected_boxes_are_wide_enough(dtype: str, expected: str) -> None:
    transform = ResizeTransform((0.3, 0.3), (0.0, 20.0), (1000, 1000), (340, 300))
    boxes = np.array([[1, 5, 200, 200]], dtype)

    back = project_boxes(boxes, transform)

    np.testing.assert_allclose(back, [[1 / 0.3, 0, 200 / 0.3, 600]], rtol=1e-6)
    assert back.dtype == expected


def test_no_boxes_come_back_as_no_boxes() -> None:
    transform = ResizeTransform((0.5, 0.5), (0.0, 0.0), (100, 200), (50, 100))

    back = project_boxes(np.zeros((0, 4), np.float32), transform)

    assert back.shape == (0, 4)
    assert back.dtype == np.float32


def test_points_come_back_without_being_cut() -> None:
    transform = ResizeTransform((0.5, 0.25), (0.0, 10.0), (100, 200), (45, 100))
    registry = TensorRegistry({"landmarks": np.float32([[[10, 20], [-1, 0]]])})

    back = ProjectPoints()(registry, transform)

    assert back["landmarks"].tolist() == [[[20, 40], [-2, -40]]]
    assert registry["landmarks"].tolist() == [[[10, 20], [-1, 0]]]
    assert project_points(np.zeros((0, 5, 2), np.float32), transform).shape == (0, 5, 2)


def test_points_and_boxes_of_another_length_are_an_error() -> None:
    transform = ResizeTransform((1.0, 1.0), (0.0, 0.0), (100, 200), (100, 200))

    with pytest.raises(ValueError, match=r"ProjectPoints: points must be \(..., 2\) x y, got \(5, 3\)"):
        project_points(np.zeros((5, 3)), transform)
    with pytest.raises(ValueError, match=r"ProjectBoxes: boxes must be \(N, 4\), got \(5, 2\)"):
        project_boxes(np.zeros((5, 2)), transform)


def test_rows_with_a_high_enough_score_stay_and_nan_is_not() -> None:
    registry = TensorRegistry({"scores": np.float32([0.5, np.nan, 0.4]), "boxes": np.zeros((3, 4))})

    kept = FilterTensorsByScore("boxes", score="scores", min_score=0.5)(registry)

    assert kept["scores"].tolist() == [0.5]
    assert kept["boxes"].shape == (1, 4)
    assert registry["boxes"].shape == (3, 4)


def test_the_score_is_first_among_the_outputs_and_named_once() -> None:
    registry = TensorRegistry({"scores": np.float32([0.9]), "boxes": np.zeros((1, 4))})
    step = FilterTensorsByScore("scores", "boxes", score="scores", min_score=0, as_=("s", "b"))

    kept = step(registry)

    assert kept["s"].shape == (1,)
    assert kept["b"].shape == (1, 4)


def test_a_score_that_is_a_table_is_an_error() -> None:
    step = FilterTensorsByScore(score="scores", min_score=0)

    with pytest.raises(ValueError, match=r"'scores' must be \(N,\), got \(3, 1\)"):
        step(TensorRegistry({"scores": np.zeros((3, 1))}))


def test_a_lowest_score_that_is_no_number_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="min_score must be a number, got nan"):
        FilterTensorsByScore(score="scores", min_score=float("nan"))


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("special", [np.inf, -np.inf])
def test_boxes_without_end_raise_no_warning(dtype: str, special: float) -> None:
    boxes = np.array([[special, 1, 2, 3], [1, 2, special, special], [special] * 4, [6e4] * 4], dtype)

    for from_ in ("xyxy", "xywh", "cxcywh"):
        for to in ("xyxy", "xywh", "cxcywh"):
            assert convert_boxes(boxes, from_, to).dtype == dtype
    assert box_areas(boxes).shape == (4,)
    assert box_ious(boxes, boxes).shape == (4, 4)
