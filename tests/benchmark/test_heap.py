"""What is there already is set aside, and comes back."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from ml_pipes.benchmark.heap import may_freeze, old_set_aside


@pytest.fixture(autouse=True)
def _nothing_is_frozen() -> Iterator[None]:
    gc.unfreeze()
    yield
    gc.unfreeze()


class Ring:
    def __init__(self) -> None:
        self.itself = self


def test_what_was_there_is_set_aside_and_comes_back_whatever_happens() -> None:
    during: list[int] = []

    def measure() -> None:
        with old_set_aside():
            during.append(gc.get_freeze_count())
            raise OSError("broken")

    with pytest.raises(OSError, match="broken"):
        measure()

    assert during[0] > 1000
    assert gc.get_freeze_count() == 0


def test_what_is_made_within_is_collected_within() -> None:
    with old_set_aside():
        gone = weakref.ref(Ring())
        gc.collect()

        assert gone() is None


def test_what_others_froze_stays_frozen() -> None:
    gc.freeze()
    before = gc.get_freeze_count()

    with old_set_aside():
        assert not may_freeze()

    assert 0 < gc.get_freeze_count() <= before


def test_a_program_without_a_collector_is_left_as_it_is() -> None:
    gc.disable()
    try:
        with old_set_aside():
            frozen = gc.get_freeze_count()
    finally:
        gc.enable()

    assert frozen == 0
