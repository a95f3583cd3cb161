"""Values as they are written on a command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ml_pipes._cli.errors import CommandError
from ml_pipes._cli.values import axes, config, configs, parse_value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("640x480", (640, 480)),
        ("2x3x4", (2, 3, 4)),
        ("3", 3),
        ("-3", -3),
        ("0.5", 0.5),
        ("1e-3", 0.001),
        ("true", True),
        ("False", False),
        ("none", None),
        ("cpu", "cpu"),
        ("1_000", "1_000"),
        ("x480", "x480"),
        ("", ""),
        ("'640x480'", "640x480"),
        ('"3"', "3"),
        ("a=b", "a=b"),
    ],
)
def test_a_value_is_what_it_looks_like(text: str, value: Any) -> None:
    found = parse_value(text)

    assert (found, type(found)) == (value, type(value))


def test_pairs_become_a_configuration() -> None:
    assert config(["size=640x480", "name=a=b"], "--arg") == {"size": (640, 480), "name": "a=b"}


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (["size"], "--arg size: write it as --arg KEY=VALUE"),
        (["=3"], "--arg =3: write it as --arg KEY=VALUE"),
        (["a=1", "a=2"], "--arg a is given twice"),
    ],
)
def test_a_pair_that_is_none_says_how_it_is_written(pairs: list[str], said: str) -> None:
    with pytest.raises(CommandError) as raised:
        config(pairs, "--arg")

    assert str(raised.value) == said


def test_an_axis_has_a_value_between_any_two_commas_outside_quotes() -> None:
    found = axes(["batch=1,2", "size=640x480,none", "name='a,b',c"], "--axis")

    assert found == {"batch": [1, 2], "size": [(640, 480), None], "name": ["a,b", "c"]}


def test_an_axis_with_a_hole_is_refused() -> None:
    with pytest.raises(
        CommandError, match=r"--axis batch=1,,2: a value is missing; write --axis batch=V1,V2"
    ):
        axes(["batch=1,,2"], "--axis")


def test_configurations_come_as_json_or_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "sets.json"
    file.write_text('[{"a": 2}, {"a": 3}]', encoding="utf-8")

    found = configs(['{"a": 1}', str(file)], "--config")

    assert found == [{"a": 1}, {"a": 2}, {"a": 3}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": ', "--config is not JSON: "),
        ("[1]", "--config must be an object such as"),
        ("[]", "--config must be an object such as"),
        (
            "gone.json",
            "--config gone.json is neither JSON, which begins with { or [, nor a file that can be read",
        ),
    ],
)
def test_what_is_no_configuration_is_refused(text: str, said: str) -> None:
    with pytest.raises(CommandError) as raised:
        configs([text], "--config")

    assert str(raised.value).startswith(said)
