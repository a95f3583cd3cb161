"""Pages reach the sizes at which text is found, and every point of them finds its way back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.errors import StepInputError
from ml_pipes.vision import ImagePayload, project_points
from ml_pipes.vision.text import PreparePage, ResizePage, detection_shape, page_shape


def picture(height: int, width: int, value: float = 200, dtype: str = "uint8") -> ImagePayload:
    pixels = np.full((height, width, 3), value, dtype)
    pixels.flags.writeable = False
    return ImagePayload(pixels, "RGB")


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((800, 600), (800, 600)),
        ((2000, 1999), (2000, 1999)),
        # 2600 -> 2000 -> 62.5 * 32, half to even: 62; 700 * 2000 / 2600 = 538 -> 17 * 32.
        ((700, 2600), (544, 1984)),
        # 28 -> 30 -> 32; 180 * 30 / 28 = 192.
        ((28, 180), (32, 192)),
        # Shrunk to a sliver first, which then grows.
        ((10, 4000), (32, 1984)),
    ],
)
def test_pages_are_brought_within_bounds(shape, expected) -> None:
    assert page_shape(shape) == expected


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((736, 736), (736, 736)), ((191, 384), (736, 1472)), ((900, 1200), (896, 1216)), ((1, 1), (736, 736))],
)
def test_pages_grow_until_the_shorter_side_is_long_enough(shape, expected) -> None:
    assert detection_shape(shape) == expected


@given(st.integers(1, 3000), st.integers(1, 3000), st.sampled_from([1, 4, 32, 64]))
def test_both_sides_are_multiples_and_none_shrinks_by_more_than_half_of_one(height, width, multiple) -> None:
    result = detection_shape((height, width), 64, multiple)

    assert [side % multiple for side in result] == [0, 0]
    assert min(result) >= 64 - multiple
    assert all(new >= old - multiple / 2 for new, old in zip(result, (height, width), strict=True))


def test_a_page_within_bounds_goes_on_as_it_is() -> None:
    page = picture(100, 200)

    prepared, transform = PreparePage()(page)

    assert prepared is page
    assert (transform.scale, transform.pad) == ((1.0, 1.0), (0.0, 0.0))


def test_a_flat_page_gets_black_rows_above_and_below() -> None:
    # Wanted: max(900 // 8, 30) * 2 = 224 rows; (224 - 44) // 2 = 90 on each side.
    prepared, transform = PreparePage()(picture(44, 900))

    assert prepared.shape == (224, 900, 3)
    assert prepared.color_space == "RGB"
    assert (prepared.array[:90] == 0).all()
    assert (prepared.array[90:134] == 200).all()
    assert (prepared.array[134:] == 0).all()
    assert (transform.pad, transform.content_shape) == ((0.0, 90.0), (44, 900))


def test_a_long_page_shrinks_and_says_by_how_much() -> None:
    prepared, transform = PreparePage()(picture(700, 2600))

    assert prepared.shape == (544, 1984, 3)
    assert transform.scale == (1984 / 2600, 544 / 700)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32", "float64"])
def test_every_dtype_is_kept(dtype) -> None:
    flat, _ = PreparePage()(picture(44, 900, 1, dtype))
    large, _ = ResizePage(64)(picture(40, 50, 1, dtype))

    assert (flat.dtype, large.dtype) == (dtype, dtype)
    assert (large.array == 1).all()


@given(st.integers(1, 300), st.integers(1, 300))
def test_the_corners_of_a_page_find_their_way_back(height, width) -> None:
    page = picture(height, width)
    prepared, first = PreparePage(20, 150, 3)(page)
    resized, second = ResizePage(64)(prepared)
    left, top = first.pad
    ends = np.array([[left, top], [left + first.content_shape[1], top + first.content_shape[0]]])
    net = ends * np.array(second.scale)

    back = project_points(project_points(net, second), first)

    assert resized.spatial_shape == second.resized_shape
    np.testing.assert_allclose(back, [[0, 0], [width, height]], atol=1e-6)


@pytest.mark.parametrize("step", [PreparePage(), ResizePage()])
def test_what_is_no_page_is_refused(step) -> None:
    with pytest.raises(ValueError, match=r"the picture must be HWC, got CHW of shape \(3, 5, 5\)"):
        step(ImagePayload(np.zeros((3, 5, 5), np.uint8), layout="CHW"))
    with pytest.raises(ValueError, match=r"the picture has no pixels, its shape is \(0, 5, 3\)"):
        step(ImagePayload(np.zeros((0, 5, 3), np.uint8)))
    with pytest.raises(ValueError, match="got int32; cast them first"):
        step(picture(5, 5, 1, "int32"))
    with pytest.raises(StepInputError, match="wanted an ImagePayload, got bytes"):
        step(b"")


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (PreparePage, {"min_side": 0}, "PreparePage: wanted 1 <= min_side <= max_side, got min_side=0"),
        (PreparePage, {"min_side": 50, "max_side": 40}, "got min_side=50, max_side=40"),
        (PreparePage, {"max_ratio": 0}, "PreparePage: max_ratio must be above 0, got 0"),
        (ResizePage, {"multiple_of": 0}, "ResizePage: multiple_of must be a whole number, 1 or more"),
    ],
)
def test_a_wrong_option_is_refused_when_built(kind, options, message) -> None:
    with pytest.raises(ValueError, match=message):
        kind(**options)
