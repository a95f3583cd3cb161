"""Arrays with names: the types that steps exchange, and steps that work on them.

Knows NumPy. Knows nothing of images, models or how a pipeline runs.
"""

try:
    from ml_pipes.tensor.collate import Collate, collate
    from ml_pipes.tensor.masks import (
        ApplyTensorMask,
        BinarizeTensor,
        BinarizeTensorByThreshold,
        CreateTensorMask,
        CreateTensorMaskByThreshold,
    )
    from ml_pipes.tensor.maths import (
        ArgMax,
        AsType,
        MapTensor,
        MultiplyTensors,
        Scale,
        Sigmoid,
        Softmax,
        argmax,
        sigmoid,
        softmax,
    )
    from ml_pipes.tensor.select import (
        FilterTensors,
        GatherRows,
        GatherScores,
        SelectTensors,
        SortTensorsBy,
        TopK,
        TopKIndices2D,
        ranking,
    )
    from ml_pipes.tensor.shape import Slice, Squeeze, Transpose
    from ml_pipes.tensor.types import TensorPayload, TensorRegistry
except ModuleNotFoundError as missing:
    if missing.name != "numpy":
        raise
    raise ImportError(
        'ml_pipes.tensor needs numpy; install it with: pip install "ml-pipes[vision]"', name="numpy"
    ) from missing

__all__ = [
    "ApplyTensorMask",
    "ArgMax",
    "AsType",
    "BinarizeTensor",
    "BinarizeTensorByThreshold",
    "Collate",
    "CreateTensorMask",
    "CreateTensorMaskByThreshold",
    "FilterTensors",
    "GatherRows",
    "GatherScores",
    "MapTensor",
    "MultiplyTensors",
    "Scale",
    "SelectTensors",
    "Sigmoid",
    "Slice",
    "Softmax",
    "SortTensorsBy",
    "Squeeze",
    "TensorPayload",
    "TensorRegistry",
    "TopK",
    "TopKIndices2D",
    "Transpose",
    "argmax",
    "collate",
    "ranking",
    "sigmoid",
    "softmax",
]
