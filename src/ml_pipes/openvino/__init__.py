"""Models run by OpenVINO: ONNX files, and OpenVINO's own.

It imports OpenVINO so that its telemetry sends nothing.

``Infer(..., free_axes=...)`` frees sides of any model, whatever its format. The bytes of an
ONNX model that :func:`ml_pipes.onnx.free_axes` has freed and proved, which can be kept in a
file, are a model for this room's ``Infer`` too; there is no second function of that kind here.

Knows tensor payloads. Knows nothing of images, other runtimes or how a pipeline runs.
"""

from ml_pipes.errors import ModelBatchError, ModelNotFoundError, ModelProviderError

try:
    from ml_pipes._runtimes.cpu import opened_alone, usable_cpus
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
    "opened_alone",
    "usable_cpus",
]
