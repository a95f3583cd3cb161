"""Steps that only look."""

from __future__ import annotations

from typing import Any

import pytest

from ml_pipes.core import Pipeline
from ml_pipes.standard import SideEffectOp


class Note(SideEffectOp[Any]):
    def __init__(self) -> None:
        self.seen: list[Any] = []

    def effect(self, payload: Any) -> Any:
        self.seen.append(payload)
        return "ignored"


def test_the_value_goes_on_untouched_whatever_the_effect_returns() -> None:
    note, value = Note(), [1]

    assert Pipeline([note])(value) is value
    assert note.seen == [value]


def test_a_subclass_that_defines_call_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"Wrong must not override __call__; implement effect\(payload\) instead"
    ):

        class Wrong(SideEffectOp[Any]):
            def __call__(self, payload: Any) -> Any:  # type: ignore[misc] # the refusal is what is tested
                return payload
