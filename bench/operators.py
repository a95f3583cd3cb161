"""The steps where a picture's time goes, against what people write by hand.

Knows the sizes of usual models. Knows nothing of real models.
All are timed in one interleaved run, on one thread each, with random pixels and boxes of fixed seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import cv2
import numpy as np

from bench import plain
from bench.timing import Timing, interleave
from ml_pipes.vision import ImagePayload, Normalize, Resize, nms, project_masks, reconstruct_masks
from ml_pipes.vision.yolo import decode_yolo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.load import Options

__all__ = ["operator_rows", "single_threaded_opencv", "spread_ms"]

_SHAPE_HW = (1080, 1920)
_SIDE = 640
_CLASSES = 80


@dataclass(frozen=True)
class _Work:
    """One row: our way, the plain way, and what of the results agrees.

    Attributes:
        name: what is done.
        ours: by our steps.
        plainly: by hand.
        goal_ms: milliseconds of CPU at most.
        same: compares the results, in a word or a number.
    """

    name: str
    ours: Callable[[], Any]
    plainly: Callable[[], Any]
    goal_ms: float
    same: Callable[[Any, Any], str]


def operator_rows(options: Options) -> list[dict[str, Any]]:
    """Milliseconds of CPU of each work, by our steps and by hand."""
    works = [
        _letterbox("float32", 1.63),
        _letterbox("float16", 1.9),
        _head(),
        _suppression_of_one_class("300 heaps of 84 boxes", _heaps()),
        _suppression_of_one_class("boxes anywhere", _anywhere()),
        _suppression_of_many_classes(),
        _masks(),
    ]
    candidates: dict[str, Callable[[], object]] = {}
    for work in works:
        candidates |= {f"{work.name}, ours": work.ours, f"{work.name}, plainly": work.plainly}
    with single_threaded_opencv():
        agreements = [work.same(work.ours(), work.plainly()) for work in works]
        timings = interleave(candidates, rounds=7 if options.quick else 31)
    return [
        _row(work, same, timings[f"{work.name}, ours"], timings[f"{work.name}, plainly"])
        for work, same in zip(works, agreements, strict=True)
    ]


@contextmanager
def single_threaded_opencv() -> Iterator[None]:
    """OpenCV without threads of its own, whose CPU time would not be seen."""
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)


def spread_ms(timing: Timing) -> str:
    """The 10th and 90th percentiles, milliseconds."""
    deciles = statistics.quantiles(timing.samples_s, n=10)
    return f"{deciles[0] * 1e3:.2f}-{deciles[-1] * 1e3:.2f}"


def _row(work: _Work, same: str, ours: Timing, plainly: Timing) -> dict[str, Any]:
    ratio, low, high = plainly.over(ours)
    return {
        "work": work.name,
        "ours, ms": ours.median_s * 1e3,
        "p10-p90": spread_ms(ours),
        "by hand, ms": plainly.median_s * 1e3,
        "its p10-p90": spread_ms(plainly),
        "by hand / ours": ratio,
        "of that p10-p90": f"{low:.1f}-{high:.1f}",
        "results": same,
        "goal, ms": work.goal_ms,
        "met": ours.median_s * 1e3 <= work.goal_ms,
    }


def _letterbox(dtype: Literal["float32", "float16"], goal_ms: float) -> _Work:
    pixels = np.random.default_rng(0).integers(0, 256, (*_SHAPE_HW, 3), np.uint8)
    picture = ImagePayload(pixels, "BGR")
    resize, normalise = Resize((_SIDE, _SIDE)), Normalize(dtype=dtype)

    def difference(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> str:
        off = np.abs(ours.astype(np.float64) - theirs).max() * 255
        return f"within {off:.0e} of a grey level" if off else "equal"

    return _Work(
        f"letterbox + normalise, 1080p to {_SIDE}, {dtype}",
        lambda: normalise(resize(picture)[0]).array,
        lambda: plain.normalize(plain.letterbox(pixels, _SIDE)[0], dtype),
        goal_ms,
        difference,
    )


def _head() -> _Work:
    """100 candidates among 8,400 of an input of 640 x 640."""
    rng = np.random.default_rng(1)
    output = rng.random((1, 4 + _CLASSES, 8400), np.float32) * 0.2
    output[0, :4] *= 5 * _SIDE
    output[0, 4 + rng.integers(0, _CLASSES, 100), rng.choice(8400, 100, replace=False)] = 0.9
    return _Work(
        "YOLO head, (1, 84, 8400)",
        lambda: decode_yolo(output, 0.25)[:3],
        lambda: plain.decode_head(output, 0.25),
        0.4,
        _candidates_agree,
    )


def _suppression_of_one_class(title: str, boxes: np.ndarray[Any, Any]) -> _Work:
    scores = np.random.default_rng(2).permutation(np.linspace(0.3, 1, len(boxes), dtype=np.float32))
    classes = np.zeros(len(boxes), np.int64)
    return _Work(
        f"NMS, {len(boxes):,} boxes of 1 class, 300 kept, {title}",
        lambda: nms(boxes, scores, classes, 0.25, 0.45, 300),
        lambda: plain.suppress(boxes, scores, classes, 0.45, 300),
        5.0,
        _same_kept,
    )


def _heaps() -> np.ndarray[Any, Any]:
    """84 boxes around each of 300 things that do not overlap."""
    rng = np.random.default_rng(3)
    things = np.stack(np.meshgrid(np.arange(20), np.arange(15)), axis=-1).reshape(-1, 1, 2) * 64.0
    corners = things + rng.uniform(0, 4, (300, 84, 2))
    sizes = rng.uniform(36, 40, (300, 84, 2))
    boxes = np.concatenate([corners, corners + sizes], axis=-1).reshape(-1, 4)
    return rng.permutation(boxes).astype(np.float32)


def _anywhere() -> np.ndarray[Any, Any]:
    """25,200 boxes of all sizes in 640 x 640; the 300 best that stay are wanted."""
    rng = np.random.default_rng(4)
    corners = rng.uniform(0, _SIDE - 64, (25200, 2))
    return np.concatenate([corners, corners + rng.uniform(8, 64, (25200, 2))], axis=1).astype(np.float32)


def _suppression_of_many_classes() -> _Work:
    """105 boxes of each class, on a grid on which neighbours overlap a little."""
    rng = np.random.default_rng(5)
    cells = np.stack(np.meshgrid(np.arange(11), np.arange(10)), axis=-1).reshape(-1, 2)[:105] * 58.0
    corners = (cells + rng.uniform(0, 2, (_CLASSES, 105, 2))).reshape(-1, 2)
    boxes = np.concatenate([corners, corners + 64], axis=1).astype(np.float32)
    classes = np.repeat(np.arange(_CLASSES), 105)
    order = rng.permutation(len(boxes))
    boxes, classes = boxes[order], classes[order]
    scores = rng.permutation(np.linspace(0.3, 1, len(boxes), dtype=np.float32))
    return _Work(
        "NMS, 8,400 boxes of 80 classes, all kept",
        lambda: nms(boxes, scores, classes, 0.25, 0.45, len(boxes)),
        lambda: plain.suppress(boxes, scores, classes, 0.45, len(boxes)),
        4.7,
        _same_kept,
    )


def _masks() -> _Work:
    """20 instances of a 640 x 640 input, 32 smooth prototypes of 160 x 160."""
    rng = np.random.default_rng(6)
    noise = rng.standard_normal((32, 160, 160)).astype(np.float32)
    prototypes = np.stack([cv2.GaussianBlur(one, (0, 0), 6) for one in noise]) * 10
    coefficients = rng.standard_normal((20, 32)).astype(np.float32)
    corners = rng.uniform([0, 0], [1300, 600], (20, 2))
    sizes = rng.uniform([200, 200], [600, 480], (20, 2))
    boxes = np.concatenate([corners, corners + sizes], axis=1).round().astype(np.float32)
    _, transform = Resize((_SIDE, _SIDE))(ImagePayload(np.zeros((*_SHAPE_HW, 3), np.uint8), "BGR"))

    def overlap(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> str:
        both, either = (ours & theirs).sum((1, 2)), (ours | theirs).sum((1, 2))
        return f"least IoU {(both / either).min():.4f}"

    return _Work(
        "20 masks of 32 prototypes, 640 to 1080p",
        lambda: project_masks(reconstruct_masks(coefficients, prototypes), boxes, transform, 0.0),
        lambda: plain.project_masks(coefficients, prototypes, boxes, _SHAPE_HW, _SIDE),
        30.0,
        overlap,
    )


def _candidates_agree(ours: Any, theirs: Any) -> str:
    """Scores and classes to the bit; of the boxes the far corner, which is rounded once more or less."""
    alike = all(np.array_equal(one, other) for one, other in zip(ours[1:], theirs[1:], strict=True))
    off_px = np.abs(ours[0] - theirs[0]).max()
    return f"{len(ours[0])} candidates, {'equal' if alike else 'DIFFERENT'}, boxes within {off_px:.0e} px"


def _same_kept(ours: Any, theirs: Any) -> str:
    return f"{len(ours)} kept, {'equal' if np.array_equal(ours, theirs) else 'DIFFERENT'}"
