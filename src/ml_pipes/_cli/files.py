"""Files as inputs of pipelines that are not made yet.

How a file is given depends on a pipeline's first step, so that it is read when the pipeline is there.
Knows pipelines and files. Knows nothing of what is measured.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

from ml_pipes._cli.inputs import file_inputs
from ml_pipes.factory import InputFn, PipelineFactory
from ml_pipes.pipeline import Pipeline

__all__ = ["FileInputs"]


class FileInputs:
    """Files, given to the pipeline that was made last.

    Args:
        source: the pipeline, or what makes pipelines.
        files: their paths.
    """

    def __init__(self, source: Pipeline[Any, Any] | PipelineFactory[Any, Any], files: Sequence[str]) -> None:
        self._files = files
        self._made: Pipeline[Any, Any] | None = source if isinstance(source, Pipeline) else None
        self.source: Pipeline[Any, Any] | PipelineFactory[Any, Any] = (
            source if isinstance(source, Pipeline) else self._noting(source)
        )

    def input_fns(self) -> list[InputFn]:
        """One for each file."""
        return [self._fn(file) for file in self._files]

    def _fn(self, file: str) -> InputFn:
        def give() -> Any:
            assert self._made is not None, "inputs are asked for after the pipeline was made"  # noqa: S101 - as it says
            return file_inputs([file], self._made)[0]()

        return give

    def _noting(self, factory: PipelineFactory[Any, Any]) -> PipelineFactory[Any, Any]:
        def make(**config: Any) -> Pipeline[Any, Any]:
            # Before the next is made: models that are open have taken CPUs.
            self._made = None
            self._made = factory(**config)
            return self._made

        make.__signature__ = inspect.signature(factory)  # type: ignore[attr-defined] # it is the factory's face
        make.__module__ = factory.__module__
        make.__name__, make.__qualname__ = factory.__name__, factory.__qualname__  # type: ignore[attr-defined] # as above
        return PipelineFactory(make)
