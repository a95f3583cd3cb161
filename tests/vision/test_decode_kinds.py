"""The many kinds of each format: the pixels that Pillow reads, or one clear error."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Sequence

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image

from ml_pipes.errors import DecodeError
from ml_pipes.vision import Decode

_ROWS, _COLUMNS = np.mgrid[:32, :48]
_PIXELS = np.dstack([_ROWS * 8, _COLUMNS * 5, _ROWS * 2 + _COLUMNS * 3]).astype(np.uint8)
_PHOTO = Image.fromarray(_PIXELS)
_ALPHA = (_ROWS * 4 + 50).astype(np.uint8)
_SHORT, _LONG = 3, 4
_MINISWHITE, _MINISBLACK, _RGB, _PALETTE, _CMYK, _YCBCR, _LAB = 0, 1, 2, 3, 5, 6, 8


def _file(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _as_pillow(data: bytes) -> npt.NDArray[np.uint8]:
    image = Image.open(io.BytesIO(data))
    return np.asarray(image.convert("RGBA" if image.has_transparency_data else "RGB"))[..., 2::-1]


def _assert_as_pillow(data: bytes, tolerance: int = 0) -> None:
    ours, theirs = Decode()(data).array, _as_pillow(data)
    assert ours.shape == theirs.shape
    assert np.abs(ours.astype(int) - theirs).max() <= tolerance


def _tiff(
    parts: Sequence[bytes], tags: dict[int, tuple[int, Sequence[int]]], *, order: str = "<", tiled: int = 0
) -> bytes:
    """Lay out a TIFF of one directory, uncompressed; ``parts`` are its strips or its tiles."""
    codes = {_SHORT: "H", _LONG: "I"}
    lengths, places, at = [len(part) for part in parts], [], 8
    for length in lengths:
        places.append(at)
        at += length + length % 2
    body = b"".join(part + b"\0" * (len(part) % 2) for part in parts)
    all_tags = {259: (_SHORT, [1]), **tags}
    all_tags |= {324: (_LONG, places), 325: (_LONG, lengths)} if tiled else {}
    all_tags |= {322: (_SHORT, [tiled]), 323: (_SHORT, [tiled])} if tiled else {}
    all_tags |= {} if tiled else {273: (_LONG, places), 279: (_LONG, lengths)}
    directory, behind = b"", b""
    behind_at = at + 2 + 12 * len(all_tags) + 4
    for tag, (kind, values) in sorted(all_tags.items()):
        packed = struct.pack(f"{order}{len(values)}{codes[kind]}", *values)
        if len(packed) > 4:
            value = struct.pack(f"{order}I", behind_at + len(behind))
            behind += packed
        else:
            value = packed.ljust(4, b"\0")
        directory += struct.pack(f"{order}HHI", tag, kind, len(values)) + value
    mark = b"II*\0" if order == "<" else b"MM\0*"
    count = struct.pack(f"{order}H", len(all_tags))
    return mark + struct.pack(f"{order}I", at) + body + count + directory + bytes(4) + behind


def _tags(bits: Sequence[int], photometric: int) -> dict[int, tuple[int, Sequence[int]]]:
    return {
        256: (_SHORT, [48]),
        257: (_SHORT, [32]),
        258: (_SHORT, bits),
        262: (_SHORT, [photometric]),
        277: (_SHORT, [len(bits)]),
        278: (_SHORT, [32]),
    }


def _tile(pixels: npt.NDArray[np.uint8], side: int) -> list[bytes]:
    padded = np.zeros((-(-pixels.shape[0] // side) * side, -(-pixels.shape[1] // side) * side, 3), np.uint8)
    padded[: pixels.shape[0], : pixels.shape[1]] = pixels
    return [
        padded[top : top + side, left : left + side].tobytes()
        for top in range(0, padded.shape[0], side)
        for left in range(0, padded.shape[1], side)
    ]


_GREY = _PIXELS[..., 1]
_DEEP = _PIXELS.astype(np.uint16) * 257
_INKS = np.asarray(_PHOTO.convert("CMYK"))
_TIFFS = {
    "red, green and blue": _tiff([_PIXELS.tobytes()], _tags([8] * 3, _RGB)),
    "big-endian": _tiff([_PIXELS.tobytes()], _tags([8] * 3, _RGB), order=">"),
    "planes": _tiff(
        [_PIXELS[..., plane].tobytes() for plane in range(3)],
        _tags([8] * 3, _RGB) | {284: (_SHORT, [2])},
    ),
    "tiles": _tiff(_tile(_PIXELS, 32), _tags([8] * 3, _RGB), tiled=32),
    "strips": _tiff(
        [_PIXELS[top : top + 8].tobytes() for top in range(0, 32, 8)],
        _tags([8] * 3, _RGB) | {278: (_SHORT, [8])},
    ),
    "inks": _tiff([_INKS.tobytes()], _tags([8] * 4, _CMYK)),
    "grey": _tiff([_GREY.tobytes()], _tags([8], _MINISBLACK)),
    "white is 0": _tiff([_GREY.tobytes()], _tags([8], _MINISWHITE)),
    "bits whose white is 0": _tiff([np.packbits(_GREY > 99, axis=1).tobytes()], _tags([1], _MINISWHITE)),
    "bits": _tiff([np.packbits(_GREY > 99, axis=1).tobytes()], _tags([1], _MINISBLACK)),
    "palette": _tiff(
        [_GREY.tobytes()],
        _tags([8], _PALETTE)
        | {320: (_SHORT, [*range(0, 65536, 256), *range(0, 65536, 256)[::-1], *[0] * 256])},
    ),
    "alpha": _tiff([np.dstack([_PIXELS, _ALPHA]).tobytes()], _tags([8] * 4, _RGB) | {338: (_SHORT, [2])}),
    "luminance and colours": _tiff(
        [np.asarray(_PHOTO.convert("YCbCr")).tobytes()], _tags([8] * 3, _YCBCR) | {530: (_SHORT, [1, 1])}
    ),
}


@pytest.mark.parametrize("name", _TIFFS)
def test_a_tiff_has_the_pixels_that_pillow_reads(name: str) -> None:
    tolerance = 2 if name in ("luminance and colours", "inks") else 0

    _assert_as_pillow(_TIFFS[name], tolerance)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("planar", [False, True])
def test_16_bits_of_a_tiff_become_8(order: str, planar: bool) -> None:
    stored = _DEEP.astype(f"{order}u2")
    parts = [stored[..., plane].tobytes() for plane in range(3)] if planar else [stored.tobytes()]
    data = _tiff(parts, _tags([16] * 3, _RGB) | {284: (_SHORT, [2 if planar else 1])}, order=order)

    assert np.abs(Decode()(data).array[..., ::-1].astype(int) - _PIXELS).max() <= 1


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("photometric", [_MINISBLACK, _MINISWHITE])
def test_16_bits_of_a_grey_tiff_become_8(order: str, photometric: int) -> None:
    stored = (_GREY.astype(np.uint16) * 257).astype(f"{order}u2")
    data = _tiff([stored.tobytes()], _tags([16], photometric), order=order)
    expected = _GREY if photometric == _MINISBLACK else 255 - _GREY

    assert np.abs(Decode()(data).array.astype(int) - expected[..., None]).max() <= 1


@pytest.mark.parametrize("compression", ["tiff_lzw", "packbits", "tiff_adobe_deflate"])
@pytest.mark.parametrize("mode", ["RGB", "L", "P"])
def test_a_packed_tiff_has_the_pixels_that_pillow_reads(compression: str, mode: str) -> None:
    _assert_as_pillow(_file(_PHOTO.convert(mode), "TIFF", compression=compression))


@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_a_tiff_of_jpegs_has_the_pixels_that_pillow_reads(mode: str) -> None:
    _assert_as_pillow(_file(_PHOTO.convert(mode), "TIFF", compression="jpeg"), 3)


@pytest.mark.parametrize("compression", ["group3", "group4"])
def test_a_fax_has_the_pixels_that_pillow_reads(compression: str) -> None:
    _assert_as_pillow(_file(_PHOTO.convert("1"), "TIFF", compression=compression))


def test_lab_is_called_unsupported() -> None:
    with pytest.raises(
        DecodeError, match=r"a TIFF of Lab colours is not supported .*; save it as grey or RGB"
    ):
        Decode()(_tiff([_PIXELS.tobytes()], _tags([8] * 3, _LAB)))


@pytest.mark.parametrize(
    ("bits", "kind", "words"),
    [
        (32, 3, "32-bit floats"),
        (64, 3, "64-bit floats"),
        (16, 3, "16-bit floats"),
        (32, 1, "32-bit integers"),
    ],
)
def test_other_numbers_in_a_tiff_are_called_unsupported(bits: int, kind: int, words: str) -> None:
    data = _tiff([bytes(48 * 32 * bits // 8)], _tags([bits], _MINISBLACK) | {339: (_SHORT, [kind])})

    with pytest.raises(DecodeError, match=f"a TIFF of {words} is not supported"):
        Decode()(data)


def _bmp(bits: int, compression: int, rows: bytes, palette: bytes = b"", *, height: int = 4) -> bytes:
    """Give a BMP four pixels wide."""
    at = 54 + len(palette)
    fields = struct.pack(
        "<IiiHHIIiiII", 40, 4, height, 1, bits, compression, len(rows), 0, 0, len(palette) // 4, 0
    )
    return b"BM" + struct.pack("<IHHI", at + len(rows), 0, 0, at) + fields + palette + rows


_FOUR = bytes([0, 0, 0, 0, 0, 0, 255, 0, 0, 255, 0, 0, 255, 0, 0, 0] + [9, 8, 7, 0] * 12)
_BMPS = {
    "8 bits": _bmp(8, 0, bytes([0, 1, 2, 3] * 4), _FOUR),
    "4 bits": _bmp(4, 0, bytes([0x01, 0x23, 0, 0] * 4), _FOUR),
    "1 bit": _bmp(1, 0, bytes([0xA0, 0, 0, 0] * 4), _FOUR[:8]),
    "runs of 8 bits": _bmp(8, 1, bytes([4, 1, 0, 0, 0, 4, 0, 1, 2, 3, 0, 0, 4, 2, 0, 0, 4, 3, 0, 1]), _FOUR),
    "runs of 4 bits": _bmp(4, 2, bytes([4, 18, 0, 0, 0, 4, 1, 35, 0, 0, 4, 34, 0, 0, 4, 3, 0, 1]), _FOUR),
    "from the top": _bmp(8, 0, bytes([0, 1, 2, 3, *[1] * 12]), _FOUR, height=-4),
    "32 bits": _bmp(32, 0, bytes([0, 0, 255, 7, 255, 0, 0, 7] * 8)),
    "24 bits": _bmp(24, 0, bytes([0, 0, 255, 255, 0, 0] * 8)),
}  # fmt: skip # a table


@pytest.mark.parametrize("name", _BMPS)
def test_a_bmp_has_the_pixels_that_pillow_reads(name: str) -> None:
    _assert_as_pillow(_BMPS[name])


def test_a_bmp_with_alpha_keeps_its_colours() -> None:
    _assert_as_pillow(_file(Image.fromarray(np.dstack([_PIXELS, _ALPHA])), "BMP"))


@pytest.mark.parametrize("stated", [0, 54])
def test_pixels_of_a_bmp_are_not_in_its_header_or_its_palette(stated: int) -> None:
    data = _BMPS["8 bits"]

    assert Decode()(data[:10] + struct.pack("<I", stated) + data[14:]) == Decode()(data)


@pytest.mark.parametrize("interlace", [0, 1])
@pytest.mark.parametrize("mode", ["RGB", "P", "L", "1"])
def test_a_gif_has_the_pixels_that_pillow_reads(mode: str, interlace: int) -> None:
    _assert_as_pillow(_file(_PHOTO.convert(mode), "GIF", interlace=interlace))


_PNMS = {
    "P1": b"P1\n# by hand\n4 2\n0 1 0 1\n1 0 1 0\n",
    "P1 without spaces": b"P1 4 2 01011010",
    "P2": b"P2\n# by hand\n4 2\n255\n0 50 100 255 1 2 3 4\n",
    "P3": b"P3 2 2 255 255 0 0 0 0 255 1 2 3 4 5 6\n",
    "P4": b"P4\n4 2\n\x50\xa0",
    "P5": b"P5 4 2 255\n" + bytes(range(0, 80, 10)),
    "P6": b"P6\n# by hand\n2 2\n255\n" + bytes([255, 0, 0, 0, 0, 255, 1, 2, 3, 4, 5, 6]),
}


@pytest.mark.parametrize("name", _PNMS)
def test_a_pnm_has_the_pixels_that_pillow_reads(name: str) -> None:
    _assert_as_pillow(_PNMS[name])


@pytest.mark.parametrize("kind", [b"P5", b"P6"])
def test_16_bits_of_a_pnm_become_8(kind: bytes) -> None:
    stored = _DEEP if kind == b"P6" else _DEEP[..., 1]
    data = kind + b"\n48 32\n65535\n" + stored.astype(">u2").tobytes()
    expected = _PIXELS[..., ::-1] if kind == b"P6" else _GREY[..., None]

    assert np.abs(Decode()(data).array.astype(int) - expected).max() <= 1


@pytest.mark.parametrize("lossless", [False, True])
@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
def test_a_webp_has_the_pixels_that_pillow_reads(mode: str, lossless: bool) -> None:
    image = _PHOTO if mode == "RGB" else Image.fromarray(np.dstack([_PIXELS, _ALPHA]))

    _assert_as_pillow(_file(image, "WEBP", lossless=lossless, exact=True), 0 if lossless else 3)


@pytest.mark.parametrize("mode", ["RGB", "L", "CMYK"])
@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}, {"keep_rgb": True}])
def test_a_jpeg_has_the_pixels_that_pillow_reads(mode: str, options: dict[str, object]) -> None:
    _assert_as_pillow(_file(_PHOTO.convert(mode), "JPEG", quality=95, **options), 3)


def test_a_jpeg_with_its_colours_as_they_are_keeps_red_red() -> None:
    data = _file(Image.new("RGB", (16, 16), (255, 0, 0)), "JPEG", keep_rgb=True)

    assert data[data.index(b"Adobe") + 11] == 0
    assert np.abs(Decode()(data).array[8, 8].astype(int) - [0, 0, 255]).max() <= 2


def test_a_jpeg_of_arithmetic_code_is_read() -> None:
    plain = _file(Image.new("L", (16, 16)), "JPEG")
    frame, scan = plain.index(b"\xff\xc0"), plain.index(b"\xff\xda")
    # Bytes that are missing count as 0 in this code, so this is a whole picture.
    data = plain[:frame] + b"\xff\xc9" + plain[frame + 2 : frame + 13] + plain[scan : scan + 10] + b"\xff\xd9"

    _assert_as_pillow(data)


def test_a_jpeg_of_12_bits_is_one_clear_error() -> None:
    data = bytearray(_file(_PHOTO, "JPEG"))
    data[data.index(b"\xff\xc0") + 4] = 12

    with pytest.raises(DecodeError, match=r"a JPEG image that is .* of a kind that OpenCV does not read"):
        Decode()(bytes(data))


def _png(depth: int, colour: int, rows: bytes, **chunks: bytes) -> bytes:
    """Give a PNG eight pixels wide and two high."""
    parts = {b"IHDR": struct.pack(">IIBBBBB", 8, 2, depth, colour, 0, 0, 0)}
    parts |= {name.encode(): body for name, body in chunks.items()}
    parts |= {b"IDAT": zlib.compress(rows), b"IEND": b""}
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        for kind, body in parts.items()
    )


@pytest.mark.parametrize("depth", [1, 2, 4, 8])
@pytest.mark.parametrize("colour", [0, 3])
def test_few_bits_of_a_png_become_8(depth: int, colour: int) -> None:
    rows = b"".join(b"\0" + bytes([0b00011011] * depth) for _ in range(2))
    palette = bytes(range(256)) * 3 if colour == 3 else b""
    data = _png(depth, colour, rows, **({"PLTE": palette[: 3 << depth]} if palette else {}))

    _assert_as_pillow(data)


@pytest.mark.parametrize("chunks", [{"gAMA": struct.pack(">I", 100000)}, {"tRNS": bytes(6)}])
def test_gamma_and_a_transparent_colour_leave_the_pixels_of_a_png(chunks: dict[str, bytes]) -> None:
    rows = b"".join(b"\0" + bytes(range(0, 240, 10)) for _ in range(2))

    _assert_as_pillow(_png(8, 2, rows, **chunks))
    assert Decode()(_png(8, 2, rows, **chunks)) == Decode()(_png(8, 2, rows))


@pytest.mark.parametrize("colour", [0, 2, 4, 6])
def test_16_bits_of_any_png_become_8(colour: int) -> None:
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colour]
    stored = np.random.default_rng(0).integers(0, 65536, (2, 8, channels), np.uint16)
    data = _png(16, colour, b"".join(b"\0" + row.astype(">u2").tobytes() for row in stored))
    colours = stored[..., :3][..., ::-1] if channels >= 3 else stored[..., :1]

    assert np.abs(Decode()(data).array - colours / 257).max() <= 1


@pytest.mark.parametrize(
    ("mode", "no_jp2"), [("RGB", False), ("RGB", True), ("L", False), ("RGBA", False), ("RGBA", True)]
)
def test_a_jpeg_2000_has_the_pixels_that_pillow_reads(mode: str, no_jp2: bool) -> None:
    _assert_as_pillow(_file(_PHOTO.convert(mode), "JPEG2000", no_jp2=no_jp2))


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA"])
def test_an_avif_has_the_pixels_that_pillow_reads(mode: str) -> None:
    _assert_as_pillow(_file(_PHOTO.convert(mode), "AVIF", quality=95), 6)


@pytest.mark.parametrize("kind", ["TGA", "ICO", "PCX", "SGI", "PDF", "ICNS", "DDS", "EPS", "XBM"])
def test_a_format_that_is_not_read_is_one_clear_error(kind: str) -> None:
    image = _PHOTO.resize((64, 64)).convert("1" if kind == "XBM" else "RGB")

    with pytest.raises(DecodeError, match=r"Decode: not an image OpenCV can read .* can be read"):
        Decode()(_file(image, kind))


def _box(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", 8 + len(body)) + name + body


@pytest.mark.parametrize("brand", [b"isom", b"mp42", b"qt  "])
def test_a_film_in_the_boxes_of_an_avif_is_called_no_image(brand: bytes) -> None:
    with pytest.raises(DecodeError, match="Decode: not an image OpenCV can read "):
        Decode()(_box(b"ftyp", brand + b"\0\0\0\0isomiso2") + bytes(500))


def test_a_heic_and_a_damaged_avif_are_called_so() -> None:
    size = _box(b"ispe", bytes(4) + struct.pack(">II", 640, 480))
    meta = _box(b"meta", bytes(4) + _box(b"iprp", _box(b"ipco", size)))

    with pytest.raises(
        DecodeError, match="Decode: a HEIC image that is damaged or that OpenCV does not read"
    ):
        Decode()(_box(b"ftyp", b"heic\0\0\0\0mif1heic") + meta)
    with pytest.raises(DecodeError, match="Decode: an AVIF image that is damaged or that OpenCV does not "):
        Decode()(_box(b"ftyp", b"mif1\0\0\0\0mif1avif") + meta)


def test_a_sun_raster_is_read() -> None:
    np.testing.assert_array_equal(Decode()(cv2.imencode(".ras", _PIXELS)[1].tobytes()).array, _PIXELS)
