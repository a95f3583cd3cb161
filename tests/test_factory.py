"""Factories: configurations are checked by name, results by kind, and a module's one is found."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from ml_pipes.core import Pipeline
from ml_pipes.factory import (
    DataFactory,
    Factory,
    InputFn,
    PipelineFactory,
    data_factory,
    pipeline_factory,
)


def _adder(amount: int, *, times: int = 1) -> Pipeline[int, int]:
    return Pipeline([lambda x: x + amount * times])


def _input(size: int = 3) -> InputFn:
    return lambda: ("zeros", [0] * size, "tag", {})


def _module(**names: Any) -> ModuleType:
    module = ModuleType("some_module")
    vars(module).update(names)
    return module


def _logged(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    return inner


def test_build_calls_the_source_with_the_configuration() -> None:
    factory = PipelineFactory[int, int](_adder)

    pipeline = factory.build({"amount": 2, "times": 5})

    assert pipeline(1) == 11


def test_a_factory_is_called_as_its_source_is() -> None:
    factory = pipeline_factory(_adder)

    assert factory(2)(1) == 3
    assert vars(factory)["__name__"] == "_adder"


def test_an_unknown_key_is_named_with_those_that_are_known() -> None:
    factory = pipeline_factory(_adder)

    with pytest.raises(TypeError, match="_adder: unknown config key 'ammount'; it takes amount, times"):
        factory.build({"ammount": 2})


def test_a_missing_key_is_named() -> None:
    factory = pipeline_factory(_adder)

    with pytest.raises(TypeError, match="_adder: missing config key 'amount'"):
        factory.build({"times": 2})


def test_the_message_calls_the_factory_what_it_is_told_to() -> None:
    factory = pipeline_factory(_adder)

    with pytest.raises(TypeError, match="--arg: unknown config key 'x'"):
        factory.validate_config({"amount": 1, "x": 2}, name="--arg")


def test_a_source_with_any_keywords_takes_unknown_keys() -> None:
    def make(**options: Any) -> Pipeline[int, int]:
        return Pipeline([lambda x: x + len(options)])

    factory = pipeline_factory(make)

    assert factory.build({"a": 1, "b": 2})(0) == 2


def test_a_positional_only_parameter_is_refused_with_the_way_out() -> None:
    def make(amount: int, /) -> Pipeline[int, int]:
        return Pipeline([lambda x: x + amount])

    with pytest.raises(TypeError, match="'amount' is positional-only"):
        pipeline_factory(make).build({})


def test_a_pipeline_factory_must_return_a_pipeline() -> None:
    def make() -> Any:
        return 3

    with pytest.raises(TypeError, match="must return a Pipeline, got a int"):
        pipeline_factory(make).build({})


def test_a_data_factory_must_return_something_callable() -> None:
    def make() -> Any:
        return [1, 2]

    with pytest.raises(TypeError, match="must return a callable InputFn"):
        data_factory(make).build({})


def test_a_data_factory_gives_inputs() -> None:
    factory = data_factory(_input)

    assert factory.build({"size": 2})() == ("zeros", [0, 0], "tag", {})


def test_what_is_not_callable_is_refused() -> None:
    broken: Any = 3

    with pytest.raises(TypeError, match="PipelineFactory takes a callable, got a int"):
        pipeline_factory(broken)


def test_ensure_factory_takes_callables_and_factories_of_its_kind() -> None:
    made = PipelineFactory[int, int].ensure_factory(_adder)

    assert isinstance(made, PipelineFactory)
    assert PipelineFactory.ensure_factory(made) is made


def test_ensure_factory_refuses_a_factory_of_another_kind() -> None:
    inputs: Any = data_factory(_input)

    with pytest.raises(TypeError, match="_input is a DataFactory, and a PipelineFactory is needed"):
        PipelineFactory.ensure_factory(inputs)


def test_discover_finds_the_one_factory_of_its_kind() -> None:
    make, give = pipeline_factory(_adder), data_factory(_input)
    module = _module(make=make, give=give, other=_adder)

    assert PipelineFactory.discover(module) is make
    assert DataFactory.discover(module) is give


def test_discover_gives_none_where_nothing_is_decorated() -> None:
    assert PipelineFactory.discover(_module(make=_adder)) is None


def test_discover_refuses_several_and_names_them() -> None:
    module = _module(one=pipeline_factory(_adder), two=pipeline_factory(_adder))

    with pytest.raises(ValueError, match=r"multiple @pipeline_factory functions: one, two.*some_module:one"):
        PipelineFactory.discover(module)


def test_one_factory_under_two_names_is_one() -> None:
    make = pipeline_factory(_adder)

    assert PipelineFactory.discover(_module(make=make, alias=make)) is make


def test_a_factory_of_the_module_comes_before_one_that_it_imported() -> None:
    imported, own = pipeline_factory(_adder), pipeline_factory(_adder)
    own.__module__ = "some_module"

    assert PipelineFactory.discover(_module(imported=imported, own=own)) is own


def test_discover_takes_the_object_that_was_asked_for() -> None:
    make = pipeline_factory(_adder)
    module = _module(make=make, other=pipeline_factory(_adder))

    assert PipelineFactory.discover(module, make) is make
    assert PipelineFactory.discover(module, _adder) is None
    assert DataFactory.discover(module, make) is None


def test_a_decorator_around_a_factory_is_refused_when_it_is_looked_for() -> None:
    module = _module(make=_logged(pipeline_factory(_adder)))

    with pytest.raises(TypeError, match="make: @pipeline_factory must be the outermost decorator"):
        PipelineFactory.discover(module)


@pytest.mark.parametrize("around", [data_factory, pipeline_factory])
def test_a_factory_of_a_factory_is_refused(around: Callable[[Any], Factory[Any]]) -> None:
    with pytest.raises(TypeError, match="@pipeline_factory must be the outermost decorator"):
        around(_logged(pipeline_factory(_adder)))


def test_a_factory_shows_what_it_is() -> None:
    assert repr(pipeline_factory(_adder)) == "PipelineFactory(_adder)"


def test_a_builtin_that_does_not_tell_what_it_takes_is_not_checked() -> None:
    Factory(dict).validate_config({"anything": 1})

    assert Factory(dict).build({"anything": 1}) == {"anything": 1}
