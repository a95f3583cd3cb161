"""The output of a YOLO detection head to boxes, scores and classes.

Knows what that output means by its numbers. Knows nothing of how it is run, or of suppression.

Nearly all candidates are background: the largest score of each is found first, in one pass
over the array as it lies, and only those that reach the threshold are looked at again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ml_pipes.operator import Operator
from ml_pipes.tensor._names import checked_output, takes
from ml_pipes.tensor.types import Array, TensorRegistry
from ml_pipes.vision._options import check_whole
from ml_pipes.vision.boxes import convert_boxes

__all__ = ["Candidates", "DecodeYOLO", "decode_yolo"]

_BOX = 4


class Candidates(NamedTuple):
    """Boxes of one picture before suppression, in the order of the head, in pixels of the net's input.

    Attributes:
        boxes: ``(N, 4)`` ``xyxy``, float32 or wider.
        scores: ``(N,)``, the largest score of each over the classes, of the same dtype.
        classes: ``(N,)`` int64, which class that is; the first of equals.
        rest: ``(N, R)``, what follows the classes, such as mask coefficients; R may be 0.
    """

    boxes: Array
    scores: Array
    classes: npt.NDArray[np.int64]
    rest: Array


def decode_yolo(output: Array, conf_threshold: float = 0.25, num_classes: int | None = None) -> Candidates:
    """Turn the output of a YOLO head without objectness (YOLOv8 and later) into candidates.

    Each column is a candidate: centre x, centre y, width, height, then a score per class, already
    between 0 and 1 (Ultralytics' export of the head "Detect": boxes decoded, sigmoid applied).

    Args:
        output: ``(1, 4 + C + R, A)`` or ``(4 + C + R, A)``, any real dtype; boxes in pixels of the
            net's input; A may be 0.
        conf_threshold: the lowest score that makes a candidate. NaN never does.
        num_classes: C, where rows follow the classes; None when all rows after the box are classes.

    Returns:
        The candidates; empty arrays of the same dtypes when there are none. float16 and integers
        give float32, or float64 where float32 could not hold them.

    Raises:
        ValueError: the output is of more than one picture, or has too few rows.
    """
    rows = _rows_of_one(output, num_classes)
    ends = len(rows) if num_classes is None else _BOX + num_classes
    table = rows[_BOX:ends]
    # NaN in a comparison is no fault here: it is above nothing.
    with np.errstate(invalid="ignore"):
        kept = np.flatnonzero(table.max(axis=0) >= conf_threshold)
    found = rows[:, kept].T.astype(np.result_type(rows.dtype, np.float32))
    scores = found[:, _BOX:ends]
    classes = scores.argmax(axis=1).astype(np.int64, copy=False)
    boxes = convert_boxes(found[:, :_BOX], "cxcywh")
    return Candidates(boxes, scores[np.arange(len(kept)), classes], classes, found[:, ends:].copy())


@Operator
class DecodeYOLO:
    """Turn a YOLO head's output, by name in a registry, into candidates; see :func:`decode_yolo`.

    ``NMS`` follows, and ``ProjectBoxes`` brings the boxes back to the photograph.
    """

    def __init__(
        self,
        src: str = "output0",
        conf_threshold: float = 0.25,
        *,
        num_classes: int | None = None,
        rest_as: str | None = None,
    ) -> None:
        """Configure the step.

        Args:
            src: the tensor ``(1, 4 + C + R, A)``.
            conf_threshold: the lowest score that makes a candidate.
            num_classes: C, where rows follow the classes; None when all rows after the box are classes.
            rest_as: where to write those rows, ``(N, R)``, such as the mask coefficients.

        Raises:
            ValueError: ``conf_threshold`` is NaN, ``num_classes`` is below 1, or ``rest_as`` is
                there without ``num_classes`` or is the name of another result.
        """
        if np.isnan(conf_threshold):
            raise ValueError("DecodeYOLO: conf_threshold must be a number, got nan")
        if num_classes is not None:
            check_whole("DecodeYOLO", 1, num_classes=num_classes)
        if rest_as is not None and num_classes is None:
            raise ValueError(
                f"DecodeYOLO: rest_as={rest_as!r} needs num_classes, to know where the classes end"
            )
        self.src = src
        self.conf_threshold = conf_threshold
        self.num_classes = num_classes
        self.rest_as = rest_as
        checked_output("DecodeYOLO", rest_as, "boxes", "scores", "classes")

    @takes(TensorRegistry)
    def __call__(self, tensors: TensorRegistry) -> TensorRegistry:
        """Give a registry with ``boxes``, ``scores`` and ``classes`` of the candidates.

        Raises:
            ValueError: the output is of more than one picture, or has too few rows.
        """
        found = decode_yolo(tensors[self.src], self.conf_threshold, self.num_classes)
        rest = {} if self.rest_as is None else {self.rest_as: found.rest}
        return tensors.replace(boxes=found.boxes, scores=found.scores, classes=found.classes, **rest)


def _rows_of_one(output: Array, num_classes: int | None) -> Array:
    """Give the output without its batch axis; ValueError when it is not of one picture and its classes."""
    rows = output[0] if output.ndim == 3 and len(output) == 1 else output
    fewest = _BOX + (num_classes or 1)
    if rows.ndim != 2 or len(rows) < fewest:  # rows and candidates
        raise ValueError(
            f"DecodeYOLO: wanted the output of one picture, (1, {fewest} or more, candidates), "
            f"got {output.shape}; a batch goes through Distribute() and UnBatch() first"
        )
    return rows
