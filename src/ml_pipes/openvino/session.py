"""A model compiled by OpenVINO: opened with clear errors, its names and types read once.

Knows OpenVINO. Knows nothing of payloads, operators or pipelines.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import numpy as np
import numpy.typing as npt

from ml_pipes._runtimes.axes import ROWS, Axes, check_axes
from ml_pipes._runtimes.cpu import ThreadLease, leased
from ml_pipes._runtimes.forks import forks, protect
from ml_pipes._runtimes.ports import Port, known_shape
from ml_pipes._runtimes.source import Shape, Source, check_source, declared_shapes, source_name
from ml_pipes.errors import ModelBatchError, ModelError, ModelFileError
from ml_pipes.openvino.device import (
    check_device,
    check_refusal,
    cpu_properties,
    said,
    version,
    with_config,
)
from ml_pipes.openvino.signals import signal_stack_kept
from ml_pipes.openvino.silent import ov

__all__ = ["ModelSession"]

Array = npt.NDArray[Any]

_DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "boolean": "bool",
    **{f"i{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
}
# OpenVINO's ONNX reader calls an output's node by the output's name and this.
_SINK = "/sink_port_0"


class ModelSession:
    """A model that can be run from any number of threads.

    Each call has a request of its own for as long as it runs; requests are kept
    for the calls to come. As many calls as there are ``streams`` are computed at
    once, the others wait for their turn inside OpenVINO.

    Attributes:
        inputs: what it takes, in order.
        outputs: what it gives, in order.
        declared: the sides of both as the file has them, before any was freed.
        precision: the type that floats are computed in, as the device says: ``f32``, ``bf16``, ``f16``;
            ``unknown`` where it does not say.
        threads: those of all streams together.
    """

    @signal_stack_kept()
    def __init__(
        self,
        source: Source,
        device: str,
        threads: int | None,
        streams: int,
        precision: str | None,
        axes: Axes | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """Open the model.

        Args:
            source: its file or bytes.
            device: such as ``CPU``; ``threads`` and ``streams`` are only for that one.
            threads: None for what the process's other models have left, at least one per stream.
            streams: how many calls are computed at once.
            precision: ``f32``, ``f16``, ``bf16``; None leaves the device's default.
            axes: the sides to free.
            config: further properties of the device, by OpenVINO's names.

        Raises:
            ModelFileError: it is missing, empty or not a model.
            ModelProviderError: the device is not there, or does not take a property.
            ModelBatchError: a step inside needs a side that was to be freed.
            ModelError: an input or output is of a type that NumPy does not have, or text.
            ValueError: a name or an axis is not the model's, or a property is what an argument says.
        """
        check_source(source, "Infer")
        core = ov.Core()
        check_device(core, device)
        model, name, declared = _read(core, source), source_name(source), declared_shapes(source)
        self.declared = _shapes_of(model)
        self.metadata = _metadata_of(model)
        if axes is not None:
            declared = _free(model, axes, name, {**self.declared, **declared})
        self.inputs = tuple(_port(port, name, declared) for port in model.inputs)
        self.outputs = tuple(_port(port, name, declared) for port in model.outputs)
        on_cpu = device.partition(".")[0] == "CPU"
        self._lease = leased(threads, streams) if on_cpu else ThreadLease(1)
        self._streams = streams
        self._made_after = forks()
        properties = cpu_properties(self._lease.threads, streams) if on_cpu else {}
        if precision is not None:
            properties["INFERENCE_PRECISION_HINT"] = precision
        self._compiled = _compiled(core, model, device, with_config(properties, config or {}), name)
        protect(self._compiled)
        self._requests: list[Any] = []
        self.precision = _precision_of(self._compiled)

    @property
    def threads(self) -> int:
        """Those of all streams together."""
        return self._lease.threads

    @property
    def devices_in_use(self) -> tuple[str, ...]:
        """Where OpenVINO computes now, as it says; a device that chooses among others may change its mind."""
        try:
            devices = self._compiled.get_property("EXECUTION_DEVICES")
        except Exception:  # noqa: BLE001 # a device need not say it
            return ()
        return (devices,) if isinstance(devices, str) else tuple(devices)

    @property
    def usable(self) -> bool:
        """False in a forked child, where its threads are missing."""
        return self._made_after == forks()

    def run(self, feeds: dict[str, Array]) -> list[Array]:
        """Every output, in order, each a new array."""
        request = self._request()
        given = self._given(request, feeds)
        request.infer()
        del given
        results = self._results(request)
        # A request whose run failed is not put back.
        self._requests.append(request)
        return results

    def run_on_each(self, feeds: dict[str, Array]) -> list[list[Array]]:
        """The outputs of as many requests as there are streams; they start at once, to spread over these."""
        requests = [self._request() for _ in range(self._streams)]
        given = [self._given(request, feeds) for request in requests]
        try:
            for request in requests:
                request.start_async()
            for request in requests:
                request.wait()
        except BaseException:
            # What is given must not go while another request still reads it.
            for request in requests:
                with suppress(Exception):
                    request.wait()
            raise
        results = [self._results(request) for request in requests]
        self._requests += requests
        del given
        return results

    def _given(self, request: Any, feeds: dict[str, Array]) -> list[Array]:
        """The arrays that the request now reads, which must live until its run has ended."""
        arrays = [_readable(feeds[port.name]) for port in self.inputs]
        for at, array in enumerate(arrays):
            request.set_input_tensor(at, ov.Tensor(array, shared_memory=True))
        return arrays

    def _results(self, request: Any) -> list[Array]:
        """Copies: a request writes its next outputs over its last."""
        return [np.array(request.get_output_tensor(at).data) for at in range(len(self.outputs))]

    def _request(self) -> Any:
        try:
            return self._requests.pop()
        except IndexError:
            request = self._compiled.create_infer_request()
            protect(request)
            return request


def _metadata_of(model: Any) -> dict[str, str]:
    """What an ONNX file says of itself; a model of another kind keeps other things there, as texts too."""
    if not model.has_rt_info(["framework"]):
        return {}
    said = model.get_rt_info(["framework"]).value
    return {str(name): str(value) for name, value in said.items()} if isinstance(said, dict) else {}


def _read(core: ov.Core, source: Source) -> ov.Model:
    try:
        return core.read_model(source, b"") if isinstance(source, bytes) else core.read_model(str(source))
    except Exception as error:
        raise _not_a_model(source_name(source), error) from error


def _compiled(
    core: ov.Core, model: ov.Model, device: str, properties: dict[str, Any], name: str
) -> ov.CompiledModel:
    try:
        return core.compile_model(model, device, properties)
    except Exception as error:
        check_refusal(device, properties, said(error), error)
        raise _not_a_model(name, error, f" on {device}") from error


def _not_a_model(name: str, error: Exception, where: str = "") -> ModelFileError:
    return ModelFileError(
        f"Infer: {name} is not a model that OpenVINO {version()} can run{where}: {said(error)}"
    )


def _shapes_of(model: ov.Model) -> dict[str, Shape | None]:
    return {_name_of(port): _sides(port.partial_shape) for port in (*model.inputs, *model.outputs)}


def _free(
    model: ov.Model, axes: Axes, name: str, declared: Mapping[str, Shape | None]
) -> dict[str, Shape | None]:
    """Free sides of the inputs, from which OpenVINO finds those of the outputs; give the sides' new names."""
    before = _shapes_of(model)
    check_axes(axes, before, [_name_of(port) for port in model.inputs], name)
    chosen = {key: axes.get(key, ()) if isinstance(axes, Mapping) else axes for key in before}
    shapes = {port: _freed(port.partial_shape, chosen[_name_of(port)]) for port in model.inputs}
    try:
        model.reshape(shapes)
    except Exception as error:
        raise ModelBatchError(
            f"free_axes: {name} cannot be freed: a step inside needs the declared size: {said(error)}"
        ) from error
    return {key: _named(declared[key], chosen[key]) for key in before}


def _freed(shape: ov.PartialShape, axes: tuple[int, ...]) -> ov.PartialShape:
    if shape.rank.is_dynamic:
        return shape
    return ov.PartialShape([ov.Dimension(-1) if at in axes else side for at, side in enumerate(shape)])


def _named(shape: Shape | None, axes: tuple[int, ...]) -> Shape | None:
    """The shape with the freed batch called what it is in all ports: one axis."""
    if shape is None or 0 not in axes:
        return shape
    return (ROWS, *shape[1:])


def _port(port: Any, model: str, declared: Mapping[str, Shape | None]) -> Port:
    name, kind = _name_of(port), str(port.element_type.get_type_name())
    if kind not in _DTYPES:
        way_out = "; run it with ml_pipes.onnx" if kind == "string" else ""
        raise ModelError(
            f"Infer: {name!r} of {model} holds {kind}; only numbers that NumPy has can be given and "
            f"taken{way_out}"
        )
    inferred = _sides(port.partial_shape)
    return Port(name, _DTYPES[kind], None if inferred is None else known_shape(inferred, declared.get(name)))


def _name_of(port: Any) -> str:
    """The name that the file gives; a tensor may have others too, by which the steps inside know it."""
    node_name = str(port.node.friendly_name).removesuffix(_SINK)
    names = sorted(port.names)
    return node_name if node_name in names or not names else str(names[0])


def _sides(shape: ov.PartialShape) -> Shape | None:
    if shape.rank.is_dynamic:
        return None
    return tuple(side.get_length() if side.is_static else None for side in shape)


def _readable(array: Array) -> Array:
    """OpenVINO takes no array that may not be written to, though it only reads: a copy of such a one."""
    return array if array.flags.writeable else array.copy()


def _precision_of(compiled: ov.CompiledModel) -> str:
    try:
        return str(compiled.get_property("INFERENCE_PRECISION_HINT").get_type_name())
    except Exception:  # noqa: BLE001 # a device that chooses among others may not know
        return "unknown"
