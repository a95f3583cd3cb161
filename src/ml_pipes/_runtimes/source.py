"""Where a model comes from, a file or bytes, and what it declares there.

Knows files, and ONNX's format where its package is installed. Knows nothing of any runtime.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ml_pipes.errors import ModelFileError, ModelNotFoundError

if TYPE_CHECKING:
    import onnx

__all__ = [
    "ModelSource",
    "Shape",
    "Source",
    "as_source",
    "check_source",
    "declared_shape",
    "declared_shapes",
    "source_name",
]

ModelSource = str | Path | bytes | bytearray | memoryview
Source = str | Path | bytes
# A number for a fixed side, a text for a named one, None for any.
Shape = tuple[int | str | None, ...]


def as_source(source: Any, who: str) -> Source:
    """Give a path, or bytes that nobody can change; TypeError for anything else, in the words of ``who``."""
    if isinstance(source, (bytes, str, Path)):
        return source
    if isinstance(source, (bytearray, memoryview)):
        return bytes(source)
    if isinstance(source, os.PathLike):
        return Path(source)
    way_out = "; give its SerializeToString()" if hasattr(source, "SerializeToString") else ""
    came = "None" if source is None else type(source).__name__
    raise TypeError(f"{who}: a model is the path of its file, or its bytes, got {came}{way_out}")


def source_name(source: Source) -> str:
    """The model as messages call it."""
    return f"a model of {len(source):,} bytes" if isinstance(source, bytes) else str(source)


def check_source(source: Source, who: str) -> None:
    """Raise :class:`ModelFileError` when there is nothing to read."""
    if isinstance(source, bytes):
        if not source:
            raise ModelFileError(f"{who}: the model is empty (0 bytes)")
        return
    path = Path(source)
    if path.is_dir():
        raise ModelFileError(f"{who}: {path} is a folder, not a model file")
    if not path.is_file():
        raise ModelNotFoundError(f"{who}: there is no model file at {path} (current folder: {Path.cwd()})")
    if not path.stat().st_size:
        raise ModelFileError(f"{who}: {path} is empty (0 bytes), not a model")


def declared_shapes(source: Source) -> dict[str, Shape | None]:
    """What the file itself says of each input and output, by name; empty where it cannot be read.

    A runtime puts what it inferred in the place of what was declared, and may not
    tell a single number from a shape that is not known.
    """
    try:
        import onnx

        model = (
            onnx.load_model_from_string(source)
            if isinstance(source, bytes)
            else onnx.load_model(str(source), format="protobuf", load_external_data=False)
        )
    except Exception:  # noqa: BLE001 # no onnx, or a format that the runtime alone can read
        return {}
    return {port.name: declared_shape(port) for port in (*model.graph.input, *model.graph.output)}


def declared_shape(port: onnx.ValueInfoProto) -> Shape | None:
    """One port's sides as declared; None when not even their number is."""
    tensor = port.type.tensor_type
    if not tensor.HasField("shape"):
        return None
    return tuple(
        dim.dim_value if dim.HasField("dim_value") else dim.dim_param or None for dim in tensor.shape.dim
    )
