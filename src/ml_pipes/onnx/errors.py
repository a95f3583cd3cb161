"""What can be wrong with an ONNX model or its runtime, beside what every model can have.

Each is also a :class:`ml_pipes.errors.ModelError`. Knows nothing of ONNX Runtime.
"""

from __future__ import annotations

from ml_pipes.errors import ModelError, ModelFileError

__all__ = ["ModelBatchError", "ModelNotFoundError", "ModelProviderError"]


class ModelNotFoundError(ModelFileError, FileNotFoundError):
    """There is no file at the model's path."""


class ModelProviderError(ModelError, ValueError):
    """The execution provider that was asked for is not there, or could not be started."""


class ModelBatchError(ModelError, ValueError):
    """The model treats a batch otherwise than its items one by one."""
