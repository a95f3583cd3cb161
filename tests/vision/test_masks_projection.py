"""Masks of a resized picture come back to the original, right to the pixel."""

from __future__ import annotations

from math import ceil, floor

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision.project_masks import ProjectMasks, ProjectRoIMasks, project_masks, project_roi_masks
from ml_pipes.vision.resize import Resize
from ml_pipes.vision.types import ImagePayload, ResizeTransform

_Values = npt.NDArray[np.float64]

_SAME = ResizeTransform((1.0, 1.0), (0.0, 0.0), (4, 6), (4, 6))
_TIE = 1e-4
_DTYPES = ["bool", "uint8", "int32", "int64", "float16", "float32", "float64"]


def _resized(
    shape: tuple[int, int], target: tuple[int, int], *, center: bool = True, mode: str = "letterbox"
) -> ResizeTransform:
    blank = ImagePayload(np.broadcast_to(np.zeros((1, 1, 1), np.uint8), (*shape, 1)))
    step = Resize(target, mode, interpolation="nearest", center=center)  # type: ignore[arg-type] # both are modes
    return step(blank)[1]


def _linear(mask: _Values, rows: _Values, columns: _Values) -> _Values:
    """The mask's values at places between the centres of its pixels, in float64."""
    down, right = np.clip(rows, 0, mask.shape[0] - 1), np.clip(columns, 0, mask.shape[1] - 1)
    top, left = np.floor(down).astype(int), np.floor(right).astype(int)
    low, far = np.minimum(top + 1, mask.shape[0] - 1), np.minimum(left + 1, mask.shape[1] - 1)
    dy, dx = (down - top)[:, None], right - left
    above = mask[top][:, left] * (1 - dx) + mask[top][:, far] * dx
    below = mask[low][:, left] * (1 - dx) + mask[low][:, far] * dx
    result: _Values = above * (1 - dy) + below * dy
    return result


def _without_padding(mask: _Values, transform: ResizeTransform) -> _Values:
    """A mask as large as the resized picture, its padding taken off, at the size of the original."""
    left, top = (int(side) for side in transform.pad)
    (height, width), (rows, columns) = transform.content_shape, transform.original_shape
    content = mask[top : top + height, left : left + width]
    y = (np.arange(rows) + 0.5) * height / rows - 0.5
    x = (np.arange(columns) + 0.5) * width / columns - 0.5
    return _linear(content, y, x)


def _in_box(box: list[float], shape: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Which pixels have their centres in a box, asked one by one."""
    x, y = np.arange(shape[1]) + 0.5, np.arange(shape[0]) + 0.5
    inside: npt.NDArray[np.bool_] = np.logical_and.outer(
        (y >= box[1]) & (y < box[3]), (x >= box[0]) & (x < box[2])
    )
    return inside


def test_an_enlarged_mask_is_cut_to_its_box_and_not_before() -> None:
    transform = ResizeTransform((1.0, 1.0), (0.0, 0.0), (160, 160), (160, 160))
    tensors = TensorRegistry(
        {"masks": np.ones((1, 40, 40), np.float32), "boxes": np.array([[40, 40, 120, 120]], np.float32)}
    )

    projected = ProjectMasks()(tensors, transform)

    assert projected["masks"].dtype == np.uint8
    assert projected["masks"].shape == (1, 160, 160)
    assert projected["masks"].sum() == 6400
    assert projected["masks"][0, 40:120, 40:120].all()


def test_a_mask_is_strictly_above_its_threshold() -> None:
    masks = np.array([[[0.25, 0.5, 0.75, 0.5, 0.5, 1]] * 4], np.float32)
    boxes = np.array([[0, 0, 6, 4]])

    assert project_masks(masks, boxes, _SAME)[0, 0].tolist() == [0, 0, 1, 0, 0, 1]
    assert project_masks(masks, boxes, _SAME, 0.25)[0, 0].tolist() == [0, 1, 1, 1, 1, 1]
    assert project_masks(masks - 0.5, boxes, _SAME, 0.0)[0, 0].tolist() == [0, 0, 1, 0, 0, 1]


@given(
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.booleans(),
    st.sampled_from(["letterbox", "resize"]),
    st.lists(st.floats(-20, 80), min_size=4, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_a_mask_comes_back_as_its_content_enlarged_and_then_cut(
    shape: tuple[int, int], target: tuple[int, int], center: bool, mode: str, box: list[float], seed: int
) -> None:
    transform = _resized(shape, target, center=center, mode=mode)
    mask = np.random.default_rng(seed).normal(size=target)
    wanted = _without_padding(mask, transform)

    projected = project_masks(mask[None].astype(np.float32), np.array([box]), transform, 0.0)[0]

    wrong = projected != ((wanted > 0) & _in_box(box, shape))
    assert np.abs(wanted[wrong]).max(initial=0) < _TIE


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize(
    "shape", [(1571, 3775), (1080, 1920), (1921, 1079), (5000, 1), (1, 5000), (3, 2000), (719, 720)]
)
def test_a_quarter_size_mask_is_read_where_the_transform_says(shape: tuple[int, int], center: bool) -> None:
    transform = _resized(shape, (640, 640), center=center)
    # Values that tell their own place, in pixels of the resized picture.
    places = (np.arange(160, dtype=np.float32) + 0.5) * 4
    masks = np.stack([np.broadcast_to(places, (160, 160)), np.broadcast_to(places[:, None], (160, 160))])
    boxes = np.array([[0, 0, shape[1], shape[0]]] * 2, np.float32)
    threshold = 333.3

    across, down = project_masks(masks, boxes, transform, threshold)

    x = (np.arange(shape[1]) + 0.5) * transform.scale[0] + transform.pad[0]
    y = (np.arange(shape[0]) + 0.5) * transform.scale[1] + transform.pad[1]
    # Within 2 pixels of an edge there is no centre of a mask's pixel to read on its other side.
    sure_x = (
        np.abs(x - np.clip(x, transform.pad[0] + 4, transform.pad[0] + transform.content_shape[1] - 4)) == 0
    )
    sure_y = (
        np.abs(y - np.clip(y, transform.pad[1] + 4, transform.pad[1] + transform.content_shape[0] - 4)) == 0
    )
    np.testing.assert_array_equal(across[0][sure_x], (x > threshold)[sure_x])
    np.testing.assert_array_equal(down[:, 0][sure_y], (y > threshold)[sure_y])


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("target", [(32, 32), (31, 33), (64, 40), (160, 17)])
@pytest.mark.parametrize("shape", [(100, 37), (37, 100), (50, 50), (7, 300), (300, 7)])
def test_a_mask_of_the_whole_picture_covers_its_corners_whatever_the_padding_holds(
    shape: tuple[int, int], target: tuple[int, int], center: bool
) -> None:
    transform = _resized(shape, target, center=center)
    left, top = (int(side) for side in transform.pad)
    height, width = transform.content_shape
    masks = np.full((1, *target), -1000, np.float32)
    masks[0, top : top + height, left : left + width] = 1
    boxes = np.array([[0, 0, shape[1], shape[0]]], np.float32)

    assert project_masks(masks, boxes, transform).all()
    assert not project_masks(-masks, boxes, transform).any()


def test_a_picture_narrower_than_a_mask_pixel_reads_the_pixel_that_it_lies_in() -> None:
    transform = _resized((5000, 1), (640, 640))
    masks = np.zeros((1, 160, 160), np.uint8)
    masks[0, :, 79] = 1  # the content is column 319 of 640, which is in column 79 of 160

    projected = project_masks(masks, np.array([[0, 0, 1, 5000]]), transform)

    assert projected.shape == (1, 5000, 1)
    assert projected.all()


@pytest.mark.parametrize("dtype", _DTYPES)
def test_masks_of_every_dtype_are_read_as_numbers(dtype: str) -> None:
    transform = ResizeTransform((1.0, 1.0), (0.0, 0.0), (1, 8), (1, 8))
    masks = np.array([[[0, 1, 1, 0]]], dtype)
    boxes = np.array([[0, 0, 8, 1]], np.int64)

    projected = project_masks(masks, boxes, transform)

    # Between centres at 1, 3, 5 and 7 pixels: 0.25, 0.75 and so on, of which those above half are in.
    assert projected.tolist() == [[[0, 0, 1, 1, 1, 1, 0, 0]]]


def test_a_box_that_leaves_the_picture_is_cut_and_one_without_pixels_gets_none() -> None:
    nan, inf = float("nan"), float("inf")
    boxes = np.array(
        [
            [-5, -5, 3, 2],
            [4, 3, 99, 99],
            [-inf, -inf, inf, inf],
            [3, 3, 1, 1],
            [2, 2, 2, 4],
            [nan, 0, 6, 4],
            [7, 0, 9, 4],
            [-9, 0, -1, 4],
        ],
        np.float32,
    )

    projected = project_masks(np.ones((8, 4, 6), np.bool_), boxes, _SAME)

    assert projected.sum(axis=(1, 2)).tolist() == [6, 2, 24, 0, 0, 0, 0, 0]
    assert projected[0, :2, :3].all()
    assert projected[1, 3, 4:].all()


def test_a_pixel_belongs_to_the_box_that_its_centre_is_in() -> None:
    boxes = np.array([[1.5, 0, 3.5, 4], [3.5, 0, 5.51, 4], [1.4, 0, 1.6, 4]])

    projected = project_masks(np.ones((3, 4, 6), np.float32), boxes, _SAME)

    assert projected[:, 0].tolist() == [[0, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1], [0, 1, 0, 0, 0, 0]]


def test_nan_and_infinity_in_a_mask_touch_only_the_pixels_around_them() -> None:
    masks = np.full((2, 4, 6), 2, np.float32)
    masks[0, 1, 2] = np.nan
    masks[1] = np.inf
    masks[1, 0, 0] = -np.inf
    boxes = np.array([[0, 0, 6, 4]] * 2)

    projected = project_masks(masks, boxes, _SAME)

    assert np.argwhere(projected == 0).tolist() == [[0, 1, 2], [1, 0, 0]]


def test_no_masks_give_no_masks_of_the_original_size() -> None:
    tensors = TensorRegistry({"masks": np.zeros((0, 160, 160), np.float32), "boxes": np.zeros((0, 4))})

    whole = ProjectMasks()(tensors, _SAME)["masks"]
    of_boxes = ProjectRoIMasks()(tensors, _SAME)["masks"]

    assert (whole.shape, whole.dtype) == ((0, 4, 6), np.dtype(np.uint8))
    assert (of_boxes.shape, of_boxes.dtype) == ((0, 4, 6), np.dtype(np.bool_))


def test_a_roi_mask_is_stretched_over_its_box_and_the_padding_is_taken_off() -> None:
    # Half the size in both axes, 3 pixels of padding left and 5 above.
    transform = ResizeTransform((0.5, 0.5), (3.0, 5.0), (40, 60), (30, 36), content_shape=(20, 30))
    tensors = TensorRegistry(
        {"masks": np.array([[[1, 0], [1, 1]]], np.float32), "boxes": np.array([[8, 10, 12, 14]], np.float32)}
    )

    projected = ProjectRoIMasks()(tensors, transform)["masks"]

    # The box is 10, 10 to 18, 18 in the original; 0.5 is reached nowhere but at centres.
    assert projected.dtype == np.bool_
    assert not projected[0, :10].any()
    assert not projected[0, :, :10].any()
    assert not projected[0, 18:].any()
    assert not projected[0, :, 18:].any()
    assert projected[0, 10:18, 10:14].all()
    assert projected[0, 16:18, 10:18].all()
    assert not projected[0, 10:12, 16:18].any()


@given(
    st.tuples(st.integers(1, 60), st.integers(1, 60)),
    st.tuples(st.integers(1, 40), st.integers(1, 40)),
    st.booleans(),
    st.tuples(st.integers(1, 9), st.integers(1, 9)),
    st.lists(st.floats(-30, 70), min_size=4, max_size=4),
    st.integers(0, 2**32 - 1),
)
def test_a_roi_mask_is_pasted_like_a_whole_one_that_is_cut_afterwards(
    shape: tuple[int, int],
    target: tuple[int, int],
    center: bool,
    size: tuple[int, int],
    box: list[float],
    seed: int,
) -> None:
    transform = _resized(shape, target, center=center)
    mask = np.random.default_rng(seed).normal(size=size)
    x1, y1, x2, y2 = (
        (value - transform.pad[at % 2]) / transform.scale[at % 2] for at, value in enumerate(box)
    )
    wanted = np.full(shape, -1.0)
    left, top, right, bottom = floor(x1 + 1e-3), floor(y1 + 1e-3), ceil(x2 - 1e-3), ceil(y2 - 1e-3)
    if x1 < x2 and y1 < y2:
        rows, columns = np.arange(shape[0]), np.arange(shape[1])
        inside = np.logical_and.outer((rows >= top) & (rows < bottom), (columns >= left) & (columns < right))
        y = (rows + 0.5 - top) * size[0] / max(bottom - top, 1) - 0.5
        x = (columns + 0.5 - left) * size[1] / max(right - left, 1) - 0.5
        wanted = np.where(inside, _linear(mask, y, x), -1)

    projected = project_roi_masks(mask[None].astype(np.float32), np.array([box]), transform, 0.0)[0]

    wrong = projected != (wanted > 0)
    assert np.abs(wanted[wrong]).max(initial=0) < _TIE


def test_a_roi_mask_whose_box_leaves_the_picture_is_cut_and_not_squeezed() -> None:
    mask = np.zeros((1, 4, 8), np.float32)
    mask[0, :, 4:] = 1

    projected = project_roi_masks(mask, np.array([[-4, 0, 4, 4]]), _SAME)
    beyond = project_roi_masks(mask, np.array([[2, 0, 10, 4]]), _SAME)

    assert projected[0, 0].tolist() == [True] * 4 + [False] * 2
    assert not beyond.any()


def test_roi_boxes_are_widened_to_whole_pixels_but_not_for_a_rounding_error() -> None:
    boxes = np.array([[1.2, 0, 3.1, 4], [0.99999994, 0, 3.0000002, 4]], np.float32)

    projected = project_roi_masks(np.ones((2, 2, 2), np.float32), boxes, _SAME)

    assert projected[:, 0].tolist() == [
        [False, True, True, True, False, False],
        [False, True, True] + [False] * 3,
    ]


def test_a_roi_box_that_is_inverted_or_no_box_gets_no_pixels() -> None:
    nan, inf = float("nan"), float("inf")
    boxes = np.array(
        [[3, 3, 1, 1], [2, 0, 2, 4], [nan, 0, 6, 4], [0, -inf, 6, inf], [8, 0, 9, 4], [0, 0, 6, 4]],
        np.float32,
    )

    projected = project_roi_masks(np.ones((6, 3, 3), np.float32), boxes, _SAME)

    assert projected.sum(axis=(1, 2)).tolist() == [0, 0, 0, 0, 0, 24]


@pytest.mark.parametrize("dtype", _DTYPES)
def test_roi_masks_of_every_dtype_are_read_as_numbers(dtype: str) -> None:
    projected = project_roi_masks(np.array([[[0, 1, 1]]], dtype), np.array([[0, 0, 6, 4]], np.uint8), _SAME)

    assert projected[0, 0].tolist() == [False, False, True, True, True, True]


@pytest.mark.parametrize("step", [ProjectMasks, ProjectRoIMasks])
def test_shapes_that_do_not_belong_together_are_an_error(
    step: type[ProjectMasks | ProjectRoIMasks],
) -> None:
    masks = np.ones((2, 4, 6), np.float32)

    with pytest.raises(
        ValueError,
        match=rf"{step.__name__}: wanted masks \(N, H, W\) and boxes \(N, 4\), got \(2, 4, 6\) and \(3, 4\)",
    ):
        step()(TensorRegistry({"masks": masks, "boxes": np.zeros((3, 4))}), _SAME)
    with pytest.raises(
        ValueError, match=rf"{step.__name__}: 'masks' must be \(N, H, W\), got \(2, 1, 4, 6\); Sq"
    ):
        step()(TensorRegistry({"masks": masks[:, None], "boxes": np.zeros((2, 4))}), _SAME)
    with pytest.raises(ValueError, match=rf"{step.__name__}: the masks have no pixels"):
        step()(TensorRegistry({"masks": masks[:, :0], "boxes": np.zeros((2, 4))}), _SAME)


@pytest.mark.parametrize("step", [ProjectMasks, ProjectRoIMasks])
@pytest.mark.parametrize("threshold", [float("nan"), float("inf"), -float("inf")])
def test_a_threshold_that_is_no_finite_number_is_refused_when_built(
    step: type[ProjectMasks | ProjectRoIMasks], threshold: float
) -> None:
    with pytest.raises(
        ValueError, match=rf"{step.__name__}: mask_threshold must be a finite number, got {threshold}"
    ):
        step(mask_threshold=threshold)


@pytest.mark.parametrize("step", [ProjectMasks, ProjectRoIMasks])
def test_projecting_reads_read_only_tensors_and_gives_the_same_twice(
    step: type[ProjectMasks | ProjectRoIMasks],
) -> None:
    tensors = TensorRegistry(
        {"m": np.tri(4, 6, dtype=np.float32)[None], "b": np.array([[0.5, 0.5, 5, 4]], np.float32)}
    )
    for name in tensors:
        tensors[name].setflags(write=False)

    once, again = (step("m", "b", mask_threshold=0.3)(tensors, _SAME) for _ in range(2))

    np.testing.assert_array_equal(once["m"], again["m"])
    assert once["m"].any()
    assert tensors["m"].shape == (1, 4, 6)
    assert tensors["m"].dtype == np.float32
