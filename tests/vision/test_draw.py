"""Boxes are drawn on a copy, in the right colour, with a label that can be read."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import DrawBoxes, ImagePayload
from ml_pipes.vision.labels import LabelMap

_GREEN, _BLUE, _RED = [0, 255, 0], [255, 0, 0], [0, 0, 255]


def _picture(color_space: str = "BGR") -> ImagePayload:
    pixels = np.full((100, 200, 3), 114, np.uint8)
    pixels.setflags(write=False)
    return ImagePayload(pixels, color_space)


def _found(*boxes: list[float], number: int = 0) -> TensorRegistry:
    many = len(boxes)
    return TensorRegistry(
        {
            "boxes": np.array(boxes, np.float32).reshape(-1, 4),
            "scores": np.full(many, 0.87, np.float32),
            "classes": np.full(many, number, np.int64),
        }
    )


def test_a_box_is_drawn_on_a_copy_and_the_registry_passes() -> None:
    picture, found = _picture(), _found([20, 40, 150, 90])

    drawn, passed = DrawBoxes(thickness=1)(picture, found)

    assert drawn.array[65, 20].tolist() == _GREEN
    assert drawn.array[90, 100].tolist() == _GREEN
    assert drawn.array[65, 100].tolist() == [114, 114, 114]
    assert (picture.array == 114).all()
    assert passed is found


@pytest.mark.parametrize(("space", "expected"), [("BGR", _BLUE), ("RGB", _RED)])
def test_the_colour_is_the_same_to_the_eye_in_every_order(space: str, expected: list[int]) -> None:
    drawn, _ = DrawBoxes(color=(255, 0, 0))(_picture(space), _found([20, 40, 150, 90]))

    assert drawn.array[65, 20].tolist() == expected
    assert drawn.color_space == space


@pytest.mark.parametrize(("color", "ink"), [((0, 255, 0), 0), ((128, 0, 0), 255), ((255, 255, 255), 0)])
def test_the_letters_stand_out_from_their_ground(color: tuple[int, int, int], ink: int) -> None:
    drawn, _ = DrawBoxes(color=color)(_picture(), _found([20, 40, 150, 90]))

    label = drawn.array[22:39, 20:70].reshape(-1, 3)
    # Thin letters are smoothed: their darkest points are not quite of the ink's colour.
    assert (np.abs(label.astype(int) - ink) < 90).all(axis=1).any()
    assert (label == color).all(axis=1).mean() > 0.3


def test_a_label_stays_inside_the_picture_when_its_box_is_at_the_edge() -> None:
    drawn, _ = DrawBoxes()(_picture(), _found([190, 0, 200, 100]))

    assert (drawn.array[:20, 100:190] < 90).all(axis=2).any()
    assert (drawn.array[1, 170:] == _GREEN).all()


def test_no_line_of_another_box_runs_through_a_label() -> None:
    below, through = [20.0, 40.0, 150.0, 90.0], [40.0, -50.0, 60.0, 80.0]

    alone, _ = DrawBoxes()(_picture(), _found(below))
    both, _ = DrawBoxes()(_picture(), _found(below, through))

    np.testing.assert_array_equal(both.array[24:38, 24:70], alone.array[24:38, 24:70])


def test_labels_are_the_class_and_the_score() -> None:
    step = DrawBoxes(class_names=["face", "hand"])

    assert step._label(0.874, 1) == "hand 0.87"
    assert step._label(0.874, 2) == "2 0.87"
    assert step._label(0.874, -1) == "-1 0.87"
    assert step._label(0.874, None) == "0.87"


def test_names_may_come_from_a_map_with_gaps_and_text_is_no_list_of_names() -> None:
    step = DrawBoxes(class_names=LabelMap({18: "dog", 19: ""}))

    assert step._label(0.874, 18) == "dog 0.87"
    assert step._label(0.874, 19) == " 0.87"
    assert step._label(0.874, 1) == "1 0.87"
    with pytest.raises(
        TypeError, match=r"DrawBoxes: class_names must be a list of names, a dict .* got 'dog'"
    ):
        DrawBoxes(class_names="dog")


def test_a_class_that_is_no_number_is_labelled_with_the_score_alone() -> None:
    found = _found([20, 40, 150, 90])

    drawn, _ = DrawBoxes()(_picture(), found.replace(classes=np.array([np.nan])))
    alone, _ = DrawBoxes(classes=None)(_picture(), found)

    assert drawn == alone


def test_without_classes_the_score_alone_is_drawn() -> None:
    found = TensorRegistry({"boxes": np.array([[20, 40, 150, 90]]), "scores": np.array([0.5])})

    drawn, _ = DrawBoxes(classes=None)(_picture(), found)

    assert drawn.array[65, 20].tolist() == _GREEN


def test_boxes_with_nan_are_skipped_and_the_others_are_drawn() -> None:
    drawn, _ = DrawBoxes()(_picture(), _found([np.nan, 0, 10, 10], [20, 40, 150, 90]))
    alone, _ = DrawBoxes()(_picture(), _found([20, 40, 150, 90]))

    assert drawn == alone


def test_a_box_that_reaches_beyond_every_integer_is_drawn_as_far_as_it_is_inside() -> None:
    drawn, _ = DrawBoxes(thickness=1)(_picture(), _found([-1e30, 50, 1e30, np.inf]))

    assert (drawn.array[50] == _GREEN).all(axis=1).mean() > 0.7


def test_no_boxes_leave_the_picture_as_it_is() -> None:
    drawn, _ = DrawBoxes()(_picture(), _found())

    assert drawn == _picture()


def test_a_missing_tensor_is_an_error_that_names_it() -> None:
    step = DrawBoxes(scores="confidence")

    with pytest.raises(KeyError, match="no tensor 'confidence'; available: boxes, scores, classes"):
        step(_picture(), _found())


def test_shapes_that_do_not_belong_together_are_an_error() -> None:
    found = _found([0, 0, 9, 9]).replace(scores=np.zeros(2))
    step = DrawBoxes()

    with pytest.raises(ValueError, match=r"wanted boxes \(N, 4\), .* got \(1, 4\), \(2,\) and \(1,\)"):
        step(_picture(), found)


@pytest.mark.parametrize(
    "image",
    [
        ImagePayload(np.zeros((9, 9), np.uint8), "GRAY", "HW"),
        ImagePayload(np.zeros((3, 9, 9), np.uint8), "BGR", "CHW"),
        ImagePayload(np.zeros((9, 9, 3), np.float32)),
        ImagePayload(np.zeros((9, 9, 4), np.uint8)),
        ImagePayload(np.zeros((9, 9, 3), np.uint8), "HSV"),
    ],
)
def test_a_picture_that_cannot_be_drawn_on_is_an_error(image: ImagePayload) -> None:
    step = DrawBoxes()

    with pytest.raises(ValueError, match="the picture must be HWC uint8 with 3 channels in BGR or RGB, got "):
        step(image, _found())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"class_names": ["face"], "classes": None}, "class_names needs classes"),
        (
            {"color": (0, 0)},
            r"color must be \(blue, green, red\), each a whole number of 0 to 255, got \(0, 0\)",
        ),
        ({"color": (0, 0, 256)}, r"got \(0, 0, 256\)"),
        ({"color": (1.5, 2, 3)}, r"got \(1.5, 2, 3\)"),
        ({"thickness": 0}, "thickness must be a whole number of 1 to 32767, got 0"),
        ({"thickness": 1.5}, "thickness must be a whole number of 1 to 32767, got 1.5"),
        ({"thickness": 40000}, "got 40000"),
        ({"font_scale": 0}, "font_scale must be above 0, got 0"),
    ],
)
def test_a_wrong_argument_is_refused_when_built(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DrawBoxes(**arguments)  # type: ignore[arg-type] # the mistakes that are tested


@pytest.mark.parametrize("box", [[500, 5, 600, 9], [5, 500, 9, 600], [-300, 5, -200, 9], [5, -90, 9, -80]])
def test_a_box_wholly_outside_draws_nothing_and_its_label_neither(box: list[int]) -> None:
    registry = TensorRegistry({"boxes": np.array([box], np.float32), "scores": np.array([0.9])})

    drawn, _ = DrawBoxes(classes=None)(ImagePayload(np.zeros((40, 60, 3), np.uint8)), registry)

    assert not drawn.array.any()


def test_a_colour_of_numpy_integers_is_taken() -> None:
    registry = TensorRegistry({"boxes": np.array([[5, 5, 20, 20.0]]), "scores": np.array([0.9])})

    drawn, _ = DrawBoxes(classes=None, color=tuple(np.array([1, 2, 3])))(  # type: ignore[arg-type] # the claim
        ImagePayload(np.zeros((40, 60, 3), np.uint8)), registry
    )

    assert drawn.array[20, 20].tolist() == [1, 2, 3]


def test_a_missing_class_tensor_is_an_error_that_says_how_to_do_without() -> None:
    registry = TensorRegistry({"boxes": np.zeros((1, 4)), "scores": np.zeros(1)})
    step = DrawBoxes()

    with pytest.raises(
        KeyError,
        match=r"DrawBoxes: .*no tensor 'classes'; available: boxes, scores; DrawBoxes\(classes=None\) labels",
    ):
        step(ImagePayload(np.zeros((4, 4, 3), np.uint8)), registry)
