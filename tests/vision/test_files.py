"""Unusual files that are whole come out right, and damaged ones do not."""

from __future__ import annotations

import io
import struct
import zlib

import cv2
import numpy as np
import pytest
from PIL import Image

from ml_pipes.errors import DecodeError
from ml_pipes.vision import Decode, ImagePayload, LoadFile

_NOISE = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
_PHOTO = Image.fromarray(_NOISE)


def _file(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _turned(turn: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x112] = turn
    return exif


@pytest.mark.parametrize("progressive", [False, True])
def test_a_whole_jpeg_is_read_whatever_bytes_follow_it(progressive: bool) -> None:
    data = _file(_PHOTO, "JPEG", progressive=progressive)
    alone = Decode()(data)
    rng = np.random.default_rng(0)

    for tail in (
        b"\0\0\0\x18ftypmp42\xff\xda",
        b"\xff\xd9\xff\xda\0",
        b"\xff\xd8",
        *map(rng.bytes, [9999] * 20),
    ):
        assert Decode()(data + tail) == alone


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"comment": b"\xff\xd9\xff\xda"}])
def test_a_jpeg_is_refused_wherever_it_is_cut(options: dict[str, object]) -> None:
    exif = _turned(1)
    data = _file(_PHOTO, "JPEG", exif=exif, **options)

    for end in range(2, len(data), 7):
        with pytest.raises(DecodeError, match="cut short"):
            Decode()(data[:end])


def test_of_several_pictures_in_one_jpeg_the_first_counts() -> None:
    data = _file(_PHOTO, "MPO", save_all=True, append_images=[_PHOTO.rotate(180)])

    assert Decode()(data[:-500]) == Decode()(data)


@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "tiff_adobe_deflate", "packbits"])
def test_a_tiff_with_alpha_keeps_its_colours_as_they_are_stored(compression: str) -> None:
    alpha = np.arange(48 * 64, dtype=np.uint8).reshape(48, 64, 1)
    data = _file(Image.fromarray(np.dstack([_NOISE, alpha])), "TIFF", compression=compression)

    np.testing.assert_array_equal(Decode()(data).array, _NOISE[..., ::-1])


@pytest.mark.parametrize(
    ("header", "stored", "shown"),
    [
        (b"P5\n3 1\n100\n", bytes([0, 50, 100]), [0, 128, 255]),
        (b"P5\n3 1\n4095\n", bytes([0, 0, 3, 232, 15, 255]), [0, 62, 255]),
        (b"P5\n# by hand\n3 1\n255\n", bytes([0, 50, 100]), [0, 50, 100]),
        (b"P2\n3 1\n1000\n", b"0 500 1000\n", [0, 128, 255]),
        (b"P2\n3 1\n15\n", b"0 1 15\n", [0, 17, 255]),
    ],
)
def test_a_pgm_is_as_bright_as_its_own_white_says(header: bytes, stored: bytes, shown: list[int]) -> None:
    picture = Decode()(header + stored).array

    assert picture.shape == (1, 3, 3)
    assert picture[0, :, 0].tolist() == shown


def test_a_ppm_with_its_own_white_keeps_its_colours() -> None:
    assert Decode()(b"P6\n1 1\n100\n" + bytes([100, 50, 0])).array.tolist() == [[[0, 128, 255]]]


@pytest.mark.parametrize("header", [b"Pf\n3 2\n-1.0\n", b"PF 3 2 1.0\n"])
def test_a_pfm_has_no_white_and_is_called_unsupported(header: bytes) -> None:
    with pytest.raises(DecodeError, match=r"a PFM of 32-bit floats is not supported .*with 8 bits for"):
        Decode()(header + bytes(72))


@pytest.mark.parametrize(("dtype", "words"), [("float32", "32-bit floats"), ("int32", "32-bit ")])
def test_a_tiff_of_no_pixels_is_called_unsupported_and_not_damaged(dtype: str, words: str) -> None:
    data = _file(Image.fromarray(_NOISE[..., 0].astype(dtype)), "TIFF")

    with pytest.raises(
        DecodeError, match=rf"a TIFF of {words}.* is not supported .*save it with 8 or 16 bits"
    ):
        Decode()(data)


@pytest.mark.parametrize("turn", range(1, 9))
def test_an_animated_png_is_turned_upright(turn: int) -> None:
    still = _file(_PHOTO, "PNG", exif=_turned(turn))
    moving = _file(_PHOTO, "PNG", exif=_turned(turn), save_all=True, append_images=[_PHOTO.rotate(180)])

    assert b"acTL" in moving
    assert Decode()(moving) == Decode()(still)


@pytest.mark.parametrize("turn", range(1, 9))
def test_an_avif_is_turned_upright_as_its_properties_say(turn: int) -> None:
    stored = np.zeros((32, 64, 3), np.uint8)
    stored[:16, :16] = 255
    plain = _file(Image.fromarray(stored), "PNG", exif=_turned(turn))

    upright = Decode()(_file(Image.fromarray(stored), "AVIF", exif=_turned(turn))).array

    expected = Decode()(plain).array
    assert upright.shape == expected.shape
    assert np.abs(upright.astype(int) - expected).mean() < 5


def test_the_oldest_bmp_header_is_read() -> None:
    rows = b"".join(row.tobytes() for row in _NOISE[::-1, :, ::-1])
    data = b"BM" + struct.pack("<IHHIIHHHH", 26 + len(rows), 0, 0, 26, 12, 64, 48, 1, 24) + rows

    np.testing.assert_array_equal(Decode()(data).array, _NOISE[..., ::-1])
    with pytest.raises(DecodeError, match="cut short"):
        Decode()(data[:-1])


@pytest.mark.parametrize(
    "odd",
    [
        _chunk(b"iCCP", b"x\0\0junk"),
        struct.pack(">I", 7) + b"tIME" + bytes(7) + b"\0\0\0\0",
        _chunk(b"tRNS", b"\xff\xff" * 3),
    ],
)
def test_what_stands_beside_a_pngs_pixels_writes_nothing_to_stderr(
    odd: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    plain = _file(_PHOTO, "PNG")

    np.testing.assert_array_equal(Decode()(plain[:33] + odd + plain[33:]).array, _NOISE[..., ::-1])
    assert capfd.readouterr().err == ""


def test_the_transparent_colour_of_a_palette_stays_a_colour() -> None:
    palette = _PHOTO.convert("P", palette=Image.Palette.ADAPTIVE)

    assert Decode()(_file(palette, "PNG", transparency=0)) == Decode()(_file(palette, "PNG"))


def test_a_file_of_no_known_format_is_an_error_that_names_those_that_can_be_read() -> None:
    with pytest.raises(
        DecodeError, match=r"starts b'%PDF'\); JPEG, PNG, WebP, GIF, BMP, TIFF, JPEG 2000, AVIF"
    ):
        Decode()(b"%PDF-1.7")


def test_a_known_beginning_without_its_header_is_called_so() -> None:
    with pytest.raises(DecodeError, match="a GIF image whose header is cut short or damaged"):
        Decode()(b"GIF89a")
    with pytest.raises(DecodeError, match="cut short"):
        Decode()(_file(_PHOTO, "JPEG")[:100])


def test_a_picture_in_place_of_bytes_is_an_error_that_says_it_is_decoded() -> None:
    with pytest.raises(TypeError, match="got ImagePayload; it is decoded already, leave Decode out"):
        Decode()(ImagePayload(_NOISE))  # type: ignore[arg-type] # the mistake that is tested


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (None, "LoadFile: takes the path of a file, text or a Path, got NoneType$"),
        (b"\xff\xd8", r"got bytes; bytes go straight to Decode\(\)"),
        (_NOISE, "got ndarray"),
    ],
)
def test_what_is_no_path_is_an_error(given: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        LoadFile()(given)  # type: ignore[arg-type] # the mistakes that are tested


def test_16_bits_of_a_written_tiff_come_back_as_8() -> None:
    written = cv2.imencode(".tiff", _NOISE.astype(np.uint16) * 257)[1].tobytes()

    np.testing.assert_array_equal(Decode()(written).array, _NOISE)
