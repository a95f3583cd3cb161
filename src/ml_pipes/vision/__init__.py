"""Pictures: the types that steps exchange, and steps from bytes to boxes and back.

Knows NumPy, OpenCV and the tensor room. Knows nothing of models, or of inspection.
"""

try:
    from ml_pipes.vision.boxes import (
        ConvertBoxFormat,
        FilterTensorsByScore,
        ProjectBoxes,
        ProjectPoints,
        box_areas,
        box_ious,
        convert_boxes,
        project_boxes,
        project_points,
    )
    from ml_pipes.vision.centerface import DecodeCenterFace, Faces, decode_centerface
    from ml_pipes.vision.codec import Decode, LoadFile, decode_image
    from ml_pipes.vision.colour import ConvertColorSpace, Normalize
    from ml_pipes.vision.draw import DrawBoxes
    from ml_pipes.vision.nms import NMS, nms
    from ml_pipes.vision.resize import Resize
    from ml_pipes.vision.save import SaveImage
    from ml_pipes.vision.types import ImagePayload, ResizeTransform
except ImportError as missing:
    if missing.name not in {"numpy", "cv2"}:
        raise
    raise ImportError(
        'ml_pipes.vision needs numpy and opencv; install them with: pip install "ml-pipes[vision]"',
        name=missing.name,
    ) from missing

__all__ = [
    "NMS",
    "ConvertBoxFormat",
    "ConvertColorSpace",
    "Decode",
    "DecodeCenterFace",
    "DrawBoxes",
    "Faces",
    "FilterTensorsByScore",
    "ImagePayload",
    "LoadFile",
    "Normalize",
    "ProjectBoxes",
    "ProjectPoints",
    "Resize",
    "ResizeTransform",
    "SaveImage",
    "box_areas",
    "box_ious",
    "convert_boxes",
    "decode_centerface",
    "decode_image",
    "nms",
    "project_boxes",
    "project_points",
]
