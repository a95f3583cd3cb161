"""Masks are drawn on a copy, in the colours of their classes, with names that can be read."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision.draw_masks import DrawMasks
from ml_pipes.vision.labels import LabelMap
from ml_pipes.vision.types import ImagePayload

# (37c + 17, 91c + 53, 17c + 191), each modulo 255: blue, green, red.
_COLOURS = {0: [17, 53, 191], 1: [54, 144, 208], 2: [91, 235, 225], 7: [21, 180, 55]}


def _picture(color_space: str = "BGR", grey: int = 100) -> ImagePayload:
    pixels = np.full((60, 80, 3), grey, np.uint8)
    pixels.setflags(write=False)
    return ImagePayload(pixels, color_space)


def _masks(*squares: tuple[int, int, int, int], dtype: str = "uint8", classes: object = ()) -> TensorRegistry:
    masks = np.zeros((len(squares), 60, 80), dtype)
    for mask, (left, top, right, bottom) in zip(masks, squares, strict=True):
        mask[top:bottom, left:right] = 1
    masks.setflags(write=False)
    return TensorRegistry({"masks": masks, "classes": np.array(classes or [0] * len(squares))})


@pytest.mark.parametrize("number", [0, 1, 2, 7])
def test_a_mask_has_the_colour_of_its_class_where_it_is_and_nowhere_else(number: int) -> None:
    picture, registry = _picture(), _masks((10, 20, 30, 50), classes=[number])

    drawn, passed = DrawMasks(alpha=1)(picture, registry)

    assert (drawn.array[20:50, 10:30] == _COLOURS[number]).all()
    assert (drawn.array != 100).any(axis=2).sum() == 30 * 20
    assert (picture.array == 100).all()
    assert passed is registry


def test_the_colour_is_mixed_in_and_rounded() -> None:
    drawn, _ = DrawMasks()(_picture(), _masks((10, 20, 30, 50)))

    # Of the picture's 100 there are 55 parts in 100, and 45 of 17, 53 and 191.
    assert drawn.array[30, 20].tolist() == [63, 79, 141]


def test_the_colour_is_the_same_to_the_eye_in_every_order() -> None:
    registry = _masks((10, 20, 30, 50), classes=[2])
    step = DrawMasks(class_names=["a", "b", "c"])

    blue_first, _ = step(_picture("BGR"), registry)
    red_first, _ = step(_picture("RGB"), registry)

    np.testing.assert_array_equal(blue_first.array, red_first.array[..., ::-1])
    assert red_first.color_space == "RGB"


def test_without_classes_each_mask_has_a_colour_of_its_own() -> None:
    registry = TensorRegistry({"masks": _masks((0, 0, 9, 9), (20, 20, 30, 30))["masks"]})

    drawn, _ = DrawMasks(classes=None, alpha=1)(_picture(), registry)

    assert drawn.array[5, 5].tolist() == _COLOURS[0]
    assert drawn.array[25, 25].tolist() == _COLOURS[1]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int64", "float16", "float32"])
def test_masks_of_every_dtype_are_drawn_alike(dtype: str) -> None:
    drawn, _ = DrawMasks()(_picture(), _masks((10, 20, 30, 50), dtype=dtype))
    expected, _ = DrawMasks()(_picture(), _masks((10, 20, 30, 50)))

    assert drawn == expected


def test_a_later_mask_lies_over_an_earlier_one() -> None:
    drawn, _ = DrawMasks(alpha=1)(_picture(), _masks((0, 0, 40, 40), (20, 20, 60, 60), classes=[1, 2]))

    assert drawn.array[30, 30].tolist() == _COLOURS[2]
    assert drawn.array[10, 10].tolist() == _COLOURS[1]


def test_empty_masks_and_points_that_are_nan_draw_nothing_and_no_name() -> None:
    registry = TensorRegistry(
        {"masks": np.stack([np.zeros((60, 80)), np.full((60, 80), np.nan)]), "classes": np.array([0, 1])}
    )

    drawn, _ = DrawMasks(class_names=["a", "b"])(_picture(), registry)

    assert drawn == _picture()


def test_no_masks_leave_the_picture_as_it_is() -> None:
    drawn, _ = DrawMasks()(_picture(), _masks())

    assert drawn == _picture()


@pytest.mark.parametrize("names", [["person"], {0: "person"}, LabelMap(["person"])])
def test_a_name_is_written_above_its_mask_on_the_colour_of_its_class(names: list[str]) -> None:
    registry = _masks((10, 40, 30, 50))

    named, _ = DrawMasks(class_names=names)(_picture(), registry)
    plain, _ = DrawMasks()(_picture(), registry)

    label = named.array[22:38, 11:60].reshape(-1, 3)
    assert (label == _COLOURS[0]).all(axis=1).mean() > 0.3
    # White letters on a dark ground; thin ones are smoothed.
    assert (label > 165).all(axis=1).any()
    assert (plain.array[:40] == 100).all()


def test_a_class_without_a_name_is_named_by_its_number() -> None:
    registry = _masks((10, 40, 30, 50), classes=[7])

    by_number, _ = DrawMasks(class_names={0: "person"})(_picture(), registry)
    by_name, _ = DrawMasks(class_names={7: "7"})(_picture(), registry)

    assert by_number == by_name


def test_no_mask_lies_over_a_name() -> None:
    step = DrawMasks(class_names=["person", "dog"])

    drawn, _ = step(_picture(), _masks((10, 40, 30, 50), (0, 0, 80, 60), classes=[0, 1]))
    alone, _ = step(_picture(), _masks((10, 40, 30, 50)))

    np.testing.assert_array_equal(drawn.array[26:38, 12:60], alone.array[26:38, 12:60])


def test_a_class_that_is_no_number_is_coloured_by_its_place_and_not_named() -> None:
    registry = _masks((0, 0, 9, 9), (20, 40, 30, 50)).replace(classes=np.array([0, np.nan]))

    drawn, _ = DrawMasks(class_names={1: "dog"}, alpha=1)(_picture(), registry)

    assert drawn.array[45, 25].tolist() == _COLOURS[1]
    assert (drawn.array[20:40, 35:] == 100).all()


@pytest.mark.parametrize("shape", [(1, 59, 80), (1, 80, 60), (60, 80), (1, 1, 60, 80), ()])
def test_masks_of_another_size_are_an_error_that_says_what_brings_them_there(shape: tuple[int, ...]) -> None:
    step = DrawMasks(classes=None)

    with pytest.raises(
        ValueError, match=r"picture's 60 x 80 pixels .*, got .*; ProjectMasks\(\) brings them to it"
    ):
        step(_picture(), TensorRegistry({"masks": np.zeros(shape)}))


def test_a_class_too_few_is_an_error() -> None:
    step = DrawMasks()

    with pytest.raises(ValueError, match=r"DrawMasks: wanted a class for each of the 1 masks, got \(2,\)"):
        step(_picture(), _masks((0, 0, 5, 5), classes=[1, 2]))


def test_a_missing_class_tensor_is_an_error_that_says_how_to_do_without() -> None:
    step = DrawMasks()

    with pytest.raises(
        KeyError, match=r"DrawMasks: .*no tensor 'classes'.*; DrawMasks\(classes=None\) colours each"
    ):
        step(_picture(), TensorRegistry({"masks": np.zeros((1, 60, 80))}))


def test_a_picture_that_cannot_be_drawn_on_is_an_error() -> None:
    step = DrawMasks()

    with pytest.raises(
        ValueError, match="DrawMasks: the picture must be HWC uint8 with 3 channels in BGR or RGB"
    ):
        step(ImagePayload(np.zeros((60, 80), np.uint8), "GRAY", "HW"), _masks())


def test_wrong_arguments_are_refused_when_built() -> None:
    with pytest.raises(ValueError, match="DrawMasks: class_names needs classes"):
        DrawMasks(classes=None, class_names=["a"])
    with pytest.raises(TypeError, match="DrawMasks: class_names must be a list of names"):
        DrawMasks(class_names="person")
    for alpha in (-0.1, 1.1, float("nan")):
        with pytest.raises(ValueError, match="DrawMasks: alpha must be 0 to 1, got"):
            DrawMasks(alpha=alpha)
