"""A picture knows its sides; a transform keeps the integers that were used."""

from __future__ import annotations

import numpy as np
import pytest

from ml_pipes.vision import ImagePayload, ResizeTransform


def test_a_picture_knows_its_sides_in_every_layout() -> None:
    hwc = ImagePayload(np.zeros((480, 640, 3), np.uint8))
    chw = ImagePayload(np.zeros((3, 480, 640), np.float32), "RGB", "CHW")
    grey = ImagePayload(np.zeros((480, 640), np.uint8), "GRAY", "HW")

    assert [image.size for image in (hwc, chw, grey)] == [(640, 480)] * 3
    assert [image.spatial_shape for image in (hwc, chw, grey)] == [(480, 640)] * 3
    assert [image.channels for image in (hwc, chw, grey)] == [3, 3, None]
    assert [image.ndim for image in (hwc, chw, grey)] == [3, 3, 2]
    assert chw.shape == (3, 480, 640)
    assert chw.dtype == "float32"
    assert (hwc.color_space, hwc.layout) == ("BGR", "HWC")


def test_a_layout_that_does_not_describe_the_array_is_an_error_when_asked() -> None:
    image = ImagePayload(np.zeros((480, 640), np.uint8))

    with pytest.raises(ValueError, match=r"layout 'HWC' does not give the W of an array \(480, 640\)"):
        image.width  # noqa: B018 - asking is what is tested


def test_pictures_compare_by_content_without_raising() -> None:
    one = ImagePayload(np.zeros((2, 2, 3), np.uint8))

    assert one == ImagePayload(np.zeros((2, 2, 3), np.uint8))
    assert one != ImagePayload(np.zeros((2, 2, 3), np.uint8), "RGB")
    assert one != ImagePayload(np.zeros((3, 2, 3), np.uint8))
    assert one != 3


def test_a_transform_made_by_hand_works_out_its_content() -> None:
    transform = ResizeTransform((0.5, 0.25), (0.0, 10.0), (100, 200), (64, 128))

    assert transform.content_shape == (25, 100)


def test_a_transform_without_scale_is_refused() -> None:
    with pytest.raises(ValueError, match=r"scale must be above 0 in both axes, got \(0.0, 1.0\)"):
        ResizeTransform((0.0, 1.0), (0.0, 0.0), (100, 200), (64, 128))
