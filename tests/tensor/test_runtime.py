"""A model's outputs have one name each."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.tensor.runtime import RuntimeOutputs
from ml_pipes.tensor.types import TensorPayload


def test_outputs_compare_by_content() -> None:
    one = RuntimeOutputs((TensorPayload(np.ones(2), "N", "float64"),), ("out",))
    other = RuntimeOutputs((TensorPayload(np.ones(2), "N", "float64"),), ("out",))

    assert one == other


def test_outputs_without_a_name_each_are_refused() -> None:
    payload = TensorPayload(np.ones(2), "N", "float64")

    with pytest.raises(ValueError, match=r"one name per tensor, got 1 tensors and 2 names \('a', 'b'\)"):
        RuntimeOutputs((payload,), ("a", "b"))
