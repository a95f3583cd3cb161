"""What an operator remembers of how it was made, and how it shows it."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import dataclass
from typing import Any

import pytest

from ml_pipes.core import Operator
from ml_pipes.operator import (
    OperatorArgument,
    OperatorDescription,
    get_operator_argument_entries,
    get_operator_constructor_signature,
    get_operator_name,
)


@Operator
class Resize:
    def __init__(self, size: tuple[int, int], mode: str = "letterbox", *, kind: int = 0) -> None:
        self.size = size

    def __call__(self, value: Any) -> Any:
        return value


class Square(Resize):
    """Not decorated itself."""

    def __init__(self, side: int) -> None:
        super().__init__((side, side))


@Operator
class Variadic:
    def __init__(self, *names: str, **options: int) -> None:
        self.names = names


@Operator
@dataclass
class Point:
    x: int
    y: int = 0


@Operator
class Bare:
    def __call__(self, value: Any) -> Any:
        return value


@Operator
class Named:
    def __repr__(self) -> str:
        return "its own words"

    def describe(self) -> str:
        return "its own description"


@pytest.mark.parametrize(
    ("operator", "text"),
    [
        (Resize((640, 480)), "Resize((640, 480))"),
        (Resize(size=(1, 2), mode="resize"), "Resize(size=(1, 2), mode='resize')"),
        (Resize((1, 2), "resize", kind=3), "Resize((1, 2), 'resize', kind=3)"),
        (Square(5), "Square(5)"),
        (Variadic("a", "b", depth=3), "Variadic('a', 'b', depth=3)"),
        (Point(1), "Point(1)"),
        (Bare(), "Bare()"),
        (Named(), "its own words"),
    ],
)
def test_an_operator_shows_how_it_was_made(operator: Any, text: str) -> None:
    if not isinstance(operator, Point):  # a dataclass has a repr of its own
        assert repr(operator) == text
    assert (
        str(OperatorDescription.from_operator(operator).render()).replace("Named()", "its own words") == text
    )


def test_describe_is_added_only_where_there_is_none() -> None:
    assert isinstance(Resize((1, 2)).describe(), OperatorDescription)  # type: ignore[attr-defined] # the decorator adds it
    assert Named().describe() == "its own description"


def test_passed_and_default_arguments_are_told_apart() -> None:
    description = OperatorDescription.from_operator(Resize((1, 2), kind=3))

    assert description.passed_args == {"size": (1, 2), "kind": 3}
    assert description.default_args == {"mode": "letterbox"}
    assert description.all_args == {"size": (1, 2), "mode": "letterbox", "kind": 3}
    assert description.render(show_defaults=True) == "Resize((1, 2), mode='letterbox', kind=3)"


def test_a_long_value_is_cut_unless_verbose() -> None:
    description = OperatorDescription.from_operator(Variadic("x" * 500))

    assert len(description.render()) < 120
    assert description.render().endswith("…)")
    assert len(description.render(verbose=True)) > 500


def test_a_function_argument_shows_as_its_name() -> None:
    assert OperatorDescription.from_operator(Variadic(len)).render() == "Variadic(len)"  # type: ignore[arg-type] # any value shows


def test_a_class_without_room_for_its_arguments_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"Tight has no room for captured constructor args; leave __slots__ .* out"
    ):

        @Operator
        class Tight:
            __slots__ = ("a",)


def test_a_dataclass_with_slots_over_an_operator_is_refused_when_made() -> None:
    @dataclass(slots=True)
    @Operator
    class Tight:
        a: int = 0

    with pytest.raises(TypeError, match="Tight has no room for captured constructor args"):
        Tight()


def test_an_operators_signature_is_its_constructors_and_its_calls() -> None:
    assert str(inspect.signature(Resize)).startswith("(size: 'tuple[int, int]', mode: 'str' = 'letterbox', *")
    assert str(inspect.signature(Square)) == "(side: 'int') -> 'None'"
    assert str(inspect.signature(Point)).startswith("(x: 'int', y: 'int' = 0)")
    assert str(inspect.signature(Bare)) == "()"
    assert str(inspect.signature(Bare())) == "(value: 'Any') -> 'Any'"


def test_a_copy_with_a_state_of_its_own_still_shows_its_name() -> None:
    @Operator
    class Lean:
        def __init__(self, size: int) -> None:
            self.size = size

        def __getstate__(self) -> dict[str, Any]:
            return {"size": self.size}

    assert repr(copy.copy(Lean(3))) == "Lean()"


def test_an_argument_whose_repr_fails_shows_as_its_type() -> None:
    class Shy:
        def __repr__(self) -> str:
            raise RuntimeError("no repr")

    assert OperatorDescription.from_operator(Variadic(Shy())).render() == "Variadic(<Shy>)"  # type: ignore[arg-type] # any value shows


def test_arguments_that_nothing_takes_are_refused() -> None:
    with pytest.raises(TypeError, match=r"Bare\(\) takes no arguments"):
        Bare(1)  # type: ignore[call-arg] # the refusal is what is tested


@pytest.mark.parametrize(
    "twin_of", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))]
)
def test_a_copy_remembers_too(twin_of: Any) -> None:
    assert repr(twin_of(Resize((1, 2), kind=3))) == "Resize((1, 2), kind=3)"


def test_bare_callables_have_a_name_and_no_arguments() -> None:
    for function, name in (
        (len, "len"),
        (lambda value: value, "<lambda>"),
        (test_a_copy_remembers_too, None),
    ):
        assert get_operator_name(function) == (name or "test_a_copy_remembers_too")
        assert get_operator_argument_entries(function) == ()
        assert get_operator_constructor_signature(function) is None
    assert OperatorDescription.from_operator(len).render() == "len"


def test_an_argument_says_where_it_came_from() -> None:
    size, mode, _ = get_operator_argument_entries(Resize((1, 2)))

    assert (size.is_passed, size.is_default, size.passed_by_keyword) == (True, False, False)
    assert (mode.is_passed, mode.is_default) == (False, True)
    assert OperatorArgument.to_dict([size, mode]) == {"size": (1, 2), "mode": "letterbox"}
