"""An option that must be a whole number is refused when the step is built, not at its first call."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from ml_pipes.vision import NMS, DecodeYOLO
from ml_pipes.vision.text import CollateWidths, DecodeTextMap, PadWidth, ResizePage, ResizeToHeight

_OPTIONS = [
    (NMS, "max_detections"),
    (DecodeYOLO, "num_classes"),
    (DecodeTextMap, "max_candidates"),
    (ResizePage, "min_side"),
    (ResizePage, "multiple_of"),
    (ResizeToHeight, "height"),
    (PadWidth, "min_width"),
    (PadWidth, "multiple_of"),
    (CollateWidths, "min_width"),
]


@pytest.mark.parametrize("value", [1.5, 2.0, "2", True])
@pytest.mark.parametrize(("step", "option"), _OPTIONS)
def test_what_is_no_whole_number_is_refused(step: Callable[..., object], option: str, value: object) -> None:
    with pytest.raises(
        ValueError, match=rf"^{step.__name__}: {option} must be a whole number, . or more, got "
    ):
        step(**{option: value})


@pytest.mark.parametrize(("step", "option"), _OPTIONS)
def test_a_whole_number_may_be_numpys(step: Callable[..., object], option: str) -> None:
    assert step(**{option: np.int64(64)}) is not None
