"""Tensors become one batch, and nothing that does not fit is joined."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.tensor import Collate, TensorPayload


def _payload(value: float, *shape: int, layout: str = "NCHW") -> TensorPayload:
    return TensorPayload(np.full(shape, value, np.float32), layout, "float32")


def test_batches_of_one_and_of_more_are_concatenated_in_order() -> None:
    batch = Collate()([_payload(1, 1, 3, 2, 2), _payload(2, 2, 3, 2, 2)])

    assert batch.array[:, 0, 0, 0].tolist() == [1, 2, 2]
    assert batch.array.shape == (3, 3, 2, 2)
    assert batch.layout == "NCHW"


def test_tensors_without_a_batch_axis_are_stacked_and_the_layout_says_so() -> None:
    batch = Collate()([_payload(1, 3, 2, 2, layout="CHW"), _payload(2, 3, 2, 2, layout="CHW")])

    assert batch.array.shape == (2, 3, 2, 2)
    assert batch.layout == "NCHW"


def test_rows_are_stacked_or_joined_as_their_layout_says() -> None:
    assert Collate()([_payload(1, 5, layout="C"), _payload(2, 5, layout="C")]).array.shape == (2, 5)
    assert Collate()([_payload(1, 1, 5, layout="NC"), _payload(2, 1, 5, layout="NC")]).array.shape == (2, 5)


def test_without_a_telling_layout_four_axes_are_a_batch() -> None:
    joined = Collate()([_payload(1, 1, 3, 2, 2, layout="UNKNOWN"), _payload(2, 1, 3, 2, 2, layout="UNKNOWN")])
    stacked = Collate()([_payload(1, 5, layout="UNKNOWN"), _payload(2, 5, layout="UNKNOWN")])

    assert joined.array.shape == (2, 3, 2, 2)
    assert stacked.array.shape == (2, 5)
    assert stacked.layout == "UNKNOWN"


def test_one_batch_alone_is_passed_on_without_a_copy() -> None:
    alone = _payload(1, 1, 3, 2, 2)

    assert Collate()([alone]) is alone


def test_the_batch_is_contiguous_whatever_comes() -> None:
    turned = TensorPayload(np.zeros((1, 2, 3, 4), np.float32).transpose(0, 3, 2, 1), "NCHW", "float32")

    batch = Collate()([turned, turned])

    assert batch.array.flags.c_contiguous


def test_a_row_without_items_does_not_disturb() -> None:
    batch = Collate()([_payload(1, 0, 3, 2, 2), _payload(2, 1, 3, 2, 2)])

    assert batch.array.shape == (1, 3, 2, 2)


def test_no_tensors_are_an_error() -> None:
    with pytest.raises(ValueError, match="the list of tensors is empty"):
        Collate()([])


@pytest.mark.parametrize(
    "other",
    [
        _payload(2, 1, 3, 4, 4),
        _payload(2, 3, 2, 2, layout="CHW"),
        _payload(2, 1, 3, 2, 2, layout="NHWC"),
        TensorPayload(np.zeros((1, 3, 2, 2), np.float16), "NCHW", "float16"),
    ],
)
def test_tensors_that_do_not_fit_are_an_error_that_shows_both(other: TensorPayload) -> None:
    step = Collate()

    with pytest.raises(ValueError, match=r"tensor 1 is .* and tensor 0 is NCHW \(1, 3, 2, 2\) float32; only"):
        step([_payload(1, 1, 3, 2, 2), other])
