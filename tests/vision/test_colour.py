"""Pixels become a model's numbers exactly as computing them plainly would."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.vision import ConvertColorSpace, ImagePayload, Normalize

_NOISE = np.random.default_rng(0).integers(0, 256, (5, 7, 3), np.uint8)
_NOISE.setflags(write=False)
_MEAN, _STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def test_red_and_blue_are_swapped_along_the_channel_axis() -> None:
    hwc = ConvertColorSpace("RGB")(ImagePayload(_NOISE))
    chw = ConvertColorSpace("BGR")(ImagePayload(_NOISE.transpose(2, 0, 1), "RGB", "CHW"))

    np.testing.assert_array_equal(hwc.array, _NOISE[..., ::-1])
    np.testing.assert_array_equal(chw.array, _NOISE.transpose(2, 0, 1)[::-1])
    assert (hwc.color_space, chw.color_space, chw.layout) == ("RGB", "BGR", "CHW")
    assert hwc.array.flags.c_contiguous


def test_a_picture_in_the_wanted_order_is_passed_on() -> None:
    image = ImagePayload(_NOISE, "RGB")

    assert ConvertColorSpace("RGB")(image) is image


@pytest.mark.parametrize(
    "image", [ImagePayload(_NOISE[..., 0], "GRAY", "HW"), ImagePayload(np.zeros((2, 2, 4), np.uint8), "RGB")]
)
def test_a_picture_without_three_colours_cannot_be_swapped(image: ImagePayload) -> None:
    step = ConvertColorSpace("RGB")

    with pytest.raises(ValueError, match="the picture must be RGB or BGR with 3 channels, got "):
        step(image)


def test_another_colour_space_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="the output must be RGB or BGR, got 'HSV'"):
        ConvertColorSpace("HSV")  # type: ignore[arg-type] # the mistake that is tested


def test_the_default_is_rgb_by_255_in_a_batch_of_one() -> None:
    tensor = Normalize()(ImagePayload(_NOISE))

    expected = (_NOISE[..., ::-1].astype(np.float32) / 255).transpose(2, 0, 1)[None]
    np.testing.assert_array_equal(tensor.array, expected)
    assert (tensor.layout, tensor.dtype, str(tensor.array.dtype)) == ("NCHW", "float32", "float32")
    assert tensor.array.flags.c_contiguous


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize(
    ("layout", "order"), [("NCHW", (2, 0, 1)), ("CHW", (2, 0, 1)), ("NHWC", (0, 1, 2)), ("HWC", (0, 1, 2))]
)
@pytest.mark.parametrize("colours", ["RGB", "BGR"])
@pytest.mark.parametrize("source", ["uint8", "uint16", "float32"])
def test_every_way_is_what_computing_it_plainly_gives(
    dtype: str, layout: str, order: tuple[int, int, int], colours: str, source: str
) -> None:
    step = Normalize(1 / 255, _MEAN, _STD, layout, colours, dtype=dtype)  # type: ignore[arg-type] # all are allowed
    pixels = _NOISE.astype(source) * (257 if source == "uint16" else 1)

    tensor = step(ImagePayload(pixels))

    in_order = _NOISE[..., ::-1] if colours == "RGB" else _NOISE
    expected = ((in_order / 255 - _MEAN) / _STD).transpose(order)[None]
    np.testing.assert_allclose(tensor.array, expected, atol=4e-3 if dtype == "float16" else 2e-6)
    assert tensor.layout == f"N{layout.lstrip('N')}"
    assert str(tensor.array.dtype) == tensor.dtype == dtype
    assert tensor.array.flags.c_contiguous


def test_the_layout_text_is_true_without_a_batch_axis() -> None:
    first = Normalize(add_batch_dim=False)(ImagePayload(_NOISE))
    last = Normalize(output_layout="NHWC", add_batch_dim=False)(ImagePayload(_NOISE))

    assert (first.layout, first.array.shape) == ("CHW", (3, 5, 7))
    assert (last.layout, last.array.shape) == ("HWC", (5, 7, 3))


@pytest.mark.parametrize("space", ["BGRA", "BGR"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("colours", ["RGB", "BGR"])
def test_alpha_is_dropped_and_the_colours_keep_their_order(space: str, layout: str, colours: str) -> None:
    with_alpha = np.dstack([_NOISE, np.full((5, 7), 99, np.uint8)])
    step = Normalize(output_layout=layout, output_color_space=colours)  # type: ignore[arg-type] # all are allowed

    assert step(ImagePayload(with_alpha, space)) == step(ImagePayload(_NOISE))


@pytest.mark.parametrize(
    ("dtype", "white"),
    [
        ("uint8", 255),
        ("uint16", 65535),
        ("int16", 255),
        ("int32", 255),
        ("int64", 255),
        ("uint32", 255),
        ("uint64", 255),
    ],
)
def test_white_is_65535_in_uint16_and_255_in_every_other_integer_dtype(dtype: str, white: int) -> None:
    tensor = Normalize()(ImagePayload(np.full((2, 2, 3), white, dtype)))

    np.testing.assert_allclose(tensor.array, 1.0, rtol=1e-6)


def test_float64_and_float16_pictures_leave_as_float32_unless_asked_otherwise() -> None:
    for dtype in ("float16", "float64"):
        tensor = Normalize(scale=1.0)(ImagePayload(np.full((2, 2, 3), 0.5, dtype)))

        assert tensor.array.dtype == np.float32
        assert (tensor.array == 0.5).all()


def test_the_output_order_decides_which_mean_goes_where() -> None:
    blue = np.zeros((1, 1, 3), np.uint8)
    blue[..., 0] = 255

    tensor = Normalize(1.0, mean=(1, 2, 3), output_color_space="RGB")(ImagePayload(blue))

    assert tensor.array.ravel().tolist() == [-1, -2, 252]


def test_normalising_twice_gives_the_same_in_arrays_of_its_own() -> None:
    step = Normalize()

    once, twice = step(ImagePayload(_NOISE)), step(ImagePayload(_NOISE))

    assert once == twice
    assert not np.shares_memory(once.array, twice.array)


def test_a_picture_that_is_a_view_is_read_rightly() -> None:
    wide = np.random.default_rng(1).integers(0, 256, (10, 14, 3), np.uint8)

    for view in (wide[::2, ::2], wide[:, ::-1], wide[2:7, 3:9]):
        assert Normalize()(ImagePayload(view)) == Normalize()(ImagePayload(view.copy()))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (ImagePayload(_NOISE.transpose(2, 0, 1), "RGB", "CHW"), "must be HWC, got CHW of shape"),
        (ImagePayload(_NOISE[..., :1], "GRAY"), "must be RGB or BGR, with or without alpha, got GRAY with 1"),
        (ImagePayload(_NOISE[..., :2], "RGB"), "got RGB with 2 channels"),
        (ImagePayload(_NOISE > 9), "there must be pixels, integers or floats, got bool"),
        (ImagePayload(_NOISE[:0]), r"there must be pixels, integers or floats, got uint8 \(0, 7, 3\)"),
    ],
)
def test_what_cannot_be_normalised_is_an_error(image: ImagePayload, message: str) -> None:
    step = Normalize()

    with pytest.raises(ValueError, match=message):
        step(image)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"output_layout": "CWH"}, "output_layout must be one of NCHW, NHWC, CHW, HWC, got 'CWH'"),
        ({"output_color_space": "GRAY"}, "output_color_space must be one of RGB, BGR, got 'GRAY'"),
        ({"dtype": "int8"}, "dtype must be one of float16, float32, float64, got 'int8'"),
        ({"mean": (0.5,)}, r"mean must be three finite numbers, one per channel, got \(0.5,\)"),
        ({"std": (1, 1, float("nan"))}, "std must be three finite numbers"),
        ({"std": (1, 0, 1)}, r"std must not hold 0, got \(1, 0, 1\)"),
    ],
)
def test_a_wrong_argument_is_refused_when_built(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Normalize(**arguments)  # type: ignore[arg-type] # the mistakes that are tested


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"scale": "x"}, "scale must be a finite number, got 'x'"),
        ({"scale": float("nan")}, "scale must be a finite number, got nan"),
        ({"mean": ("a", 1, 2)}, r"mean must be three finite numbers, one per channel, got \('a', 1, 2\)"),
    ],
)
def test_what_is_no_number_is_refused_when_built(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Normalize(**arguments)  # type: ignore[arg-type] # the mistakes that are tested


def test_what_is_beyond_float16_is_infinite_without_a_warning() -> None:
    image = ImagePayload(np.full((2, 2, 3), 200, np.uint8))

    assert np.isinf(Normalize(1000.0, dtype="float16")(image).array).all()
