"""Two pictures are mixed in one colour order, rounded and within their range."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.vision.blend import BlendImages
from ml_pipes.vision.types import ImagePayload


def _picture(
    values: object, color_space: str = "BGR", layout: str = "HWC", dtype: str = "uint8"
) -> ImagePayload:
    pixels = np.array(values, dtype)
    pixels.setflags(write=False)
    return ImagePayload(pixels, color_space, layout)


def test_the_weights_are_six_and_four_tenths_by_default() -> None:
    mixed = BlendImages()(_picture([[[0, 100, 255]]]), _picture([[[255, 50, 255]]]))

    assert mixed == _picture([[[102, 80, 255]]])


def test_integers_are_rounded_and_stay_in_their_range() -> None:
    base, overlay = _picture([[[200, 10, 3]]]), _picture([[[200, 200, 0]]])

    assert BlendImages(1, 1)(base, overlay).array.tolist() == [[[255, 210, 3]]]
    assert BlendImages(1, -1)(base, overlay).array.tolist() == [[[0, 0, 3]]]
    assert BlendImages(0.6, 0)(base, overlay).array.tolist() == [[[120, 6, 2]]]


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float16", "float32", "float64"])
@pytest.mark.parametrize("shape", [(7, 5, 3), (3, 7, 5), (7, 5), (7, 5, 1), (2, 3, 2000)])
def test_every_dtype_and_layout_is_mixed_as_by_hand(dtype: str, shape: tuple[int, ...]) -> None:
    draw = np.random.default_rng(1)
    high = 65535 if dtype == "uint16" else 255
    base, overlay = (draw.integers(0, high + 1, shape).astype(dtype) for _ in range(2))
    expected = base.astype(float) * 0.6137 + overlay.astype(float) * 0.3863

    mixed = BlendImages(0.6137, 0.3863)(ImagePayload(base), ImagePayload(overlay)).array

    assert (mixed.shape, mixed.dtype) == (shape, dtype)
    wanted = np.rint(expected) if dtype.startswith("u") else expected.astype(dtype)
    np.testing.assert_allclose(mixed, wanted, rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize(
    ("spaces", "expected"),
    [(("BGR", "BGR"), [10, 20, 30]), (("BGR", "RGB"), [30, 20, 10]), (("RGB", "BGR"), [30, 20, 10])],
)
def test_an_overlay_in_the_other_order_is_brought_to_the_order_of_the_base(
    spaces: tuple[str, str], expected: list[int]
) -> None:
    mixed = BlendImages(0, 1)(_picture([[[0, 0, 0]]], spaces[0]), _picture([[[10, 20, 30]]], spaces[1]))

    assert mixed == _picture([[expected]], spaces[0])


def test_alpha_stays_last_and_channels_may_come_first() -> None:
    step = BlendImages(0, 1)

    with_alpha = step(_picture([[[0] * 4]], "BGRA"), _picture([[[1, 2, 3, 4]]], "RGBA"))
    planes = step(_picture([[[0]]] * 3, "RGB", "CHW"), _picture([[[1]], [[2]], [[3]]], "BGR", "CHW"))

    assert with_alpha.array.tolist() == [[[3, 2, 1, 4]]]
    assert planes.array.ravel().tolist() == [3, 2, 1]


def test_the_result_is_new_even_where_it_is_the_base() -> None:
    base = _picture([[[1, 2, 3]]])

    mixed = BlendImages(1, 0)(base, _picture([[[9, 9, 9]]]))

    assert mixed == base
    assert not np.shares_memory(mixed.array, base.array)


def test_pictures_without_pixels_give_one_without_pixels() -> None:
    empty = ImagePayload(np.zeros((0, 5, 3), np.uint8))

    assert BlendImages()(empty, empty) == empty


def test_nan_stays_where_it_is_and_what_is_beyond_the_dtype_is_infinite() -> None:
    base = ImagePayload(np.float16([[np.nan, 60000, 1]]), "GRAY", "HW")

    mixed = BlendImages(1, 1)(base, base)

    np.testing.assert_array_equal(mixed.array, np.float16([[np.nan, np.inf, 2]]))


@pytest.mark.parametrize(
    ("overlay", "message"),
    [
        (
            _picture(np.zeros((2, 4, 3))),
            r"both pictures must have one shape, got \(2, 3, 3\) and \(2, 4, 3\)",
        ),
        (_picture(np.zeros((2, 3)), "GRAY", "HW"), r"one shape, got \(2, 3, 3\) and \(2, 3\)"),
        (_picture(np.zeros((2, 3, 3)), dtype="float32"), "one dtype, got uint8 and float32"),
        (_picture(np.zeros((2, 3, 3)), layout="CHW"), "one layout, got HWC and CHW"),
        (_picture(np.zeros((2, 3, 3)), "HSV"), "a picture in HSV cannot be laid over one in BGR"),
    ],
)
def test_pictures_that_do_not_go_together_are_an_error(overlay: ImagePayload, message: str) -> None:
    step = BlendImages()

    with pytest.raises(ValueError, match=f"BlendImages: .*{message}"):
        step(_picture(np.zeros((2, 3, 3))), overlay)


def test_a_colour_order_that_the_channels_do_not_have_is_an_error() -> None:
    step, four = BlendImages(), np.zeros((2, 3, 4))

    with pytest.raises(ValueError, match=r"RGB cannot be laid over one in BGR, got HWC of shape \(2, 3, 4\)"):
        step(_picture(four), _picture(four, "RGB"))


def test_a_dtype_that_is_no_pixels_is_an_error() -> None:
    picture, step = _picture([[[1, 0, 1]]], dtype="bool"), BlendImages()

    with pytest.raises(ValueError, match="pixels must be uint8, uint16, float16, float32, float64, got bool"):
        step(picture, picture)


@pytest.mark.parametrize("weight", [float("nan"), float("inf")])
def test_a_weight_without_end_is_refused_when_built(weight: float) -> None:
    with pytest.raises(ValueError, match="BlendImages: overlay_weight must be a finite number"):
        BlendImages(overlay_weight=weight)
