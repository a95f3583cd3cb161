"""The configurations of a sweep."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest

from ml_pipes.benchmark.space import ConfigSpace, config_label


def _configs(space: ConfigSpace) -> list[dict[str, object]]:
    return [point.config for point in space.points() if point.is_active]


def test_with_nothing_asked_for_there_is_one_empty_configuration() -> None:
    space = ConfigSpace("pipeline")

    assert space.is_empty
    assert _configs(space) == [{}]


def test_axes_give_all_combinations_the_first_outermost() -> None:
    space = ConfigSpace("pipeline")

    space.add_axis("size", [320, 640])
    space.add_axis("model", ["a", "b"])

    assert _configs(space) == [
        {"size": 320, "model": "a"},
        {"size": 320, "model": "b"},
        {"size": 640, "model": "a"},
        {"size": 640, "model": "b"},
    ]
    assert [point.at for point in space.points()] == [(0, 0), (0, 1), (1, 0), (1, 1)]


def test_a_base_is_in_all_and_gives_way_to_axes_and_sets() -> None:
    space, given = ConfigSpace("pipeline"), ConfigSpace("data")

    space.add_base({"size": 1, "mode": "fast"})
    space.add_axis("size", [2])
    given.add_base({"size": 1, "mode": "fast"})
    given.add_set([{"size": 3}, {"mode": "slow"}])

    assert _configs(space) == [{"size": 2, "mode": "fast"}]
    assert _configs(given) == [{"size": 3, "mode": "fast"}, {"size": 1, "mode": "slow"}]


@pytest.mark.parametrize("kind", ["axis", "set"])
def test_filters_see_the_base_too_and_work_with_axes_and_sets(kind: str) -> None:
    space = ConfigSpace("pipeline")
    space.add_base({"mode": "fast"})
    if kind == "axis":
        space.add_axis("size", [1, 2])
    else:
        space.add_set([{"size": 1}, {"size": 2}])

    space.add_filter(lambda config: config["mode"] == "fast" and config["size"] > 1)

    assert _configs(space) == [{"mode": "fast", "size": 2}]
    assert [point.is_active for point in space.points()] == [False, True]


def test_a_filter_cannot_change_what_is_measured() -> None:
    space = ConfigSpace("pipeline")
    space.add_axis("size", [1])

    space.add_filter(lambda config: config.pop("size") == 1)

    assert _configs(space) == [{"size": 1}]


def test_an_axis_and_a_set_exclude_each_other() -> None:
    space, other = ConfigSpace("pipeline"), ConfigSpace("data")
    space.add_axis("size", [1])
    other.add_set([{"size": 1}])

    with pytest.raises(
        ValueError, match="pipeline_config_axis and pipeline_config_set are mutually exclusive"
    ):
        space.add_set([{"size": 2}])
    with pytest.raises(ValueError, match="data_config_axis and data_config_set are mutually exclusive"):
        other.add_axis("size", [2])


def test_an_axis_without_values_a_set_without_configurations_and_an_axis_given_twice_are_refused() -> None:
    space = ConfigSpace("pipeline")
    space.add_axis("size", [1])

    with pytest.raises(ValueError, match=r"axis\('model'\): an axis needs at least one value"):
        space.add_axis("model", [])
    with pytest.raises(ValueError, match=r"axis\('size'\): there is an axis of this key"):
        space.add_axis("size", [2])
    with pytest.raises(ValueError, match="a set needs at least one configuration"):
        ConfigSpace("data").add_set([])


def test_a_label_has_each_key_and_its_value_as_text() -> None:
    config = {"size": (640, 480), "model": PurePosixPath("a/b.onnx"), "call": abs, "share": 0.5}

    assert config_label(config) == "size:(640, 480)|model:a/b.onnx|call:abs|share:0.5"
    assert config_label({}) == ""
