"""A collector that shows on which thread what ran when: a file for Perfetto, or a page.

Knows traces and files. Knows nothing of how bars look.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

from ml_pipes._threads.clock import thread_name
from ml_pipes.collectors._bars import Layout, lay_out
from ml_pipes.collectors._chrome import chrome_trace
from ml_pipes.collectors._gantt import gantt_page
from ml_pipes.collectors.serial import SerialCollector
from ml_pipes.tracing import InvocationTrace

__all__ = ["TimelineCollector"]

_TITLE = "ml-pipes timeline"


class TimelineCollector(SerialCollector):
    """Keeps the traces of calls, to show them side by side on their threads.

    One may be given to several pipelines. The first ``limit`` calls are kept and
    later ones counted, so that its memory has a bound.

    Args:
        limit: how many calls are kept, 1 or more.

    Raises:
        ValueError: ``limit`` is less than 1.
    """

    def __init__(self, limit: int = 10_000) -> None:
        if limit < 1:
            raise ValueError(f"TimelineCollector: limit must be 1 or more, got {limit}")
        super().__init__()
        self.limit = limit
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        with self._one_at_a_time.lock:
            self._traces: list[InvocationTrace] = []
            self._names: dict[int, str] = {}
            self._dropped = 0

    def _collect(self, trace: InvocationTrace) -> None:
        if len(self._traces) >= self.limit:
            self._dropped += 1
            return
        self._traces.append(trace)
        if trace.thread is not None and trace.thread not in self._names:
            # Now, since the thread may have ended when the timeline is looked at.
            self._names[trace.thread] = thread_name(trace.thread)

    @property
    def traces(self) -> tuple[InvocationTrace, ...]:
        """The calls that are kept, in the order of their ends."""
        with self._one_at_a_time.lock:
            return tuple(self._traces)

    @property
    def dropped(self) -> int:
        """How many calls came after the last that was kept."""
        return self._dropped

    def to_chrome(self) -> dict[str, Any]:
        """The timeline in Chrome's trace event format, as what JSON is made of.

        Threads are tracks; a flow leads from the wait of each caller to its batch and
        on to its next step; a counter tells how many models were running. Times are
        microseconds from the first call's start.
        """
        return chrome_trace(self._layout(), _TITLE)

    def to_html(self, title: str = _TITLE) -> str:
        """The timeline as a page that needs no other file and no network.

        Raises:
            ImportError: Jinja2 is missing.
        """
        return gantt_page(self._layout(), title, self._dropped)

    def save(self, path: str | Path, title: str = _TITLE) -> Path:
        """Write it: a page for ``.html``, Chrome's format for ``.json`` and, compressed, for ``.json.gz``.

        Open the latter at https://ui.perfetto.dev or in ``chrome://tracing``.

        Args:
            path: where to.
            title: of a page.

        Returns:
            the path.

        Raises:
            ValueError: the name ends otherwise.
            OSError: it cannot be written.
        """
        path = Path(path)
        name = path.name.lower()
        if name.endswith((".html", ".htm")):
            path.write_bytes(self.to_html(title).encode("utf-8", "backslashreplace"))
        elif name.endswith(".json.gz"):
            path.write_bytes(gzip.compress(self._json().encode()))
        elif name.endswith(".json"):
            path.write_text(self._json(), encoding="utf-8")
        else:
            raise ValueError(
                f"TimelineCollector: the file's name must end in .html, .json or .json.gz, got {path.name!r}"
            )
        return path

    def _json(self) -> str:
        return json.dumps(self.to_chrome(), allow_nan=False)

    def _layout(self) -> Layout:
        with self._one_at_a_time.lock:
            traces, names = list(self._traces), dict(self._names)
        return lay_out(traces, names)
