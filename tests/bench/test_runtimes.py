"""How far the outputs of two runtimes are apart."""

from __future__ import annotations

import numpy as np
import pytest

from bench.runtimes import largest_difference


def test_a_difference_is_a_part_of_the_outputs_largest_element() -> None:
    ones = [np.array([1.0, -4.0], np.float32), np.array([100.0], np.float32)]
    others = [np.array([2.0, -4.0], np.float32), np.array([101.0], np.float32)]

    assert largest_difference(ones, others) == pytest.approx(0.25)


def test_equal_outputs_differ_by_nothing_even_where_all_are_zero_or_none() -> None:
    outputs = [np.zeros((2, 3), np.float32), np.zeros((0, 4), np.float32)]

    assert largest_difference(outputs, outputs) == 0.0


def test_small_whole_numbers_do_not_wrap() -> None:
    assert largest_difference([np.array([200], np.uint8)], [np.array([250], np.uint8)]) == 0.25


def test_outputs_of_other_shapes_are_not_compared() -> None:
    with pytest.raises(ValueError, match=r"shapes \(1, 2\) and \(2,\)"):
        largest_difference([np.zeros((1, 2))], [np.zeros(2)])
