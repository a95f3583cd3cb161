"""Crops hold the pixels that their quadrilaterals frame, at one height and in shared widths."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.errors import StepInputError
from ml_pipes.tensor import TensorPayload, TensorRegistry
from ml_pipes.vision import ImagePayload
from ml_pipes.vision.text import (
    CollateWidths,
    CropQuads,
    PadWidth,
    ResizeToHeight,
    crop_quads,
    pad_width,
)

DTYPES = ["uint8", "uint16", "float16", "float32", "float64"]


def frame(left: float, top: float, right: float, bottom: float) -> np.ndarray:
    """One upright quadrilateral."""
    return np.array([[[left, top], [right, top], [right, bottom], [left, bottom]]], np.float32)


def noise(height: int, width: int, channels: int = 3, dtype: str = "uint8") -> np.ndarray:
    return np.random.default_rng(7).integers(0, 256, (height, width, channels)).astype(dtype)


def tensor(width: int, value: float = 1.0) -> TensorPayload:
    return TensorPayload(np.full((1, 3, 2, width), value, np.float32), "NCHW", "float32")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_an_upright_frame_gives_the_very_pixels(dtype, channels) -> None:
    pixels = noise(40, 60, channels, dtype)

    (crop,) = crop_quads(pixels, frame(10, 5, 30, 15))

    np.testing.assert_array_equal(crop, pixels[5:15, 10:30])
    assert crop.dtype == dtype
    assert crop.flags.c_contiguous


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 40), st.integers(1, 40))
def test_every_upright_frame_within_gives_the_very_pixels(left, top, width, height) -> None:
    pixels = noise(70, 70)

    (crop,) = crop_quads(pixels, frame(left, top, left + width, top + height), upright_ratio=None)

    np.testing.assert_array_equal(crop, pixels[top : top + height, left : left + width])


def test_a_frame_that_stands_on_its_side_is_straightened() -> None:
    # The picture's upper edge lies along the frame's right side: a quarter turn.
    pixels = noise(40, 40)
    turned = np.array([[[0, 40], [0, 0], [40, 0], [40, 40]]], np.float32)

    (crop,) = crop_quads(pixels, turned)

    # Corner 0 is at the lower left: columns go up. One pixel lies outside, for edges are counted at centres.
    np.testing.assert_array_equal(crop[:, 1:], np.rot90(pixels, -1)[:, :-1])


def test_the_longer_of_two_sides_counts_and_fractions_are_left_out() -> None:
    quad = np.array([[[0, 0], [20.9, 0], [30.9, 12.9], [0, 10]]], np.float32)

    (crop,) = crop_quads(noise(50, 50), quad)

    # The lower side is hypot(30.9, 2.9) = 31.04 long, the right one hypot(10, 12.9) = 16.3.
    assert crop.shape == (16, 31, 3)


def test_a_crop_that_is_half_again_as_high_as_wide_is_turned_to_the_left() -> None:
    pixels = noise(60, 60)

    (turned,) = crop_quads(pixels, frame(10, 5, 30, 35))
    (upright,) = crop_quads(pixels, frame(10, 5, 30, 34))
    (never,) = crop_quads(pixels, frame(10, 5, 30, 35), upright_ratio=None)

    np.testing.assert_array_equal(turned, np.rot90(pixels[5:35, 10:30]))
    assert upright.shape == (29, 20, 3)
    assert never.shape == (30, 20, 3)


def test_outside_the_picture_its_edge_is_repeated() -> None:
    pixels = noise(20, 20)

    (crop,) = crop_quads(pixels, frame(-5, 0, 10, 10))

    np.testing.assert_array_equal(crop[:, :5], np.repeat(pixels[:10, :1], 5, axis=1))
    np.testing.assert_array_equal(crop[:, 5:], pixels[:10, :10])


@pytest.mark.parametrize("left", [0, 20000, 39900])
def test_a_frame_in_a_picture_that_is_too_long_for_opencv_gives_the_very_pixels(left) -> None:
    pixels = noise(20, 40000)

    (wide,) = crop_quads(pixels, frame(left, 2, left + 100, 12))
    (high,) = crop_quads(pixels.swapaxes(0, 1).copy(), frame(2, left, 12, left + 100), upright_ratio=None)
    (outside,) = crop_quads(pixels, frame(40100, 2, 40110, 12))

    np.testing.assert_array_equal(wide, pixels[2:12, left : left + 100])
    np.testing.assert_array_equal(high, pixels[2:12, left : left + 100].swapaxes(0, 1))
    np.testing.assert_array_equal(outside, np.repeat(pixels[2:12, -1:], 10, axis=1))


def test_a_frame_without_an_area_gives_one_pixel_a_side() -> None:
    (crop,) = crop_quads(noise(20, 20), np.full((1, 4, 2), 5, np.float32))

    assert crop.shape == (1, 1, 3)


def test_unsigned_and_wide_corners_do_not_wrap() -> None:
    pixels = noise(40, 300)

    (small,) = crop_quads(pixels, frame(200, 5, 250, 15).astype(np.uint8))
    (wide,) = crop_quads(pixels, frame(200, 5, 250, 15).astype(np.int64))

    np.testing.assert_array_equal(small, pixels[5:15, 200:250])
    np.testing.assert_array_equal(wide, small)


def test_the_step_gives_pictures_of_the_same_colours_in_order() -> None:
    pixels = noise(40, 60)
    pixels.flags.writeable = False
    quads = np.concatenate([frame(30, 0, 50, 10), frame(0, 0, 20, 10)])

    crops = CropQuads("q")(TensorRegistry({"q": quads}), ImagePayload(pixels, "RGB"))

    assert crops == [
        ImagePayload(pixels[:10, 30:50], "RGB"),
        ImagePayload(pixels[:10, :20], "RGB"),
    ]


def test_no_quadrilaterals_give_no_crops() -> None:
    assert crop_quads(noise(5, 5), np.empty((0, 4, 2), np.float32)) == []


@pytest.mark.parametrize("corner", [math.nan, math.inf, 40000.0, 1e300])
def test_corners_that_cannot_be_cropped_are_refused_by_row(corner) -> None:
    quads = np.concatenate([frame(0, 0, 5, 5).astype(np.float64)] * 2)
    quads[1, 1:3, 0] = corner

    with pytest.raises(
        ValueError, match=r"corners must be finite and sides at most 32766 px, got .* in row 1"
    ):
        crop_quads(noise(9, 9), quads)


@pytest.mark.parametrize(
    ("pixels", "message"),
    [
        (np.zeros((5, 5), np.uint8), r"must be \(H, W, C\) with 1 to 4 channels, got \(5, 5\)"),
        (np.zeros((5, 5, 6), np.uint8), "with 1 to 4 channels"),
        (np.zeros((0, 5, 3), np.uint8), "with 1 to 4 channels"),
        (np.zeros((5, 5, 3), np.int64), "pixels must be uint8, .*, got int64; cast them first"),
    ],
)
def test_pictures_that_cannot_be_cropped_are_refused(pixels, message) -> None:
    with pytest.raises(ValueError, match=message):
        crop_quads(pixels, frame(0, 0, 3, 3))


def test_a_planar_picture_and_another_value_are_refused() -> None:
    tensors = TensorRegistry({"quads": frame(0, 0, 3, 3)})

    with pytest.raises(ValueError, match=r"CropQuads: the picture must be HWC, got CHW of shape \(3, 5, 5\)"):
        CropQuads()(tensors, ImagePayload(np.zeros((3, 5, 5), np.uint8), layout="CHW"))
    with pytest.raises(StepInputError, match="CropQuads: wanted an ImagePayload, got ndarray"):
        CropQuads()(tensors, np.zeros((5, 5, 3), np.uint8))


@pytest.mark.parametrize("ratio", [0, -1, math.nan])
def test_an_upright_ratio_must_be_above_zero(ratio) -> None:
    with pytest.raises(ValueError, match="CropQuads: upright_ratio must be above 0 or None, got"):
        CropQuads(upright_ratio=ratio)


@given(st.integers(1, 400), st.integers(1, 400), st.integers(1, 64))
def test_the_width_is_the_proportion_rounded_up(height, width, target) -> None:
    resized = ResizeToHeight(target)(ImagePayload(np.zeros((height, width, 3), np.uint8)))

    assert resized.height == target
    assert (resized.width - 1) * height < target * width <= resized.width * height


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_resized_picture_keeps_its_dtype_and_colours(dtype) -> None:
    resized = ResizeToHeight(48)(ImagePayload(np.full((24, 30, 3), 1, dtype), "RGB"))

    assert (resized.shape, resized.dtype, resized.color_space) == ((48, 60, 3), dtype, "RGB")
    assert (resized.array == 1).all()


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (ImagePayload(np.zeros((3, 5, 5), np.uint8), layout="CHW"), "must be HWC with pixels, got CHW"),
        (ImagePayload(np.zeros((0, 5, 3), np.uint8)), r"got HWC of shape \(0, 5, 3\)"),
        (ImagePayload(np.zeros((5, 5, 3), np.int64)), "got int64; cast them first"),
    ],
)
def test_pictures_that_cannot_be_resized_are_refused(image, message) -> None:
    with pytest.raises(ValueError, match=message):
        ResizeToHeight()(image)


def test_a_height_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="ResizeToHeight: height must be a whole number, 1 or more, got 0"):
        ResizeToHeight(0)


@pytest.mark.parametrize(("width", "padded"), [(1, 320), (320, 320), (321, 352), (352, 352), (353, 384)])
def test_a_tensor_grows_to_the_next_shared_width(width, padded) -> None:
    result = PadWidth(320, 32)(tensor(width))

    assert result.array.shape == (1, 3, 2, padded)
    assert (result.array[..., :width] == 1).all()
    assert (result.array[..., width:] == 0).all()


def test_a_tensor_of_the_right_width_is_not_copied() -> None:
    given_tensor = tensor(64)

    assert PadWidth(1, 32)(given_tensor) is given_tensor


@pytest.mark.parametrize(
    ("layout", "shape", "padded"),
    [("NHWC", (1, 2, 5, 3), (1, 2, 8, 3)), ("CHW", (3, 2, 5), (3, 2, 8)), ("HW", (2, 5), (2, 8))],
)
def test_the_width_is_found_by_the_layout(layout, shape, padded) -> None:
    result = pad_width(TensorPayload(np.ones(shape, np.float16), layout, "float16"), 8, 7)

    assert (result.array.shape, result.layout, result.dtype) == (padded, layout, "float16")
    assert result.array.sum() == math.prod(shape) + 7 * (math.prod(padded) - math.prod(shape))


def test_different_widths_are_joined_at_the_widest() -> None:
    joined = CollateWidths(1)([tensor(3, 1), tensor(5, 2)])

    assert joined.array[:, 0, 0].tolist() == [[1, 1, 1, 0, 0], [2, 2, 2, 2, 2]]
    assert (joined.layout, joined.dtype) == ("NCHW", "float32")


def test_joined_widths_are_at_least_the_least() -> None:
    assert CollateWidths(8, value=0.5)([tensor(3)]).array[0, 0, 0].tolist() == [
        1,
        1,
        1,
        0.5,
        0.5,
        0.5,
        0.5,
        0.5,
    ]


def test_what_cannot_be_padded_or_joined_is_refused() -> None:
    odd = TensorPayload(np.zeros((2, 5)), "NC", "float64")

    with pytest.raises(
        ValueError, match=r"PadWidth: the layout must have a W, got 'NC' for an array \(2, 5\)"
    ):
        PadWidth()(odd)
    with pytest.raises(ValueError, match="PadWidth: the tensor is 9 columns wide, wanted 5"):
        pad_width(tensor(9), 5)
    with pytest.raises(ValueError, match="CollateWidths: the layout must have a W"):
        CollateWidths()([odd])
    with pytest.raises(ValueError, match="the list of tensors is empty"):
        CollateWidths()([])
    with pytest.raises(StepInputError, match="CollateWidths: wanted a list, got TensorPayload"):
        CollateWidths()(tensor(3))


@pytest.mark.parametrize("options", [{"min_width": 0}, {"multiple_of": 0}])
def test_a_wrong_width_is_refused_when_built(options) -> None:
    with pytest.raises(
        ValueError, match=r"PadWidth: (min_width|multiple_of) must be a whole number, 1 or more"
    ):
        PadWidth(**options)


def test_a_wrong_least_width_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="CollateWidths: min_width must be a whole number, 1 or more, got 0"):
        CollateWidths(0)
