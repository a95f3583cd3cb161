"""An ONNX Runtime session: opened with clear errors, its names and types read once.

Knows ONNX Runtime. Knows nothing of payloads, operators or pipelines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt
import onnxruntime as ort

from ml_pipes._runtimes.cpu import leased
from ml_pipes._runtimes.forks import forks, protect
from ml_pipes._runtimes.ports import Port, known_shape
from ml_pipes._runtimes.source import Shape, Source, check_source, declared_shapes, source_name
from ml_pipes._threads.shared import Shared
from ml_pipes._threads.turns import let_in
from ml_pipes.errors import ModelError, ModelFileError
from ml_pipes.onnx.providers import CPU, Provider, check_in_force, present, provider_name

__all__ = ["ModelSession"]

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
_BUSY = "all sessions of the model were busy with other calls"


class ModelSession:
    """A model that can be run from any number of threads.

    One session is run by all callers at once. Of several, each is lent to one call
    at a time, and calls that find none free are served in the order in which they
    came. Workers do not spin between runs: waiting costs no CPU.

    Attributes:
        inputs: what it takes, in order.
        outputs: what it gives, in order.
        metadata: what its file says of itself.
        threads: callers and workers of all sessions together.
        providers_in_use: the providers that every session has, the preferred one first.
    """

    def __init__(
        self,
        source: Source,
        providers: Sequence[Provider],
        threads: int | None,
        arena: bool,
        sessions: int = 1,
    ) -> None:
        """Open the model ``sessions`` times, each with an equal part of the threads.

        Raises:
            ModelFileError: it is missing, empty or not a model.
            ModelProviderError: no provider is there and starts, or a name is unknown.
            ModelError: an input or output is not a tensor.
            ValueError: there are fewer threads than sessions.
        """
        check_source(source, "Infer")
        wanted = present(providers)
        self._lease = leased(threads, sessions)
        self._made_after = forks()
        # Equal parts, so that the same input gives the same bits in each.
        options = _options(self._lease.threads // sessions, arena)
        opened = [_opened(source, wanted, options) for _ in range(sessions)]
        self._sessions = [session for session, _ in opened]
        for session in self._sessions:
            protect(session)
        self._session = self._sessions[0]
        self._shared = Shared(self._sessions) if sessions > 1 else None
        self.providers_in_use = _in_all(self._sessions)
        check_in_force(providers, self.providers_in_use, next((said for _, said in opened if said), ""))
        name = source_name(source)
        declared = declared_shapes(source)
        self.inputs = tuple(_port(node, name, declared) for node in self._session.get_inputs())
        self.outputs = tuple(_port(node, name, declared) for node in self._session.get_outputs())
        self._output_names = [port.name for port in self.outputs]
        self.metadata: dict[str, str] = dict(self._session.get_modelmeta().custom_metadata_map)

    @property
    def threads(self) -> int:
        """Callers and workers of all sessions together."""
        return self._lease.threads

    @property
    def usable(self) -> bool:
        """False in a forked child, where its workers are missing."""
        return self._made_after == forks()

    def run(self, feeds: dict[str, npt.NDArray[Any]]) -> list[npt.NDArray[Any]]:
        """Every output, in order, each a new array.

        Raises:
            DeadlineExceeded: no session became free by the call's deadline.
        """
        if self._shared is not None:
            return self._shared.use(lambda session: self._run_in_turn(session, feeds), _BUSY)
        results: list[npt.NDArray[Any]] = self._session.run(self._output_names, feeds, _QUIET)
        return results

    def run_on_each(self, feeds: dict[str, npt.NDArray[Any]]) -> list[list[npt.NDArray[Any]]]:
        """The outputs of each session, one after another; no call in progress is waited for."""
        return [self._run(session, feeds) for session in self._sessions]

    def _run_in_turn(
        self, session: ort.InferenceSession, feeds: dict[str, npt.NDArray[Any]]
    ) -> list[npt.NDArray[Any]]:
        let_in()
        return self._run(session, feeds)

    def _run(
        self, session: ort.InferenceSession, feeds: dict[str, npt.NDArray[Any]]
    ) -> list[npt.NDArray[Any]]:
        results: list[npt.NDArray[Any]] = session.run(self._output_names, feeds, _QUIET)
        return results


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
) -> tuple[ort.InferenceSession, str]:
    """A session, and what was said of providers that did not start."""
    model = source if isinstance(source, bytes) else str(source)
    failed, said = Exception(), ""
    for preferred in _preferences(providers):
        try:
            # ONNX Runtime's own fallback prints, and takes providers that nobody asked for.
            return ort.InferenceSession(model, options, providers=preferred, enable_fallback=0), said
        except Exception as error:  # noqa: BLE001 # whatever it raises is told when nothing else works
            failed, said = error, said or str(error)
    raise ModelFileError(
        f"Infer: {source_name(source)} is not a model that ONNX Runtime {ort.__version__} can run: {failed}"
    ) from failed


def _preferences(providers: Sequence[Provider]) -> list[list[Provider]]:
    """The whole list, then without its first, and so on; at last the CPU, which tells a bad model apart."""
    lists = [list(providers[at:]) for at in range(len(providers))]
    return lists if CPU in map(provider_name, providers) else [*lists, [CPU]]


def _in_all(sessions: Sequence[ort.InferenceSession]) -> tuple[str, ...]:
    lists = [session.get_providers() for session in sessions]
    return tuple(name for name in lists[0] if all(name in others for others in lists))


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
