"""Pictures: the types that steps exchange, and steps from bytes to boxes and back.

Knows NumPy, OpenCV and the tensor room. Knows nothing of models, or of inspection.
"""

try:
    import cv2 as _cv2  # noqa: F401 # asked for first, so that what is missing is said at the door

    from ml_pipes.vision.types import ImagePayload, ResizeTransform
except ImportError as missing:
    if missing.name not in {"numpy", "cv2", None}:
        raise
    raise ImportError(
        'ml_pipes.vision needs numpy and opencv; install them with: pip install "ml-pipes[vision]"'
    ) from missing

__all__ = ["ImagePayload", "ResizeTransform"]
