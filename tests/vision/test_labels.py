"""Classes are called by names from a list, a dict or an object of JSON."""

from __future__ import annotations

import pickle

import pytest

from ml_pipes.errors import MissingNameError
from ml_pipes.vision.labels import LabelMap


@pytest.mark.parametrize(
    "names", [["person", "dog"], ("person", "dog"), {0: "person", 1: "dog"}, {"0": "person", "1": "dog"}]
)
def test_names_come_from_a_list_or_a_dict(names: list[str]) -> None:
    labels = LabelMap(names)

    assert dict(labels) == {0: "person", 1: "dog"}
    assert labels[1] == "dog"
    assert len(labels) == 2


def test_numbers_may_have_gaps_and_a_missing_one_has_no_name() -> None:
    labels = LabelMap({18: "dog", 1: "person"})

    assert list(labels) == [18, 1]
    assert labels.get(2) is None
    assert -1 not in labels


def test_it_is_equal_to_a_dict_of_the_same_and_does_not_follow_its_source() -> None:
    source = {0: "person"}
    labels = LabelMap(source)

    source[1] = "dog"

    assert labels == {0: "person"}
    assert pickle.loads(pickle.dumps(labels)) == labels
    assert repr(labels) == "LabelMap({0: 'person'})"


@pytest.mark.parametrize(
    ("names", "error", "message"),
    [
        ("person", TypeError, "names must be a list of names or a dict from number to name, got 'person'"),
        (5, TypeError, "got 5"),
        ([1], TypeError, "the name of class 0 must be text, got 1"),
        ({"dog": "x"}, ValueError, "a class number must be a whole number, got 'dog'"),
        ({1.5: "x"}, ValueError, "got 1.5"),
        ({1: "x", "1": "y"}, ValueError, "class 1 is there twice"),
    ],
)
def test_what_gives_no_names_is_refused(names: list[str], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=f"LabelMap: .*{message}"):
        LabelMap(names)


@pytest.mark.parametrize(
    "names",
    [
        "{0: 'person', 1: 'dog'}",
        '{0: "person", 1: "dog"}',
        '{"0": "person", "1": "dog"}',
        '["person", "dog"]',
        "['person', 'dog']",
        "('person', 'dog')",
        '["\\u0070erson", "dog"]',
        {0: "person", 1: "dog"},
        ["person", "dog"],
    ],
)
def test_names_come_from_what_a_models_file_says_of_itself(names: object) -> None:
    labels = LabelMap.from_metadata({"stride": "32", "names": names})

    assert labels == {0: "person", 1: "dog"}


def test_an_apostrophe_in_a_name_is_read_as_python_writes_it() -> None:
    written = str({0: "carpenter's plane", 7: 'a "quoted" one'})

    labels = LabelMap.from_metadata({"names": written})

    assert labels == {0: "carpenter's plane", 7: 'a "quoted" one'}


def test_names_may_stand_under_another_key() -> None:
    labels = LabelMap.from_metadata({"classes": '["cat"]'}, key="classes")

    assert labels == {0: "cat"}


@pytest.mark.parametrize(
    ("metadata", "there"), [({}, r"\(none\)"), ({"stride": "32", "task": "detect"}, "'stride', 'task'")]
)
def test_a_file_without_names_says_what_it_has(metadata: dict[str, str], there: str) -> None:
    with pytest.raises(
        MissingNameError,
        match=f"LabelMap.from_metadata: the model's file says nothing under 'names'; available: {there}. "
        r"Say where its names are with key=, or write LabelMap\(\[...\]\)",
    ):
        LabelMap.from_metadata(metadata)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ("", "wanted a list or a dict as JSON or Python writes it, got ''"),
        ("person, dog:", "got 'person, dog:'"),
        ("__import__('os').getcwd()", "wanted a list or a dict"),
        ("[" * 200_000, r"got '\[{60}\.\.\.'"),
        ("{[]: 'x'}", "wanted a list or a dict"),
        ("\0", "wanted a list or a dict"),
        ("80", "names must be a list of names or a dict from number to name, got 80"),
        ("null", "got None"),
        ("'person'", "got 'person'"),
        ("{0: 1}", "the name of class 0 must be text, got 1"),
        ("{'dog': 'x'}", "a class number must be a whole number, got 'dog'"),
        (5, "got 5"),
    ],
)
def test_what_a_file_says_that_gives_no_names_is_refused(names: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"LabelMap.from_metadata: 'names' gives no names: .*{message}"):
        LabelMap.from_metadata({"names": names})
