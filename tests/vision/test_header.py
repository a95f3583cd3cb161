"""What a header promises is read without decoding."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from ml_pipes.vision._header import cut_short, promised_size_wh
from ml_pipes.vision._jpeg import jpeg_of_pixels_alone
from ml_pipes.vision._mend import mended, misread, unsupported
from ml_pipes.vision._turn import stated_turn


def _file(kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    Image.effect_noise((70, 50), 50).convert("RGB").save(stream, kind, **options)
    return stream.getvalue()


_FILES = {
    "png": _file("PNG"),
    "jpeg": _file("JPEG"),
    "progressive": _file("JPEG", progressive=True, comment=b"\xff\xd8 not a header"),
    "webp": _file("WEBP"),
    "lossless": _file("WEBP", lossless=True),
    "extended": _file("WEBP", exif=Image.Exif().tobytes()),
    "gif": _file("GIF"),
    "bmp": _file("BMP"),
    "tiff": _file("TIFF"),
    "big tiff": _file("TIFF", big_tiff=True),
    "jp2": _file("JPEG2000"),
    "j2k": _file("JPEG2000", no_jp2=True),
    "avif": _file("AVIF"),
    "ppm": _file("PPM"),
    "ppm with a comment": b"P6 # by hand\n# twice\n70 50\n255\n",
    "pam": b"P7\nWIDTH 70\nHEIGHT 50\nDEPTH 3\nMAXVAL 255\nENDHDR\n" + bytes(70 * 50 * 3),
    "pam in another order": b"P7\n# WIDTH 9\nMAXVAL 999\nDEPTH 1\nHEIGHT 50\nWIDTH 70\nENDHDR\n"
    + bytes(70 * 50 * 2),
    "pfm": b"PF\n70 50\n-1.0\n",
    "hdr": b"#?RADIANCE\nFORMAT=32-bit_rle_rgbe\n\n-Y 50 +X 70\n",
    "sun": b"\x59\xa6\x6a\x95" + (70).to_bytes(4, "big") + (50).to_bytes(4, "big"),
}


@pytest.mark.parametrize("name", _FILES)
def test_the_size_is_read_from_the_header(name: str) -> None:
    assert promised_size_wh(_FILES[name]) == (70, 50)


@pytest.mark.parametrize("name", _FILES)
def test_a_whole_file_is_not_cut_short(name: str) -> None:
    assert not cut_short(_FILES[name])


@pytest.mark.parametrize("name", ["png", "webp", "lossless", "bmp", "pam"])
def test_a_file_without_its_end_is_cut_short(name: str) -> None:
    assert cut_short(_FILES[name][:-1])


@pytest.mark.parametrize("name", ["jpeg", "progressive"])
def test_a_jpeg_without_its_end_is_none(name: str) -> None:
    assert jpeg_of_pixels_alone(_FILES[name][:-1]) is None
    assert jpeg_of_pixels_alone(_FILES[name]) is not None


def test_an_unknown_format_promises_nothing() -> None:
    assert promised_size_wh(b"%PDF-1.7") is None
    assert not cut_short(b"%PDF-1.7")


@given(st.sampled_from(sorted(_FILES)), st.integers(0, 400), st.binary(max_size=8))
def test_damage_anywhere_in_a_header_raises_nothing(name: str, at: int, junk: bytes) -> None:
    data = _FILES[name]

    for damaged in (data[:at], data[:at] + junk + data[at + len(junk) :]):
        promised_size_wh(damaged)
        cut_short(damaged)
        stated_turn(damaged)
        mended(damaged)
        unsupported(damaged)
        misread(damaged)
        jpeg_of_pixels_alone(damaged)


def test_the_turn_is_read_and_is_1_where_none_is_stated() -> None:
    exif = Image.Exif()
    exif[0x112] = 6

    assert stated_turn(_file("WEBP", exif=exif)) == 6
    assert stated_turn(_file("WEBP")) == 1
    assert stated_turn(_file("WEBP", exif=b"Exif\0\0II")) == 1
    assert stated_turn(_file("JPEG", exif=exif)) == 6
    assert stated_turn(_file("TIFF", exif=exif)) is None
