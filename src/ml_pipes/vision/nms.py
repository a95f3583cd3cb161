"""Of boxes that show one thing, the best.

Knows boxes, scores and classes, and what counts. Knows nothing of models and of how
boxes are compared fast.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ml_pipes.errors import MissingNameError
from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_output, takes
from ml_pipes.tensor.select import Indices, ranking
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision._options import check_whole
from ml_pipes.vision._suppress import survivors
from ml_pipes.vision.boxes import finite_corners

__all__ = ["NMS", "nms"]


def nms(
    boxes: Array,
    scores: Array,
    classes: Array,
    conf_threshold: float = 0.25,
    iou_threshold: float = 0.45,
    max_detections: int = 300,
) -> Indices:
    """Find the boxes that stay when each suppresses what it overlaps in its own class.

    Args:
        boxes: ``(N, 4)`` ``xyxy``, any unit and real dtype; computed in float64. N may be 0.
        scores: ``(N,)``. Equal scores rank by index, the lower first.
        classes: ``(N,)``; boxes of different classes do not touch each other.
        conf_threshold: the lowest score that counts; NaN never does.
        iou_threshold: a box goes when it overlaps a better one of its class by this
            much or more. Boxes that do not overlap at all stay, at 0 too.
        max_detections: how many stay at most, over all classes.

    Returns:
        ``(K,)`` int64 indices into the input, best score first. A box that holds NaN,
        is inverted or has no area suppresses none and is suppressed by none; those
        that hold NaN rank last.

    Raises:
        ValueError: the shapes do not belong together, or ``max_detections`` is no number of things.
    """
    check_whole("nms", 0, max_detections=max_detections)
    _check_shapes(boxes, scores, classes)
    candidates = np.flatnonzero(scores >= conf_threshold)
    if candidates.size <= 1:
        return candidates[:max_detections].astype(np.int64, copy=False)
    without, best = candidates[:0], boxes.take(candidates, axis=0)
    if np.isnan(best).any():
        numberless = np.isnan(best).any(axis=1)
        without = candidates[numberless]
        without = without[ranking(scores[without])]
        candidates, best = candidates[~numberless], best[~numberless]
    corners = finite_corners(np.ascontiguousarray(best.T))
    kept = survivors(corners, scores[candidates], classes[candidates], iou_threshold, max_detections)
    return np.concatenate([candidates[kept], without])[:max_detections].astype(np.int64, copy=False)


@Operator
class NMS:
    """Keep the best of boxes that show one thing; see :func:`nms`."""

    def __init__(
        self,
        boxes: str = "boxes",
        scores: str = "scores",
        classes: str = "classes",
        kept_as: str | None = None,
        conf_threshold: float = 0.25,
        iou_threshold: float = 0.45,
        max_detections: int = 300,
        *,
        aligned: Sequence[str] = (),
        class_agnostic: bool = False,
    ) -> None:
        """Configure the step.

        Args:
            boxes: the tensor ``(N, 4)`` ``xyxy``.
            scores: the tensor ``(N,)``.
            classes: the tensor ``(N,)``.
            kept_as: where to write the kept indices, int64; None does not.
            conf_threshold: the lowest score that counts.
            iou_threshold: the overlap, 0 to 1, from which on the lesser box goes.
            max_detections: how many stay at most, over all classes.
            aligned: more tensors with a row per box, such as ``("landmarks",)``, to keep in step.
            class_agnostic: a box suppresses those of other classes too; the classes only go along.

        Raises:
            ValueError: an argument is out of its range, or ``classes`` is None.
            TypeError: ``aligned`` is one name instead of a tuple.
        """
        if classes is None:
            raise ValueError(
                "NMS: classes must name a tensor, got None; zeros of (N,) make all boxes one class: "
                f"{_zeros_step(scores, 'classes')} before it writes them"
            )
        if not 0 <= iou_threshold <= 1:
            raise ValueError(f"NMS: iou_threshold must be 0 to 1, got {iou_threshold}")
        if np.isnan(conf_threshold):
            raise ValueError("NMS: conf_threshold must be a number, got nan")
        check_whole("NMS", 0, max_detections=max_detections)
        if isinstance(aligned, str):
            raise TypeError(f"NMS: aligned must be a tuple of names, got {aligned!r}; write ({aligned!r},)")
        self.boxes = boxes
        self.scores = scores
        self.classes = classes
        self.kept_as = checked_output("NMS", kept_as)
        if kept_as in {boxes, scores, classes, *aligned}:
            raise ValueError(f"NMS: kept_as={kept_as!r} would take the place of a tensor of the boxes")
        self.conf_threshold = conf_threshold
        self.iou_threshold = iou_threshold
        self.max_detections = max_detections
        self.aligned = aligned
        self.class_agnostic = class_agnostic

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry in which boxes, scores, classes and what is aligned hold the kept rows.

        Raises:
            ValueError: the shapes do not belong together.
        """
        boxes, scores = tensors[self.boxes], tensors[self.scores]
        try:
            classes = tensors[self.classes]
        except MissingNameError as missing:
            way_out = f"{_zeros_step(self.scores, self.classes)} before it makes all boxes one class"
            raise MissingNameError(f"NMS: {missing}; {way_out}") from None
        kinds = np.zeros_like(classes) if self.class_agnostic else classes
        kept = nms(boxes, scores, kinds, self.conf_threshold, self.iou_threshold, self.max_detections)
        rows: dict[str, Array] = {}
        for name in (self.boxes, self.scores, self.classes, *self.aligned):
            if len(tensors[name]) != len(scores):
                raise ValueError(
                    f"NMS: aligned tensor {name!r} of shape {tensors[name].shape} does not have "
                    f"a row for each of the {len(scores)} boxes"
                )
            rows[name] = tensors[name][kept]
        if self.kept_as is not None:
            rows[self.kept_as] = kept
        return tensors.replace(**rows)


def _zeros_step(scores: str, classes: str) -> str:
    return f'MapTensor("{scores}", np.zeros_like, as_="{classes}")'


def _check_shapes(boxes: Array, scores: Array, classes: Array) -> None:
    many = boxes.shape[:1]
    if boxes.ndim != 2 or boxes.shape[1] != 4 or scores.shape != many or classes.shape != many:
        raise ValueError(
            "NMS: wanted boxes (N, 4), scores (N,) and classes (N,), "
            f"got {boxes.shape}, {scores.shape} and {classes.shape}"
        )
