"""What each ``Batch`` did: how large its batches were, and how long callers waited for them.

Knows the figures of regions. Knows nothing of pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ml_pipes.benchmark.report.canvas import BLUE, Section, bars, figure, lines, panels, points, rows_axis
from ml_pipes.benchmark.report.rows import Row, known
from ml_pipes.benchmark.report.words import number, with_unit
from ml_pipes.benchmark.stat import InvocationStat, RegionStat
from ml_pipes.benchmark.tables import percentile_name

__all__ = ["size_section", "wait_section"]

_MOST_PANELS = 60
_LEAST_SIZES = 4  # on the axis, so that a lone bar is not as wide as the page
_MARKS = ((0.5, "circle", "#e69f00"), (0.95, "diamond", "#cc79a7"), (0.99, "square", "#d55e00"))


def size_section(rows: Sequence[Row]) -> Section | None:
    """A histogram per ``Batch``; None where no batch ran."""
    able = [(name, region) for name, region in _regions(rows) if region.batches]
    chosen = able[:_MOST_PANELS]
    if not chosen:
        return None
    made, places = panels(
        [
            (*name, f"mean {number(region.mean_batch_size, 2)}, batches: {region.batches:,}")
            for name, region in chosen
        ],
        x_title="items in a batch",
        y_title="% of batches",
        showlegend=False,
        bargap=0.15,
    )
    for (_, region), place in zip(chosen, places, strict=True):
        made.add_trace(_histogram(region), **place)
    most = max(_LEAST_SIZES, *(max(region.batch_sizes) for _, region in chosen))
    made.update_xaxes(range=[0.4, most + 0.6], **({"dtick": 1} if most <= 16 else {}))
    highest = max(max(region.batch_sizes.values()) / region.batches for _, region in chosen)
    # Given, since panels that share an axis do not agree on one by themselves.
    made.update_yaxes(range=[0, highest * 105.0])
    left_out = f" The last {len(able) - len(chosen)} are not drawn." if len(able) > len(chosen) else ""
    reading = (
        "Of all batches that ran, how many per cent had how many items. Bars at the right mean that callers "
        "find company; a lone bar at 1 means that the Batch only costs its wait." + left_out
    )
    return Section("sizes", "Batch sizes", made, reading)


def wait_section(rows: Sequence[Row]) -> Section | None:
    """Waits for batches; None where nobody waited."""
    able = [
        (" — ".join(name), region.wait)
        for name, region in _regions(rows)
        if known(region.wait.mean_ms) is not None
    ]
    if not able:
        return None
    made = figure(
        [_means(able), *(mark for how in _MARKS if (mark := _marks(able, *how)) is not None)],
        height_px=max(190, 120 + 28 * len(able)),
        showlegend=True,
    )
    made.update_yaxes(**rows_axis([name for name, _ in able]))
    made.update_xaxes(title_text="wait, ms", rangemode="tozero")
    reading = (
        "From a caller's arrival at the Batch to the start of its batch: waiting for company, and for the "
        "batch before to end. It pays as long as the model's run in company saves more."
    )
    return Section("waits", "Waits for batches", made, reading)


def _regions(rows: Sequence[Row]) -> list[tuple[tuple[str, ...], RegionStat]]:
    """Each ``Batch``, with its result's name where there are several, and its own where that tells more."""
    found = [(row, region) for row in rows for region in row.result.regions]
    names = {region.label for _, region in found}
    return [
        (
            (
                *([row.name] if len(rows) > 1 else []),
                *([region.label] if len(names) > 1 or len(rows) == 1 else []),
            ),
            region,
        )
        for row, region in found
    ]


def _histogram(region: RegionStat) -> Any:
    sizes = sorted(region.batch_sizes)
    return bars(
        x=sizes,
        y=[region.batch_sizes[size] / region.batches * 100.0 for size in sizes],
        marker={"color": BLUE},
        hoverinfo="text",
        hovertext=[
            lines(
                [
                    f"{region.batch_sizes[size]:,} batches of {size}",
                    f"{region.batch_sizes[size] / region.batches:.1%} of {region.batches:,}",
                ]
            )
            for size in sizes
        ],
    )


def _means(waits: Sequence[tuple[str, InvocationStat]]) -> Any:
    return bars(
        orientation="h",
        y=list(range(len(waits))),
        x=[wait.mean_ms for _, wait in waits],
        width=0.6,
        name="mean",
        marker={"color": BLUE, "opacity": 0.75},
        hoverinfo="text",
        hovertext=[
            lines(
                [
                    name,
                    f"mean {with_unit(wait.mean_ms, 'ms')}",
                    f"longest {with_unit(wait.max_ms, 'ms')}",
                    f"waits: {wait.count:,}",
                ]
            )
            for name, wait in waits
        ],
    )


def _marks(waits: Sequence[tuple[str, InvocationStat]], fraction: float, symbol: str, color: str) -> Any:
    seen = [(at, name, known(wait.percentiles.get(fraction))) for at, (name, wait) in enumerate(waits)]
    known_ones = [(at, name, ms) for at, name, ms in seen if ms is not None]
    if not known_ones:
        return None
    word = percentile_name(fraction)
    return points(
        x=[ms for _, _, ms in known_ones],
        y=[at for at, _, _ in known_ones],
        mode="markers",
        name=word,
        marker={"symbol": symbol, "color": color, "size": 9, "line": {"color": "#ffffff", "width": 1}},
        hoverinfo="text",
        hovertext=[lines([name, f"{word} {with_unit(ms, 'ms')}"]) for _, name, ms in known_ones],
    )
