"""The example of a 4K picture finds each of its faces once, in tiles as in the whole."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from ml_pipes.vision import Decode
from ml_pipes.vision.boxes import box_ious

pytestmark = pytest.mark.models


@pytest.mark.timeout(180)
def test_each_face_of_the_4k_picture_is_found_once_and_drawn(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # As for `python examples/NAME.py`, whose folder is the first place where its imports are looked for.
    monkeypatch.syspath_prepend(root / "examples")
    module = importlib.import_module("tiled_faces")
    output = tmp_path / "faces.png"

    faces, whole = module.main(output)

    overlaps = box_ious(whole["boxes"], faces["boxes"])
    assert overlaps.shape == (21, 21)
    assert (np.count_nonzero(overlaps > 0.8, axis=1) == 1).all()
    assert (np.count_nonzero(overlaps > 0.8, axis=0) == 1).all()
    assert capsys.readouterr().out.startswith("8 tiles of 1280x1280: 21 faces\n")
    changed = (Decode()(output.read_bytes()).array != module.picture_4k().array).any(axis=2)
    left, top, right, bottom = np.rint(faces["boxes"][0]).astype(int)
    assert changed[top : bottom + 1, left].all()
    assert changed[top : bottom + 1, right].all()
