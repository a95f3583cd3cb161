"""Map, MapNotNull, MapValue, WrapMappingInObject."""

from __future__ import annotations

import copy
import functools
import math
import operator
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from ml_pipes.core import SHORT_CIRCUIT, Pipeline
from ml_pipes.errors import SelectorIndexError, SelectorRuntimeError
from ml_pipes.standard import CollectItems, Map, MapNotNull, MapValue, PerItem, Pick, WrapMappingInObject

TAKES_FN: list[Callable[[Any], Any]] = [Map, MapNotNull, functools.partial(MapValue, source="size")]


@dataclass
class State:
    payload: Mapping[str, Any] | None = None
    meta: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Frozen:
    size: int = 1


class Counted(int):
    """Written in Python, made as int is."""


class Broken:
    @property
    def size(self) -> int:
        raise AttributeError("inside the property")


def double(value: int) -> int:
    return value * 2


def none_for_odd(value: int) -> int | None:
    return None if value % 2 else value


def test_map_goes_on_with_what_the_function_gives() -> None:
    assert Pipeline([Map(double)])(3) == 6
    assert Map[int, str](str)(3) == "3"
    assert Map(double)(3) == 6


def test_map_gives_a_tuple_whole() -> None:
    assert Pipeline([lambda value: (value, 2), Map(len)])(1) == 2


@pytest.mark.parametrize(
    ("fn", "value", "result"),
    [
        (str, 3, "3"),
        (int, "3", 3),
        (float, "3", 3.0),
        (dict, [("a", 1)], {"a": 1}),
        (len, "abc", 3),
        (sorted, [2, 1], [1, 2]),
        (max, [2, 1], 2),
        (math.sqrt, 4, 2.0),
        (str.upper, "a", "A"),
        (",".join, ["a", "b"], "a,b"),
        (np.sqrt, 4.0, 2.0),
        (np.float32, 4, 4.0),
        (np.sum, [1, 2], 3),
        (operator.itemgetter(1), "ab", "b"),
        (operator.attrgetter("real"), 3, 3),
        (operator.methodcaller("upper"), "a", "A"),
        (functools.partial(int, base=2), "11", 3),
        (functools.partial(pow, 2), 3, 8),
        (functools.lru_cache(double), 2, 4),
        (Map(double), 2, 4),
        (Pipeline([double, double]), 2, 8),
        (lambda value, factor=3: value * factor, 2, 6),
    ],
)
def test_any_callable_of_one_value_will_do(fn: Any, value: Any, result: Any) -> None:
    assert Map(fn)(value) == result
    assert MapNotNull(fn)(value) == result


@pytest.mark.parametrize("fn", [np.asarray, np.array, np.stack, np.concatenate])
def test_what_numpy_shows_of_a_function_does_not_matter(fn: Any) -> None:
    assert Map(fn)([np.ones(2)]).sum() == 2


@pytest.mark.parametrize("make", TAKES_FN)
@pytest.mark.parametrize(
    ("fn", "named"),
    [
        (lambda value, *, factor=2: value, "factor=2"),
        (lambda *values: values, r"\*values"),
        (lambda value, **options: value, r"\*\*options"),
        (functools.partial(double, value=1), "value"),
        (print, r"\*args"),
    ],
)
def test_parameters_that_are_not_positional_are_refused(make: Any, fn: Any, named: str) -> None:
    with pytest.raises(TypeError, match=rf": fn uses non-positional parameters \(.*{named}.*\).*; wrap it: "):
        make(fn)


@pytest.mark.parametrize("make", TAKES_FN)
@pytest.mark.parametrize(
    ("fn", "why"),
    [
        (lambda a, b: a, r"function requires 2 \(a, b\); wrap it: lambda value: function\(value\)"),
        (lambda: 1, "function takes none"),
        (np.add, r"add requires 2 \(x1, x2\)"),
        (pow, r"pow requires 2 \(base, exp\)"),
        (Pick(0).__call__.__func__, r"__call__ requires 2 \(self, current\)"),  # type: ignore[attr-defined] # a method has one
    ],
)
def test_what_does_not_take_one_value_is_refused(make: Any, fn: Any, why: str) -> None:
    with pytest.raises(TypeError, match=f": fn cannot be called with one value: {why}"):
        make(fn)


@pytest.mark.parametrize("make", TAKES_FN)
@pytest.mark.parametrize("fn", [None, 3, "upper"])
def test_what_cannot_be_called_is_refused(make: Any, fn: Any) -> None:
    with pytest.raises(TypeError, match=f": fn must be a callable of one value, got {fn!r}"):
        make(fn)


@pytest.mark.parametrize("fn", [State, Counted, functools.partial(functools.partial, double), range, complex])
def test_classes_and_functions_with_options_will_do_too(fn: Any) -> None:
    assert Map(fn)(3) is not None


def test_map_not_null_ends_the_run_at_none_and_drops_the_item_in_a_region() -> None:
    assert Pipeline([MapNotNull(none_for_odd), double])(1) is SHORT_CIRCUIT
    assert Pipeline([PerItem(), MapNotNull(none_for_odd), CollectItems()])([0, 1, 2]) == [0, 2]


def test_map_passes_none_on() -> None:
    assert Pipeline([Map(none_for_odd)])(1) is None


def test_map_value_writes_in_the_object_and_goes_on_with_it() -> None:
    value = {"size": 3, "rows": [1, 2]}

    result = MapValue(double, source="rows[1]")(MapValue(double, source="size")(value))

    assert result is value
    assert value == {"size": 6, "rows": [1, 4]}


def test_map_value_writes_to_its_target_and_makes_the_mappings_on_the_way() -> None:
    value = SimpleNamespace(size=3, out={})

    MapValue(double, source="size", target="out.twice.size")(value)

    assert value == SimpleNamespace(size=3, out={"twice": {"size": 6}})


def test_map_value_lets_none_pass_and_a_none_inside_be_mapped() -> None:
    assert MapValue(double, source="size")(None) is None
    assert MapValue(str, source="size")({"size": None}) == {"size": "None"}


def test_map_value_of_a_missing_source_writes_nothing() -> None:
    value: dict[str, Any] = {"a": []}

    with pytest.raises(SelectorRuntimeError, match=r"MapValue: source: cannot resolve current\.size"):
        MapValue(double, source="size", target="b")(value)
    with pytest.raises(SelectorIndexError, match=r"MapValue: source: cannot resolve current\.a\[0\]"):
        MapValue(double, source="a[0]", target="b")(value)

    assert value == {"a": []}


def test_map_value_says_which_target_refuses() -> None:
    with pytest.raises(
        TypeError, match=r"MapValue: target: cannot write current\.size: current is a Frozen, which refuses"
    ):
        MapValue(double, source="size")(Frozen())


def test_an_error_inside_a_property_is_raised_as_it_is() -> None:
    with pytest.raises(AttributeError, match=r"^inside the property$"):
        MapValue(double, source="size")(Broken())


def test_map_value_writes_nothing_where_its_function_drops_the_value() -> None:
    value = {"size": 3}

    assert Pipeline([MapValue(lambda _: SHORT_CIRCUIT, source="size")])(value) is SHORT_CIRCUIT
    assert value == {"size": 3}


@pytest.mark.parametrize(
    ("make", "place"),
    [
        (lambda path: MapValue(double, source=path), "MapValue: source"),
        (lambda path: WrapMappingInObject(target=path, state_factory=State), "WrapMappingInObject: target"),
    ],
)
def test_a_path_that_is_none_is_refused(make: Any, place: str) -> None:
    with pytest.raises(TypeError, match=f"{place} must be a path, such as 'meta.size' or 0, got None"):
        make(None)
    with pytest.raises(TypeError, match=f"{place}: a path's part must be a str, an int or a tuple"):
        make(1.5)
    with pytest.raises(ValueError, match=f"{place}: cannot read the path 'a..b' from"):
        make("a..b")


def test_a_target_that_is_no_path_is_refused() -> None:
    with pytest.raises(ValueError, match="MapValue: target: a path's text must not be empty"):
        MapValue(double, source="a", target="")


def test_a_mapping_is_put_into_a_new_object() -> None:
    wrap = WrapMappingInObject(target="payload", state_factory=State)
    mapping = {"a": 1}

    one, two = wrap(mapping), wrap(mapping)

    assert one == State(payload={"a": 1})
    assert one.payload is mapping
    assert one is not two


def test_a_mapping_may_be_put_deeper() -> None:
    assert WrapMappingInObject(target="meta.raw", state_factory=State)({1: 2}).meta == {"raw": {1: 2}}


@pytest.mark.parametrize("value", [None, [("a", 1)], "text", 3])
def test_what_is_no_mapping_is_dropped(value: Any) -> None:
    wrap = WrapMappingInObject(target="payload", state_factory=State)

    assert Pipeline([wrap])(value) is SHORT_CIRCUIT
    assert Pipeline([PerItem(), wrap, CollectItems()])([value, {}]) == [State({})]


@pytest.mark.parametrize("factory", [SimpleNamespace, dict, lambda size=1: State(), lambda *_: State()])
def test_a_factory_whose_parameters_have_defaults_will_do(factory: Any) -> None:
    assert WrapMappingInObject(target="payload", state_factory=factory)({}) is not None


def test_a_factory_that_requires_arguments_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"state_factory must be callable without arguments: double requires value"
    ):
        WrapMappingInObject(target="payload", state_factory=double)  # type: ignore[arg-type] # the refusal is tested
    with pytest.raises(TypeError, match="state_factory must be a callable without parameters, got 3"):
        WrapMappingInObject(target="payload", state_factory=3)  # type: ignore[arg-type] # the refusal is tested


def test_an_object_that_cannot_hold_the_target_says_so() -> None:
    with pytest.raises(
        TypeError, match=r"WrapMappingInObject: target: cannot write state\.size: state is a Frozen"
    ):
        WrapMappingInObject(target="size", state_factory=Frozen)({})


OPERATORS = [
    (Map[int, int](double), 2, 4),
    (Map(np.sqrt), 4.0, 2.0),
    (MapNotNull(none_for_odd), 1, SHORT_CIRCUIT),
    (MapValue(double, source="size", target="meta.twice"), {"size": 2}, {"size": 2, "meta": {"twice": 4}}),
    (WrapMappingInObject(target="payload", state_factory=State), {"a": 1}, State({"a": 1})),
]


@pytest.mark.parametrize("twin_of", [copy.copy, copy.deepcopy, lambda step: pickle.loads(pickle.dumps(step))])
@pytest.mark.parametrize(("step", "value", "result"), OPERATORS)
def test_a_copy_does_the_same(step: Any, value: Any, result: Any, twin_of: Any) -> None:
    twin = twin_of(step)

    assert twin(copy.deepcopy(value)) == result
    assert repr(twin) == repr(step)


@pytest.mark.parametrize(("step", "value", "result"), OPERATORS)
def test_one_operator_serves_eight_threads(start: Any, step: Any, value: Any, result: Any) -> None:
    def many() -> list[Any]:
        return [step(copy.deepcopy(value)) for _ in range(200)]

    futures = [start(many) for _ in range(8)]

    assert all(future.result(timeout=30) == [result] * 200 for future in futures)


def test_the_operators_show_how_they_were_made() -> None:
    assert repr(Map(double)) == "Map(double)"
    assert repr(MapValue(double, source="a", target="b")) == "MapValue(double, source='a', target='b')"
    assert repr(OPERATORS[4][0]) == "WrapMappingInObject(target='payload', state_factory=State)"
