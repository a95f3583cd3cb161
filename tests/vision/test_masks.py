"""Masks are made of prototypes, resized, measured, weighted and filtered."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision.masks import (
    FilterTensorsByMasksArea,
    MasksToBoxes,
    MeanMaskScores,
    ReconstructMasks,
    ResizeMasks,
    WeightMasksByScores,
    mask_areas,
    masks_to_boxes,
    mean_mask_scores,
    reconstruct_masks,
    resize_masks,
    weight_masks,
)

_DTYPES = ["bool", "uint8", "int32", "float16", "float32", "float64"]


def _linear(mask: npt.NDArray[np.float64], height: int, width: int) -> npt.NDArray[np.float64]:
    """Each pixel's value, from the four around its centre, in plain Python."""
    rows, columns = mask.shape
    result = np.empty((height, width))
    for y in range(height):
        for x in range(width):
            down = min(max((y + 0.5) * rows / height - 0.5, 0), rows - 1)
            right = min(max((x + 0.5) * columns / width - 0.5, 0), columns - 1)
            top, left = int(down), int(right)
            low, far = min(top + 1, rows - 1), min(left + 1, columns - 1)
            dy, dx = down - top, right - left
            above = mask[top, left] * (1 - dx) + mask[top, far] * dx
            below = mask[low, left] * (1 - dx) + mask[low, far] * dx
            result[y, x] = above * (1 - dy) + below * dy
    return result


def test_masks_are_sums_of_prototypes() -> None:
    tensors = TensorRegistry(
        {
            "coefficients": np.array([[1, 0], [2, -1]], np.float32),
            "prototypes": np.array([[[1, 2, 3]], [[10, 20, 30]]], np.float32),
        }
    )

    made = ReconstructMasks("coefficients", "prototypes", as_="masks")(tensors)

    assert made["masks"].tolist() == [[[1, 2, 3]], [[-8, -16, -24]]]
    assert made["masks"].dtype == np.float32


def test_no_instances_and_no_prototypes_give_masks_of_the_right_shape() -> None:
    none = reconstruct_masks(np.zeros((0, 32), np.float32), np.zeros((32, 5, 6), np.float32))
    blank = reconstruct_masks(np.zeros((2, 0), np.float32), np.zeros((0, 5, 6), np.float32))

    assert (none.shape, none.dtype) == ((0, 5, 6), np.dtype(np.float32))
    assert blank.tolist() == np.zeros((2, 5, 6)).tolist()


def test_small_dtypes_of_prototypes_are_summed_wider() -> None:
    halves = reconstruct_masks(np.full((1, 4096), 1, np.float16), np.ones((4096, 1, 1), np.float16))
    bytes_ = reconstruct_masks(np.array([[200, 100]], np.uint8), np.array([[[2]], [[3]]], np.uint8))
    beyond = reconstruct_masks(np.array([[300]], np.float16), np.array([[[300]]], np.float16))

    assert (halves.item(), halves.dtype) == (4096, np.dtype(np.float16))
    assert (bytes_.item(), bytes_.dtype) == (700, np.dtype(np.float32))
    assert beyond.item() == np.inf


def test_nan_stays_in_its_own_row_and_its_own_pixel() -> None:
    coefficients = np.array([[np.nan, 1], [1, 1]], np.float32)
    prototypes = np.array([[[1, 1]], [[1, np.nan]]], np.float32)

    made = reconstruct_masks(coefficients, prototypes)

    np.testing.assert_array_equal(made, [[[np.nan, np.nan]], [[2, np.nan]]])


def test_prototypes_of_another_shape_are_an_error_that_says_the_way_out() -> None:
    tensors = TensorRegistry({"c": np.zeros((2, 3)), "p": np.zeros((1, 3, 4, 5)), "q": np.zeros((2, 4, 5))})

    with pytest.raises(
        ValueError,
        match=r"ReconstructMasks: 'p' must be \(K, H, W\), got \(1, 3, 4, 5\); Squeeze\(\"p\", 0\) takes out",
    ):
        ReconstructMasks("c", "p", as_="masks")(tensors)
    with pytest.raises(
        ValueError, match=r"wanted coefficients \(N, K\) and .*, got \(2, 3\) and \(2, 4, 5\)"
    ):
        ReconstructMasks("c", "q", as_="masks")(tensors)


@given(
    st.integers(1, 9), st.integers(1, 9), st.integers(1, 30), st.integers(1, 30), st.integers(0, 2**32 - 1)
)
def test_resizing_is_linear_between_the_centres_of_pixels(
    rows: int, columns: int, height: int, width: int, seed: int
) -> None:
    masks = np.random.default_rng(seed).random((2, rows, columns)).astype(np.float32)

    resized = resize_masks(masks, (height, width))

    for mask, result in zip(masks, resized, strict=True):
        np.testing.assert_allclose(result, _linear(mask.astype(np.float64), height, width), atol=2e-5)


@pytest.mark.parametrize(
    ("dtype", "given_back"),
    [
        ("uint8", "float32"),
        ("int16", "float32"),
        ("int32", "float64"),
        ("float16", "float16"),
        ("float32", "float32"),
        ("float64", "float64"),
    ],
)
def test_integer_masks_are_promoted_and_floats_keep_their_dtype(dtype: str, given_back: str) -> None:
    tensors = TensorRegistry({"masks": np.array([[[0, 1]]], dtype)})

    resized = ResizeMasks()(tensors, (1, 4))

    assert resized["masks"].tolist() == [[[0, 0.25, 0.75, 1]]]
    assert resized["masks"].dtype == np.dtype(given_back)


def test_a_bool_mask_stays_a_mask_and_holds_what_is_more_than_half() -> None:
    tensors = TensorRegistry({"masks": np.array([[[False, True], [False, True]]])})

    resized = ResizeMasks(as_="large")(tensors, (2, 6))

    assert resized["large"].tolist() == [[[False] * 3 + [True] * 3] * 2]
    assert resized["masks"].shape == (1, 2, 2)


@pytest.mark.parametrize("dtype", _DTYPES)
def test_no_masks_stay_none_at_the_new_size(dtype: str) -> None:
    resized = ResizeMasks()(TensorRegistry({"masks": np.zeros((0, 3, 4), dtype)}), (7, 8))

    assert resized["masks"].shape == (0, 7, 8)


@pytest.mark.parametrize("shape", [(0, 5), (5, -1), (2.5, 3), (4,), "ab", None])
def test_a_size_that_is_none_is_an_error(shape: object) -> None:
    tensors = TensorRegistry({"masks": np.zeros((1, 2, 2), np.float32)})

    with pytest.raises(ValueError, match=r"ResizeMasks: image_shape must be \(height, width\), whole pixels"):
        ResizeMasks()(tensors, shape)  # type: ignore[arg-type] # the mistake that is tested


def test_masks_without_pixels_or_with_other_axes_are_an_error() -> None:
    with pytest.raises(
        ValueError, match=r"ResizeMasks: the masks have no pixels, their shape is \(2, 0, 4\)"
    ):
        resize_masks(np.zeros((2, 0, 4), np.float32), (5, 5))
    with pytest.raises(
        ValueError,
        match=r"MasksToBoxes: 'masks' must be \(N, H, W\), got \(2, 1, 4, 4\); Squeeze\(\"masks\", 1\)",
    ):
        MasksToBoxes(as_="boxes")(TensorRegistry({"masks": np.zeros((2, 1, 4, 4))}))
    with pytest.raises(ValueError, match=r"MasksToBoxes: 'masks' must be \(N, H, W\), got \(4, 4\)$"):
        MasksToBoxes(as_="boxes")(TensorRegistry({"masks": np.zeros((4, 4))}))


@pytest.mark.parametrize("dtype", _DTYPES)
def test_a_box_is_around_its_mask_and_ends_one_past_it(dtype: str) -> None:
    masks = np.zeros((3, 6, 8), dtype)
    masks[0, 2, 3] = 1
    masks[1, 0, 7] = 1
    masks[1, 5, 1] = 1

    found = MasksToBoxes(as_="boxes")(TensorRegistry({"masks": masks}))

    assert found["boxes"].tolist() == [[3, 2, 4, 3], [1, 0, 8, 6], [0, 0, 0, 0]]
    assert found["boxes"].dtype == np.float32


def test_nan_is_in_no_mask_and_negative_values_are() -> None:
    masks = np.array([[[np.nan, 0, -1, 0]], [[np.nan, np.nan, 0, 0]]], np.float32)

    assert masks_to_boxes(masks).tolist() == [[2, 0, 3, 1], [0, 0, 0, 0]]
    assert mask_areas(masks).tolist() == [1, 0]


def test_no_masks_and_masks_without_pixels_have_boxes_of_nothing() -> None:
    assert masks_to_boxes(np.zeros((0, 4, 4), np.bool_)).shape == (0, 4)
    assert masks_to_boxes(np.zeros((2, 0, 4), np.bool_)).tolist() == [[0] * 4] * 2


@pytest.mark.parametrize("dtype", _DTYPES)
def test_a_score_is_the_mean_inside_the_mask_and_0_without_one(dtype: str) -> None:
    scores = np.array([[[0.5, 0.25], [0.75, 0]], [[1, 1], [1, 1]]], np.float32)
    masks = np.array([[[1, 0], [1, 0]], [[0, 0], [0, 0]]], dtype)
    tensors = TensorRegistry({"mask_scores": scores, "masks": masks})

    means = MeanMaskScores(as_="scores")(tensors)

    assert means["scores"].tolist() == [0.625, 0]
    assert means["scores"].dtype == np.float32


def test_a_soft_mask_weighs_its_pixels_and_its_scale_does_not_matter() -> None:
    scores = np.array([[[1, 0]], [[1, 0]]], np.float32)

    assert mean_mask_scores(scores, np.array([[[0.75, 0.25]], [[0.5, 0.5]]])).tolist() == [0.75, 0.5]
    assert mean_mask_scores(scores, np.array([[[255, 255]], [[1, 3]]], np.uint8)).tolist() == [0.5, 0.25]


def test_a_score_outside_the_mask_does_not_count_even_when_it_is_nan() -> None:
    scores = np.array([[[0.5, np.nan]], [[0.5, np.nan]], [[1, 0]]], np.float32)
    masks = np.array([[[1, 0]], [[1, 1]], [[1, np.nan]]], np.float32)

    np.testing.assert_array_equal(mean_mask_scores(scores, masks), np.array([0.5, np.nan, 1], np.float32))


def test_integer_scores_have_a_mean_with_a_fraction_and_none_have_none() -> None:
    means = mean_mask_scores(np.array([[[255, 254]]], np.uint8), np.ones((1, 1, 2), np.bool_))
    none = mean_mask_scores(np.zeros((0, 2, 2), np.float16), np.zeros((0, 2, 2), np.bool_))

    assert (means.tolist(), means.dtype) == ([254.5], np.dtype(np.float32))
    assert (none.shape, none.dtype) == ((0,), np.dtype(np.float16))


def test_scores_of_another_shape_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"must have one shape, got \(2, 3, 3\) and \(2, 3, 4\)"):
        mean_mask_scores(np.zeros((2, 3, 3)), np.zeros((2, 3, 4)))


def test_each_mask_is_multiplied_by_its_score() -> None:
    tensors = TensorRegistry(
        {"masks": np.ones((2, 1, 2), np.float32), "scores": np.array([0.5, np.nan], np.float32)}
    )

    weighted = WeightMasksByScores(as_="weighted")(tensors)

    np.testing.assert_array_equal(weighted["weighted"], [[[0.5, 0.5]], [[np.nan, np.nan]]])
    assert weighted["weighted"].dtype == np.float32


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8"])
def test_integer_masks_are_weighted_without_wrapping(dtype: str) -> None:
    halves = weight_masks(np.ones((1, 1, 1), dtype), np.array([0.5], np.float32))
    whole = weight_masks(np.full((1, 1, 1), 100).astype(dtype), np.array([100], np.uint8))

    assert (halves.item(), halves.dtype) == (0.5, np.dtype(np.float32))
    assert whole.item() == (100 if dtype == "bool" else 10000)


def test_weighting_none_gives_none_and_wants_one_score_per_mask() -> None:
    assert weight_masks(np.zeros((0, 3, 4), np.float32), np.zeros(0, np.float32)).shape == (0, 3, 4)
    with pytest.raises(ValueError, match=r"masks \(N, H, W\) and scores \(N,\), got \(2, 3, 4\) and \(3,\)"):
        weight_masks(np.zeros((2, 3, 4)), np.zeros(3))


@pytest.mark.parametrize("dtype", _DTYPES)
def test_rows_whose_mask_has_pixels_enough_stay(dtype: str) -> None:
    masks = np.zeros((3, 2, 2), dtype)
    masks[0, 0] = 1
    masks[2] = 1
    tensors = TensorRegistry({"masks": masks, "scores": np.array([0.1, 0.2, 0.3])})

    kept = FilterTensorsByMasksArea("scores", min_area=2)(tensors)
    more = FilterTensorsByMasksArea("scores", min_area=3, as_=("m", "s"))(tensors)

    assert kept["scores"].tolist() == [0.1, 0.3]
    assert kept["masks"].shape == (2, 2, 2)
    assert more["s"].tolist() == [0.3]
    assert more["m"].dtype == np.dtype(dtype)


def test_an_empty_mask_goes_by_default_and_none_stay_none() -> None:
    blank = TensorRegistry({"masks": np.zeros((2, 3, 3), np.uint8)})
    none = TensorRegistry({"masks": np.zeros((0, 3, 3), np.uint8)})

    assert FilterTensorsByMasksArea()(blank)["masks"].shape == (0, 3, 3)
    assert FilterTensorsByMasksArea()(none)["masks"].shape == (0, 3, 3)
    assert FilterTensorsByMasksArea(min_area=0)(blank)["masks"].shape == (2, 3, 3)


def test_a_filter_by_area_is_checked() -> None:
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError, match="FilterTensorsByMasksArea: min_area must be 0 pixels or more"):
            FilterTensorsByMasksArea(min_area=wrong)  # type: ignore[arg-type] # the mistake that is tested
    with pytest.raises(ValueError, match="FilterTensorsByMasksArea: as_ must name one output for each"):
        FilterTensorsByMasksArea("scores", as_="one")
    with pytest.raises(ValueError, match=r"'scores' of shape \(2,\) does not have the \(1,\) rows"):
        FilterTensorsByMasksArea("scores")(
            TensorRegistry({"masks": np.ones((1, 2, 2)), "scores": np.zeros(2)})
        )


def test_read_only_masks_are_read_and_give_the_same_twice() -> None:
    tensors = TensorRegistry(
        {
            "masks": np.tri(5, 5, dtype=np.float32)[None],
            "mask_scores": np.full((1, 5, 5), 0.5, np.float32),
            "scores": np.array([0.5], np.float32),
            "coefficients": np.ones((1, 1), np.float32),
        }
    )
    for name in tensors:
        tensors[name].setflags(write=False)
    steps = (
        ReconstructMasks("coefficients", "masks", as_="out"),
        MasksToBoxes(as_="out"),
        MeanMaskScores(as_="out"),
        WeightMasksByScores(as_="out"),
        FilterTensorsByMasksArea(as_="out"),
    )

    for step in steps:
        np.testing.assert_array_equal(step(tensors)["out"], step(tensors)["out"])

        assert "out" not in tensors
    np.testing.assert_array_equal(
        ResizeMasks()(tensors, (9, 9))["masks"], ResizeMasks()(tensors, (9, 9))["masks"]
    )
