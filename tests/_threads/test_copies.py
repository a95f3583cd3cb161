"""Copies of one error for several callers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import pytest

from ml_pipes._threads.copies import own_copy
from ml_pipes.errors import RegionError


class OwnArgumentsError(Exception):
    """Takes other arguments than it hands to its base."""

    def __init__(self, place: str, count: int) -> None:
        super().__init__(f"{place} has {count}")
        self.count = count


class UncopyableError(Exception):
    """Refuses every way of making a second one."""

    def __new__(cls, *args: object) -> Self:
        if args != ("first",):
            raise RuntimeError("only one")
        return super().__new__(cls)

    def __init__(self, first: str) -> None:
        super().__init__("there is", "only one", first)


@dataclass(frozen=True)
class FrozenError(Exception):
    """Refuses attributes."""

    place: str


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad"),
        KeyError("bad"),
        FileNotFoundError(2, "No such file", "a.png"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte"),
        SystemExit(3),
        KeyboardInterrupt(),
        OwnArgumentsError("shelf", 3),
        FrozenError("shelf"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_a_copy_has_the_type_the_words_and_the_state_of_the_original(error: BaseException) -> None:
    twin = own_copy(error)

    assert twin is not error
    assert type(twin) is type(error)
    assert str(twin) == str(error)
    assert {**vars(twin)} == {**vars(error)}
    assert twin.__cause__ is error


def test_a_copy_has_its_own_notes_and_no_traceback() -> None:
    with pytest.raises(ValueError, match="bad") as caught:
        int("bad")
    error = caught.value
    error.add_note("in step 0:f")

    twin = own_copy(error)
    twin.add_note("in 4:Batch")

    assert error.__notes__ == ["in step 0:f"]
    assert twin.__notes__ == ["in step 0:f", "in 4:Batch"]
    assert error.__traceback__ is not None
    assert twin.__traceback__ is None


def test_an_error_that_cannot_be_copied_is_quoted() -> None:
    error = UncopyableError("first")

    twin = own_copy(error)

    assert isinstance(twin, RegionError)
    assert "UncopyableError: ('there is', 'only one', 'first')" in str(twin)
    assert twin.__cause__ is error


def test_a_copy_keeps_what_is_kept_in_slots_and_does_not_run_the_constructor_again() -> None:
    made: list[int] = []

    class SlotsError(Exception):
        __slots__ = ("code",)

        def __init__(self, code: int = 0) -> None:
            super().__init__(f"code {code}")
            self.code = code
            made.append(code)

    twin = own_copy(SlotsError(7))

    assert isinstance(twin, SlotsError)
    assert (twin.code, made) == (7, [7])


def test_a_copy_keeps_what_the_builtin_exceptions_keep_outside_their_arguments() -> None:
    with pytest.raises(AttributeError) as caught:
        _ = (3).colour  # type: ignore[attr-defined] # meant to fail

    twin = own_copy(caught.value)

    assert isinstance(twin, AttributeError)
    assert (twin.name, twin.obj) == ("colour", 3)


def test_an_error_whose_own_text_fails_is_copied_all_the_same() -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            return str(self.args[1])

    assert type(own_copy(OddError("one"))) is OddError
