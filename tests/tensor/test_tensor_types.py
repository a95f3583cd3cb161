"""Payloads compare without raising; registries are replaced, not written to."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from ml_pipes.tensor import TensorPayload, TensorRegistry


def test_payloads_with_the_same_content_are_equal_and_nan_equals_nan() -> None:
    one = TensorPayload(np.array([1.0, np.nan]), "N", "float64")
    other = TensorPayload(np.array([1.0, np.nan]), "N", "float64")

    assert one == other


@pytest.mark.parametrize(
    "other",
    [
        TensorPayload(np.zeros(3, np.float32), "N", "float32"),
        TensorPayload(np.zeros(2, np.float32), "C", "float32"),
        TensorPayload(np.zeros(2, np.float64), "N", "float32"),
        TensorPayload(np.ones(2, np.float32), "N", "float32"),
        TensorPayload("no array", "N", "float32"),  # type: ignore[arg-type] # on purpose: it must not raise
        "something else",
    ],
)
def test_payloads_that_differ_in_anything_are_unequal_and_comparing_does_not_raise(other: object) -> None:
    payload = TensorPayload(np.zeros(2, np.float32), "N", "float32")

    assert payload != other


def test_a_payload_cannot_be_a_key_since_its_array_can_change() -> None:
    payload = TensorPayload(np.zeros(2), "N", "float64")

    with pytest.raises(TypeError, match="unhashable"):
        hash(payload)


def test_a_missing_tensor_is_an_error_that_lists_those_that_are_there() -> None:
    registry = TensorRegistry({"boxes": np.zeros((0, 4)), "scores": np.zeros(0)})

    with pytest.raises(KeyError, match="no tensor 'classes'; available: boxes, scores"):
        registry["classes"]


def test_a_missing_tensor_of_an_empty_registry_says_that_there_are_none() -> None:
    registry = TensorRegistry()

    with pytest.raises(KeyError, match=r"available: \(none\)"):
        registry["boxes"]


def test_a_registry_iterates_over_its_names_and_has_a_length() -> None:
    registry = TensorRegistry({"boxes": np.zeros((2, 4))})

    registry["scores"] = np.ones(2)

    assert list(registry) == ["boxes", "scores"] == list(registry.keys())
    assert len(registry) == 2
    assert "scores" in registry
    assert "classes" not in registry


def test_an_empty_registry_is_still_a_value() -> None:
    registry = TensorRegistry()

    assert registry
    assert len(registry) == 0


def test_a_registry_shows_names_shapes_and_dtypes() -> None:
    registry = TensorRegistry({"boxes": np.zeros((2, 4), np.float32), "one": np.array(1)})

    assert repr(registry) == "TensorRegistry(boxes: 2x4 float32, one: scalar int64)"


def test_replace_gives_a_new_registry_that_shares_what_it_did_not_replace() -> None:
    registry = TensorRegistry({"self": np.zeros(2), "scores": np.ones(2)})

    replaced = registry.replace(self=np.full(2, 7.0), more=np.ones(1))

    assert registry["self"].tolist() == [0.0, 0.0]
    assert "more" not in registry
    assert replaced["self"].tolist() == [7.0, 7.0]
    assert replaced["scores"] is registry["scores"]


def test_a_registry_is_not_changed_by_later_changes_of_the_mapping_it_was_made_of() -> None:
    tensors = {"boxes": np.zeros((2, 4))}
    registry = TensorRegistry(tensors)

    tensors["scores"] = np.ones(2)

    assert list(registry) == ["boxes"]


@pytest.mark.parametrize(("room", "missing"), [("tensor", "numpy"), ("vision", "numpy"), ("vision", "cv2")])
def test_a_room_without_its_packages_says_how_to_install_them(room: str, missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; import ml_pipes.{room}"

    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert ran.returncode == 1
    assert "ImportError: ml_pipes." in ran.stderr
    assert 'pip install "ml-pipes[vision]"' in ran.stderr.splitlines()[-1]


def test_what_is_no_array_is_refused_when_it_is_named_not_by_a_later_step() -> None:
    message = r"TensorRegistry: 'boxes' must be an array, got a list; np.asarray\(...\) makes one"
    registry = TensorRegistry()

    with pytest.raises(TypeError, match=message):
        TensorRegistry({"boxes": [[0, 0, 1, 1]]})  # type: ignore[dict-item] # meant to fail
    with pytest.raises(TypeError, match=message):
        registry["boxes"] = [[0, 0, 1, 1]]  # type: ignore[assignment] # meant to fail
    assert len(registry) == 0
