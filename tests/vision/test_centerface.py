"""CenterFace's maps become the faces that its formulas say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import DecodeCenterFace
from ml_pipes.vision.centerface import decode_centerface


def _maps(height: int = 8, width: int = 16) -> dict[str, np.ndarray]:
    """Maps of a picture of 32 x 64 pixels without a face."""
    return {
        "heatmap": np.zeros((1, 1, height, width), np.float32),
        "scale": np.zeros((1, 2, height, width), np.float32),
        "offset": np.zeros((1, 2, height, width), np.float32),
        "landmarks": np.zeros((1, 10, height, width), np.float32),
    }


def _put(maps: dict[str, np.ndarray], y: int, x: int, heat: float, size_hw: tuple[float, float]) -> None:
    """One face of that size, pixels, around the cell's middle; its points at 0.1-0.5 of y, 0.6-1 of x."""
    maps["heatmap"][0, 0, y, x] = heat
    maps["scale"][0, :, y, x] = [math.log(side / 4) for side in size_hw]
    maps["landmarks"][0, 0::2, y, x] = [0.1, 0.2, 0.3, 0.4, 0.5]
    maps["landmarks"][0, 1::2, y, x] = [0.6, 0.7, 0.8, 0.9, 1.0]


def test_a_cell_becomes_a_box_around_its_middle_with_height_before_width() -> None:
    maps = _maps()
    _put(maps, y=4, x=8, heat=0.75, size_hw=(10, 20))
    maps["offset"][0, :, 4, 8] = [0.25, -0.5]

    faces = decode_centerface(**maps)

    np.testing.assert_allclose(faces.boxes, [[22, 14, 42, 24]], rtol=1e-6)
    np.testing.assert_allclose(faces.landmarks[0, 0], [22 + 12, 14 + 1], rtol=1e-6)
    np.testing.assert_allclose(faces.landmarks[0, 4], [22 + 20, 14 + 5], rtol=1e-6)
    assert faces.scores.tolist() == [0.75]
    assert faces.classes.tolist() == [0]


def test_the_corner_is_cut_first_and_the_rest_is_counted_from_there() -> None:
    maps = _maps()
    _put(maps, y=0, x=0, heat=0.75, size_hw=(10, 20))

    faces = decode_centerface(**maps)

    # The middle is (2, 2): the corner would be (-8, -3), and is (0, 0).
    np.testing.assert_allclose(faces.boxes, [[0, 0, 20, 10]], rtol=1e-6)
    np.testing.assert_allclose(faces.landmarks[0, 0], [12, 1], rtol=1e-6)


def test_the_far_corner_is_cut_at_the_picture() -> None:
    maps = _maps()
    _put(maps, y=7, x=15, heat=0.75, size_hw=(10, 20))

    faces = decode_centerface(**maps)

    np.testing.assert_allclose(faces.boxes, [[52, 25, 64, 32]], rtol=1e-6)


def test_the_heat_must_be_above_the_threshold() -> None:
    maps = _maps()
    _put(maps, y=1, x=1, heat=0.5, size_hw=(4, 4))
    _put(maps, y=6, x=9, heat=0.51, size_hw=(4, 4))

    assert decode_centerface(**maps, threshold=0.5).scores.tolist() == [pytest.approx(0.51)]
    assert len(decode_centerface(**maps, threshold=0.49).scores) == 2


def test_faces_that_overlap_a_better_one_go_and_the_best_is_first() -> None:
    maps = _maps()
    _put(maps, y=4, x=8, heat=0.7, size_hw=(16, 16))
    _put(maps, y=4, x=9, heat=0.8, size_hw=(16, 16))
    _put(maps, y=1, x=1, heat=0.9, size_hw=(4, 4))

    suppressed = decode_centerface(**maps)
    everything = decode_centerface(**maps, iou_threshold=None)

    np.testing.assert_allclose(suppressed.scores, [0.9, 0.8])
    np.testing.assert_allclose(everything.scores, [0.9, 0.8, 0.7])
    np.testing.assert_allclose(everything.boxes[:, 0], [4, 30, 26])


def test_no_faces_are_empty_arrays_of_the_same_kinds() -> None:
    faces = decode_centerface(**_maps())

    assert [part.shape for part in faces] == [(0, 4), (0,), (0,), (0, 5, 2)]
    assert [str(part.dtype) for part in faces] == ["float32", "float32", "int64", "float32"]


def test_nan_in_the_maps_is_no_face_and_harms_none() -> None:
    maps = _maps()
    _put(maps, y=4, x=8, heat=0.7, size_hw=(16, 16))
    _put(maps, y=4, x=9, heat=0.9, size_hw=(16, 16))
    maps["heatmap"][0, 0, 0, 0] = np.nan
    maps["scale"][0, 0, 4, 9] = np.nan

    faces = decode_centerface(**maps)

    np.testing.assert_allclose(faces.scores[0], 0.7, rtol=1e-6)


def test_maps_without_a_batch_axis_are_taken_too() -> None:
    maps = _maps()
    _put(maps, y=4, x=8, heat=0.75, size_hw=(10, 20))
    bare = {name: array[0] for name, array in maps.items()}

    np.testing.assert_array_equal(decode_centerface(**bare).boxes, decode_centerface(**maps).boxes)


def test_the_step_adds_the_faces_and_leaves_what_it_was_given() -> None:
    maps = _maps()
    _put(maps, y=4, x=8, heat=0.75, size_hw=(10, 20))
    for array in maps.values():
        array.setflags(write=False)
    registry = TensorRegistry(
        {("heat" if name == "heatmap" else name): array for name, array in maps.items()}
    )
    step = DecodeCenterFace(0.2, heatmap="heat")

    once, twice = step(registry), step(registry)

    assert list(once) == ["heat", "scale", "offset", "landmarks", "boxes", "scores", "classes"]
    assert once["landmarks"].shape == (1, 5, 2)
    assert registry["landmarks"].shape == (1, 10, 8, 16)
    np.testing.assert_array_equal(once["boxes"], twice["boxes"])


@pytest.mark.parametrize("name", ["heatmap", "scale", "offset", "landmarks"])
def test_the_maps_of_two_pictures_are_an_error(name: str) -> None:
    maps = _maps()
    maps[name] = np.concatenate([maps[name], maps[name]])

    with pytest.raises(
        ValueError, match=r"wanted the maps of one picture, .*; a batch goes through Distribute"
    ):
        decode_centerface(**maps)


def test_maps_of_different_sizes_are_an_error() -> None:
    maps = _maps() | {"scale": np.zeros((1, 2, 4, 4), np.float32)}

    with pytest.raises(ValueError, match=r"got \(1, 1, 8, 16\), \(1, 2, 4, 4\), "):
        decode_centerface(**maps)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": 1.5}, "threshold must be 0 to 1, got 1.5"),
        ({"iou_threshold": -0.1}, "iou_threshold must be 0 to 1 or None, got -0.1"),
    ],
)
def test_a_wrong_argument_is_refused_when_built(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        DecodeCenterFace(**arguments)  # type: ignore[arg-type] # the mistakes that are tested
