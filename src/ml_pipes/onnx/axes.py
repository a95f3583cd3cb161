"""Sides that a model was exported with by accident are freed, and the result is proved.

Knows ONNX files. Knows nothing of payloads, operators or pipelines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ml_pipes.errors import ModelFileError
from ml_pipes.onnx.session import ModelSource, check_source, source_name
from ml_pipes.onnx.verify import verify_batch

if TYPE_CHECKING:
    import onnx

__all__ = ["ROWS", "Axes", "FreedModel", "free_axes"]

Axes = tuple[int, ...] | Mapping[str, tuple[int, ...]]
ROWS = "rows"


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
    what they give one by one.

    Args:
        model_path: the model's file, or its bytes.
        axes: the axes to free in every input and output that has them, or by the name
            of an input or output. Axis 0 is the batch.
        verify: prove it; without, a wrong model gives wrong numbers silently.
        tolerance: the largest difference allowed, as a part of an output's largest value.

    Returns:
        The new model's bytes, to be given to ``Infer``.

    Raises:
        ModelFileError: the file is missing, empty or not a model.
        ModelBatchError: a batch differs from its items one by one, or the model does not run at all.
        ValueError: a name or an axis is not the model's.
    """
    check_source(model_path)
    model = _loaded(model_path)
    held = {value.name for value in model.graph.initializer}
    inputs = [value for value in model.graph.input if value.name not in held]
    ports = [*inputs, *model.graph.output]
    _check_names(axes, [port.name for port in ports], source_name(model_path))
    declared = {port.name: _sides(port) for port in inputs}
    for port in ports:
        _free(port, axes.get(port.name, ()) if isinstance(axes, Mapping) else axes, port in inputs)
    # What was inferred for the steps inside holds for the old sizes only.
    del model.graph.value_info[:]
    result = FreedModel(model.SerializeToString())
    result.shown = f"free_axes({_shown(model_path)}, {axes!r})"
    if verify:
        verify_batch(result, source_name(model_path), declared, tolerance)
    return result


def _loaded(source: ModelSource) -> onnx.ModelProto:
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


def _check_names(axes: Axes, names: Iterable[str], model: str) -> None:
    unknown = [name for name in axes if name not in set(names)] if isinstance(axes, Mapping) else []
    if unknown:
        raise ValueError(f"free_axes: {model} has no {', '.join(unknown)}; it has {', '.join(names)}")
    numbers = [axis for part in axes.values() for axis in part] if isinstance(axes, Mapping) else list(axes)
    if not numbers or any(axis < 0 for axis in numbers):
        raise ValueError(f"free_axes: axes must be numbers from 0 up, one or more, got {axes!r}")


def _sides(port: onnx.ValueInfoProto) -> tuple[int | None, ...]:
    dims = port.type.tensor_type.shape.dim
    return tuple(dim.dim_value if dim.HasField("dim_value") else None for dim in dims)


def _free(port: onnx.ValueInfoProto, axes: tuple[int, ...], is_input: bool) -> None:
    dims = port.type.tensor_type.shape.dim
    for axis in axes:
        if axis < len(dims):
            # The batch is one axis wherever it is; a picture's side need not be its map's side.
            side = f"{port.name}_{axis}" if axis or not is_input else ROWS
            dims[axis].dim_param = side if axis else ROWS


def _shown(source: ModelSource) -> str:
    return f"<{len(source):,} bytes>" if isinstance(source, bytes) else repr(Path(source).name)
