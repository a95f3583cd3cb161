"""Every configuration of a pipeline with every configuration of its inputs, measured.

Knows factories and their configurations. Knows nothing of how a pipeline is
measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from ml_pipes.benchmark.config import MeasurementConfig
from ml_pipes.benchmark.progress import progress_for
from ml_pipes.benchmark.result import BenchmarkResult
from ml_pipes.benchmark.runner import Combination, Saving, run_all
from ml_pipes.benchmark.space import config_label
from ml_pipes.factory import DataFactory, PipelineFactory

__all__ = ["BenchmarkSweep", "combination_label"]


class BenchmarkSweep:
    """All combinations, the inputs' configurations outermost; see :class:`BenchmarkBuilder` for axes.

    A result's metadata has ``pipeline_config`` and ``data_config``. Its label has both as ``k:v|k:v``, the
    inputs' first (``input`` when it has none).

    Args:
        factory: makes the pipelines.
        configs: of the pipelines.
        data_factory: makes what gives the inputs.
        data_configs: of the inputs; None for one that is empty.
        measurement: of each combination; None for the default.
        label_prefix: of each label, before a ``|``.
        extra_metadata: of each result, beside the two configurations.
        stop_on_error: raise what a combination raises; else its result says so, and the sweep goes on.

    Raises:
        TypeError: a factory is none; a configuration does not fit its factory.
    """

    def __init__(
        self,
        factory: PipelineFactory[Any, Any],
        configs: list[dict[str, Any]],
        data_factory: DataFactory,
        data_configs: list[dict[str, Any]] | None = None,
        measurement: MeasurementConfig | None = None,
        label_prefix: str | None = None,
        extra_metadata: dict[str, Any] | None = None,
        *,
        stop_on_error: bool = False,
    ) -> None:
        _check(factory, PipelineFactory, "factory", "PipelineFactory")
        _check(data_factory, DataFactory, "data_factory", "DataFactory")
        self.factory = factory
        self.configs = _checked(factory, configs, "configs")
        self.data_factory = data_factory
        self.data_configs = _checked(
            data_factory, [{}] if data_configs is None else data_configs, "data_configs"
        )
        self.measurement = measurement if measurement is not None else MeasurementConfig()
        self.label_prefix = label_prefix
        self.extra_metadata = dict(extra_metadata or {})
        self.stop_on_error = stop_on_error

    def run(self, *, resume_dir: str | Path | None = None, verbose: bool = False) -> list[BenchmarkResult]:
        """Measure all combinations, in order.

        Ctrl-C ends it, and what was measured is given back.

        Args:
            resume_dir: results are saved here as they come, and those that are here already, of the same
                configuration and measurement, are not measured again.
            verbose: show how far it is, on standard error.

        Raises:
            KeyboardInterrupt: nothing was measured yet.
        """
        combinations = self._combinations()
        return run_all(
            combinations,
            self.measurement,
            saving=None if resume_dir is None else Saving(Path(resume_dir)),
            stop_on_error=self.stop_on_error,
            progress=progress_for(len(combinations), verbose=verbose),
        )

    def _combinations(self) -> Sequence[Combination]:
        return [
            Combination(
                combination_label(self.label_prefix, config_label(data_config), config_label(config)),
                {**self.extra_metadata, "pipeline_config": dict(config), "data_config": dict(data_config)},
                partial(self.factory.build, config),
                partial(self.data_factory.build, data_config),
                at,
            )
            for at, data_config in enumerate(self.data_configs)
            for config in self.configs
        ]


def combination_label(prefix: str | None, data: str, pipeline: str) -> str:
    """The parts that there are, joined by ``|``; ``input`` for inputs that have no configuration."""
    return "|".join(part for part in (prefix, data or "input", pipeline) if part)


def _check(value: Any, kind: type, argument: str, wanted: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(
            f"BenchmarkSweep: {argument} must be a {wanted}, got a {type(value).__name__}; "
            f"{wanted}.ensure_factory(...) makes one of a function"
        )


def _checked(
    factory: PipelineFactory[Any, Any] | DataFactory, configs: Iterable[Mapping[str, Any]], argument: str
) -> list[dict[str, Any]]:
    """Copies, each with keys that its factory takes: a wrong key is found before hours of measuring."""
    copies = [dict(config) for config in configs]
    for at, config in enumerate(copies):
        factory.validate_config(config, name=f"{argument}[{at}]")
    return copies
