"""Files made to harm: more pixels, bytes or scans than they look like, and damage of every kind."""

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from ml_pipes.errors import DecodeError
from ml_pipes.vision import Decode
from ml_pipes.vision._header import tiff_entries

_SIDE = 60_000
_DECODE_ALL = """
import resource, sys, time, warnings
from pathlib import Path
warnings.simplefilter("error")
from ml_pipes.errors import DecodeError
from ml_pipes.vision import Decode
decode = Decode(max_pixels=int(sys.argv[2]))
files = sorted(Path(sys.argv[1]).iterdir())
decode(files[0].read_bytes())
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for file in files:
    try:
        picture = decode(file.read_bytes())
        outcome = "picture " + str(picture.dtype) + str(picture.ndim)
    except DecodeError as error:
        outcome = str(error)
    print(file.name, outcome.replace(chr(10), " "))
print("extra MB", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def _file(kind: str, **options: object) -> bytearray:
    stream = io.BytesIO()
    Image.linear_gradient("L").resize((40, 30)).convert("RGB").save(stream, kind, **options)
    return bytearray(stream.getvalue())


def _with(data: bytearray, at: int, code: str, *values: int) -> bytes:
    struct.pack_into(code, data, at, *values)
    return bytes(data)


def _png(width: int, height: int, packed: bytes) -> bytes:
    parts = [
        (b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)),
        (b"IDAT", packed),
        (b"IEND", b""),
    ]
    chunks = [struct.pack(">I", len(b)) + k + b + struct.pack(">I", zlib.crc32(k + b)) for k, b in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)


def _jpeg(frame: bytes, **options: object) -> bytes:
    data = _file("JPEG", **options)
    return _with(data, data.index(frame) + 5, ">HH", _SIDE, _SIDE)


def _tiff(**options: object) -> bytes:
    data = _file("TIFF", **options)
    for tag in (256, 257):
        at, width = tiff_entries(bytes(data))[tag]
        data[at : at + width] = _SIDE.to_bytes(width, "little")
    return bytes(data)


def _webp() -> bytes:
    data = _file("WEBP", exif=Image.Exif().tobytes() + b"II")
    data[24:30] = (_SIDE - 1).to_bytes(3, "little") * 2
    return bytes(data)


def _jpeg_2000(**options: object) -> bytes:
    data = _file("JPEG2000", **options)
    return _with(data, data.index(b"\xff\x4f\xff\x51") + 8, ">II", _SIDE, _SIDE)


def _avif() -> bytes:
    data = _file("AVIF")
    return _with(data, data.index(b"ispe") + 8, ">II", _SIDE, _SIDE)


def _bombs() -> dict[str, bytes]:
    return {
        "png": _png(_SIDE, _SIDE, zlib.compress(bytes(1000))),
        "jpeg": _jpeg(b"\xff\xc0"),
        "jpeg progressive": _jpeg(b"\xff\xc2", progressive=True),
        "webp": _webp(),
        "tiff": _tiff(),
        "tiff big": _tiff(big_tiff=True),
        "bmp": _with(_file("BMP"), 18, "<ii", _SIDE, _SIDE),
        "bmp from the top": _with(_file("BMP"), 18, "<ii", _SIDE, -_SIDE),
        "gif": _with(_file("GIF"), 6, "<HH", _SIDE, _SIDE),
        **{f"pnm {kind}": b"P%d\n%d %d\n255\n0 0 0" % (kind, _SIDE, _SIDE) for kind in range(1, 7)},
        "pam": b"P7\nWIDTH %d\nHEIGHT %d\nDEPTH 3\nMAXVAL 255\nENDHDR\n" % (_SIDE, _SIDE),
        "avif": _avif(),
        "jp2": _jpeg_2000(),
        "j2k": _jpeg_2000(no_jp2=True),
        "hdr": b"#?RGBE\n\n-Y %d +X %d\n" % (_SIDE, _SIDE),
        "sun": b"\x59\xa6\x6a\x95" + struct.pack(">7I", _SIDE, _SIDE, 24, 0, 1, 0, 0),
    }


def _outcomes(folder: Path, max_pixels: int) -> list[str]:
    """Decode a folder's files in a process of their own, where a crash is seen and memory counts."""
    done = subprocess.run(
        [sys.executable, "-c", _DECODE_ALL, str(folder), str(max_pixels)],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
        env={**os.environ, "OPENCV_LOG_LEVEL": "SILENT"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_the_limit_of_pixels_holds_in_every_format_before_memory_is_taken(tmp_path: Path) -> None:
    bombs = _bombs()
    (tmp_path / "0 plain").write_bytes(_file("PNG"))
    for name, data in bombs.items():
        (tmp_path / name).write_bytes(data)

    plain, *refused, extra = _outcomes(tmp_path, 200_000_000)

    assert plain == "0 plain picture uint83"
    assert len(refused) == len(bombs)
    assert [
        line for line in refused if "the header promises 60,000 x 60,000 pixels and the limit" not in line
    ] == []
    assert int(extra.split()[-1]) < 50


def test_a_png_that_unpacks_to_a_hundred_megabytes_is_refused_before_it_is_unpacked() -> None:
    packer = zlib.compressobj()
    packed = b"".join(packer.compress(bytes(1 << 20)) for _ in range(100)) + packer.flush()

    with pytest.raises(DecodeError, match=r"a PNG with far more compressed bytes than its pixels need \("):
        Decode()(_png(16, 16, packed))


@pytest.mark.parametrize("level", [0, 9])
@pytest.mark.parametrize("size", [(1, 1), (1, 5000), (5000, 1), (300, 300)])
def test_a_png_that_is_stored_as_it_is_is_not_taken_for_one_that_unpacks_to_more(
    size: tuple[int, int], level: int
) -> None:
    stream = io.BytesIO()
    Image.effect_noise(size, 99).convert("RGBA").save(stream, "PNG", compress_level=level)

    assert Decode()(stream.getvalue()).size == size


def test_a_jpeg_of_very_many_scans_is_refused() -> None:
    data = bytes(_file("JPEG", progressive=True))
    last = data.rindex(b"\xff\xda")
    many = data[:last] + data[last:-2] * 101 + data[-2:]

    with pytest.raises(DecodeError, match=r"a JPEG of 1\d\d scans, .*; 100 are the most that are read"):
        Decode()(many)


@pytest.mark.parametrize("kind", [b"IHDR", b"IDAT"])
def test_a_png_whose_checksums_are_wrong_is_refused_and_writes_nothing_to_stderr(
    kind: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    data = _file("PNG")
    data[data.index(kind) + 13] ^= 1

    with pytest.raises(DecodeError, match=r"a PNG image that is damaged or that OpenCV does not read \("):
        Decode()(bytes(data))
    assert capfd.readouterr().err == ""


def test_the_checksum_of_a_pngs_end_does_not_matter(capfd: pytest.CaptureFixture[str]) -> None:
    data = _file("PNG")
    data[-1] ^= 1

    assert Decode()(bytes(data)) == Decode()(bytes(_file("PNG")))
    assert capfd.readouterr().err == ""


def _box(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", 8 + len(body)) + name + body


def test_a_small_picture_before_a_large_one_does_not_lift_an_avifs_limit() -> None:
    sizes = [_box(b"ispe", bytes(4) + struct.pack(">II", side, side)) for side in (16, _SIDE, 32)]
    meta = _box(b"meta", bytes(4) + _box(b"iprp", _box(b"ipco", b"".join(sizes))))

    with pytest.raises(DecodeError, match="the header promises 60,000 x 60,000 pixels"):
        Decode()(_box(b"ftyp", b"avif\0\0\0\0") + meta)


def test_a_small_code_that_is_no_picture_does_not_lift_a_jpeg_2000s_limit() -> None:
    small, large = bytes(_file("JPEG2000", no_jp2=True)), _jpeg_2000()
    head = large.index(b"ftyp") - 4

    with pytest.raises(DecodeError, match="the header promises 60,000 x 60,000 pixels"):
        Decode()(large[:head] + _box(b"uuid", bytes(16) + small) + large[head:])


@pytest.mark.parametrize("length", [struct.pack(">I", 0), struct.pack(">I", 1)])
def test_a_box_may_end_with_the_file_or_have_a_long_length(length: bytes) -> None:
    data = bytes(_file("JPEG2000"))
    at = data.index(b"jp2c")
    long = struct.pack(">Q", len(data) - at + 12) if length[-1] else b""

    assert Decode()(data[: at - 4] + length + b"jp2c" + long + data[at + 4 :]) == Decode()(data)


def test_the_limit_of_pixels_holds_for_the_tiles_of_a_tiff_too() -> None:
    data = _file("TIFF")
    # Two other entries become the width and the height of a tile; their values stand 8 bytes on.
    for tag, of_tiles in ((262, 322), (278, 323)):
        value, _ = tiff_entries(bytes(data))[tag]
        struct.pack_into("<HHII", data, value - 8, of_tiles, 4, 1, 16_000)

    with pytest.raises(DecodeError, match="the header promises 16,000 x 16,000 pixels"):
        Decode()(bytes(data))


def _damaged(seed: int, count: int) -> list[tuple[str, bytes]]:
    rng = np.random.default_rng(seed)
    files = [
        ("jpeg", _file("JPEG")),
        ("progressive", _file("JPEG", progressive=True)),
        ("restarts", _file("JPEG", restart_marker_blocks=2)),
        ("png", _file("PNG")),
        ("webp", _file("WEBP")),
        ("lossless", _file("WEBP", lossless=True)),
        ("gif", _file("GIF")),
        ("bmp", _file("BMP")),
        ("tiff", _file("TIFF")),
        ("lzw", _file("TIFF", compression="tiff_lzw")),
        ("big", _file("TIFF", big_tiff=True)),
        ("jp2", _file("JPEG2000")),
        ("ppm", _file("PPM")),
        ("avif", _file("AVIF")),
    ]
    made = []
    for number in range(count):
        name, original = files[number % len(files)]
        data = bytearray(original)
        for _ in range(rng.integers(1, 4)):
            at, length = rng.integers(min(len(data), 400) - 4), rng.integers(1, 5)
            data[at : at + length] = rng.bytes(length)
        cut = rng.integers(len(data)) if rng.random() < 0.2 else len(data)
        made.append((f"{number:04d} {name}", bytes(data[:cut])))
    return made


def test_damage_gives_a_picture_or_one_clear_error_and_nothing_else(tmp_path: Path) -> None:
    damaged = _damaged(seed=7, count=300)
    for name, data in damaged:
        (tmp_path / name).write_bytes(data)
    (tmp_path / "0000 a").write_bytes(_file("PNG"))

    outcomes = _outcomes(tmp_path, 1_000_000)[:-1]

    assert len(outcomes) == len(damaged) + 1
    assert [line for line in outcomes if "picture uint83" not in line and " Decode: " not in line] == []
    assert 50 < sum("picture uint83" in line for line in outcomes) < 250
