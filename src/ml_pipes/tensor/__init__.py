"""Arrays with names: the types that steps exchange, and steps that work on them.

Knows NumPy. Knows nothing of images, models or how a pipeline runs.
"""

try:
    from ml_pipes.tensor.types import TensorPayload, TensorRegistry
except ModuleNotFoundError as missing:
    if missing.name != "numpy":
        raise
    raise ImportError(
        'ml_pipes.tensor needs numpy; install it with: pip install "ml-pipes[vision]"'
    ) from missing

__all__ = ["TensorPayload", "TensorRegistry"]
