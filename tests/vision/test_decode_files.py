"""Kinds of files that are seldom tried: the right pixels as Pillow reads them, or one clear error."""

from __future__ import annotations

import io
import struct
import zlib

import cv2
import numpy as np
import numpy.typing as npt
import pytest
from PIL import Image, ImageOps

from ml_pipes.errors import DecodeError
from ml_pipes.vision import Decode, decode_image

_NOISE = np.random.default_rng(0).integers(0, 256, (48, 70, 3), np.uint8)
_SMOOTH = cv2.GaussianBlur(_NOISE, (0, 0), 4)
_PHOTO = Image.fromarray(_SMOOTH)
_RED_AND_BLUE_BGR = [[0, 0, 255], [255, 0, 0]]


def _file(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _as_pillow(data: bytes) -> npt.NDArray[np.uint8]:
    """BGR, turned upright, alpha dropped."""
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(data)))
    return np.asarray(image.convert("RGBA" if image.has_transparency_data else "RGB"))[..., 2::-1]


def _largest_difference(one: npt.NDArray[np.uint8], other: npt.NDArray[np.uint8]) -> int:
    assert one.shape == other.shape
    return int(np.abs(one.astype(int) - other).max())


def _exif(turn: int) -> Image.Exif:
    exif = Image.Exif()
    exif[0x112] = turn
    return exif


def _chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def _interlaced_png(pixels: npt.NDArray[np.uint8]) -> bytes:
    passes = (
        (0, 0, 8, 8),
        (0, 4, 8, 8),
        (4, 0, 8, 4),
        (0, 2, 4, 4),
        (2, 0, 4, 2),
        (0, 1, 2, 2),
        (1, 0, 2, 1),
    )
    rows = [row for y, x, dy, dx in passes for row in pixels[y::dy, x::dx]]
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, 2, 0, 0, 1)
    body = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", body) + _chunk(b"IEND", b"")


def _ycck_jpeg(cmyk: npt.NDArray[np.uint8]) -> bytes:
    """Store inks as YCCK: the inks' own luminance and colours, and a marker that says so."""
    luminance = np.asarray(Image.fromarray(np.ascontiguousarray(cmyk[..., :3])).convert("YCbCr"))
    stored = np.dstack([255 - luminance, cmyk[..., 3]])
    data = _file(Image.fromarray(stored, "CMYK"), "JPEG", quality=98, subsampling=0)
    transform = data.index(b"Adobe") + 11
    return data[:transform] + b"\2" + data[transform + 1 :]


def _bmp(
    bits: int, compression: int, rows: bytes, masks: tuple[int, ...] = (), header_bytes: int = 40
) -> bytes:
    """Give a BMP two pixels wide and one high."""
    fields = struct.pack("<IiiHHIIiiII", header_bytes, 2, 1, 1, bits, compression, 0, 0, 0, 0, 0)
    fields += struct.pack(f"<{len(masks)}I", *masks)
    return b"BM" + struct.pack("<IHHI", 14 + len(fields) + len(rows), 0, 0, 14 + len(fields)) + fields + rows


@pytest.mark.parametrize("turn", range(1, 9))
@pytest.mark.parametrize(("kind", "options"), [("JPEG", {}), ("PNG", {}), ("WEBP", {"lossless": True})])
def test_every_turn_gives_the_pixels_that_pillow_gives(
    kind: str, options: dict[str, object], turn: int
) -> None:
    data = _file(_PHOTO, kind, exif=_exif(turn), **options)

    assert _largest_difference(Decode()(data).array, _as_pillow(data)) <= (3 if kind == "JPEG" else 0)


def test_cmyk_in_a_jpeg_becomes_the_colours_that_the_inks_give() -> None:
    inks = np.dstack([_SMOOTH, _SMOOTH[..., 0] // 4])
    data = _file(Image.fromarray(inks, "CMYK"), "JPEG", quality=98)

    assert _largest_difference(Decode()(data).array, _as_pillow(data)) <= 3


def test_ycck_in_a_jpeg_becomes_the_colours_that_the_inks_give() -> None:
    inks = np.zeros((16, 16, 4), np.uint8)
    inks[...] = [200, 100, 50, 30]
    data = _ycck_jpeg(inks)

    picture = Decode()(data).array

    assert _largest_difference(picture, _as_pillow(data)) <= 3
    # Red is what 200 of 255 parts of cyan and 30 of black leave, and so on.
    assert np.abs(picture[8, 8].astype(int) - [181, 137, 49]).max() <= 4


@pytest.mark.parametrize("shape", [(48, 70), (48, 70, 3)])
def test_16_bits_of_a_png_keep_their_upper_half(shape: tuple[int, ...]) -> None:
    stored = np.random.default_rng(0).integers(0, 65536, shape, np.uint16)
    data = cv2.imencode(".png", stored)[1].tobytes()

    picture = Decode()(data).array

    expected = stored if len(shape) == 3 else np.dstack([stored] * 3)
    assert np.abs(picture - expected / 257).max() <= 1


def test_a_palette_with_alpha_keeps_the_colours_of_the_palette() -> None:
    palette = _PHOTO.convert("P", palette=Image.Palette.ADAPTIVE)
    data = _file(palette, "PNG", transparency=bytes(range(256)))

    np.testing.assert_array_equal(Decode()(data).array, _as_pillow(data))


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "BMP", "PPM"])
def test_single_bits_are_black_and_white(kind: str) -> None:
    data = _file(_PHOTO.convert("1"), kind)

    picture = Decode()(data).array

    np.testing.assert_array_equal(picture, _as_pillow(data))
    assert set(np.unique(picture)) == {0, 255}


def test_an_interlaced_png_is_read_in_its_order() -> None:
    np.testing.assert_array_equal(Decode()(_interlaced_png(_NOISE)).array, _NOISE[..., ::-1])


@pytest.mark.parametrize(
    ("kind", "options"), [("GIF", {}), ("WEBP", {"lossless": True}), ("PNG", {}), ("TIFF", {})]
)
def test_of_several_pictures_the_first_is_read(kind: str, options: dict[str, object]) -> None:
    others = [ImageOps.invert(_PHOTO), _PHOTO.rotate(180)]
    data = _file(_PHOTO, kind, save_all=True, append_images=others, **options)

    picture = Decode()(data).array

    np.testing.assert_array_equal(picture, _as_pillow(data))
    assert np.abs(picture.astype(int) - _SMOOTH[..., ::-1]).mean() < 8


@pytest.mark.parametrize(("background", "shown_bgr"), [(0, [0, 0, 255]), (2, [255, 0, 0])])
def test_where_a_gif_is_transparent_its_background_shows(background: int, shown_bgr: list[int]) -> None:
    image = Image.new("P", (3, 1))
    image.putpalette([255, 0, 0, 0, 255, 0, 0, 0, 255] + [0] * 759)
    for at in range(3):
        image.putpixel((at, 0), at)
    data = _file(image, "GIF", transparency=1, background=background)

    assert Decode()(data).array.tolist() == [[[0, 0, 255], shown_bgr, [255, 0, 0]]]


_KINDS = {
    "jpeg": ("JPEG", {}),
    "progressive": ("JPEG", {"progressive": True}),
    "png": ("PNG", {}),
    "webp": ("WEBP", {}),
    "lossless webp": ("WEBP", {"lossless": True}),
    "webp with exif": ("WEBP", {"exif": _exif(1)}),
    "gif": ("GIF", {}),
    "bmp": ("BMP", {}),
    "tiff": ("TIFF", {}),
    "packed tiff": ("TIFF", {"compression": "tiff_lzw"}),
    "big tiff": ("TIFF", {"big_tiff": True}),
    "jp2": ("JPEG2000", {}),
    "j2k": ("JPEG2000", {"no_jp2": True}),
    "avif": ("AVIF", {}),
    "ppm": ("PPM", {}),
}


@pytest.mark.parametrize("name", _KINDS)
def test_a_file_is_refused_wherever_it_is_cut(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    kind, options = _KINDS[name]
    data = _file(_PHOTO, kind, **options)

    for end in range(0, len(data) - 2, max(1, len(data) // 60)):
        with pytest.raises(DecodeError, match=r"^Decode: "):
            decode_image(data[:end])


@pytest.mark.parametrize("name", _KINDS)
def test_the_limit_of_pixels_holds_in_every_format(name: str) -> None:
    kind, options = _KINDS[name]
    data = _file(_PHOTO, kind, **options)

    with pytest.raises(DecodeError, match=r"the header promises 70 x 48 pixels and the limit is 3,359"):
        decode_image(data, 70 * 48 - 1)
    assert decode_image(data, 70 * 48).shape == (48, 70, 3)


def test_a_jpeg_2000_is_as_large_as_its_code_says_and_not_as_its_box() -> None:
    data = bytearray(_file(_PHOTO, "JPEG2000"))
    box = data.index(b"ihdr") + 4
    data[box : box + 8] = struct.pack(">II", 1, 1)

    with pytest.raises(DecodeError, match="70 x 48 pixels and the limit is 100"):
        decode_image(bytes(data), 100)


def test_a_tiff_tag_that_points_nowhere_does_not_lift_the_limit() -> None:
    data = bytearray(_file(_PHOTO, "TIFF", description="a text that has a place of its own"))
    entry = data.index(struct.pack("<HH", 270, 2))
    data[entry + 8 : entry + 12] = struct.pack("<I", 0xFFFFFFF0)

    with pytest.raises(DecodeError, match="70 x 48 pixels and the limit is 100"):
        decode_image(bytes(data), 100)


@pytest.mark.parametrize(
    "data", [b"P7\nWIDTH 2\nHEIGHT 1\nENDHDR\n", b"P7\nWIDTH 2\n", b"II+\0\x08\0\0\0" + b"\xff" * 8, b"P5\nx"]
)
def test_a_header_without_a_size_is_refused_before_it_is_decoded(data: bytes) -> None:
    with pytest.raises(DecodeError, match="whose header is cut short or damaged"):
        decode_image(data)


@pytest.mark.parametrize(
    ("fields", "stored", "shown"),
    [
        (b"DEPTH 3\nMAXVAL 255\nTUPLTYPE RGB", [255, 0, 0, 0, 0, 255], _RED_AND_BLUE_BGR),
        (b"DEPTH 4\nMAXVAL 255\nTUPLTYPE RGB_ALPHA", [255, 0, 0, 9, 0, 0, 255, 9], _RED_AND_BLUE_BGR),
        (b"MAXVAL 100\nDEPTH 3", [100, 0, 0, 0, 0, 100], _RED_AND_BLUE_BGR),
        (b"DEPTH 3\nMAXVAL 65535", [255, 255, *[0] * 8, 255, 255], _RED_AND_BLUE_BGR),
        (b"DEPTH 1\nMAXVAL 255\nTUPLTYPE GRAYSCALE", [255, 7], [[255] * 3, [7] * 3]),
        (b"DEPTH 2\nMAXVAL 255\nTUPLTYPE GRAYSCALE_ALPHA", [255, 1, 7, 1], [[255] * 3, [7] * 3]),
        (b"DEPTH 1\nMAXVAL 1\nTUPLTYPE BLACKANDWHITE", [1, 0], [[255] * 3, [0] * 3]),
    ],
)
def test_a_pam_has_its_own_colours(fields: bytes, stored: list[int], shown: list[list[int]]) -> None:
    data = b"P7\nHEIGHT 1\nWIDTH 2\n" + fields + b"\nENDHDR\n" + bytes(stored)

    assert Decode()(data).array.tolist() == [shown]
    with pytest.raises(DecodeError, match="cut short"):
        Decode()(data[:-1])


def test_a_pam_that_is_no_picture_is_refused() -> None:
    with pytest.raises(DecodeError, match="a PAM image that is damaged or that OpenCV does not read"):
        Decode()(b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 5\nMAXVAL 255\nENDHDR\n" + bytes(5))


@pytest.mark.parametrize(
    ("compression", "masks", "white_and_green"),
    [(0, (), [0x7FFF, 0x03E0]), (3, (0xF800, 0x7E0, 0x1F), [0xFFFF, 0x07E0])],
)
def test_white_is_white_in_a_bmp_of_16_bits(
    compression: int, masks: tuple[int, ...], white_and_green: list[int]
) -> None:
    data = _bmp(16, compression, struct.pack("<HH", *white_and_green), masks)

    assert Decode()(data).array.tolist() == [[[255, 255, 255], [0, 255, 0]]]


@pytest.mark.parametrize("header_bytes", [40, 52])
def test_a_bmp_whose_bits_opencv_would_take_for_others_is_refused(header_bytes: int) -> None:
    data = _bmp(32, 3, struct.pack("<II", 0xFF000000, 0xFF), (0xFF000000, 0xFF00, 0xFF), header_bytes)

    with pytest.raises(DecodeError, match=r"a BMP with colours of unusual bits .* with 8 bits for each"):
        Decode()(data)


def test_a_bmp_that_states_the_usual_bits_is_read() -> None:
    data = _bmp(32, 3, struct.pack("<II", 0xFF0000, 0xFF), (0xFF0000, 0xFF00, 0xFF))

    assert Decode()(data).array.tolist() == [_RED_AND_BLUE_BGR]


def test_a_tiff_of_few_bits_is_called_unsupported() -> None:
    data = bytearray(_file(_PHOTO.convert("L"), "TIFF"))
    entry = data.index(struct.pack("<HH", 258, 3))
    data[entry + 8 : entry + 10] = struct.pack("<H", 4)

    with pytest.raises(DecodeError, match="a TIFF of 4-bit integers is not supported"):
        Decode()(bytes(data))


@pytest.mark.parametrize(
    ("at_least", "shape_hw"),
    [
        (None, (601, 803)),
        ((601, 803), (601, 803)),
        ((302, 1), (601, 803)),
        ((301, 402), (301, 402)),
        ((152, 1), (301, 402)),
        ((151, 201), (151, 201)),
        ((76, 101), (76, 101)),
        ((1, 1), (76, 101)),
        ((2000, 1), (601, 803)),
    ],
)
def test_a_jpeg_is_decoded_at_the_smallest_size_that_is_large_enough(
    at_least: tuple[int, int] | None, shape_hw: tuple[int, int]
) -> None:
    data = _file(_PHOTO.resize((803, 601)), "JPEG")

    picture = Decode(at_least=at_least)(data)

    assert picture.spatial_shape == shape_hw
    whole = cv2.resize(_as_pillow(data), shape_hw[::-1], interpolation=cv2.INTER_AREA)
    assert np.abs(picture.array.astype(int) - whole).mean() < 2


@pytest.mark.parametrize("turn", range(1, 9))
def test_the_size_that_is_needed_is_that_of_the_upright_picture(turn: int) -> None:
    data = _file(_PHOTO.resize((160, 40)), "JPEG", exif=_exif(turn))

    tall, wide = (Decode(at_least=side)(data) for side in ((80, 10), (10, 80)))

    assert tall.spatial_shape == ((40, 160) if turn <= 4 else (80, 20))
    assert wide.spatial_shape == ((20, 80) if turn <= 4 else (160, 40))
    expected = cv2.resize(_as_pillow(data), wide.size, interpolation=cv2.INTER_AREA)
    assert np.abs(wide.array.astype(int) - expected).mean() < 3


@pytest.mark.parametrize("kind", ["PNG", "WEBP", "BMP", "TIFF", "GIF"])
def test_other_formats_keep_their_size(kind: str) -> None:
    data = _file(_PHOTO, kind)

    assert Decode(at_least=(4, 4))(data) == Decode()(data)


@pytest.mark.parametrize("at_least", [640, (640,), (640.0, 480.0), (True, 480), "ab"])
def test_a_size_that_is_no_two_integers_is_refused_when_built(at_least: object) -> None:
    with pytest.raises(TypeError, match=r"Decode: at_least must be \(height, width\), two integers, got "):
        Decode(at_least=at_least)  # type: ignore[arg-type] # the refusal is what is tested


def test_a_size_without_pixels_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match=r"Decode: at_least must be sides of 1 or more, got \(0, 640\)"):
        Decode(at_least=(0, 640))
