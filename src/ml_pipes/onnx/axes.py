"""Sides that a model was exported with by accident are freed, and the result is proved.

Knows ONNX files. Knows nothing of payloads, operators or pipelines.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ml_pipes._runtimes.axes import ROWS, Axes, check_axes
from ml_pipes._runtimes.source import (
    ModelSource,
    Source,
    as_source,
    check_source,
    declared_shape,
    source_name,
)
from ml_pipes._runtimes.verify import verify_batch
from ml_pipes.errors import ModelFileError
from ml_pipes.onnx.providers import CPU
from ml_pipes.onnx.session import ModelSession

if TYPE_CHECKING:
    import onnx

__all__ = ["FreedModel", "free_axes"]


class FreedModel(bytes):
    """A model's bytes that show what they were made from."""

    shown = "a freed model"

    def __repr__(self) -> str:
        return self.shown


def free_axes(
    model_path: ModelSource, axes: Axes = (0,), *, verify: bool = True, tolerance: float = 1e-4
) -> FreedModel:
    """Free declared sides of a model's inputs and outputs, so that other sizes can be given.

    An exporter writes the sizes of its example into the file, and the runtime then
    refuses any other. Freeing them is right only when no step inside depends on
    them: a ``Reshape`` to a constant may silently mix the items of a batch. So by
    default the freed model is run on random data: three items together must give
    what they give one by one, and an item what it gives beside other items, for
    numbers from 0 to 1, from 0 to 255 and from -1 to 1.

    Args:
        model_path: the model's file, or its bytes.
        axes: the axes to free in every input and output that has them, or by the name
            of an input or output. Axis 0 is the batch.
        verify: prove it; without, a wrong model gives wrong numbers silently.
        tolerance: the largest difference allowed, as a part of an output's largest value; for
            16-bit floats at least what they round to.

    Returns:
        The new model's bytes, to be given to ``Infer``.

    Raises:
        ModelFileError: the file is missing, empty or not a model.
        ModelBatchError: a batch differs from its items one by one, or the model does not run at all.
        ValueError: a name or an axis is not the model's.
        TypeError: ``model_path`` is neither a path nor bytes.
    """
    source = as_source(model_path, "free_axes")
    check_source(source, "free_axes")
    model = _loaded(source)
    held = {value.name for value in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in held]
    ports = [*inputs, *model.graph.output]
    declared = {port.name: declared_shape(port) for port in ports}
    check_axes(axes, declared, [port.name for port in inputs], source_name(source))
    for port in ports:
        _free(port, axes.get(port.name, ()) if isinstance(axes, Mapping) else axes, port in inputs)
    # What was inferred for the steps inside holds for the old sizes only.
    del model.graph.value_info[:]
    result = FreedModel(model.SerializeToString())
    result.shown = f"free_axes({_shown(source)}, {axes!r})"
    if verify:
        session = ModelSession(result, (CPU,), 1, arena=False)
        verify_batch(session, source_name(source), declared, tolerance)
    return result


def _loaded(source: Source) -> onnx.ModelProto:
    try:
        import onnx
    except ModuleNotFoundError as missing:
        raise ImportError('free_axes needs onnx; install it with: pip install "ml-pipes[onnx]"') from missing
    try:
        model = (
            onnx.load_model_from_string(source) if isinstance(source, bytes) else onnx.load_model(str(source))
        )
    except Exception as error:
        raise ModelFileError(f"free_axes: {source_name(source)} is not an ONNX model: {error}") from error
    if not model.graph.node:
        raise ModelFileError(f"free_axes: {source_name(source)} is not an ONNX model: it has no steps")
    return model


def _free(port: onnx.ValueInfoProto, axes: tuple[int, ...], is_input: bool) -> None:
    dims = port.type.tensor_type.shape.dim
    for axis in axes:
        if axis < len(dims):
            # The batch is one axis wherever it is; a picture's side need not be its map's side.
            side = f"{port.name}_{axis}" if axis or not is_input else ROWS
            dims[axis].dim_param = side if axis else ROWS


def _shown(source: Source) -> str:
    return f"<{len(source):,} bytes>" if isinstance(source, bytes) else repr(Path(source).name)
