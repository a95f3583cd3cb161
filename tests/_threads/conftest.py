"""A model that can be held in the middle of a batch, for the tests of waiting."""

from __future__ import annotations

from threading import Event

import pytest


class Model:
    """Doubles each item; remembers the batches, and can be held in the middle of one."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.entered = Event()
        self.go_on = Event()
        self.go_on.set()

    def __call__(self, items: list[int]) -> list[int]:
        self.batches.append(items)
        self.entered.set()
        assert self.go_on.wait(timeout=20)
        return [item * 2 for item in items]


@pytest.fixture
def model() -> Model:
    return Model()
