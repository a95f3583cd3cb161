"""A whole pipeline, from a JPEG to boxes, against its model alone in the same runtime.

Knows one model and one photograph from installed wheels, and both runtimes. Knows nothing of how steps are
run. The model's classes are numbers here.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import onnxruntime

import ml_pipes.onnx
import ml_pipes.openvino
from bench import plain
from bench.load import Call, Closed, Options
from bench.operators import single_threaded_opencv, spread_ms
from bench.rates import Contender, cpu_ms, interleaved, over, per_s, ranged
from bench.timing import interleave
from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract
from ml_pipes.standard import Pick, Recall, Store
from ml_pipes.vision import NMS, Decode, Normalize, ProjectBoxes, Resize
from ml_pipes.vision.yolo import DecodeYOLO

__all__ = ["end_to_end_rows", "share_rows"]

_SIDE = 320
_CALLERS = 2
_CONF, _IOU, _MOST = 0.05, 0.45, 300
_ORT, _OV = "ONNX Runtime", "OpenVINO f32"
# Of the model alone in the same runtime: the quicker the model, the more the rest counts.
_GOALS = {_ORT: 0.9, _OV: 0.75}


@dataclass(frozen=True)
class _Way(Contender):
    """One row.

    Attributes:
        base: the name of the row that it is compared with, the model alone in the same runtime.
        goal: the share of that which is wanted; None where it is not ours to reach.
    """

    base: str
    goal: float | None = None


def end_to_end_rows(options: Options) -> list[dict[str, Any]]:
    """Photographs per second of two callers, by runtime: the model alone, all of our steps; also by hand."""
    found = _files()
    if found is None:
        return []
    model, photograph = found
    ways: dict[str, _Way] = {}
    for runtime, infer in _models(model).items():
        ways |= _ways(runtime, infer, photograph)
        _check_agreement(_pipeline(infer, Decode())(photograph), _by_hand(model)(photograph))
    ways[f"{_ORT}, bytes to boxes, by hand"] = _Way(_by_hand(model), photograph, _alone(_ORT))
    with single_threaded_opencv():
        blocks = interleaved(
            ways,
            "320n",
            callers=_CALLERS,
            rounds=4 if options.quick else 12,
            block_s=0.5 if options.quick else 1.5,
        )
    return [_row(name, way, blocks) for name, way in ways.items()]


def share_rows(options: Options) -> list[dict[str, Any]]:
    """Milliseconds of CPU of each part of the pipeline, one caller: where the rest goes."""
    found = _files()
    if found is None:
        return []
    model, photograph = found
    parts = _parts(ml_pipes.onnx.Infer(str(model), threads=1))
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


def _models(model: Path) -> dict[str, Call]:
    """In each runtime; of two callers each has one thread."""
    return {
        _ORT: ml_pipes.onnx.Infer(str(model), threads=1),
        _OV: ml_pipes.openvino.Infer(str(model), threads=_CALLERS, sessions=_CALLERS),
    }


def _alone(runtime: str) -> str:
    return f"{runtime}, the model alone"


def _ways(runtime: str, infer: Call, photograph: bytes) -> dict[str, _Way]:
    """The rows of a runtime that are ours."""
    base, goal = _alone(runtime), _GOALS[runtime]
    halved = Decode(at_least=(_SIDE, _SIDE))
    return {
        base: _Way(infer, _tensor(infer, photograph), base),
        f"{runtime}, bytes to boxes": _Way(_pipeline(infer, Decode()), photograph, base, goal),
        f"{runtime}, the same, decoded at half size": _Way(_pipeline(infer, halved), photograph, base, goal),
    }


def _parts(infer: Call) -> dict[str, list[Any]]:
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


def _pipeline(infer: Call, decode: Decode) -> Pipeline[Any, Any]:
    """All parts in one list, with the way back to the photograph."""
    _, letterbox, *others = _parts(infer).values()
    steps = [decode, *letterbox, Store("transform", source="1")]
    for part in others:
        steps += part
    return Pipeline([*steps, Recall("transform"), ProjectBoxes()])


def _tensor(infer: Call, photograph: bytes) -> Any:
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


def _row(name: str, way: _Way, blocks: dict[str, list[Closed]]) -> dict[str, Any]:
    mine, alone = ([per_s(block) for block in blocks[key]] for key in (name, way.base))
    share, spread = over(mine, alone)
    return {
        "what": name,
        "per s": statistics.median(mine),
        "blocks": ranged(mine),
        "CPU each, ms": statistics.median(map(cpu_ms, blocks[name])),
        "against": way.base if name != way.base else "",
        "share of that": share,
        "min-max": spread,
        "goal": "" if way.goal is None else f">= {way.goal}",
        "met": "" if way.goal is None else share >= way.goal,
    }
