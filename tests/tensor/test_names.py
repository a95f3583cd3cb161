"""No step can lose a result by its name, and a missing name reads as a sentence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ml_pipes.errors import MissingNameError
from ml_pipes.tensor import FilterTensors, Scale, Sigmoid, Squeeze, TensorRegistry, TopK, TopKIndices2D


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (
            lambda: FilterTensors("a", "b", by="a", predicate=np.isfinite, as_=("x", "x")),
            "FilterTensors: each output needs a name of its own, got 'x', 'x'",
        ),
        (lambda: TopK("a", 1, "v", "v"), "TopK: each output needs a name of its own, got 'v', 'v'"),
        (lambda: TopKIndices2D("a", 1, "v", "r", "r"), "TopKIndices2D: each output needs a name of its own"),
        (lambda: Sigmoid("a", as_=""), "Sigmoid: a tensor's name must not be empty, got ''"),
        (lambda: Squeeze("a", as_=""), "Squeeze: a tensor's name must not be empty"),
        (lambda: FilterTensors("a", by="a", predicate=np.isfinite, as_=""), "FilterTensors: a tensor's name"),
    ],
)
def test_names_that_would_lose_a_result_are_refused_when_built(
    build: Callable[[], object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        build()


def test_an_output_is_named_by_text() -> None:
    with pytest.raises(TypeError, match="Scale: tensors are named by text, got 5"):
        Scale("a", 2.0, as_=5)  # type: ignore[arg-type] # the mistake that is tested


def test_a_missing_name_is_an_error_that_reads_as_a_sentence() -> None:
    with pytest.raises(MissingNameError) as caught:
        TensorRegistry({"a": np.zeros(1)})["b"]

    assert str(caught.value) == "TensorRegistry: there is no tensor 'b'; available: a"
