"""Pictures are turned upright whatever part of the file says how, and EXIF's word comes first."""

from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageOps
from PIL.PngImagePlugin import PngInfo

from ml_pipes.vision import Decode

_STORED = np.zeros((32, 64, 3), np.uint8)
_STORED[:16, :16] = 255
_STORED[16:, 48:] = (255, 0, 0)
_PHOTO = Image.fromarray(_STORED)
_TURNS = range(1, 9)
_KINDS = [
    ("JPEG", {"quality": 95, "subsampling": 0}),
    ("PNG", {}),
    ("WEBP", {"lossless": True}),
]


def _xmp(turn: object, *, as_element: bool = False) -> bytes:
    said = (
        f"><tiff:Orientation>{turn}</tiff:Orientation></rdf:Description>"
        if as_element
        else f' tiff:Orientation="{turn}"/>'
    )
    return (
        '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description xmlns:tiff="http://ns.adobe.com/tiff/1.0/"{said}</rdf:RDF></x:xmpmeta>'
    ).encode()


def _exif(turn: int | None) -> bytes:
    exif = Image.Exif()
    exif[0x10F] = "a camera"
    if turn is not None:
        exif[0x112] = turn
    return exif.tobytes()


def _file(kind: str, xmp: bytes = b"", exif: bytes = b"", **options: object) -> bytes:
    stream = io.BytesIO()
    if xmp and kind == "PNG":
        options["pnginfo"] = PngInfo()
        options["pnginfo"].add_itxt("XML:com.adobe.xmp", xmp.decode(), zip=len(xmp) % 2 == 1)
    elif xmp:
        options["xmp"] = xmp
    if exif:
        options["exif"] = exif
    _PHOTO.save(stream, kind, **options)
    return stream.getvalue()


def _with_text(kind: bytes, body: bytes) -> bytes:
    chunk = struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    plain = _file("PNG")
    return plain[:33] + chunk + plain[33:]


def _as_pillow(data: bytes) -> npt.NDArray[np.uint8]:
    image = Image.open(io.BytesIO(data))
    image.load()
    return np.asarray(ImageOps.exif_transpose(image).convert("RGB"))[..., ::-1]


def _is_as_pillow(data: bytes) -> bool:
    ours, other = Decode()(data).array, _as_pillow(data)
    return ours.shape == other.shape and bool(np.abs(ours.astype(int) - other).max() <= 3)


@pytest.mark.parametrize("turn", _TURNS)
@pytest.mark.parametrize("as_element", [False, True])
@pytest.mark.parametrize(("kind", "options"), _KINDS)
def test_without_exif_xmp_says_how_a_picture_is_turned(
    kind: str, options: dict[str, object], as_element: bool, turn: int
) -> None:
    data = _file(kind, _xmp(turn, as_element=as_element), **options)

    assert _is_as_pillow(data)
    assert Decode()(data).spatial_shape == ((32, 64) if turn <= 4 else (64, 32))


@pytest.mark.parametrize("turn", _TURNS)
@pytest.mark.parametrize(("kind", "options"), _KINDS)
def test_exif_counts_before_xmp(kind: str, options: dict[str, object], turn: int) -> None:
    both = _file(kind, _xmp(turn % 8 + 1), _exif(turn), **options)

    assert _is_as_pillow(both)
    assert Decode()(both) == Decode()(_file(kind, exif=_exif(turn), **options))


@pytest.mark.parametrize(("kind", "options"), _KINDS)
def test_exif_that_says_nothing_of_turns_leaves_it_to_xmp(kind: str, options: dict[str, object]) -> None:
    data = _file(kind, _xmp(6), _exif(None), **options)

    assert _is_as_pillow(data)
    assert Decode()(data).spatial_shape == (64, 32)


@pytest.mark.parametrize("said", [0, 9, "", "x"])
@pytest.mark.parametrize(("kind", "options"), _KINDS)
def test_a_turn_that_there_is_not_leaves_the_picture(
    kind: str, options: dict[str, object], said: object
) -> None:
    assert Decode()(_file(kind, _xmp(said), **options)) == Decode()(_file(kind, **options))


@pytest.mark.parametrize("turn", _TURNS)
@pytest.mark.parametrize("kind", [b"tEXt", b"zTXt"])
def test_exif_that_imagemagick_wrote_into_a_png_counts(kind: bytes, turn: int) -> None:
    exif = _exif(turn)
    text = b"\nexif\n%8d\n" % len(exif) + exif.hex().encode() + b"\n"
    stored = text if kind == b"tEXt" else b"\0" + zlib.compress(text)

    assert _is_as_pillow(_with_text(kind, b"Raw profile type exif\0" + stored))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (b"tEXt", b"Raw profile type exif\0\nexif\n 4\nno digits"),
        (b"zTXt", b"Raw profile type exif\0\0no zlib"),
        (b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0no zlib"),
        (b"iTXt", b"XML:com.adobe.xmp\0"),
        (b"tEXt", b"no end"),
    ],
)
def test_a_damaged_text_leaves_the_picture(kind: bytes, body: bytes) -> None:
    assert Decode()(_with_text(kind, body)) == Decode()(_file("PNG"))


def test_a_text_that_would_unpack_to_a_gigabyte_is_read_as_far_as_a_megabyte() -> None:
    packer = zlib.compressobj()
    huge = b"".join(packer.compress(bytes(1 << 20)) for _ in range(64)) + packer.flush()

    assert Decode()(_with_text(b"iTXt", b"XML:com.adobe.xmp\0\1\0\0\0" + huge)) == Decode()(_file("PNG"))


@pytest.mark.parametrize(
    ("said", "turned"),
    [
        (b"tiff:Orientation = '6'", True),
        (b'tiff:Orientation\n=\n"6"', True),
        (b"><tiff:Orientation >\n 6 \n</tiff:Orientation>", True),
        (b'tiff:Orientation="66"', False),
        (b"><tiff:Orientation>6.5</tiff:Orientation>", False),
    ],
)
def test_white_space_in_xmp_does_not_matter_and_a_longer_number_is_no_turn(said: bytes, turned: bool) -> None:
    data = _file("JPEG", b"<rdf:Description " + said + b"/>")

    assert Decode()(data).spatial_shape == ((64, 32) if turned else (32, 64))


def test_xmp_does_not_count_in_an_avif() -> None:
    assert Decode()(_file("AVIF", _xmp(6))).spatial_shape == (32, 64)
