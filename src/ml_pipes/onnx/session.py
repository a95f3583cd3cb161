"""An ONNX Runtime session: opened with clear errors, its names and types read once.

Knows ONNX Runtime. Knows nothing of payloads, operators or pipelines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt
import onnxruntime as ort

from ml_pipes._runtimes.cpu import ThreadLease
from ml_pipes._runtimes.forks import forks, protect
from ml_pipes._runtimes.ports import Port, known_shape
from ml_pipes._runtimes.source import Shape, Source, check_source, declared_shapes, source_name
from ml_pipes.errors import ModelError, ModelFileError, ModelProviderError

__all__ = ["ModelSession", "Provider", "check_providers"]

Provider = str | tuple[str, dict[str, Any]]

_PACKAGES = {
    "CUDAExecutionProvider": "onnxruntime-gpu",
    "TensorrtExecutionProvider": "onnxruntime-gpu",
    "OpenVINOExecutionProvider": "onnxruntime-openvino",
    "DmlExecutionProvider": "onnxruntime-directml",
    "ROCMExecutionProvider": "onnxruntime-rocm",
    "MIGraphXExecutionProvider": "onnxruntime-rocm",
    "QNNExecutionProvider": "onnxruntime-qnn",
}
_DTYPES = {
    "float": "float32",
    "double": "float64",
    "bool": "bool",
    "string": "str",
    **{name: name for name in ("float16", "int8", "int16", "int32", "int64")},
    **{name: name for name in ("uint8", "uint16", "uint32", "uint64")},
}
# What fails in a run is raised: to be printed too, it would be said twice.
_QUIET = ort.RunOptions()
_QUIET.log_severity_level = 4


class ModelSession:
    """A model that can be run from any number of threads.

    Its workers do not spin between runs: waiting costs no CPU.

    Attributes:
        inputs: what it takes, in order.
        outputs: what it gives, in order.
        metadata: what its file says of itself.
        threads: its caller and its workers together.
    """

    def __init__(
        self, source: Source, providers: Sequence[Provider], threads: int | None, arena: bool
    ) -> None:
        """Open the model.

        Raises:
            ModelFileError: it is missing, empty or not a model.
            ModelProviderError: a provider is not there or does not start.
            ModelError: an input or output is not a tensor.
        """
        check_source(source, "Infer")
        self._lease = ThreadLease(threads)
        self._made_after = forks()
        self._session = _opened(source, providers, _options(self._lease.threads, arena))
        protect(self._session)
        name = source_name(source)
        declared = declared_shapes(source)
        self.inputs = tuple(_port(node, name, declared) for node in self._session.get_inputs())
        self.outputs = tuple(_port(node, name, declared) for node in self._session.get_outputs())
        self._output_names = [port.name for port in self.outputs]
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)

    @property
    def threads(self) -> int:
        """The caller's and the workers together."""
        return self._lease.threads

    @property
    def usable(self) -> bool:
        """False in a forked child, where its workers are missing."""
        return self._made_after == forks()

    def run(self, feeds: dict[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """Every output, in order, each a new array."""
        results: list[npt.NDArray[Any]] = self._session.run(self._output_names, feeds, _QUIET)
        return results


def check_providers(providers: Sequence[Provider]) -> None:
    """Raise :class:`ModelProviderError` for one that this ONNX Runtime does not have."""
    if isinstance(providers, str) or not providers:
        raise ModelProviderError(f"Infer: providers must be a tuple of one name or more, got {providers!r}")
    available = ort.get_available_providers()
    for provider in providers:
        name = provider if isinstance(provider, str) else provider[0]
        if name not in available:
            package = _PACKAGES.get(name)
            way_out = f"install it with: pip install {package}" if package else "check its spelling"
            raise ModelProviderError(
                f"Infer: no provider {name!r} in this ONNX Runtime; available: {', '.join(available)}; "
                f"{way_out}"
            )


def _options(threads: int, arena: bool) -> ort.SessionOptions:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.enable_cpu_mem_arena = arena
    # Warnings are about how a model was exported: nothing a caller can change.
    options.log_severity_level = 3
    # The process-wide pool that ONNX Runtime offers cannot be told not to spin, so each session has its own.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    return options


def _opened(
    source: Source, providers: Sequence[Provider], options: ort.SessionOptions
) -> ort.InferenceSession:
    check_providers(providers)
    model = source if isinstance(source, bytes) else str(source)
    try:
        session = ort.InferenceSession(model, options, providers=list(providers))
    except Exception as error:
        raise ModelFileError(
            f"Infer: {source_name(source)} is not a model that ONNX Runtime {ort.__version__} can run: "
            f"{error}"
        ) from error
    first = providers[0] if isinstance(providers[0], str) else providers[0][0]
    if first not in session.get_providers():
        raise ModelProviderError(
            f"Infer: {first} did not start and ONNX Runtime fell back to "
            f"{', '.join(session.get_providers())}; check its driver and libraries, "
            "or ask for CPUExecutionProvider"
        )
    return session


def _port(node: Any, model: str, declared: Mapping[str, Shape | None]) -> Port:
    kind = str(node.type)
    if not kind.startswith("tensor("):
        raise ModelError(f"Infer: {node.name!r} of {model} is a {kind}; only tensors can be given and taken")
    element = kind.removeprefix("tensor(").removesuffix(")")
    name = str(node.name)
    inferred, said = tuple(node.shape or ()), declared.get(name)
    # ONNX Runtime gives no sides for a single number and for the unknown alike.
    shape = known_shape(inferred, said) if inferred else said
    return Port(name, _DTYPES.get(element, element), shape)
