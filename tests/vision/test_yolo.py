"""A YOLO head's columns become the candidates that its formula says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.errors import StepInputError
from ml_pipes.tensor import TensorRegistry
from ml_pipes.tensor.types import Array
from ml_pipes.vision.yolo import DecodeYOLO, decode_yolo


def _output(*columns: list[float], dtype: str = "float32") -> Array:
    """The output of one picture, a list of numbers per candidate."""
    return np.array(columns, dtype).T[None]


def test_a_column_becomes_a_box_around_its_centre_with_its_best_class() -> None:
    output = _output([100, 50, 20, 10, 0.1, 0.75, 0.2], [7, 8, 2, 4, 0.5, 0.25, 0.125])

    found = decode_yolo(output, 0.25)

    assert found.boxes.tolist() == [[90, 45, 110, 55], [6, 6, 8, 10]]
    assert found.scores.tolist() == [0.75, 0.5]
    assert found.classes.tolist() == [1, 0]
    assert found.rest.shape == (2, 0)


def test_a_score_that_equals_the_threshold_counts_and_the_order_stays() -> None:
    output = _output([1, 1, 2, 2, 0.25], [2, 2, 2, 2, 0.249], [3, 3, 2, 2, 0.9])

    found = decode_yolo(output, 0.25)

    assert found.boxes[:, 0].tolist() == [0, 2]
    assert found.scores.tolist() == [0.25, pytest.approx(0.9)]


def test_of_equal_scores_the_lower_class_is_taken() -> None:
    found = decode_yolo(_output([1, 1, 2, 2, 0.25, 0.5, 0.5]))

    assert found.classes.tolist() == [1]


def test_without_a_batch_axis_it_is_the_same() -> None:
    output = _output([100, 50, 20, 10, 0.1, 0.75, 0.2])

    bare, whole = decode_yolo(output[0]), decode_yolo(output)

    assert bare.boxes.tolist() == whole.boxes.tolist()
    assert bare.classes.tolist() == whole.classes.tolist()


def test_what_follows_the_classes_is_no_class_and_comes_along() -> None:
    output = _output([1, 1, 2, 2, 0.5, 0.75, -3, 40], [2, 2, 2, 2, 0.1, 0.2, 8, 9])

    found = decode_yolo(output, num_classes=2)

    assert found.classes.tolist() == [1]
    assert found.rest.tolist() == [[-3, 40]]


@pytest.mark.parametrize("columns", [0, 3])
@pytest.mark.parametrize(
    ("dtype", "expected"),
    [("float32", "float32"), ("float16", "float32"), ("float64", "float64"), ("uint8", "float32")],
)
def test_no_candidates_are_empty_arrays_of_the_usual_kinds(columns: int, dtype: str, expected: str) -> None:
    found = decode_yolo(np.zeros((1, 8, columns), dtype), num_classes=2)

    assert [part.shape for part in found] == [(0, 4), (0,), (0,), (0, 2)]
    assert [str(part.dtype) for part in found] == [expected, expected, "int64", expected]


def test_float16_is_computed_in_float32() -> None:
    found = decode_yolo(_output([1001, 601, 301, 5, 0.5], dtype="float16"))

    assert found.boxes.tolist() == [[850.5, 598.5, 1151.5, 603.5]]


def test_small_integers_do_not_wrap() -> None:
    found = decode_yolo(_output([250, 10, 100, 40, 1], dtype="uint8"))

    assert found.boxes.tolist() == [[200, -10, 300, 30]]


def test_nan_and_infinity_harm_no_other_candidate_and_raise_no_warning() -> None:
    output = _output(
        [1, 1, 2, 2, np.nan, 0.9],
        [np.nan, 1, 2, 2, 0.1, 0.8],
        [np.inf, 1, np.inf, 2, 0.1, 0.7],
        [3, 3, 2, 2, 0.6, 0.1],
    )

    found = decode_yolo(output)

    np.testing.assert_allclose(found.scores, [0.8, 0.7, 0.6], rtol=1e-6)
    assert found.boxes[2].tolist() == [2, 2, 4, 4]


@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.integers(1, 6), st.booleans())
def test_it_is_what_the_definition_says_candidate_by_candidate(
    seed: int, many: int, classes: int, transposed: bool
) -> None:
    rng = np.random.default_rng(seed)
    columns = rng.integers(0, 64, (many, 4 + classes)).astype(np.float32)
    columns[:, 4:] /= 64
    output = columns.T[None] if transposed else np.ascontiguousarray(columns.T)[None]

    found = decode_yolo(output, 0.5)

    expected = []
    for x, y, w, h, *scores in columns.tolist():
        if max(scores) >= 0.5:
            box = [x - w / 2, y - h / 2, x + w / 2, y + h / 2]
            expected.append((box, max(scores), scores.index(max(scores))))
    got = list(zip(found.boxes.tolist(), found.scores.tolist(), found.classes.tolist(), strict=True))
    assert got == expected


def test_the_step_adds_the_candidates_and_leaves_what_it_was_given() -> None:
    output = _output([1, 1, 2, 2, 0.5, 0.75, -3, 40])
    output.setflags(write=False)
    registry = TensorRegistry({"head": output})
    step = DecodeYOLO("head", 0.3, num_classes=2, rest_as="coefficients")

    once, twice = step(registry), step(registry)

    assert list(once) == ["head", "boxes", "scores", "classes", "coefficients"]
    assert list(registry) == ["head"]
    assert once["coefficients"].tolist() == [[-3, 40]]
    assert all(np.array_equal(once[name], twice[name]) for name in once)


def test_what_it_gives_is_no_view_of_what_it_was_given() -> None:
    output = _output([1, 1, 2, 2, 0.5, 9])
    found = decode_yolo(output, num_classes=1)

    output.fill(0)

    assert found.boxes.tolist() == [[0, 0, 2, 2]]
    assert found.scores.tolist() == [0.5]
    assert found.rest.tolist() == [[9]]


@pytest.mark.parametrize("shape", [(2, 84, 10), (1, 4, 10), (84,), (1, 1, 84, 10)])
def test_an_output_of_another_shape_is_an_error(shape: tuple[int, ...]) -> None:
    with pytest.raises(
        ValueError, match=r"wanted the output of one picture, \(1, 5 or more, candidates\), got \("
    ):
        decode_yolo(np.zeros(shape, np.float32))


def test_fewer_rows_than_classes_are_an_error() -> None:
    with pytest.raises(ValueError, match=r"\(1, 84 or more, candidates\), got \(1, 22, 10\); a batch goes"):
        decode_yolo(np.zeros((1, 22, 10), np.float32), num_classes=80)


def test_an_array_without_a_name_is_an_error() -> None:
    with pytest.raises(StepInputError, match="DecodeYOLO: wanted a TensorRegistry, got ndarray"):
        DecodeYOLO()(np.zeros((1, 84, 10)))  # type: ignore[arg-type] # the mistake that is tested


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"conf_threshold": float("nan")}, "conf_threshold must be a number, got nan"),
        ({"num_classes": 0}, "num_classes must be a whole number, 1 or more, got 0"),
        ({"rest_as": "rest"}, "rest_as='rest' needs num_classes, to know where the classes end"),
        ({"num_classes": 2, "rest_as": "boxes"}, "each output needs a name of its own"),
    ],
)
def test_a_wrong_argument_is_refused_when_built(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DecodeYOLO(**arguments)  # type: ignore[arg-type] # the mistakes that are tested
