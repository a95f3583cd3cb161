"""All figures of results, in the order of the page.

Knows which figures there are. Knows nothing of how each is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from ml_pipes.benchmark.report.batches import size_section, wait_section
from ml_pipes.benchmark.report.busy import busy_section
from ml_pipes.benchmark.report.canvas import Section
from ml_pipes.benchmark.report.curves import percentile_section, throughput_section
from ml_pipes.benchmark.report.rows import Row
from ml_pipes.benchmark.report.steps import step_section
from ml_pipes.benchmark.report.times import time_section

__all__ = ["result_sections"]

_MAKERS = (
    throughput_section,
    percentile_section,
    time_section,
    step_section,
    size_section,
    wait_section,
    busy_section,
)


def result_sections(rows: Sequence[Row]) -> list[Section]:
    """Those for which there is data."""
    return [section for make in _MAKERS if (section := make(rows)) is not None]
