"""What one benchmark measured: shown, saved, loaded again, compared.

Knows figures, files and text. Knows nothing of how they were measured.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from ml_pipes.benchmark.files import read_json, write_json
from ml_pipes.benchmark.parts import READERS, ScenarioFigure, lines_about, part_to_dict
from ml_pipes.benchmark.plain import plain
from ml_pipes.benchmark.stat import InvocationStat, InvocationStatDiff, RegionStat, pairs
from ml_pipes.benchmark.tables import comparison_table, diff_table, stat_table

if TYPE_CHECKING:
    from ml_pipes.benchmark.hardware import Hardware
    from ml_pipes.benchmark.load import Load
    from ml_pipes.benchmark.samples import Samples
    from ml_pipes.benchmark.verdict import Verdict

__all__ = ["BenchmarkDiff", "BenchmarkResult"]

_FIRST_KEYS: Final = ("label", "metadata", "total", "operators")
_LAST_KEYS: Final = (
    "environment",
    "regions",
    "warmup",
    "measurement",
    "inputs",
    "made_by",
    "failures",
    "error",
)
_KNOWN_KEYS: Final = frozenset({*_FIRST_KEYS, *READERS, *_LAST_KEYS})
# ``load`` is how a result is read from a file.
_ATTRIBUTES: Final = {"load": "workload"}
# What no file system takes in a name, and what none should be asked to.
_NOT_IN_NAMES: Final = re.compile(r'[/\\:*?"<>|\x00-\x1f\ud800-\udfff]')


@dataclass(eq=False, repr=False)
class BenchmarkResult:
    """What one benchmark measured. Equal to another of which the same JSON would be saved.

    Attributes:
        label: what was measured.
        metadata: more about it; of a sweep, ``pipeline_config`` and ``data_config``.
        total: the whole call.
        operators: the pipeline's steps, in order.
        workload: who called, how often and how many at once; in JSON, ``load``.
        samples: each call by itself.
        hardware: what the machine was busy with meanwhile.
        environment: which machine it was, and what ran on it.
        regions: what each ``Batch`` did.
        verdict: whether the measurement counts, and why not.
        figure: the one number that its scenario is about.
        warmup: calls before, which are in no figure.
        measurement: what was asked for.
        inputs: which inputs were given: ``id``, ``tag`` and ``meta`` of each.
        made_by: of a sweep, the factories of the ``pipeline`` and of the ``data``, as ``module:name``.
        failures: what calls raised, where the calls themselves were not kept; see :attr:`errors`.
        error: why there are no figures: the type and the words of what was raised.
    """

    label: str
    metadata: dict[str, Any]
    total: InvocationStat
    operators: list[InvocationStat]
    workload: Load | None = field(default=None, kw_only=True)
    samples: Samples | None = field(default=None, kw_only=True)
    hardware: Hardware | None = field(default=None, kw_only=True)
    environment: dict[str, Any] | None = field(default=None, kw_only=True)
    regions: Sequence[RegionStat] = field(default=(), kw_only=True)
    verdict: Verdict | None = field(default=None, kw_only=True)
    figure: ScenarioFigure | None = field(default=None, kw_only=True)
    warmup: int = field(default=0, kw_only=True)
    measurement: dict[str, Any] | None = field(default=None, kw_only=True)
    inputs: Sequence[dict[str, Any]] = field(default=(), kw_only=True)
    made_by: dict[str, str] | None = field(default=None, kw_only=True)
    failures: dict[str, int] = field(default_factory=dict, kw_only=True)
    error: str | None = field(default=None, kw_only=True)
    _unknown: dict[str, Any] = field(default_factory=dict, kw_only=True)

    @property
    def throughput_per_s(self) -> float | None:
        """Successful calls per second; None where the calls themselves were not kept."""
        return None if self.samples is None else self.samples.throughput_per_s

    @property
    def errors(self) -> dict[str, int]:
        """What calls raised, by type and first words -> how often; such calls are in no other figure."""
        return dict(self.failures if self.samples is None else self.samples.errors)

    def to_table(self, expand_regions: bool = True) -> str:
        """A line for the whole and one per step, in milliseconds, and below what else is known.

        Args:
            expand_regions: show the steps of regions too.
        """
        table = stat_table(self.total, self.operators, expand_regions=expand_regions)
        return "\n".join([table, *lines_about(self)])

    @staticmethod
    def to_comparison_table(results: list[BenchmarkResult], expand_regions: bool = True) -> str:
        """A line per result, and the mean of each step of all of them side by side, in milliseconds.

        Args:
            results: in the order of the lines.
            expand_regions: show the steps of regions too.
        """
        table = comparison_table(
            [(result.label, result.total, result.operators) for result in results],
            expand_regions=expand_regions,
        )
        failed = [f"[{at}] error: {one.error}" for at, one in enumerate(results, 1) if one.error is not None]
        return "\n".join([table, *failed])

    def diff(self, other: BenchmarkResult) -> BenchmarkDiff:
        """What became of each step, with this one as the baseline and ``other`` as the candidate."""
        operators = [
            InvocationStatDiff.between(one, another, label)
            for one, another, label in pairs(self.operators, other.operators)
        ]
        total = InvocationStatDiff.between(self.total, other.total, "total")
        return BenchmarkDiff(self, other, total, operators)

    def slug(self, ext: str = "") -> str:
        """The label as a file's name: what file systems refuse becomes ``_``.

        Args:
            ext: put at its end, after a dot.
        """
        name = _NOT_IN_NAMES.sub("_", self.label) or "benchmark"
        return f"{name}.{ext.removeprefix('.')}" if ext else name

    def to_dict(self) -> dict[str, Any]:
        """For JSON: what there is of the attributes. No number in it is NaN or infinite: such are None."""
        parts = {key: part_to_dict(getattr(self, _ATTRIBUTES.get(key, key))) for key in READERS}
        more = {
            "environment": plain(self.environment),
            "regions": [region.to_dict() for region in self.regions],
            "warmup": self.warmup,
            "measurement": plain(self.measurement),
            "inputs": plain(self.inputs),
            "made_by": self.made_by,
            "failures": plain(self.failures),
            "error": self.error,
        }
        return {
            **self._unknown,
            "label": self.label,
            "metadata": plain(self.metadata),
            "total": self.total.to_dict(),
            "operators": [stat.to_dict() for stat in self.operators],
            **{name: value for name, value in {**parts, **more}.items() if value},
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """What :meth:`to_dict` gave, as a result again. Keys that a newer version added are kept as they are.

        Raises:
            ValueError: it is no result.
        """
        try:
            return cls(
                label=str(data["label"]),
                metadata=dict(data["metadata"]),
                total=InvocationStat.from_dict(data["total"]),
                operators=[InvocationStat.from_dict(stat) for stat in data["operators"]],
                **{
                    _ATTRIBUTES.get(key, key): read(data[key])
                    for key, read in READERS.items()
                    if data.get(key) is not None
                },
                regions=[RegionStat.from_dict(region) for region in data.get("regions") or ()],
                warmup=int(data.get("warmup") or 0),
                **{
                    name: data[name]
                    for name in ("environment", "measurement", "made_by", "error")
                    if name in data
                },
                inputs=list(data.get("inputs") or ()),
                failures=dict(data.get("failures") or {}),
                _unknown={key: value for key, value in data.items() if key not in _KNOWN_KEYS},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as cause:
            keys = ", ".join(_FIRST_KEYS)
            raise ValueError(
                f"this is no benchmark result: {_why(cause, data)}; one is an object with {keys}"
            ) from cause

    def save(self, path: str | Path) -> None:
        """Write it as JSON, whole or not at all; folders on the way are made.

        Args:
            path: the file; one that is there is replaced.
        """
        write_json(path, self.to_dict(), indent=2)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read what :meth:`save` wrote.

        Raises:
            ValueError: the file holds no result.
            OSError: it cannot be read.
        """
        return read_json(path, "benchmark result", cls.from_dict)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BenchmarkResult):
            return NotImplemented
        return self.to_dict() == other.to_dict()

    def __repr__(self) -> str:
        return f"BenchmarkResult({self.label!r}, {self.total.count} runs, mean {self.total.mean_ms:.2f} ms)"


@dataclass(frozen=True, repr=False)
class BenchmarkDiff:
    """Two results and the differences of their steps, the candidate's figures less the baseline's.

    Attributes:
        baseline: what there was.
        candidate: what there is now.
        total: of the whole.
        operators: of the steps that either has, in order.
    """

    baseline: BenchmarkResult
    candidate: BenchmarkResult
    total: InvocationStatDiff
    operators: list[InvocationStatDiff]

    def to_table(self) -> str:
        """The means of both and their differences, a line per step, in milliseconds."""
        sides = (self.baseline, self.candidate)
        return diff_table(
            (sides[0].label, sides[1].label),
            (sides[0].total, sides[1].total),
            (sides[0].operators, sides[1].operators),
        )

    def __repr__(self) -> str:
        return f"BenchmarkDiff({self.baseline.label!r} -> {self.candidate.label!r})"


def _why(cause: Exception, data: object) -> str:
    if isinstance(data, list):  # as a sweep is printed
        return f"it is a list of {len(data)}"
    return f"it has no {cause}" if isinstance(cause, KeyError) else f"{type(cause).__name__}: {cause}"
