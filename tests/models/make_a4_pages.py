"""Draws two A4 pages of English text into ``pages/`` and writes ``a4_pages.json``: what stands on them.

The pictures are kept, since other versions of Pillow and of the fonts draw other pixels. It needs the
fonts of Debian's ``fonts-dejavu``::

    python tests/models/make_a4_pages.py

Knows text and fonts. Knows nothing of models or of ml-pipes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

__all__ = ["main"]

HERE = Path(__file__).parent
FONTS = Path("/usr/share/fonts/truetype/dejavu")
A4_MM = (210, 297)
MM_PER_INCH, POINTS_PER_INCH = 25.4, 72
LEFT_MM, TOP_MM = 22, 20

HARBOUR = """\
The harbour at the end of the road was built in 1874, when the first
stone pier was laid out by a company of engineers from the north. It
cost the town 18,250 pounds, a sum that was paid back over forty years.
Before that time boats were drawn up on the beach by hand, and in rough
weather nobody could land at all. Old letters speak of ships that waited
three days outside the bay, within sight of the houses, while the people
on shore lit fires so that the crews would not feel alone.

Today the harbour is quiet. Eleven fishing boats leave before five
o'clock each morning and return by noon; their catch is sold in the long
white hall beside the lighthouse. Visitors may watch from the gallery,
which is open from Monday to Saturday (9:30 to 12:15, free of charge).
Children like the crane best: it is painted green, it can lift 12 tons,
and its driver rings a bell whenever a box swings over the water.

If you walk along the outer wall, please keep these rules in mind:
1. Do not step on the wet ropes; they move without any warning.
2. Keep dogs on a lead, and keep well away from the edge in a wind.
3. Leave nets, floats and baskets as they are: somebody needs them.
4. In case of danger call the watch at 555-0147 or pull the red lever.

The best time for a visit is the second week of June. Then the whole
town takes part in the Feast of Lamps, and every window that looks out
to sea holds a candle. At ten in the evening the boats go out together,
each with a lamp at its mast, and form a wide ring beyond the bar. A
single gun is fired; all lamps are put out; for one minute there is no
sound but the sea. Nobody knows how the custom began. The priest says
that it remembers the crew of the "Marigold", lost with all hands in
the great storm of 1891, but his grandmother told it differently.

How to get here: by train to Westbridge (2 hours and 40 minutes), then
by bus number 7 to the last stop. The fare is 4.60 for adults and 2.30
for children under twelve. Cars must be left above the church, where
there is room for about 150 of them. In summer a small ferry crosses
from the island at 8:05, 11:20, 14:50 and 18:15; it does not run when
the flag on the tower is black. We wish you a pleasant stay, calm seas
and a good supper in one of our five inns."""

WORKSHOP = """\
Notes on the care of wooden tools

A plane, a chisel or a mallet that has been well made will outlast the
person who bought it, provided that it is kept dry and used often. The
following notes were collected over thirty years in a workshop that has
repaired more than 6,000 tools; they are offered without any guarantee.

Wood moves. A beech plane that measured 66 mm across in a damp spring
may measure 65 mm by the end of a dry summer, and a blade that used to
slide will then be gripped so hard that no hammer can free it. Take the
blade out before the heating is turned on, and put it back in March.

Oil is better than varnish. Rub the body with raw linseed oil, wait for
a quarter of an hour, and wipe off all that has not gone in. Do this on
three days in a row, then once a year. Spread the used cloth out flat to
dry: left in a heap it can become so warm that it catches fire.

Never leave a tool on a stone floor, not even overnight. The side that
lies below takes up water while the other side does not, and by morning
the sole is hollow by half a millimetre. To make it true again you need
a sheet of glass, some fine paper (grit 180, then 320) and patience.

Handles become loose because they shrink, not because they wear out. A
wedge of dry oak, cut with the grain and driven in with two light blows,
holds better than any glue. Trim what stands out, and leave the rest.

Rust is removed with a cork and a little pumice. Acids work faster, but
they go on working when you think that they have stopped; we have seen
good steel turned to lace by a single careless bath in vinegar. After
cleaning, warm the iron until it is just too hot to touch and draw a
piece of wax over it. This lasts for a year, even near the sea.

Screws in old planes follow no standard of today. Before you turn one,
put a drop of oil on its thread, wait until the next day, and grind a
driver to the width of the slot: "close enough" is how heads are torn.
A stuck screw that is first tightened by a hair will often come out.

Last of all, lend your tools. An idle chisel gathers dust and regret;
one that is used by many hands stays bright. Write your name on it, and
below your name the year: whoever has it next will be glad to know."""


class Sheet(NamedTuple):
    """How a page is set: its text, its font, and its sizes."""

    text: str
    font: str
    points: float
    dpi: int
    leading: float


SHEETS = {
    "a4_sans": Sheet(HARBOUR, "DejaVuSans", 11, 150, 1.6),
    "a4_serif": Sheet(WORKSHOP, "DejaVuSerif", 11.5, 200, 1.55),
}


def main() -> None:
    """Draw the pages, and write what stands on them beside this file."""
    pages = {}
    for name, sheet in SHEETS.items():
        few_greys = _drawn(sheet).point(lambda value: value // 17 * 17)
        few_greys.save(HERE / "pages" / f"{name}.png", optimize=True, dpi=(sheet.dpi, sheet.dpi))
        lines = [line for line in sheet.text.splitlines() if line]
        pages[f"{name}.png"] = {"dpi": sheet.dpi, "font": sheet.font, "lines": lines}
    target = HERE / "a4_pages.json"
    target.write_text(json.dumps(pages, indent=1) + "\n", encoding="utf-8")


def _drawn(sheet: Sheet) -> Image.Image:
    width, height, left, top = (round(mm / MM_PER_INCH * sheet.dpi) for mm in (*A4_MM, LEFT_MM, TOP_MM))
    page = Image.new("L", (width, height), 255)
    size_px = sheet.points / POINTS_PER_INCH * sheet.dpi
    font = ImageFont.truetype(str(FONTS / f"{sheet.font}.ttf"), size_px)
    draw = ImageDraw.Draw(page)
    for at, line in enumerate(sheet.text.splitlines()):
        draw.text((left, top + round(at * size_px * sheet.leading)), line, fill=20, font=font)
    return page


if __name__ == "__main__":
    main()
