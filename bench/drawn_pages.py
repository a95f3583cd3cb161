"""Pages full of text, drawn with Pillow's own letters, so that what is written on them is known.

Knows words and a font. Knows nothing of how they are read.
"""

from __future__ import annotations

import random

import cv2
import numpy as np
from PIL import Image, ImageDraw, ImageFont

__all__ = ["drawn_pages"]

# A sheet of A4 at 100 dots per inch.
_SIZE_WH = (827, 1169)
_LETTER_PX, _LINE_PX, _MARGIN_PX = 18, 30, 50
# How long lines are, characters: paragraphs, headings and single words.
_LENGTHS = (76, 76, 76, 38, 19, 8)
_TEXT = (
    "the of and to in is you that it he was for on are as with his they at be this have from or one had by "
    "word but not what all were we when your can said there use an each which she do how their if will up "
    "other about out many then them these so some her would make like him into time has look two more write "
    "go see number no way could people my than first water been call who oil its now find long down day did "
    "get come made may part over new sound take only little work know place year live me back give most"
)
_WORDS = _TEXT.split()


def drawn_pages(count: int) -> list[tuple[bytes, list[str]]]:
    """So many pages as PNG files, each with its lines from top to bottom; the same for each call."""
    return [_page(random.Random(seed)) for seed in range(count)]


def _page(chance: random.Random) -> tuple[bytes, list[str]]:
    picture = Image.new("L", _SIZE_WH, 255)
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(_LETTER_PX)
    lines = []
    for top in range(_MARGIN_PX, _SIZE_WH[1] - _MARGIN_PX, _LINE_PX):
        lines.append(_line(chance))
        draw.text((_MARGIN_PX, top), lines[-1], fill=20, font=font)
    written, png = cv2.imencode(".png", np.asarray(picture))
    assert written
    return png.tobytes(), lines


def _line(chance: random.Random) -> str:
    length, text = chance.choice(_LENGTHS), chance.choice(_WORDS).capitalize()
    while len(text) < length:
        text += f" {chance.choice(_WORDS)}"
    return text
