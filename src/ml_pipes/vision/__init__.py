"""Pictures: the types that steps exchange, and steps from bytes to boxes and back.

Knows NumPy, OpenCV and the tensor room. Knows nothing of models, or of inspection.
"""

try:
    from ml_pipes.vision.blend import BlendImages
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
    from ml_pipes.vision.density import (
        ClampDensity,
        DensityToHeatmap,
        DrawDensityOverlay,
        ProjectDensityMap,
        SumDensity,
        clamp_density,
        heat_levels,
        project_density,
    )
    from ml_pipes.vision.draw import DrawBoxes
    from ml_pipes.vision.draw_masks import DrawMasks
    from ml_pipes.vision.filters import FilterTensorsByBoxArea, FilterTensorsByClasses
    from ml_pipes.vision.labels import LabelMap
    from ml_pipes.vision.log import LogDetections
    from ml_pipes.vision.masks import (
        FilterTensorsByMasksArea,
        MasksToBoxes,
        MeanMaskScores,
        ReconstructMasks,
        ResizeMasks,
        WeightMasksByScores,
        mask_areas,
        masks_to_boxes,
        mean_mask_scores,
        reconstruct_masks,
        resize_masks,
        weight_masks,
    )
    from ml_pipes.vision.merge import NMM, box_overlaps, merge_boxes
    from ml_pipes.vision.nms import NMS, nms
    from ml_pipes.vision.project_masks import ProjectMasks, ProjectRoIMasks, project_masks, project_roi_masks
    from ml_pipes.vision.resize import Resize
    from ml_pipes.vision.save import SaveImage
    from ml_pipes.vision.stitch_maps import StitchMaps, stitch_maps
    from ml_pipes.vision.tiling import Stitch, Tile, TileRect, tile_rects
    from ml_pipes.vision.types import ImagePayload, ResizeTransform
    from ml_pipes.vision.yolo import Candidates, DecodeYOLO, decode_yolo
except ImportError as missing:
    if missing.name not in {"numpy", "cv2"}:
        raise
    raise ImportError(
        'ml_pipes.vision needs numpy and opencv; install them with: pip install "ml-pipes[vision]"',
        name=missing.name,
    ) from missing

__all__ = [
    "NMM",
    "NMS",
    "BlendImages",
    "Candidates",
    "ClampDensity",
    "ConvertBoxFormat",
    "ConvertColorSpace",
    "Decode",
    "DecodeCenterFace",
    "DecodeYOLO",
    "DensityToHeatmap",
    "DrawBoxes",
    "DrawDensityOverlay",
    "DrawMasks",
    "Faces",
    "FilterTensorsByBoxArea",
    "FilterTensorsByClasses",
    "FilterTensorsByMasksArea",
    "FilterTensorsByScore",
    "ImagePayload",
    "LabelMap",
    "LoadFile",
    "LogDetections",
    "MasksToBoxes",
    "MeanMaskScores",
    "Normalize",
    "ProjectBoxes",
    "ProjectDensityMap",
    "ProjectMasks",
    "ProjectPoints",
    "ProjectRoIMasks",
    "ReconstructMasks",
    "Resize",
    "ResizeMasks",
    "ResizeTransform",
    "SaveImage",
    "Stitch",
    "StitchMaps",
    "SumDensity",
    "Tile",
    "TileRect",
    "WeightMasksByScores",
    "box_areas",
    "box_ious",
    "box_overlaps",
    "clamp_density",
    "convert_boxes",
    "decode_centerface",
    "decode_image",
    "decode_yolo",
    "heat_levels",
    "mask_areas",
    "masks_to_boxes",
    "mean_mask_scores",
    "merge_boxes",
    "nms",
    "project_boxes",
    "project_density",
    "project_masks",
    "project_points",
    "project_roi_masks",
    "reconstruct_masks",
    "resize_masks",
    "stitch_maps",
    "tile_rects",
    "weight_masks",
]
