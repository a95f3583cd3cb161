"""Detections as text, for who reads along or reads later.

Knows boxes, scores and classes. Knows nothing of pixels.
"""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any, TextIO

from ml_pipes.operator import Operator
from ml_pipes.standard.effects import SideEffectOp
from ml_pipes.tensor.types import TensorRegistry
from ml_pipes.vision._palette import checked_class_names, class_numbers, name_of
from ml_pipes.vision.labels import ClassNames

__all__ = ["LogDetections"]


@Operator
class LogDetections(SideEffectOp[Any]):
    """Write the detections as one JSON object and pass the value on.

    The object holds ``model``, ``image``, ``annotated_image`` and ``detections``, a list of
    objects with ``box``, ``score`` and ``class_id``. What is NaN or infinite is ``null``, since
    JSON has no word for it. It is written in one piece, so that those of several threads do not mix.
    """

    def __init__(
        self,
        model_path: str | Path,
        image_path: str | Path,
        annotated_image_path: str | Path,
        boxes: str = "boxes",
        scores: str = "scores",
        classes: str = "classes",
        *,
        indent: int | None = 2,
        stream: TextIO | None = None,
        at: int | None = None,
        class_names: ClassNames | None = None,
    ) -> None:
        """Configure the step.

        Args:
            model_path: the model that found them, as it shall be written.
            image_path: the picture they were found in.
            annotated_image_path: the picture they are drawn in.
            boxes: the tensor ``(N, 4)``.
            scores: the tensor ``(N,)``.
            classes: the tensor ``(N,)`` of class numbers.
            indent: spaces per level; None writes all on one line.
            stream: where to write; None is what ``sys.stdout`` is at the time of the call.
            at: where the registry is in a tuple; None takes the value itself.
            class_names: a list of names, or a mapping from class number to name such as a
                ``LabelMap``; adds ``class_name``, ``null`` for a number without a name.

        Raises:
            ValueError: ``indent`` is below 0.
            TypeError: ``class_names`` is neither a list nor a mapping.
        """
        if indent is not None and indent < 0:
            raise ValueError(f"LogDetections: indent must be 0 or more, or None for one line, got {indent}")
        self.model_path = model_path
        self.image_path = image_path
        self.annotated_image_path = annotated_image_path
        self.boxes = boxes
        self.scores = scores
        self.classes = classes
        self.indent = indent
        self.stream = stream
        self.at = at
        self.class_names = checked_class_names("LogDetections", class_names, classes)

    def effect(self, payload: Any) -> None:  # any value that holds a registry
        """Write the object and a line's end.

        Raises:
            TypeError: there is no registry in the value.
            ValueError: there is not a score and a class per box.
        """
        record = {
            "model": str(self.model_path),
            "image": str(self.image_path),
            "annotated_image": str(self.annotated_image_path),
            "detections": self._detections(self._registry_of(payload)),
        }
        text = json.dumps(record, indent=self.indent, allow_nan=False)
        stream = sys.stdout if self.stream is None else self.stream
        # A program without a console has no stdout, and print() keeps silent too.
        if stream is not None:
            stream.write(f"{text}\n")

    def _registry_of(self, payload: Any) -> TensorRegistry:  # any value that holds a registry
        try:
            registry = payload if self.at is None else payload[self.at]
        except (IndexError, TypeError, KeyError):
            raise TypeError(
                f"LogDetections: at={self.at} wants a tuple with a registry there, got a "
                f"{type(payload).__name__}{f' of {len(payload)}' if isinstance(payload, tuple) else ''}"
            ) from None
        if not isinstance(registry, TensorRegistry):
            way_out = "; at= says where it is in a tuple" if isinstance(registry, tuple) else ""
            raise TypeError(f"LogDetections: wanted a TensorRegistry, got {type(registry).__name__}{way_out}")
        return registry

    def _detections(self, registry: TensorRegistry) -> list[dict[str, Any]]:
        boxes, scores, classes = (registry[name] for name in (self.boxes, self.scores, self.classes))
        many = scores.shape[:1]
        if scores.shape != many or boxes.shape != (*many, 4) or classes.shape != many:
            raise ValueError(
                "LogDetections: wanted boxes (N, 4), scores (N,) and classes (N,), "
                f"got {boxes.shape}, {scores.shape} and {classes.shape}"
            )
        found: list[dict[str, Any]] = [
            {"box": [_number(side) for side in box], "score": _number(score), "class_id": number}
            for box, score, number in zip(
                boxes.tolist(), scores.tolist(), class_numbers(classes), strict=True
            )
        ]
        if self.class_names is not None:
            for one in found:
                number = one["class_id"]
                one["class_name"] = None if number is None else name_of(self.class_names, number)
        return found


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
