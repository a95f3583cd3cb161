"""Models run by OpenVINO: ONNX files, and OpenVINO's own.

It imports OpenVINO so that its telemetry sends nothing.

Knows tensor payloads. Knows nothing of images, other runtimes or how a pipeline runs.
"""

from ml_pipes.errors import ModelBatchError, ModelNotFoundError, ModelProviderError

try:
    from ml_pipes._runtimes.cpu import usable_cpus
    from ml_pipes._runtimes.outputs import Distribute, Extract
    from ml_pipes.openvino.infer import Infer
    from ml_pipes.tensor.runtime import RuntimeOutputs
except ImportError as missing:
    if missing.name not in ("numpy", "openvino") and "ml-pipes[vision]" not in str(missing):
        raise
    raise ImportError(
        'ml_pipes.openvino needs numpy and openvino; install them with: pip install "ml-pipes[openvino]"'
    ) from missing

__all__ = [
    "Distribute",
    "Extract",
    "Infer",
    "ModelBatchError",
    "ModelNotFoundError",
    "ModelProviderError",
    "RuntimeOutputs",
    "usable_cpus",
]
