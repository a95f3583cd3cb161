"""Pictures reach their size without losing a side, their dtype or the way back."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.vision import ImagePayload, Resize
from ml_pipes.vision.resize import letterbox_shape

_SIDES = st.integers(1, 5000)


def _picture(
    height: int, width: int, channels: int = 3, dtype: str = "uint8", value: float = 0
) -> ImagePayload:
    pixels = np.full((height, width, channels), value, dtype)
    pixels.setflags(write=False)
    return ImagePayload(pixels)


def test_a_letterbox_keeps_the_proportions_and_pads_both_sides() -> None:
    resized, transform = Resize((640, 640))(_picture(480, 640))

    assert resized.shape == (640, 640, 3)
    assert transform.scale == (1.0, 1.0)
    assert transform.pad == (0.0, 80.0)
    assert transform.original_shape == (480, 640)
    assert transform.resized_shape == (640, 640)
    assert transform.content_shape == (480, 640)
    assert (resized.array[:80] == 114).all()
    assert (resized.array[80:560] == 0).all()
    assert (resized.array[560:] == 114).all()


def test_an_odd_padding_has_its_smaller_half_left_and_above() -> None:
    resized, transform = Resize((10, 15))(_picture(10, 10))

    assert transform.pad == (2.0, 0.0)
    assert (resized.array[:, :2] == 114).all()
    assert (resized.array[:, 2:12] == 0).all()
    assert (resized.array[:, 12:] == 114).all()


def test_without_centring_all_padding_is_right_and_below() -> None:
    resized, transform = Resize((20, 15), center=False, pad_value=7)(_picture(10, 10))

    assert transform.pad == (0.0, 0.0)
    assert (resized.array[:15] == 0).all()
    assert (resized.array[15:] == 7).all()


def test_a_small_picture_is_not_enlarged_when_that_is_not_allowed() -> None:
    _, transform = Resize((640, 640), allow_scale_up=False)(_picture(100, 200))

    assert transform.content_shape == (100, 200)
    assert transform.scale == (1.0, 1.0)
    assert transform.pad == (220.0, 270.0)


def test_stretching_has_a_scale_per_axis_and_no_padding() -> None:
    resized, transform = Resize((100, 300), mode="resize")(_picture(200, 100))

    assert resized.shape == (100, 300, 3)
    assert transform.scale == (3.0, 0.5)
    assert transform.pad == (0.0, 0.0)


def test_the_scale_is_the_true_one_and_not_the_one_aimed_at() -> None:
    _, transform = Resize((1280, 1280))(_picture(1571, 3775))

    assert transform.content_shape == (533, 1280)
    assert transform.pad == (0.0, 373.0)
    assert transform.scale == (1280 / 3775, 533 / 1571)


def test_each_side_goes_up_to_the_next_multiple() -> None:
    step = Resize(None, "resize", multiple_of=32)

    assert step(_picture(1080, 810))[1].resized_shape == (1088, 832)
    assert step(_picture(64, 1))[1].resized_shape == (64, 32)


@pytest.mark.parametrize(
    ("shape", "target", "content"),
    [((1, 5000), (640, 640), (1, 640)), ((5000, 1), (640, 640), (640, 1)), ((100, 3), (1, 1), (1, 1))],
)
def test_no_side_becomes_0(shape: tuple[int, int], target: tuple[int, int], content: tuple[int, int]) -> None:
    resized, transform = Resize(target)(_picture(*shape))

    assert transform.content_shape == content
    assert resized.spatial_shape == target


@given(_SIDES, _SIDES, st.integers(1, 2000), st.integers(1, 2000))
def test_a_letterbox_fits_and_touches_its_frame(height: int, width: int, tall: int, wide: int) -> None:
    content = letterbox_shape((height, width), (tall, wide))

    assert 1 <= content[0] <= tall
    assert 1 <= content[1] <= wide
    assert content[0] == tall or content[1] == wide


@pytest.mark.parametrize(
    ("dtype", "white", "pad"),
    [
        ("uint8", 255, 114),
        ("uint16", 65535, 29298),
        ("float32", 1, 114 / 255),
        ("float64", 1, 114 / 255),
        ("float16", 1, 114 / 255),
    ],
)
def test_the_padding_is_scaled_to_the_dtype_and_the_dtype_stays(dtype: str, white: float, pad: float) -> None:
    resized, _ = Resize((8, 4))(_picture(4, 4, dtype=dtype, value=white))

    assert resized.dtype == dtype
    assert resized.array[4, 0, 0] == white
    assert resized.array[0, 0, 0] == pytest.approx(pad, rel=1e-3)


@pytest.mark.parametrize("channels", [1, 4, 5])
@pytest.mark.parametrize("mode", ["letterbox", "resize"])
def test_any_number_of_channels_stays(channels: int, mode: str) -> None:
    resized, _ = Resize((8, 8), mode)(_picture(4, 6, channels, value=9))  # type: ignore[arg-type] # both are modes

    assert resized.shape == (8, 8, channels)
    assert (resized.array[4] == 9).all()


@pytest.mark.parametrize(("interpolation", "mean"), [("area", 32), ("linear", 0)])
def test_area_keeps_the_brightness_of_fine_stripes_and_linear_skips_them(
    interpolation: str, mean: float
) -> None:
    stripes = np.zeros((512, 512, 3), np.uint8)
    stripes[:, ::8] = 255

    resized, _ = Resize((64, 64), interpolation=interpolation)(ImagePayload(stripes))  # type: ignore[arg-type] # both are

    assert abs(resized.array.mean() - mean) <= 1


@pytest.mark.parametrize(
    ("dtype", "white"), [("uint8", 255), ("uint16", 65535), ("float16", 1), ("float32", 1), ("float64", 1)]
)
@pytest.mark.parametrize("mode", ["letterbox", "resize"])
@pytest.mark.parametrize("target", [(64, 64), (64, 100), (96, 64), (61, 77), (200, 64)])
def test_area_keeps_the_brightness_in_every_mode_and_dtype_beside_padding(
    dtype: str, white: float, mode: str, target: tuple[int, int]
) -> None:
    stripes = np.zeros((512, 512, 3), dtype)
    stripes[:, ::8] = white

    resized, transform = Resize(target, mode, interpolation="area")(ImagePayload(stripes))  # type: ignore[arg-type] # both are modes

    (left, top), (height, width) = transform.pad, transform.content_shape
    content = resized.array[int(top) : int(top) + height, int(left) : int(left) + width]
    assert abs(content.astype(float).mean() / white * 255 - 32) <= 1


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("target", [(20, 20), (31, 47), (100, 100)])
def test_enlarging_with_area_is_linear_and_makes_no_blocks(dtype: str, target: tuple[int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 20, 3)).astype(dtype)

    by_area = Resize(target, "resize", interpolation="area")(ImagePayload(pixels))[0]
    by_line = Resize(target, "resize", interpolation="linear")(ImagePayload(pixels))[0]

    np.testing.assert_array_equal(by_area.array, by_line.array)


def test_the_description_names_the_mode_and_the_interpolation() -> None:
    shown = Resize(interpolation="area").describe().render(show_defaults=True)  # type: ignore[attr-defined] # @Operator adds it

    assert "mode='letterbox'" in shown
    assert "interpolation='area'" in shown


def test_resizing_twice_gives_the_same_in_arrays_of_its_own() -> None:
    picture = _picture(10, 10)
    step = Resize((10, 10))

    once, twice = step(picture)[0], step(picture)[0]

    assert once == twice
    assert not np.shares_memory(once.array, twice.array)
    assert not np.shares_memory(once.array, picture.array)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="counts threads as Linux shows them")
def test_eight_callers_make_no_more_threads_than_themselves_and_one_pool() -> None:
    picture = _picture(540, 960)
    step = Resize((320, 320))
    before = len(list(Path("/proc/self/task").iterdir()))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: step(picture), range(64)))
        during = len(list(Path("/proc/self/task").iterdir()))

    assert during - before <= 8 + (os.cpu_count() or 1)


def test_the_colour_order_stays() -> None:
    picture = ImagePayload(np.zeros((4, 4, 3), np.uint8), "RGB")

    assert Resize((2, 2))(picture)[0].color_space == "RGB"


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (
            ImagePayload(np.zeros((3, 4, 4), np.uint8), "RGB", "CHW"),
            r"must be HWC, got CHW of shape \(3, 4, 4\)",
        ),
        (ImagePayload(np.zeros((4, 4), np.uint8)), r"must be HWC, got HWC of shape \(4, 4\)"),
        (ImagePayload(np.zeros((4, 4, 3), np.int64)), "got int64; cast them first"),
        (ImagePayload(np.zeros((4, 0, 3), np.uint8)), r"has no pixels, its shape is \(4, 0, 3\)"),
    ],
)
def test_what_cannot_be_resized_is_an_error(picture: ImagePayload, message: str) -> None:
    step = Resize()

    with pytest.raises(ValueError, match=message):
        step(picture)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"mode": "fit"}, "mode must be one of letterbox, resize, got 'fit'"),
        ({"interpolation": "lanczos"}, "one of nearest, linear, cubic, area, got 'lanczos'"),
        ({"target_size": (0, 640)}, r"target_size must be \(height, width\), .*, got \(0, 640\)"),
        ({"target_size": 640}, "target_size must be .*, got 640"),
        ({"target_size": (640.0, 640)}, "target_size must be "),
        ({"target_size": None}, "target_size must be "),
        ({"pad_value": 256}, "pad_value must be 0 to 255, got 256"),
        ({"multiple_of": 32}, 'multiple_of=32 needs target_size=None, mode="resize"'),
        ({"target_size": None, "multiple_of": 32}, "got target_size=None, mode='letterbox'"),
        ({"target_size": None, "mode": "resize", "multiple_of": 0}, "multiple_of=0 needs"),
    ],
)
def test_a_wrong_argument_is_refused_when_built(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Resize(**arguments)  # type: ignore[arg-type] # the mistakes that are tested


@pytest.mark.parametrize("height", [30, 60, 61, 200])
def test_area_averages_the_axis_that_shrinks_whatever_the_other_does(height: int) -> None:
    row = np.random.default_rng(0).integers(0, 256, 1000).astype(np.uint8)
    image = ImagePayload(np.repeat(np.repeat(row[None, :, None], 60, 0), 3, 2))

    resized, _ = Resize((height, 100), "resize", interpolation="area")(image)

    assert np.abs(resized.array[0, :, 0] - row.reshape(100, 10).mean(axis=1)).max() <= 0.5
    assert (resized.array == resized.array[:1]).all()


@pytest.mark.parametrize("interpolation", ["nearest", "linear", "cubic", "area"])
@pytest.mark.parametrize("channels", [2, 5, 6, 129, 600])
@pytest.mark.parametrize("size", [(10, 10), (10, 40), (40, 40)])
def test_any_number_of_channels_is_resized_each_as_if_alone(
    interpolation: str, channels: int, size: tuple[int, int]
) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 20, channels), np.uint8)
    step = Resize(size, interpolation=interpolation)  # type: ignore[arg-type] # all are allowed

    resized = step(ImagePayload(pixels))[0].array

    assert resized.shape == (*size, channels)
    for at in (0, channels - 1):
        alone = step(ImagePayload(pixels[..., at : at + 1].copy()))[0].array
        assert np.abs(resized[..., at].astype(int) - alone[..., 0]).max() <= 1
