"""Scores per step become text; the oracle walks through the steps one by one."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ml_pipes.errors import MissingNameError, StepInputError
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision.text import CTCDecode, RecognizedText, ctc_decode, ctc_table

TABLE = ctc_table("a\nb\nc")


def line(classes: list[int], chance: float = 0.5, dtype: type = np.float64) -> np.ndarray:
    """``(1, T, 5)``: each step's class has the chance, the others none."""
    scores = np.zeros((1, len(classes), len(TABLE)), dtype)
    scores[0, range(len(classes)), classes] = chance
    return scores


def test_the_table_has_the_blank_first_and_the_space_last() -> None:
    assert TABLE == ("", "a", "b", "c", " ")
    assert ctc_table("a\nb\nc\n") == TABLE
    assert ctc_table("a\r\nb\r\nc") == TABLE


@pytest.mark.parametrize(
    ("classes", "text"),
    [
        ([1, 2, 3], "abc"),
        ([1, 1, 2, 2], "ab"),
        ([1, 0, 1], "aa"),
        ([0, 0, 1, 0, 0], "a"),
        ([1, 4, 2], "a b"),
        ([0, 0], ""),
        ([1, 0, 0, 1, 1, 2, 0, 2], "aabb"),
        ([], ""),
    ],
)
def test_repeats_count_once_and_blanks_separate(classes, text) -> None:
    assert ctc_decode(line(classes), TABLE)[0].text == text


def test_the_score_is_the_mean_of_the_kept_steps_alone() -> None:
    scores = line([1, 1, 0, 2])
    scores[0, :, :] *= np.array([[1.6], [0.2], [1.8], [1.2]])  # 0.8, 0.1, 0.9, 0.6

    ((text, score),) = ctc_decode(scores, TABLE)

    assert text == "ab"
    assert score == pytest.approx(0.7)


def test_a_line_without_text_has_a_score_of_zero() -> None:
    assert ctc_decode(line([0, 0]), TABLE) == [RecognizedText("", 0.0)]


def test_lines_keep_their_order() -> None:
    lines = np.concatenate([line([1, 2]), line([0, 0]), line([3, 4])])

    assert [found.text for found in ctc_decode(lines, TABLE)] == ["ab", "", "c "]


@pytest.mark.parametrize("shape", [(0, 7, 5), (0, 0, 5)])
def test_no_lines_give_no_texts(shape) -> None:
    assert ctc_decode(np.zeros(shape, np.float32), TABLE) == []


def test_of_equal_scores_the_lower_class_wins() -> None:
    scores = np.full((1, 1, 5), 0.2)
    scores[0, 0, 0] = 0.1

    assert ctc_decode(scores, TABLE) == [RecognizedText("a", 0.2)]


def test_nan_is_never_the_best_and_touches_no_other_line() -> None:
    scores = np.concatenate([line([1, 2]), line([3, 3])])
    scores[0, 0, 4] = np.nan
    scores[0, 1, :] = np.nan

    assert ctc_decode(scores, TABLE) == [RecognizedText("a", 0.5), RecognizedText("c", 0.5)]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.uint8, np.int32])
def test_every_dtype_gives_plain_numbers(dtype) -> None:
    (found,) = ctc_decode(line([1, 2], chance=1, dtype=dtype), TABLE)

    assert found == ("ab", 1.0)
    assert type(found.score) is float


def test_many_steps_of_float16_are_added_in_full() -> None:
    # 4000 * 1.0 would stop at 2048 in float16.
    (found,) = ctc_decode(line([1, 2] * 2000, chance=1, dtype=np.float16), TABLE)

    assert found.score == 1.0


@given(st.lists(st.lists(st.integers(0, 4), min_size=6, max_size=6), max_size=5), st.integers(0, 2**32 - 1))
def test_it_reads_what_a_walk_along_the_steps_reads(classes, seed) -> None:
    scores = np.random.default_rng(seed).uniform(0, 0.4, (len(classes), 6, 5))
    for row, steps in enumerate(classes):
        scores[row, range(6), steps] += 0.5
    expected = []
    for row, steps in enumerate(classes):
        text, chances, before = "", [], 0
        for at, best in enumerate(steps):
            if best not in (0, before):
                text += TABLE[best]
                chances.append(scores[row, at, best])
            before = best
        expected.append((text, pytest.approx(sum(chances) / len(chances) if chances else 0.0)))

    assert ctc_decode(scores, TABLE) == expected


def test_the_scores_are_not_written_to() -> None:
    scores = line([1, 1, 2])
    scores.flags.writeable = False

    assert ctc_decode(scores, TABLE) == ctc_decode(scores, TABLE)


def test_the_operator_reads_a_tensor_by_name_and_survives_pickling() -> None:
    step = pickle.loads(pickle.dumps(CTCDecode(TABLE, "lines")))

    assert step(TensorRegistry({"lines": line([2, 3])})) == [RecognizedText("bc", 0.5)]


def test_a_table_that_does_not_fit_is_refused_with_the_way_out() -> None:
    with pytest.raises(ValueError, match=r"the table has 3 entries, the scores 5 classes; ctc_table\(\)"):
        ctc_decode(line([1]), ("", "a", "b"))


@pytest.mark.parametrize("shape", [(7, 5), (1, 1, 7, 5)])
def test_scores_of_another_shape_are_refused(shape) -> None:
    with pytest.raises(ValueError, match=r"CTCDecode: scores must be \(N, T, C\), got"):
        ctc_decode(np.zeros(shape), TABLE)


def test_a_wrong_table_is_refused_when_built() -> None:
    with pytest.raises(TypeError, match=r"got one text; use ctc_table\(text\)"):
        CTCDecode("abc")
    with pytest.raises(ValueError, match="must have a blank and a character, got 1 entries"):
        CTCDecode([""])
    with pytest.raises(ValueError, match="ctc_table: there are no characters"):
        ctc_table("")


def test_another_value_is_refused() -> None:
    with pytest.raises(StepInputError, match="CTCDecode: wanted a TensorRegistry, got ndarray"):
        CTCDecode(TABLE)(line([1]))


def test_the_characters_come_from_what_a_models_file_says_of_itself() -> None:
    decode = CTCDecode.from_metadata({"character": "a\nb\nc"})

    (found,) = decode(TensorRegistry({"text": line([1, 0, 3])}))

    assert decode.table == TABLE
    assert found.text == "ac"


def test_the_characters_and_the_scores_may_have_other_names() -> None:
    decode = CTCDecode.from_metadata({"dictionary": "x"}, "lines", key="dictionary")

    assert decode.table == ("", "x", " ")
    assert decode.src == "lines"


@pytest.mark.parametrize(("metadata", "there"), [({}, r"\(none\)"), ({"stride": "32"}, "'stride'")])
def test_a_file_without_characters_says_what_it_has(metadata: dict[str, str], there: str) -> None:
    with pytest.raises(
        MissingNameError,
        match="CTCDecode.from_metadata: the model's file says nothing under 'character'; "
        rf"available: {there}. Say where its characters are with key=, or write CTCDecode\(ctc_table",
    ):
        CTCDecode.from_metadata(metadata)
