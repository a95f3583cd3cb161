"""The other levers, one after the other, on the same model: what each changes, and what it does not.

``serialize=``, ``policy=``, ``key=``, ``max_waiting=``, ``on_error=``, ``call(deadline=)`` and ``stats()``.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Event
from typing import Any

import numpy as np
from photographs import (
    after_model,
    at_once,
    before_model,
    check_same,
    open_model,
    photographs,
    report,
    serial_pipeline,
)

from ml_pipes.core import Pipeline
from ml_pipes.errors import DeadlineExceeded, QueueFull
from ml_pipes.onnx import Distribute, Infer
from ml_pipes.standard import Batch, Gather, Pick, Scatter, Store, UnBatch
from ml_pipes.stats import PipelineStats
from ml_pipes.tensor import Collate, TensorPayload
from ml_pipes.vision import Decode, ImagePayload, Normalize, Resize

__all__ = ["main"]


def serialize(files: list[bytes], serial: list[Any]) -> None:
    """Four threads prepare, one at a time runs the model; the results are the same."""
    model = open_model(serialize=True)
    pipeline = Pipeline([Scatter(4), Decode(), *before_model(), model, *after_model(), Gather()])
    print("serialize=True: four threads, one at a time in the model")
    check_same(serial, pipeline(files))


def policies(model: Infer, files: list[bytes], serial: list[Any]) -> None:
    """The same callers under each policy: other batches, the same results."""
    batches: list[Batch[Any]] = [Batch(4), Batch(4, policy="greedy"), Batch(4, policy="full")]
    for batch in batches:
        pipeline = Pipeline([Decode(), *before_model(), batch, *_rest(model), *after_model()])
        print(f"policy={batch.policy!r}: six callers at once")
        check_same(serial[:6], at_once(pipeline, files[:6]))
        report(pipeline)


def keys(model: Infer, files: list[bytes]) -> PipelineStats:
    """Pictures keep their shapes, and those of one shape share a batch: that is what ``key=None`` does."""
    sized: list[Any] = [Resize(None, mode="resize", multiple_of=32), Store("transform", source=1), Pick(0)]
    steps = [Decode(), *sized, Normalize(scale=1.0)]
    alone = [Pipeline([*steps, model, *after_model()])(data) for data in files[:6]]
    print("key=None: only pictures of one shape share a batch")
    with Pipeline([*steps, Batch(2, timeout=5.0, policy="full"), *_rest(model), *after_model()]) as pipeline:
        check_same(alone, at_once(pipeline, files[:6]))
        report(pipeline)
        return pipeline.stats()


def refusals(model: Infer, files: list[bytes], serial: list[Any]) -> PipelineStats:
    """While the model is stuck, who is late leaves, and who finds the room full is refused."""
    began, go_on = Event(), Event()

    def stuck(tensors: list[TensorPayload]) -> list[TensorPayload]:
        began.set()
        go_on.wait()
        return tensors

    room: Batch[Any] = Batch(2, policy="greedy", max_waiting=2)
    pipeline = Pipeline([Decode(), *before_model(), room, stuck, *_rest(model), *after_model()])
    print("call(deadline=0.2) and max_waiting=2, while one caller runs")
    with ThreadPoolExecutor(3) as pool:
        served = [pool.submit(pipeline, files[0])]
        began.wait()
        try:
            print(f"  {_error(DeadlineExceeded, partial(pipeline.call, files[3], deadline=0.2))}")
            served += [pool.submit(pipeline, data) for data in files[1:3]]
            while pipeline.stats()["5:Batch"].waiting < 2:
                go_on.wait(0.001)
            print(f"  {_error(QueueFull, partial(pipeline, files[3]))}")
        finally:
            go_on.set()
        check_same(serial[:3], [call.result() for call in served])
    report(pipeline)
    return pipeline.stats()


def isolation(model: Infer, files: list[bytes], serial: list[Any]) -> None:
    """A step of the body refuses one item: with ``"isolate"`` only its caller learns of it."""

    def light_enough(tensors: list[TensorPayload]) -> list[TensorPayload]:
        if any(tensor.array.max() == 0 for tensor in tensors):
            raise ValueError("a picture is black")
        return tensors

    batch: Batch[Any] = Batch(4, policy="full", on_error="isolate")
    pipeline = Pipeline([*_prepared_or_black(), batch, light_enough, *_rest(model), *after_model()])
    print("on_error='isolate': one of four callers brings a black picture")
    with ThreadPoolExecutor(4) as pool:
        calls: list[Future[Any]] = [pool.submit(pipeline, data) for data in [*files[:3], None]]
        check_same(serial[:3], [call.result() for call in calls[:3]])
        print(f"  its caller: {_error(ValueError, calls[3].result)}")


def main() -> dict[str, PipelineStats]:
    """Each lever in turn; ``stats()`` is printed last, as it shows itself."""
    model, files = open_model(), photographs(8)
    serial = [serial_pipeline(model)(data) for data in files]
    serialize(files, serial)
    policies(model, files, serial)
    shapes = keys(model, files)
    isolation(model, files, serial)
    refused = refusals(model, files, serial)
    print("print(pipeline.stats()):")
    print(refused)
    return {"keys": shapes, "refusals": refused}


def _rest(model: Infer) -> list[Any]:
    return [Collate(), model, Distribute(), UnBatch()]


def _prepared_or_black() -> list[Any]:
    """Decode a file; a black picture where there is none."""
    decode = Decode()
    black = ImagePayload(np.zeros((320, 320, 3), np.uint8))
    return [lambda data: black if data is None else decode(data), *before_model()]


def _error(kind: type[Exception], call: Callable[[], Any]) -> str:
    """What the call raises, which is wanted."""
    try:
        call()
    except kind as error:
        return f"{kind.__name__}: {error}"
    raise AssertionError(f"{kind.__name__} was expected")


if __name__ == "__main__":
    main()
