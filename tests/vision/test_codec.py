"""Every image file comes out upright, 8-bit and BGR, and what is none is one clear error."""

from __future__ import annotations

import io
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ml_pipes.errors import DecodeError
from ml_pipes.vision import Decode, ImagePayload, LoadFile, SaveImage

_RED_BGR = [0, 0, 255]
_NOISE = np.random.default_rng(0).integers(0, 256, (64, 48, 3), np.uint8)


def _file(image: Image.Image, kind: str, **options: object) -> bytes:
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def _noise(kind: str, **options: object) -> bytes:
    return _file(Image.fromarray(_NOISE), kind, **options)


def _png(header: bytes, pixels: bytes) -> bytes:
    parts = [(b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b"")]
    chunks = [struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF"])
def test_red_is_red_in_every_format(kind: str) -> None:
    data = _file(Image.new("RGB", (16, 16), (255, 0, 0)), kind)

    image = Decode()(data)

    assert np.abs(image.array[8, 8].astype(int) - _RED_BGR).max() <= 2
    assert (image.color_space, image.layout, image.dtype) == ("BGR", "HWC", "uint8")


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "TIFF"])
@pytest.mark.parametrize(
    ("turn", "corner"),
    [
        (1, "top left"),
        (2, "top right"),
        (3, "bottom right"),
        (4, "bottom left"),
        (5, "top left"),
        (6, "top right"),
        (7, "bottom right"),
        (8, "bottom left"),
    ],
)
def test_pictures_are_turned_upright_as_exif_says(kind: str, turn: int, corner: str) -> None:
    stored = np.zeros((32, 64, 3), np.uint8)
    stored[:16, :16] = 255
    exif = Image.Exif()
    exif[0x112] = turn

    upright = Decode()(_file(Image.fromarray(stored), kind, exif=exif)).array

    assert upright.shape == ((32, 64, 3) if turn <= 4 else (64, 32, 3))
    rows, columns = slice(0, 8) if "top" in corner else slice(-8, None), slice(0, 8)
    columns = columns if "left" in corner else slice(-8, None)
    assert upright[rows, columns].min() > 200
    assert upright.mean() < 60


def test_16_bit_grey_is_scaled_and_not_cut_at_white() -> None:
    data = _file(Image.fromarray(np.full((8, 8), 1000, np.uint16)), "PNG")

    assert Decode()(data).array[0, 0].tolist() in ([3, 3, 3], [4, 4, 4])


def test_a_palette_becomes_its_colours() -> None:
    palette = Image.fromarray(_NOISE).convert("P")

    decoded = Decode()(_file(palette, "PNG")).array

    np.testing.assert_array_equal(decoded[..., ::-1], np.array(palette.convert("RGB")))


def test_alpha_is_dropped_and_the_colours_under_it_stay() -> None:
    data = _file(Image.new("RGBA", (8, 8), (200, 100, 50, 0)), "PNG")

    assert Decode()(data).array[0, 0].tolist() == [50, 100, 200]


def test_grey_and_cmyk_become_bgr() -> None:
    grey = Decode()(_file(Image.new("L", (8, 8), 77), "PNG")).array
    cmyk = Decode()(_file(Image.new("CMYK", (16, 16), (0, 255, 255, 0)), "JPEG")).array

    assert grey[0, 0].tolist() == [77, 77, 77]
    assert np.abs(cmyk[8, 8].astype(int) - _RED_BGR).max() <= 2


@pytest.mark.parametrize("wrap", [bytes, bytearray, memoryview])
def test_any_kind_of_bytes_is_taken(wrap: type) -> None:
    np.testing.assert_array_equal(Decode()(wrap(_noise("PNG"))).array, _NOISE[..., ::-1])


def test_no_bytes_are_an_error() -> None:
    with pytest.raises(DecodeError, match=r"Decode: no bytes at all \(0 bytes\)"):
        Decode()(b"")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"%PDF" + bytes(1200), r"\(1,204 bytes, starts b'%PDF'\)"),
        (b"junk", r"\(4 bytes, starts b'junk'\)"),
        (b"this is text that was named .jpg", r"\(32 bytes, starts b'this'\)"),
        (b"\0", r"\(1 bytes, starts b'\\x00'\)"),
    ],
)
def test_what_is_no_image_is_an_error_that_shows_how_it_starts(data: bytes, shown: str) -> None:
    with pytest.raises(DecodeError, match=f"Decode: not an image OpenCV can read {shown}"):
        Decode()(data)


def test_a_path_instead_of_bytes_is_an_error_that_says_what_reads_it() -> None:
    with pytest.raises(TypeError, match=r"takes the bytes of an image file, got str; LoadFile\(\) reads"):
        Decode()("photo.jpg")  # type: ignore[arg-type] # the mistake that is tested


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "BMP", "TIFF", "GIF"])
@pytest.mark.parametrize("part", [0.2, 0.5, 0.9, 0.999])
def test_a_file_that_is_cut_short_is_an_error(kind: str, part: float) -> None:
    data = _noise(kind)

    with pytest.raises(DecodeError, match="Decode: "):
        Decode()(data[: int(len(data) * part)])


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "BMP"])
def test_a_file_that_surely_is_cut_short_is_called_so(kind: str) -> None:
    data = _noise(kind)

    with pytest.raises(DecodeError, match=r"the image is cut short .* send the whole file"):
        Decode()(data[: len(data) // 2])


def test_a_progressive_jpeg_that_is_cut_short_is_an_error() -> None:
    data = _noise("JPEG", progressive=True)

    with pytest.raises(DecodeError, match="cut short"):
        Decode()(data[:-100])


def test_a_png_whose_pixels_end_early_is_an_error_and_not_filled_up(
    capfd: pytest.CaptureFixture[str],
) -> None:
    half_the_rows = _png(struct.pack(">IIBBBBB", 100, 100, 8, 2, 0, 0, 0), bytes(301 * 50))

    with pytest.raises(DecodeError, match="a PNG image that is damaged or that OpenCV does not read"):
        Decode()(half_the_rows)


def test_bytes_behind_the_end_do_not_disturb() -> None:
    np.testing.assert_array_equal(Decode()(_noise("PNG") + bytes(99)).array, _NOISE[..., ::-1])
    assert Decode()(_noise("JPEG") + bytes(99)).size == (48, 64)


def test_a_header_that_promises_too_many_pixels_is_refused_before_anything_is_made() -> None:
    bomb = _png(struct.pack(">IIBBBBB", 60000, 60000, 8, 2, 0, 0, 0), bytes(1000))

    with pytest.raises(
        DecodeError, match=r"promises 60,000 x 60,000 pixels and the limit is 200,000,000; Dec"
    ):
        Decode()(bomb)


@pytest.mark.parametrize(
    "data", [b"P6\n60000 60000\n255\n", b"P5 40000 40000 255 ", b"#?RGBE\n\n-Y 60000 +X 60000\n"]
)
def test_formats_that_state_their_size_as_text_are_limited_too(data: bytes) -> None:
    with pytest.raises(DecodeError, match=r"0,000 pixels and the limit is 200,000,000"):
        Decode()(data)


def test_what_opencv_itself_refuses_is_the_same_error() -> None:
    sides_beyond_opencv = b"P5 2000000 1 255 " + bytes(2_000_000)

    with pytest.raises(DecodeError, match="a PNM image that is damaged or that OpenCV does not read"):
        Decode()(sides_beyond_opencv)


def test_the_limit_of_pixels_can_be_set() -> None:
    with pytest.raises(DecodeError, match="48 x 64 pixels and the limit is 3,071"):
        Decode(max_pixels=3071)(_noise("JPEG"))

    assert Decode(max_pixels=3072)(_noise("JPEG")).size == (48, 64)


def test_a_limit_of_no_pixels_is_refused_when_built() -> None:
    with pytest.raises(ValueError, match="max_pixels must be 1 or more, got 0"):
        Decode(max_pixels=0)


def test_a_damaged_file_gives_the_same_whatever_was_decoded_before() -> None:
    damaged = bytearray(_noise("JPEG"))
    damaged[len(damaged) // 2 : len(damaged) // 2 + 64] = bytes(64)
    white = _file(Image.new("RGB", (48, 64), (255, 255, 255)), "JPEG")
    black = _file(Image.new("RGB", (48, 64), (0, 0, 0)), "JPEG")

    outcomes = []
    for before in (white, black):
        Decode()(before)
        try:
            outcomes.append(Decode()(bytes(damaged)).array.tolist())
        except DecodeError as error:
            outcomes.append(str(error))

    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "data", [b"junk", b"", _noise("JPEG")[:500], _noise("PNG")[:500], _noise("TIFF")[:-50]]
)
def test_what_cannot_be_read_writes_nothing_to_stderr(data: bytes, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DecodeError):
        Decode()(data)

    assert capfd.readouterr().err == ""


def test_a_result_is_kept_apart_from_later_ones() -> None:
    decode = Decode()
    first = decode(_noise("PNG"))
    copy = first.array.copy()

    decode(_file(Image.new("RGB", (48, 64), (0, 0, 0)), "PNG"))

    np.testing.assert_array_equal(first.array, copy)


def test_a_file_is_loaded_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "photo.bin").write_bytes(b"abc")

    assert LoadFile()(str(tmp_path / "photo.bin")) == b"abc"
    assert LoadFile()(tmp_path / "photo.bin") == b"abc"


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.jpg"):
        LoadFile()(tmp_path / "nothing.jpg")


@pytest.mark.parametrize(
    "image",
    [
        ImagePayload(_NOISE[..., ::-1]),
        ImagePayload(_NOISE, "RGB"),
        ImagePayload(_NOISE.transpose(2, 0, 1), "RGB", "CHW"),
    ],
)
def test_saving_honours_colour_order_and_layout(image: ImagePayload, tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "bild ü.png"

    passed_on = SaveImage(path)(image)

    assert passed_on is image
    np.testing.assert_array_equal(np.array(Image.open(path)), _NOISE)


def test_saving_keeps_alpha_grey_and_16_bits(tmp_path: Path) -> None:
    rgba = np.zeros((4, 4, 4), np.uint8)
    rgba[..., 0], rgba[..., 3] = 200, 99

    SaveImage(tmp_path / "rgba.png")(ImagePayload(rgba, "RGBA"))
    SaveImage(tmp_path / "grey.png")(ImagePayload(np.full((4, 4), 1000, np.uint16), "GRAY", "HW"))

    np.testing.assert_array_equal(np.array(Image.open(tmp_path / "rgba.png")), rgba)
    assert np.array(Image.open(tmp_path / "grey.png"))[0, 0] == 1000


def test_saving_takes_the_picture_out_of_a_tuple(tmp_path: Path) -> None:
    value = ("label", ImagePayload(_NOISE, "RGB"))

    passed_on = SaveImage(tmp_path / "out.png", at=1)(value)

    assert passed_on is value
    np.testing.assert_array_equal(np.array(Image.open(tmp_path / "out.png")), _NOISE)


def test_saving_something_else_is_an_error(tmp_path: Path) -> None:
    step = SaveImage(tmp_path / "out.png")

    with pytest.raises(TypeError, match="wanted an ImagePayload, got tuple; at= says where it is in a tuple"):
        step((ImagePayload(_NOISE), 3))


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (ImagePayload(np.zeros((4, 4, 3), np.float32)), "pixels must be uint8 or uint16, got float32"),
        (ImagePayload(_NOISE, "HSV"), "color_space must be BGR, RGB, BGRA, RGBA or GRAY, got 'HSV'"),
        (ImagePayload(_NOISE, "RGB", "WHC"), "layout must be HWC, CHW or HW, got 'WHC'"),
        (ImagePayload(np.zeros((0, 4, 3), np.uint8)), r"cannot write uint8 \(0, 4, 3\) as \.png"),
    ],
)
def test_what_cannot_be_saved_is_an_error(image: ImagePayload, message: str, tmp_path: Path) -> None:
    step = SaveImage(tmp_path / "out.png")

    with pytest.raises(ValueError, match=message):
        step(image)


@pytest.mark.parametrize("name", ["out.xyz", "out"])
def test_a_file_of_no_known_format_is_refused_when_built(name: str) -> None:
    with pytest.raises(ValueError, match=rf"no format for '{name}'; end it in \.jpg"):
        SaveImage(name)


@pytest.mark.parametrize("limit", ["many", None, True])
def test_a_limit_that_is_no_number_is_refused(limit: object) -> None:
    with pytest.raises(TypeError, match="Decode: max_pixels must be a number, 1 or more"):
        Decode(max_pixels=limit)  # type: ignore[arg-type] # the refusal is what is tested
