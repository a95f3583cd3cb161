"""A whole pipeline, from a JPEG to boxes, against its model alone.

Knows one model and one photograph from installed wheels. Knows nothing of how steps are run.
The model's classes are numbers here.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime

from bench import plain
from bench.load import Call, Closed, Options, closed_block, shown
from bench.operators import single_threaded_opencv, spread_ms
from bench.timing import interleave
from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract, Infer
from ml_pipes.standard import Pick, Recall, Store
from ml_pipes.vision import NMS, Decode, Normalize, ProjectBoxes, Resize
from ml_pipes.vision.yolo import DecodeYOLO

__all__ = ["end_to_end_rows", "share_rows"]

_SIDE = 320
_CALLERS = 2
_CONF, _IOU, _MOST = 0.05, 0.45, 300
_GOAL = 0.9
_ALONE, _OURS = "the model alone", "bytes to boxes, our steps"
_REDUCED = "the same, decoded at half size"


def end_to_end_rows(options: Options) -> list[dict[str, Any]]:
    """Photographs per second of two callers: the model alone, all of our steps, the same by hand."""
    found = _files()
    if found is None:
        return []
    model, photograph = found
    infer = Infer(str(model), threads=1)
    calls: dict[str, tuple[Call, Any]] = {
        _ALONE: (infer, _tensor(infer, photograph)),
        _OURS: (_pipeline(infer, Decode()), photograph),
        _REDUCED: (_pipeline(infer, Decode(at_least=(_SIDE, _SIDE))), photograph),
        "bytes to boxes, by hand": (_by_hand(model), photograph),
    }
    _check_agreement(_pipeline(infer, Decode())(photograph), _by_hand(model)(photograph))
    blocks: dict[str, list[Closed]] = {name: [] for name in calls}
    order = random.Random(0)
    with single_threaded_opencv():
        for _ in shown(range(4 if options.quick else 12), "320n"):
            for name in order.sample(list(calls), len(calls)):
                call, item = calls[name]
                length_s = 0.5 if options.quick else 1.5
                blocks[name].append(closed_block(call, [item] * _CALLERS, warm_s=0.2, block_s=length_s))
    return [_row(name, blocks) for name in calls]


def share_rows(options: Options) -> list[dict[str, Any]]:
    """Milliseconds of CPU of each part of the pipeline, one caller: where the rest goes."""
    found = _files()
    if found is None:
        return []
    model, photograph = found
    parts = _parts(Infer(str(model), threads=1))
    value: Any = photograph
    candidates = {}
    for name, steps in parts.items():
        part: Pipeline[Any, Any] = Pipeline(steps)
        candidates[name] = _bound(part, value)
        value = part(value)
    with single_threaded_opencv():
        timings = interleave(candidates, rounds=7 if options.quick else 31, round_s=0.02)
    whole_s = sum(timing.median_s for timing in timings.values())
    return [
        {
            "part": name,
            "CPU, ms": timing.median_s * 1e3,
            "p10-p90": spread_ms(timing),
            "share": timing.median_s / whole_s,
        }
        for name, timing in timings.items()
    ]


def _bound(call: Call, value: Any) -> Any:
    return lambda: call(value)


def _files() -> tuple[Path, bytes] | None:
    """The model and the photograph; None, with a line that says so, where one is not installed."""
    try:
        model = Path(str(distribution("nudenet").locate_file("nudenet/320n.onnx")))
        photograph = Path(str(distribution("ultralytics").locate_file("ultralytics/assets/bus.jpg")))
    except PackageNotFoundError as missing:
        print(f"320n on bus.jpg is left out: {missing.name} is not installed; see assets-tests.txt")
        return None
    return model, photograph.read_bytes()


def _parts(infer: Infer) -> dict[str, list[Any]]:
    """The steps, part by part; each goes on with what the one before it gave."""
    return {
        "decode the JPEG": [Decode()],
        "letterbox": [Resize((_SIDE, _SIDE), pad_value=0, center=False)],
        "normalise": [Pick(0), Normalize(output_color_space="BGR")],
        "infer": [infer],
        "head and suppression": [
            Extract("output0"),
            DecodeYOLO(conf_threshold=_CONF),
            NMS(conf_threshold=_CONF, iou_threshold=_IOU, max_detections=_MOST, class_agnostic=True),
        ],
    }


def _pipeline(infer: Infer, decode: Decode) -> Pipeline[Any, Any]:
    """All parts in one list, with the way back to the photograph."""
    _, letterbox, *others = _parts(infer).values()
    steps = [decode, *letterbox, Store("transform", source="1")]
    for part in others:
        steps += part
    return Pipeline([*steps, Recall("transform"), ProjectBoxes()])


def _tensor(infer: Infer, photograph: bytes) -> Any:
    """What the model gets."""
    decode, letterbox, normalise, *_ = _parts(infer).values()
    before: Pipeline[Any, Any] = Pipeline([*decode, *letterbox, *normalise])
    return before(photograph)


def _by_hand(model: Path) -> Callable[[bytes], tuple[Any, Any, Any]]:
    """The same without ml-pipes: OpenCV, NumPy, ONNX Runtime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    given = session.get_inputs()[0].name

    def detect(photograph: bytes) -> tuple[Any, Any, Any]:
        pixels = cv2.imdecode(np.frombuffer(photograph, np.uint8), cv2.IMREAD_COLOR)
        assert pixels is not None
        padded, scale, left, top = plain.letterbox(pixels, _SIDE, 0, center=False)
        output = session.run(None, {given: plain.normalize(padded, swap=False)})[0]
        boxes, scores, classes = plain.decode_head(output, _CONF)
        kept = plain.suppress(boxes, scores, np.zeros_like(classes), _IOU, _MOST)
        height, width = pixels.shape[:2]
        projected = (boxes[kept] - [left, top, left, top]) / scale
        return np.clip(projected, 0, [width, height, width, height]), scores[kept], classes[kept]

    return detect


def _check_agreement(ours: Any, theirs: tuple[Any, Any, Any]) -> None:
    boxes, scores, classes = theirs
    assert ours["classes"].tolist() == classes.tolist()
    np.testing.assert_allclose(ours["scores"], scores, atol=1e-4)
    np.testing.assert_allclose(ours["boxes"], boxes, atol=0.1)


def _row(name: str, blocks: dict[str, list[Closed]]) -> dict[str, Any]:
    mine, alone = ([_per_s(block) for block in blocks[key]] for key in (name, _ALONE))
    shares = [one / other for one, other in zip(mine, alone, strict=True)]
    share, judged = statistics.median(shares), name in (_OURS, _REDUCED)
    return {
        "what": name,
        "per s": statistics.median(mine),
        "blocks": f"{min(mine):.1f}-{max(mine):.1f}",
        "CPU each, ms": statistics.median(block.cpu_s / len(block.calls) for block in blocks[name]) * 1e3,
        "share of the model alone": share,
        "of that min-max": f"{min(shares):.2f}-{max(shares):.2f}",
        "goal": f">= {_GOAL}" if judged else "",
        "met": share >= _GOAL if judged else "",
    }


def _per_s(block: Closed) -> float:
    return len(block.calls) / (block.until - block.since)
