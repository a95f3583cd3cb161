"""Text in pictures: where it is, cut out line by line, and what is written.

Knows pixels, quadrilaterals and tables of characters. Knows nothing of how models are run.
"""

from ml_pipes.vision.text.crop import (
    CollateWidths,
    CropQuads,
    PadWidth,
    ResizeToHeight,
    crop_quads,
    pad_width,
)
from ml_pipes.vision.text.ctc import CTCDecode, RecognizedText, ctc_decode, ctc_table
from ml_pipes.vision.text.detect import DecodeTextMap, TextRegions, decode_text_map
from ml_pipes.vision.text.page import PreparePage, ResizePage, detection_shape, page_shape
from ml_pipes.vision.text.quads import (
    ProjectQuads,
    SortQuads,
    order_corners,
    project_quads,
    quad_sides,
    reading_order,
)

__all__ = [
    "CTCDecode",
    "CollateWidths",
    "CropQuads",
    "DecodeTextMap",
    "PadWidth",
    "PreparePage",
    "ProjectQuads",
    "RecognizedText",
    "ResizePage",
    "ResizeToHeight",
    "SortQuads",
    "TextRegions",
    "crop_quads",
    "ctc_decode",
    "ctc_table",
    "decode_text_map",
    "detection_shape",
    "order_corners",
    "pad_width",
    "page_shape",
    "project_quads",
    "quad_sides",
    "reading_order",
]
