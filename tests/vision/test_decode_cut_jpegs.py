"""A JPEG that was cut is refused, also where an end marker was put behind what is left of it."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from ml_pipes.errors import DecodeError
from ml_pipes.vision import Decode

_END = b"\xff\xd9"
_ROWS, _COLUMNS = np.mgrid[:97, :131]
_WAVES = [127 + 127 * np.sin(_ROWS / period + _COLUMNS / 5) for period in (4, 7, 11)]
_PHOTO = Image.fromarray(np.dstack(_WAVES).astype(np.uint8))
_ONE_SCAN = [
    {},
    {"quality": 95, "subsampling": 0},
    {"quality": 30, "optimize": True},
    {"restart_marker_rows": 1},
    {"restart_marker_blocks": 3},
]


def _jpeg(mode: str = "RGB", **options: object) -> bytes:
    stream = io.BytesIO()
    _PHOTO.convert(mode).save(stream, "JPEG", **options)
    return stream.getvalue()


def _places(data: bytes, marker: int) -> list[int]:
    return [at for at in range(len(data)) if data[at : at + 2] == bytes([0xFF, marker])]


def _scans_apart(components: int = 3) -> bytes:
    """Give a JPEG whose components have a scan each, of the only block that each has."""
    stream = io.BytesIO()
    Image.new("L", (8, 8), 200).save(stream, "JPEG")
    grey = stream.getvalue()
    frame, scan = grey.index(b"\xff\xc0"), grey.index(b"\xff\xda")
    table = b"".join(bytes([name, 0x11, 0]) for name in (1, 2, 3))
    head = grey[:frame] + b"\xff\xc0\0\x11" + grey[frame + 4 : frame + 9] + b"\3" + table
    tables = grey[frame + 13 : scan]
    one = grey[scan:-2]
    scans = [one[:5] + bytes([name]) + one[6:] for name in (1, 2, 3)][:components]
    return head + tables + b"".join(scans) + _END


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("options", _ONE_SCAN)
def test_an_end_marker_does_not_hide_that_a_jpeg_was_cut(mode: str, options: dict[str, object]) -> None:
    data = _jpeg(mode, **options)
    start = data.rindex(b"\xff\xda") + 20

    # The last two blocks may lack bits: see decode_image.
    for end in range(start, len(data) - 40, 23):
        with pytest.raises(DecodeError, match=r"cut short before its end marker, .*; send the whole file"):
            Decode()(data[:end] + _END)


@pytest.mark.parametrize("at_least", [(1, 1), (20, 20), (40, 40)])
def test_it_does_not_hide_it_where_a_smaller_picture_is_decoded(at_least: tuple[int, int]) -> None:
    data = _jpeg()
    decode = Decode(at_least=at_least)

    assert decode(data).size < (131, 97)
    with pytest.raises(DecodeError, match="cut short"):
        decode(data[: len(data) // 2] + _END)


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("options", _ONE_SCAN)
def test_what_is_left_when_the_very_end_is_missing_are_the_true_pixels(
    mode: str, options: dict[str, object]
) -> None:
    data = _jpeg(mode, **options)
    whole = Decode()(data).array

    for lacking in range(1, 40):
        try:
            picture = Decode()(data[: -2 - lacking] + _END).array
        except DecodeError:
            continue
        np.testing.assert_array_equal(picture[:80], whole[:80])
        np.testing.assert_array_equal(picture[:, :96], whole[:, :96])


def test_a_cut_picture_shows_nothing_of_one_decoded_before() -> None:
    forged = _jpeg()[:-400] + _END

    for colour in ("white", "black"):
        stream = io.BytesIO()
        Image.new("RGB", (131, 97), colour).save(stream, "JPEG")
        Decode()(stream.getvalue())
        with pytest.raises(DecodeError, match="cut short"):
            Decode()(forged)


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_progressive_jpeg_without_all_of_its_scans_is_cut_short(mode: str) -> None:
    data = _jpeg(mode, progressive=True)
    scans = _places(data, 0xDA)

    for last in scans[1:]:
        with pytest.raises(DecodeError, match=r"the image is cut short \("):
            Decode()(data[:last] + _END)
    for end in range(scans[0], scans[-1], 29):
        with pytest.raises(DecodeError, match=r"the image is cut short \("):
            Decode()(data[:end] + _END)


def test_of_a_progressive_jpeg_the_last_scan_alone_may_be_cut_unnoticed() -> None:
    data = _jpeg(progressive=True, quality=95)
    last = _places(data, 0xDA)[-1]

    picture = Decode()(data[: (last + len(data)) // 2] + _END)

    assert np.abs(picture.array.astype(int) - Decode()(data).array).mean() < 2


def test_a_jpeg_of_several_scans_must_have_one_of_each_component() -> None:
    assert Decode()(_scans_apart()).spatial_shape == (8, 8)

    for components in (1, 2):
        with pytest.raises(DecodeError, match=r"the image is cut short \("):
            Decode()(_scans_apart(components))


@pytest.mark.parametrize("options", [*_ONE_SCAN, {"progressive": True}])
@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("size", [(1, 1), (7, 8), (8, 8), (16, 17), (65, 33)])
def test_a_whole_jpeg_of_any_size_is_taken_for_whole(
    size: tuple[int, int], mode: str, options: dict[str, object], capfd: pytest.CaptureFixture[str]
) -> None:
    stream = io.BytesIO()
    _PHOTO.convert(mode).resize(size).save(stream, "JPEG", **options)
    ours = Decode()(stream.getvalue()).array

    theirs = np.asarray(Image.open(stream).convert("RGB"))[..., ::-1]

    assert np.abs(ours.astype(int) - theirs).max() <= 3
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("marker", [0xE0, 0xE2, 0xE5, 0xED, 0xFE])
def test_what_stands_beside_a_jpegs_pixels_writes_nothing_to_stderr(
    marker: int, capfd: pytest.CaptureFixture[str]
) -> None:
    data = _jpeg()
    odd = bytes([0xFF, marker, 0, 9]) + b"ICC_PRO"

    # Bytes without a marker are passed over as well.
    assert Decode()(data[:2] + odd + data[2:20] + b"junk" + data[20:]) == Decode()(data)
    assert capfd.readouterr().err == ""
