"""Models in the ONNX format, run by ONNX Runtime.

Knows tensor payloads. Knows nothing of images, other runtimes or how a pipeline runs.
"""

from ml_pipes.errors import ModelBatchError, ModelNotFoundError, ModelProviderError

try:
    from ml_pipes._runtimes.cpu import opened_alone, usable_cpus
    from ml_pipes._runtimes.outputs import Distribute, Extract
    from ml_pipes.onnx.axes import free_axes
    from ml_pipes.onnx.infer import Infer
    from ml_pipes.onnx.providers import ProviderFallbackWarning
    from ml_pipes.tensor.runtime import RuntimeOutputs
except ImportError as missing:
    if missing.name not in ("numpy", "onnxruntime") and "ml-pipes[vision]" not in str(missing):
        raise
    raise ImportError(
        'ml_pipes.onnx needs numpy and onnxruntime; install them with: pip install "ml-pipes[onnx]"'
    ) from missing

__all__ = [
    "Distribute",
    "Extract",
    "Infer",
    "ModelBatchError",
    "ModelNotFoundError",
    "ModelProviderError",
    "ProviderFallbackWarning",
    "RuntimeOutputs",
    "free_axes",
    "opened_alone",
    "usable_cpus",
]
