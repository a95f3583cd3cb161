"""How far a sweep is, on a terminal.

Knows results and text. Knows nothing of how they are measured.
"""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from ml_pipes.benchmark.result import BenchmarkResult

__all__ = ["BarProgress", "LineProgress", "SweepProgress", "progress_for"]


class SweepProgress:
    """Told how far a sweep is; this one keeps it to itself.

    Args:
        total: how many combinations there are.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.ended = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        return None

    def begin(self, label: str) -> None:
        """The next combination's turn has come."""

    def tell(self, done: int, total: int | None, elapsed_s: float) -> None:
        """Within a combination: calls measured, how many there will be, seconds since its start."""

    def end(self, result: BenchmarkResult, *, is_new: bool) -> None:  # noqa: ARG002 # others show them
        """The combination is done.

        Args:
            result: what came of it.
            is_new: it was measured now, not by an earlier sweep.
        """
        self.ended += 1


class BarProgress(SweepProgress):
    """A bar with the time left, on standard error. It moves when it is told something: no thread draws it."""

    def __init__(self, total: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        super().__init__(total)
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[done]}"),
            TimeRemainingColumn(),
            console=Console(stderr=True),
            auto_refresh=False,
            transient=True,
        )
        self._task = self._bar.add_task("", total=float(total), done=f"0/{total}")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def begin(self, label: str) -> None:
        self._show(description=label)

    def tell(self, done: int, total: int | None, elapsed_s: float) -> None:  # noqa: ARG002 # rich has its own
        part = done / total if total else 0.0
        self._show(completed=self.ended + min(part, 1.0))

    def end(self, result: BenchmarkResult, *, is_new: bool) -> None:
        super().end(result, is_new=is_new)
        if result.error is not None:
            # As it is: a label such as "model:b:" is no emoji, and brackets are no markup.
            line = f"{result.label}: {result.error}"
            self._bar.console.print(line, markup=False, emoji=False, highlight=False, soft_wrap=True)
        self._show(completed=float(self.ended), done=f"{self.ended}/{self.total}")

    def _show(self, **fields: Any) -> None:
        self._bar.update(self._task, **fields)
        self._bar.refresh()


class LineProgress(SweepProgress):
    """A line on standard error for each combination that failed; for logs and files."""

    def end(self, result: BenchmarkResult, *, is_new: bool) -> None:
        super().end(result, is_new=is_new)
        if result.error is not None:
            sys.stderr.write(f"{result.label}: {result.error}\n")


def progress_for(total: int, *, verbose: bool) -> SweepProgress:
    """A bar on a terminal, lines elsewhere, nothing where nothing is to be shown.

    Args:
        total: how many combinations there are.
        verbose: something is to be shown.
    """
    if not verbose:
        return SweepProgress(total)
    if not sys.stderr.isatty():
        return LineProgress(total)
    try:
        return BarProgress(total)
    except ImportError:  # without rich, which only draws it
        return LineProgress(total)
