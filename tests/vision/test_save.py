"""A picture is written as a whole, in as many bits as the format has, or the error names the file."""

from __future__ import annotations

import errno
import stat
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ml_pipes.vision import ImagePayload, SaveImage

_PICTURE = ImagePayload(np.full((8, 8, 3), 100, np.uint8))


@pytest.mark.parametrize("ending", ["jpg", "bmp", "webp"])
def test_16_bits_are_scaled_where_the_format_has_8(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{ending}"

    SaveImage(path)(ImagePayload(np.full((8, 8, 3), 25700, np.uint16)))

    assert np.abs(np.array(Image.open(path).convert("RGB")).astype(int) - 100).max() <= 1


@pytest.mark.parametrize("ending", ["png", "tiff"])
def test_16_bits_are_kept_where_the_format_has_them(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"out.{ending}"

    SaveImage(path)(ImagePayload(np.full((8, 8), 1000, np.uint16), "GRAY", "HW"))

    assert np.array(Image.open(path))[0, 0] == 1000


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (
            ImagePayload(np.zeros((4, 4, 2), np.uint8), "RGB"),
            r"RGB has 3 or 4 channels, got HWC of shape \(4, 4, 2\)",
        ),
        (ImagePayload(np.zeros((4, 4, 3), np.uint8), "RGBA"), "RGBA has 4 channels"),
        (ImagePayload(np.zeros((4, 4, 3), np.uint8), "GRAY"), "GRAY has 1 channels"),
        (ImagePayload(np.zeros((4, 4), np.uint8), "BGR", "HW"), "BGR has 3 or 4 channels"),
    ],
)
def test_channels_that_do_not_fit_the_colours_are_an_error(
    image: ImagePayload, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=f"SaveImage: {message}"):
        SaveImage(tmp_path / "out.png")(image)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.png"
    path.write_bytes(b"old")

    def full(self: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)

    with pytest.raises(OSError, match=r"SaveImage: cannot write the file: No space left .*out\.png"):
        SaveImage(path)(_PICTURE)

    assert path.read_bytes() == b"old"
    assert [found.name for found in tmp_path.iterdir()] == ["out.png"]


def test_an_interrupt_leaves_the_old_file_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out.png"
    path.write_bytes(b"old")

    def interrupted(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", interrupted)

    with pytest.raises(KeyboardInterrupt):
        SaveImage(path)(_PICTURE)

    assert [(found.name, found.read_bytes()) for found in tmp_path.iterdir()] == [("out.png", b"old")]


def test_a_folder_that_cannot_be_made_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(OSError, match=r"SaveImage: cannot write the file: .*out\.png"):
        SaveImage(tmp_path / "file" / "out.png")(_PICTURE)


def test_a_file_that_is_replaced_keeps_its_permissions_and_a_link_stays_a_link(tmp_path: Path) -> None:
    path, link = tmp_path / "out.png", tmp_path / "link.png"
    path.write_bytes(b"old")
    path.chmod(0o640)
    link.symlink_to(path)

    SaveImage(link)(_PICTURE)

    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert np.array(Image.open(path))[0, 0].tolist() == [100, 100, 100]


def test_a_new_file_has_the_permissions_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").write_bytes(b"")

    SaveImage(tmp_path / "out.png")(_PICTURE)

    assert (tmp_path / "out.png").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize("name", [".png", "picture", "picture.nothing"])
def test_a_name_without_a_known_extension_is_refused_when_built(name: str) -> None:
    with pytest.raises(ValueError, match=r"SaveImage: no format for .*; end it in \.jpg, \.png"):
        SaveImage(name)


@pytest.mark.parametrize(("payload", "came"), [((1,), "a tuple of 1"), (3, "a int"), ({}, "a dict")])
def test_a_place_that_is_not_there_is_told_with_what_came(payload: object, came: str) -> None:
    with pytest.raises(TypeError, match=f"SaveImage: at=1 wants a tuple with a picture there, got {came}"):
        SaveImage("picture.png", at=1)(payload)
