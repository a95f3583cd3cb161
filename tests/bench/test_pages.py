"""Which lines count as different, and what is drawn."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from bench.drawn_pages import drawn_pages
from bench.pages import differing_lines


class TestDifferingLines:
    def test_equal_pages_have_none(self) -> None:
        assert differing_lines([["a", "b"], []], [["a", "b"], []]) == 0

    def test_a_line_that_was_read_otherwise_counts_once(self) -> None:
        assert differing_lines([["a", "b", "c"]], [["a", "B", "c"]]) == 1

    def test_a_line_too_many_does_not_move_the_others(self) -> None:
        assert differing_lines([["a", "b", "c"]], [["new", "a", "b", "c"]]) == 1

    def test_all_lines_of_a_page_that_was_not_read_count(self) -> None:
        assert differing_lines([["a"], ["b", "c"]], [["a"], []]) == 2

    def test_another_number_of_pages_is_refused(self) -> None:
        with pytest.raises(ValueError, match="shorter"):
            differing_lines([["a"], ["b"]], [["a"]])


class TestDrawnPages:
    def test_they_are_the_same_each_time(self) -> None:
        assert drawn_pages(2) == drawn_pages(2)

    def test_no_two_are_alike(self) -> None:
        (first, lines), (second, others) = drawn_pages(2)

        assert first != second
        assert lines != others

    def test_each_line_leaves_ink_between_the_margins(self) -> None:
        ((png, lines),) = drawn_pages(1)

        dark = cv2.imdecode(np.frombuffer(png, np.uint8), cv2.IMREAD_GRAYSCALE) < 128
        assert [dark[top : top + 30].any() for top in range(50, 1169 - 50, 30)] == [True] * len(lines)
        assert not dark[:, :50].any()
        assert not dark[:, -30:].any()
