"""Combinations measured one after another, saved as they come, and not measured twice.

Knows how a pipeline and its inputs are made, and files. Knows nothing of
configurations.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ml_pipes._runtimes.cpu import opened_alone
from ml_pipes.benchmark.benchmark import Benchmark
from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.benchmark.plain import plain
from ml_pipes.benchmark.progress import SweepProgress
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.stat import InvocationStat
from ml_pipes.factory import InputFn
from ml_pipes.pipeline import Pipeline

__all__ = ["Combination", "Saving", "file_names", "run_all"]

_LONGEST_NAME = 150


@dataclass(frozen=True)
class Combination:
    """A pipeline and inputs, to be made when their time comes.

    Attributes:
        label: of the result.
        metadata: of the result.
        make_pipeline: makes the pipeline.
        make_input: makes what gives the inputs.
        data: combinations that follow each other with the same number share their inputs.
        made_by: of the result.
    """

    label: str
    metadata: dict[str, Any]
    make_pipeline: Callable[[], Pipeline[Any, Any]]
    make_input: Callable[[], InputFn]
    data: int = 0
    made_by: dict[str, str] | None = None


@dataclass(frozen=True)
class Saving:
    """Where results go.

    Attributes:
        folder: a JSON file per combination is written here, as soon as it is measured.
        resume: a combination whose file is there, of the same label, factories, configuration and
            measurement, is not measured again. What the code does is not compared.
    """

    folder: Path
    resume: bool = True


def run_all(
    combinations: Sequence[Combination],
    measurement: MeasurementConfig,
    *,
    saving: Saving | None = None,
    stop_on_error: bool = False,
    progress: SweepProgress | None = None,
) -> list[BenchmarkResult]:
    """Measure one after another; one that fails has a result that says why.

    Ctrl-C ends it, and what was measured is given back.

    Args:
        combinations: in order.
        measurement: of each.
        saving: where the results go.
        stop_on_error: raise what a combination raises.
        progress: told how far it is.

    Raises:
        KeyboardInterrupt: nothing was measured yet.
        OSError: a result cannot be saved.
    """
    session = _Session(measurement, saving, stop_on_error, progress or SweepProgress(len(combinations)))
    with session.progress:
        try:
            for combination, name in zip(combinations, file_names(combinations), strict=True):
                session.step(combination, name)
                if session.is_interrupted:
                    break
        except KeyboardInterrupt:
            if not session.results:
                raise
    return session.results


def file_names(combinations: Sequence[Combination]) -> list[str]:
    """A file's name for each: its label's slug, with a few digits where that is too long or not alone."""
    nothing = InvocationStat.from_seconds("total", (), ())
    slugs = [BenchmarkResult(one.label, {}, nothing, []).slug() for one in combinations]
    # File systems that take capitals for small letters are common.
    counts = Counter(slug.lower() for slug in slugs)
    names = []
    for slug, one in zip(slugs, combinations, strict=True):
        if counts[slug.lower()] > 1 or len(slug.encode()) > _LONGEST_NAME:
            written = json.dumps([one.label, plain(one.metadata)], sort_keys=True)
            slug = f"{_cut(slug)}-{hashlib.sha256(written.encode()).hexdigest()[:8]}"  # noqa: PLW2901 # told apart
        names.append(f"{slug}.json")
    return names


@dataclass
class _Session:
    measurement: MeasurementConfig
    saving: Saving | None
    stop_on_error: bool
    progress: SweepProgress
    results: list[BenchmarkResult] = field(default_factory=list)
    _inputs: tuple[int, InputFn] | None = None

    @property
    def is_interrupted(self) -> bool:
        samples = self.results[-1].samples if self.results else None
        return samples is not None and samples.interrupted

    def step(self, combination: Combination, name: str) -> None:
        self.progress.begin(combination.label)
        path = None if self.saving is None else self.saving.folder / name
        result = self._kept(combination, path)
        is_new = result is None
        if result is None:
            result = self._measured(combination)
            result.made_by = combination.made_by
        self.results.append(result)
        if is_new and path is not None and not self.is_interrupted:
            result.save(path)
        self.progress.end(result, is_new=is_new)

    def _kept(self, combination: Combination, path: Path | None) -> BenchmarkResult | None:
        """What an earlier sweep measured, if it was the same and it came to its end."""
        if path is None or self.saving is None or not self.saving.resume or not path.exists():
            return None
        try:
            kept = BenchmarkResult.load(path)
        except ValueError:
            return None  # broken off, or of something else: it is measured again
        asked = (combination.label, combination.made_by, plain(combination.metadata))
        is_same = (kept.label, kept.made_by, kept.metadata) == asked
        is_same = is_same and kept.measurement == plain(self.measurement.to_dict())
        return kept if is_same and kept.error is None else None

    def _measured(self, combination: Combination) -> BenchmarkResult:
        try:
            if self._inputs is None or self._inputs[0] != combination.data:
                self._inputs = None
                self._inputs = (combination.data, combination.make_input())
            # The models of the one before may still be there, and must not cost this one CPUs.
            with opened_alone():
                pipeline = combination.make_pipeline()
            return Benchmark(
                pipeline, self._inputs[1], self.measurement, combination.label, combination.metadata
            ).run(self.progress.tell)
        except Exception as error:
            if self.stop_on_error:
                raise
            return self._failed(combination, error)

    def _failed(self, combination: Combination, error: Exception) -> BenchmarkResult:
        nothing = InvocationStat.from_seconds("total", (), self.measurement.percentiles)
        return BenchmarkResult(
            combination.label,
            combination.metadata,
            nothing,
            [],
            workload=self.measurement.load,
            measurement=self.measurement.to_dict(),
            error="\n".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", ())]),
        )


def _cut(slug: str) -> str:
    return slug.encode()[:_LONGEST_NAME].decode(errors="ignore")
